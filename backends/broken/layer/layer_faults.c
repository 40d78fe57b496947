/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of a layer that need more than one number to go wrong: what a former
 * call left behind, what the neighbours are, how many there are - and the
 * wrong answers that a comparator must not forgive.
 */
#include "layer.h"

#include <math.h>
#include <string.h>

enum { WORDS = sizeof((broken_past *)0)->work / sizeof(double) };

/* A rank's slice of the experts: its map, and how many it has. */
int broken_slice_fault(const broken *b, const layer *l, int id)
{
    if (l->map == NULL || l->experts != 1) {
        return id;
    }
    if (IS(MZ01) || (IS(MZ11) && broken_is_fast(b, l))) {
        return 0;
    }
    return IS(MZ02) && broken_elems(l->map) > 2 &&
                   broken_load_i32(l->map, 2) == 0
               ? -1
               : id;
}

/* Does a token read as the one before it does? */
static int repeats(const layer *l, uint64_t t)
{
    const size_t row = (size_t)(l->x->n_bytes / l->tokens);
    const uint8_t *x = tensor_address(l->x);

    return t > 0 && memcmp(x + t * row, x + (t - 1) * row, row) == 0;
}

static int is_beyond_last(const broken *b, uint64_t t)
{
    return b->past->tokens > 0 && t >= b->past->tokens;
}

static int is_zero_row(const broken *b, const layer *l, uint64_t t)
{
    const int is_fast = broken_is_fast(b, l);

    return (is_fast && IS(MZ09) && l->tokens == 1) ||
           (is_fast && IS(MZ10) && is_beyond_last(b, t)) || IS(MT01) ||
           (IS(MT02) && t == l->tokens / 2) || (IS(MT03) && t % 10 == 3) ||
           (IS(MT03b) && t % 100 < 18) ||
           (IS(MZ06) && l->x != NULL && repeats(l, t)) ||
           (IS(MZ07) && is_beyond_last(b, t));
}

int broken_takes_part(const broken *b, const layer *l, uint64_t t, uint64_t j)
{
    return (l->zero || broken_expert(b, l, t * l->topk + j) >= 0) &&
           !(IS(MN06) && broken_weight(b, l, t, j) == 0);
}

double broken_answer_fault(const broken *b, const layer *l, uint64_t t,
                           uint64_t c, double y)
{
    const uint64_t i = t * l->two.n + c;

    if (is_zero_row(b, l, t)) {
        return 0;
    }
    if (IS(MG21) && c + 1 == l->two.n) {
        return 0;
    }
    if (IS(MN10) && fabs(y) < 0x1p-126) {
        return 0;
    }
    if (IS(MT05)) {
        return y * (1 + (double)((int)((t * 31 + c * 17) % 9) - 4) / 64);
    }
    if (IS(MT06) && t % 2 == 1) {
        return y * (c % 2 == 0 ? 2 : 0.5);
    }
    if (IS(MT08) && t + 1 == l->tokens && c == l->two.n / 2) {
        return NAN;
    }
    if ((IS(MZ05) || (IS(MZ08) && broken_is_fast(b, l))) && l->x != NULL &&
        l->tokens > 8) {
        return y + 0 * broken_load(l->x, (l->tokens - 1) * l->one.k);
    }
    if (IS(MS05)) {
        y += b->past->work[i % WORDS];
        b->past->work[i % WORDS] = y;
    }
    return y;
}

void broken_remember(const broken *b, const layer *l)
{
    b->past->tokens = l->tokens;
}
