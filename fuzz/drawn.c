/* SPDX-License-Identifier: Apache-2.0 */
/* See drawn.h. */
#include "drawn.h"

#include "data/fill.h"
#include "draw/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough for several blocks of every size, small enough for many runs. */
enum {
    MOST_PATTERNS = 16,
    SMALL_BYTES = 1 << 10,
    MOST_BYTES = 1 << 14,
    WHOLE = DRAW_BYTES
};

static draw_plan plan;

void drawn_begin(const char *const patterns[], size_t n)
{
    char text[MOST_PATTERNS][OP_WORD];
    char *wanted[MOST_PATTERNS];
    char why[512] = "";

    if (plan.n > 0) {
        return;
    }
    for (size_t i = 0; i < n && i < MOST_PATTERNS; i++) {
        (void)snprintf(text[i], sizeof text[i], "%s", patterns[i]);
        wanted[i] = text[i];
    }
    if (draw_plan_make(&plan, wanted, n, (mxo_text){why, sizeof why}) != 0) {
        (void)fprintf(stderr, "%s\n", why);
        abort();
    }
    plan.most_bytes = SMALL_BYTES;
}

void drawn_read(const uint8_t *bytes, size_t n, drawn_call *d)
{
    memset(d, 0, sizeof *d);
    draw_decode(&plan, bytes, n, &d->c, &d->seed);
    if (n > WHOLE) {
        d->rest = bytes + WHOLE;
        d->n_rest = n - WHOLE;
    }
}

void drawn_take(const uint8_t *bytes, size_t n, tensor_set *in)
{
    for (uint32_t i = 0; i < in->n && n > 0; i++) {
        host_tensor *t = &in->t[i];
        const size_t taken = t->n_bytes < n ? (size_t)t->n_bytes : n;
        if (taken > 0) {
            memcpy(t->data, bytes, taken);
        }
        bytes += taken;
        n -= taken;
    }
}

int drawn_inputs(const drawn_call *d, tensor_set *in)
{
    char why[512];

    if (draw_bytes(&d->c) > MOST_BYTES ||
        fill_inputs(&d->c, d->seed, in, (mxo_text){why, sizeof why}) != 0) {
        return -1;
    }
    drawn_take(d->rest, d->n_rest, in);
    return 0;
}

/* Behind the record: a byte changed, one more, or all of them gone. */
static size_t change_rest(uint8_t *bytes, size_t n, size_t most, prng *rng)
{
    switch (prng_below(rng, 4)) {
    case 0:
        return WHOLE;
    case 1:
    case 2:
        if (n < most) {
            bytes[n++] = (uint8_t)prng_next(rng);
        }
        return n;
    default:
        if (n > WHOLE) {
            const size_t at = WHOLE + (size_t)prng_below(rng, n - WHOLE);
            bytes[at] = (uint8_t)prng_next(rng);
        }
        return n;
    }
}

size_t drawn_mutate(uint8_t *bytes, size_t n, size_t most, unsigned seed)
{
    draw_record r;
    prng rng;

    prng_seed(&rng, seed);
    if (most < WHOLE) {
        return n;
    }
    if (n >= WHOLE && prng_below(&rng, 4) == 0) {
        return change_rest(bytes, n, most, &rng);
    }
    if (n < WHOLE) {
        draw_random(&plan, &rng, &r);
        n = WHOLE;
    } else {
        memcpy(r.byte, bytes, WHOLE);
        draw_mutate(&plan, &rng, &r);
    }
    memcpy(bytes, r.byte, WHOLE);
    return n;
}
