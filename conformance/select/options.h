/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question as people put it: names of hardware and models, sizes, variables,
 * one KEY=VALUE at a time.  Strings are borrowed, or kept in the struct.
 */
#ifndef MXO_SELECT_OPTIONS_H
#define MXO_SELECT_OPTIONS_H

#include <mxoracle/select.h>

typedef struct hardware {
    const char *alias;
    const char *platform;
    const char *name;
    int in_matrix;
} hardware;

typedef struct select_model {
    const char *name;
    mxo_sel_entry entry;
    mxo_sel_activation activation;
    mxo_sel_routing routing;
    int64_t hidden, intermediate, experts;
    int has_bias;
} select_model;

typedef struct select_question {
    mxo_select_config config;
    const char *platform_text; /* as given */
    const hardware *hardware;  /* NULL: not named by an alias */
    const select_model *model; /* NULL: not named */
    int has_platform;
    int has_hidden, has_intermediate;
    int has_activation, has_routing;
    int has_bias, has_version; /* said by the user */
    int64_t experts, tokens, top_k;
    char gfx[32];
} select_question;

void select_question_init(select_question *q);

/* One KEY=VALUE ("platform", "h100"). 0, or -1 and a sentence. */
/* 0 if there is such a key, else -1 and a sentence. */
int select_knows(const char *key, mxo_text why);
int select_set(select_question *q, const char *key, const char *value,
               mxo_text why);

/*
 * After the last KEY: what the model implies, sizes per rank, checks. 0, or
 * -1 and a sentence.
 */
int select_finish(select_question *q, mxo_text why);

/* Only the platform: an alias, or KIND[:CAPABILITY or GFX]. */
int select_platform(select_question *q, const char *text, mxo_text why);

/* Model number i, NULL after the last. */
const select_model *select_model_at(int i);

/* A version by its name or the end of it; -1 and a sentence. */
int select_version(const char *value, mxo_text why);

/* Hardware number i, NULL after the last. */
const hardware *hardware_at(int i);

/* Key number i, NULL after the last. */
const char *select_key_at(int i);
/* The i-th word that a key of words takes, NULL after the last. */
const char *select_key_word(const char *key, int i);

#endif
