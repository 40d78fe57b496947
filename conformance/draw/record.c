/* SPDX-License-Identifier: Apache-2.0 */
/* Records from a generator, and records a slot away from another. */
#include "value.h"

#include <string.h>

/* One call in so many may be large, for mistakes that need several tiles on
   both axes at once, or many experts; of mutations, which must be fast, one in
   512. */
enum { LARGE = 128, LARGE_FLAGS = 32 };

static void put16(draw_record *r, int at, uint32_t x)
{
    r->byte[at] = (uint8_t)x;
    r->byte[at + 1] = (uint8_t)(x >> 8);
}

static void put32(draw_record *r, int at, uint32_t x)
{
    put16(r, at, x);
    put16(r, at + 2, x >> 16);
}

/* Two draws never share an expression: C leaves their order to the compiler. */
static uint32_t any(prng *rng)
{
    return (uint32_t)(prng_next(rng) >> 32);
}

static uint32_t pick_group(const draw_plan *p, prng *rng)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < p->n; i++) {
        sum += p->group[i].weight;
    }
    uint64_t at = sum == 0 ? 0 : prng_below(rng, sum);
    uint32_t i = 0;

    while (i + 1 < p->n && at >= p->group[i].weight) {
        at -= p->group[i++].weight;
    }
    return i;
}

static const op_schema *schema_of(const draw_plan *p, const draw_record *r)
{
    return p->group[draw_group_of(p, r->byte, sizeof r->byte)].base[0].schema;
}

static void draw_dim(const op_schema *s, prng *rng, draw_record *r)
{
    if (s->n_dims > 0) {
        const uint32_t slot = any(rng);
        const int dim = (int)prng_below(rng, (uint64_t)s->n_dims);
        put32(r, DRAW_DIMS + 4 * dim, slot);
    }
}

static void draw_param(const op_schema *s, prng *rng, draw_record *r)
{
    if (s->n_params > 0) {
        const uint32_t slot = any(rng);
        const int param = (int)prng_below(rng, (uint64_t)s->n_params);
        put16(r, DRAW_PARAMS + 2 * param, slot);
    }
}

void draw_random(const draw_plan *p, prng *rng, draw_record *r)
{
    memset(r, 0, sizeof *r);
    put16(r, DRAW_GROUP, pick_group(p, rng));
    put16(r, DRAW_BASE, any(rng));
    put32(r, DRAW_SEED, any(rng) >> 1);
    const op_schema *s = schema_of(p, r);

    if (prng_below(rng, 2) == 0) {
        put16(r, DRAW_DATA, any(rng));
    }
    const uint32_t bits = any(rng) & 14;

    r->byte[DRAW_FLAGS] = (uint8_t)(bits | (prng_below(rng, 16) == 0));
    r->byte[DRAW_LARGE] = prng_below(rng, LARGE) == 0 ? 0xff : 0;
    if (prng_below(rng, 32) == 0) {
        put16(r, DRAW_INVALID, any(rng));
        put16(r, DRAW_TARGET, any(rng));
    }
    for (int k = 0; k < s->n_dims; k++) {
        if (prng_below(rng, 4) != 0) {
            put32(r, DRAW_DIMS + 4 * k, any(rng));
        }
    }
    while (prng_below(rng, 2) == 0) {
        draw_param(s, rng, r);
    }
}

/* Without the first thing that makes it large; 0 if nothing does. */
static int shorten(const op_schema *s, draw_record *r)
{
    if (r->byte[DRAW_LARGE] != 0) {
        r->byte[DRAW_LARGE] = 0;
        return 1;
    }
    for (int k = 0; k < s->n_dims; k++) {
        const uint32_t slot = slot32(r, DRAW_DIMS + 4 * k);
        if (slot > 0 && value_is_long(slot - 1)) {
            put32(r, DRAW_DIMS + 4 * k, 0);
            return 1;
        }
    }
    return 0;
}

void draw_mutate(const draw_plan *p, prng *rng, draw_record *r)
{
    const op_schema *s = schema_of(p, r);

    /* Large calls are slow: what comes of one is small again. */
    if (shorten(s, r)) {
        return;
    }
    switch (prng_below(rng, 16)) {
    case 0:
        put16(r, DRAW_GROUP, pick_group(p, rng));
        break;
    case 1:
        put16(r, DRAW_BASE, any(rng));
        break;
    case 2:
    case 3:
        put32(r, DRAW_SEED, any(rng) >> 1);
        break;
    case 4:
    case 5:
        put16(r, DRAW_DATA, any(rng));
        break;
    case 6:
        put16(r, DRAW_INVALID, prng_below(rng, 2) == 0 ? 0 : any(rng));
        put16(r, DRAW_TARGET, any(rng));
        break;
    case 7:
        if (prng_below(rng, LARGE_FLAGS) == 0) {
            r->byte[DRAW_LARGE] = 0xff;
        } else {
            r->byte[DRAW_FLAGS] = (uint8_t)any(rng);
        }
        break;
    case 8:
    case 9:
    case 10:
        draw_param(s, rng, r);
        break;
    default:
        draw_dim(s, rng, r);
        break;
    }
}

void draw_stamp(uint8_t stamp[DRAW_STAMP])
{
    const uint8_t version = DRAW_VERSION;

    stamp[0] = 'm';
    stamp[1] = 'x';
    stamp[2] = version;
    stamp[3] = (uint8_t)~version;
}

/* The number twice: a byte that a fuzzer changes makes no other version. */
int draw_version_of(const uint8_t *bytes, size_t n)
{
    const uint8_t *stamp = n < DRAW_STAMP ? bytes : bytes + n - DRAW_STAMP;

    return n <= DRAW_STAMP || stamp[0] != 'm' || stamp[1] != 'x' ||
                   (stamp[2] ^ stamp[3]) != 0xff
               ? DRAW_VERSION
               : stamp[2];
}
