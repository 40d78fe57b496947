/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: how each backend of the selection oracle computes a layer.  One
 * profile per backend, one fact per question, each fact with its source.
 *
 * A judge may only demand bits where the rounding points are declared.  What
 * the public sources leave open is "unknown" here, and the emulator refuses
 * to run a layer through it instead of guessing.
 */
#ifndef MXORACLE_PROFILE_H
#define MXORACLE_PROFILE_H

#include <mxoracle/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The questions; rows of <mxoracle/profile/field.def>. */
typedef enum mxo_profile_field {
#define MXO_FIELD(id, key, group, kind, meaning) MXO_FIELD_##id,
#include <mxoracle/profile/field.def>
#undef MXO_FIELD
    MXO_N_PROFILE_FIELDS
} mxo_profile_field;

/**
 * The answers to CHOICE questions; rows of <mxoracle/profile/choice.def>.
 * MXO_CHOICE_UNKNOWN also stands for a question of another kind.
 */
typedef enum mxo_profile_choice {
    MXO_CHOICE_UNKNOWN,
#define MXO_CHOICE(field, id, name, meaning) MXO_P_##field##_##id,
#include <mxoracle/profile/choice.def>
#undef MXO_CHOICE
    MXO_N_PROFILE_CHOICES
} mxo_profile_choice;

/** How the value of a fact is written. */
typedef enum mxo_profile_kind {
    MXO_PROFILE_CHOICE,
    MXO_PROFILE_NUMBER,
    MXO_PROFILE_NAME
} mxo_profile_kind;

/** One question. */
typedef struct mxo_profile_question {
    const char *key;   /* "gemm1_out": also the parameter of moe.layer */
    const char *group; /* "gemm" */
    const char *meaning;
    mxo_profile_kind kind;
} mxo_profile_question;

/** One answer. */
typedef struct mxo_profile_fact {
    const char *value;  /* "unknown": the sources do not say */
    const char *source; /* section of a specification, or what is missing */
} mxo_profile_fact;

/** One backend.  Rows, strings and facts are constant and live forever. */
typedef struct mxo_profile {
    const char *name;  /* "MARLIN": the value that the oracle returns */
    const char *title; /* one line */
    mxo_profile_fact fact[MXO_N_PROFILE_FIELDS];
} mxo_profile;

/** Something that a reader of the facts would get wrong. */
typedef struct mxo_profile_note {
    const char *profile; /* name of the profile */
    const char *text;
    const char *source;
} mxo_profile_note;

/** @brief Number of profiles. */
int mxo_profile_count(void);

/** @brief Profile 0 .. count - 1; NULL beyond. */
const mxo_profile *mxo_profile_at(int i);

/** @brief Profile of a name such as "MARLIN"; NULL if there is none. */
const mxo_profile *mxo_profile_by_name(const char *name);

/** @brief The question behind a field; NULL past the last. */
const mxo_profile_question *mxo_profile_question_at(int field);

/** @brief Field of a key such as "gemm1_out"; MXO_N_PROFILE_FIELDS if none. */
mxo_profile_field mxo_profile_field_by_key(const char *key);

/**
 * @brief The choice that a word names under a field.
 *
 * Errors   MXO_CHOICE_UNKNOWN: "unknown", or no such word there.
 * Threads  pure.
 */
mxo_profile_choice mxo_profile_choice_by_name(mxo_profile_field field,
                                              const char *name);

/** @brief Word, meaning and field of a choice; "unknown" for UNKNOWN. */
const char *mxo_profile_choice_name(mxo_profile_choice choice);
const char *mxo_profile_choice_meaning(mxo_profile_choice choice);
mxo_profile_field mxo_profile_choice_field(mxo_profile_choice choice);

/** @brief The operation that executes it: moe.layer, or moe.nvfp4_layer. */
const char *mxo_profile_layer(const mxo_profile *profile);

/** @brief 1 if every fact that this operation executes is known. */
int mxo_profile_is_known(const mxo_profile *profile);

/** @brief Note 0 .. over all profiles, in the order of the data; NULL beyond.
 */
const mxo_profile_note *mxo_profile_note_at(int i);

#ifdef __cplusplus
}
#endif
#endif
