/* SPDX-License-Identifier: Apache-2.0 */
/* Every bit pattern of a dtype, alike often. */
#include "fills.h"

#include <pthread.h>

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
