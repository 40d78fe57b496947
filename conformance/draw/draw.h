/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls drawn from bytes: the one structured decoder behind `mxoracle fuzz`,
 * the libFuzzer targets and libmxoracle-fuzz.
 *
 * draw_plan: which calls are wanted, by patterns of operations or
 * "op:key=value" with keys that stay as they are; "layout=NAME/" and a star
 * holds a layout and leaves its parameters free. Made once.
 *
 * draw_record: DRAW_BYTES bytes of slots at fixed places. They name a group, a
 * case of the grids in it, and for every dimension and parameter the change to
 * that case. A slot of zero changes nothing, so an empty input is a case of the
 * grid, and to change one slot is to change one dimension, one parameter or the
 * data.
 *
 * draw_decode: any bytes, of any length, to a case and a seed. Total: a missing
 * byte is zero, a surplus byte is not read, a number out of range is taken
 * modulo. A change that the emulator would refuse is mended or taken back,
 * except in records that ask for a call that must be refused.
 *
 * draw_random: a record from a generator, groups by their weight.
 * draw_mutate: one slot of a record changed.
 *
 * A case is printed with case_print(); that text and the seed are the call.
 * Sizes lie around the granules, tiles and pads of the layout at hand, which
 * are read from its description (granule.h), and around powers of two.
 */
#ifndef MXO_DRAW_H
#define MXO_DRAW_H

#include "base/prng.h"
#include "case/case_text.h"

/* Raised when the same bytes come to mean another call. */
enum { DRAW_VERSION = 6 };

enum {
    DRAW_GROUP = 0,    /* u16 */
    DRAW_BASE = 2,     /* u16 */
    DRAW_SEED = 4,     /* u32 */
    DRAW_DATA = 8,     /* u16: 0 keeps the kind of data */
    DRAW_FLAGS = 10,   /* u8: bit 0 leaves a call that is refused as it is,
                          bits 1 and 2 halve how large it may be, bit 3 keeps
                          on the way back what was drawn */
    DRAW_LARGE = 11,   /* u8: 0xff lets it be 64 times as large */
    DRAW_INVALID = 12, /* u16: 0 none, else an invalid_calls.def row */
    DRAW_TARGET = 14,  /* u16: target of that row */
    DRAW_DIMS = 16,    /* u32 each */
    DRAW_PARAMS = DRAW_DIMS + 4 * OP_MAX_DIMS, /* u16 each */
    DRAW_BYTES = DRAW_PARAMS + 2 * OP_MAX_PARAMS
};

/* Of all groups of an operation together, at first. */
enum { DRAW_WEIGHT = 1 << 14 };

typedef struct draw_record {
    uint8_t byte[DRAW_BYTES];
} draw_record;

/* Cases of one operation, and where it has layouts or conversions of one of
   these. */
typedef struct draw_group {
    char name[2 * OP_WORD]; /* "quant.mx", "layout.apply/flashinfer.128x4" */
    uint32_t n;
    test_case *base;       /* owned */
    struct granules *axis; /* owned: of experts, rows, columns of each base */
    char kinds[1024];      /* of data that the operation has */
    uint32_t weight;       /* of draw_random(); the caller may change it */
} draw_group;

typedef struct draw_plan {
    uint32_t n;
    draw_group *group;    /* owned */
    uint64_t most_bytes;  /* of all inputs of a call; pads, granules and a very
                             long axis may make more of them */
    uint32_t n_pins;      /* of wanted calls with given keys */
    struct draw_pin *pin; /* owned */
} draw_plan;

/* wanted: patterns of operations and "op:key=value,...". 0, or -1 and a
   sentence: one of them matches nothing, or there is no memory. */
int draw_plan_make(draw_plan *p, char *const wanted[], size_t n, mxo_text why);
void draw_plan_clear(draw_plan *p);

void draw_decode(const draw_plan *p, const uint8_t *bytes, size_t n,
                 test_case *c, uint64_t *seed);
/* The group that a record is of. */
uint32_t draw_group_of(const draw_plan *p, const uint8_t *bytes, size_t n);
/* The group of a case; p->n if the plan has none. */
uint32_t draw_group_with(const draw_plan *p, const test_case *c);
void draw_random(const draw_plan *p, prng *rng, draw_record *r);
void draw_mutate(const draw_plan *p, prng *rng, draw_record *r);

/* Files of records outlive a version: DRAW_STAMP bytes behind a record say
   which one it is of. */
enum { DRAW_STAMP = 4 };
void draw_stamp(uint8_t stamp[DRAW_STAMP]);
/* The version that the bytes are of; DRAW_VERSION where no stamp is there:
   any bytes are a call. */
int draw_version_of(const uint8_t *bytes, size_t n);

#endif
