/* SPDX-License-Identifier: Apache-2.0 */
/* Every bit pattern of a dtype, alike often; special values at the ends. */
#include "fills.h"

#include <pthread.h>
#include <string.h>

/* Weights are gigabytes: threads draw parts of them, which are worth one each.
   Whichever threads there are, the bytes are those of one stream. */
enum { PART_BYTES = 32 << 20, MOST_PARTS = 8 };

typedef struct drawn_part {
    prng rng;
    uint8_t *to;
    size_t n;
    pthread_t thread;
    int runs_apart;
} drawn_part;

static void *draw_part(void *state)
{
    drawn_part *p = state;

    prng_bytes(&p->rng, p->to, p->n);
    return NULL;
}

static void draw_bytes(prng *rng, uint8_t *to, size_t n)
{
    drawn_part part[MOST_PARTS];
    const size_t worth = n / PART_BYTES + 1;
    const size_t n_parts = worth < MOST_PARTS ? worth : MOST_PARTS;

    for (size_t i = 0; i < n_parts; i++) {
        drawn_part *p = &part[i];
        p->rng = *rng;
        p->to = to + i * (n / n_parts);
        p->n = i + 1 < n_parts ? n / n_parts : n - i * (n / n_parts);
        p->runs_apart = i + 1 < n_parts &&
                        pthread_create(&p->thread, NULL, draw_part, p) == 0;
        if (!p->runs_apart) {
            (void)draw_part(p);
        }
        if (i + 1 < n_parts) {
            prng_skip(rng, p->n);
        }
    }
    *rng = part[n_parts - 1].rng;
    for (size_t i = 0; i < n_parts; i++) {
        if (part[i].runs_apart) {
            (void)pthread_join(part[i].thread, NULL);
        }
    }
}

void fill_random(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    if (dtype_bytes(t->dtype) == 1 && t->dtype != MXO_BOOL) {
        if (n > 0) { /* no bytes are nowhere */
            draw_bytes(rng, t->data, (size_t)n);
        }
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(
            t, i, t->dtype == MXO_BOOL ? prng_below(rng, 2) : prng_next(rng));
    }
}

/* A special value of a format: NaN, -0, infinity, the least subnormal number,
   the largest one, and three of the other sign. */
static uint64_t special(const code_format *f, uint64_t kind)
{
    static const uint8_t bytes[] = {255, 0, 254, 1, 253, 255, 2, 127};
    const uint64_t sign = UINT64_C(1) << (f->bits - 1);

    if (f->special == 'e') {
        return bytes[kind % 8];
    }
    const uint64_t last = code_last_finite(f);
    const uint64_t codes[] = {sign - 1, sign,     last + 1,          1,
                              last,     sign | 1, sign | (last + 1), 0};

    return codes[kind % 8] & (2 * sign - 1);
}

/* At the end of row r the r-th special value; in the last row eight and
   more, not closer than 32 elements if there is room.  Of a vector the last
   eight, so that three lengths have every one among the last elements behind a
   multiple of four, and eight of them every one at the end; of a long one each
   37th, too.  What a gate is multiplied by is four on, so that a NaN meets a
   number there. */
static void put_tail(host_tensor *t, const code_format *f)
{
    enum { LONG = 256, APART = 37 };
    const uint64_t on = strcmp(t->name, "up") == 0 ? 4 : 0;
    const uint64_t n = tensor_elems(t);
    const uint64_t cols = t->rank < 2 ? n : t->shape[t->rank - 1];
    const uint64_t step = cols >= 256 ? 32 : cols < 16 ? 1 : cols / 8;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / cols;
        const uint64_t back = cols - 1 - i % cols;

        if (t->rank < 2 && back < 8) {
            tensor_store(t, i, special(f, back + n / 4 * 3));
        } else if (t->rank < 2 && n >= LONG && back % APART == 0) {
            tensor_store(t, i, special(f, back / APART));
        } else if (back == 0 || (i + cols >= n && back % step == 0)) {
            tensor_store(t, i, special(f, row + back / step + on));
        }
    }
}

void fill_tail(const test_case *c, host_tensor *t, prng *rng)
{
    const code_format *f = dtype_format(t->dtype);

    if (f->special == 'e') {
        fill_scale_ordinary(c, t, rng);
    } else {
        fill_ordinary(c, t, rng);
    }
    put_tail(t, f);
}

/* Of codes in bytes, of a format that has special values. */
void fill_tail_codes(const test_case *c, host_tensor *t, prng *rng)
{
    fill_counting(c, t, rng);
    put_tail(t, fill_element(c));
}
