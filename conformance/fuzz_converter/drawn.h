/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checkpoint to draw: its sizes and what it is made of, as numbers and as
 * text ("names=gpt_oss,experts=3,hidden=256,inter=96"), and how to make it
 * plainer.  The bytes follow from the text and a seed.
 */
#ifndef MXO_FUZZ_CONVERTER_DRAWN_H
#define MXO_FUZZ_CONVERTER_DRAWN_H

#include "base/prng.h"
#include "convert/job.h"

enum drawn_field {
#define MXO_FIELD(name, plainest, most) DRAWN_##name,
#include "fields.def"
#undef MXO_FIELD
    DRAWN_FIELDS
};

enum { DRAWN_TEXT = 320 };

typedef struct drawn {
    const name_style *style;
    uint64_t field[DRAWN_FIELDS];
} drawn;

/* Ranges of what is drawn. */
typedef struct drawn_rules {
    const char *conversion;
    const mover *mover; /* of the oracle: which sizes does it take? */
    uint64_t round[2];  /* --pad: hidden, inter */
    const name_style *style;
    int with_tp; /* the command takes a rank's slice */
    int with_ep;
    int is_fixed[DRAWN_FIELDS]; /* to the value that fixed has */
    uint64_t fixed[DRAWN_FIELDS];
} drawn_rules;

/* The names that suit the order of rows that the conversion takes. */
const name_style *drawn_style_for(const char *conversion);
/* NULL: none that is drawn is called so. */
const name_style *drawn_style(const char *names);
/* Draw until the conversion takes the sizes; -1 and a sentence: it takes none
   of them. */
int drawn_draw(const drawn_rules *rules, prng *random, drawn *d, mxo_text why);
/* Whether it is whole and the conversion takes its sizes. */
int drawn_is_legal(const drawn_rules *rules, const drawn *d);
void drawn_shard(const drawn_rules *rules, const drawn *d, shard *s);

void drawn_print(const drawn *d, char text[DRAWN_TEXT]);
/* "key=value,..." over what *d holds; 0, or -1 and a sentence. is_set (NULL:
   nobody asks) gets 1 for each field that is named. */
int drawn_parse(const char *text, drawn *d, int is_set[DRAWN_FIELDS],
                mxo_text why);

/* The number-th way to make d plainer, legal or not; 0: there are no more. */
int drawn_plainer(const drawn *d, int number, drawn *plainer);

/* Write it to a folder that is there: one file, or several and an index, and
   a config.json. 0, or -1 and a sentence. */
int drawn_write(const drawn *d, uint64_t seed, const char *folder,
                mxo_text why);

#endif
