/* SPDX-License-Identifier: Apache-2.0 */
/* See calls.h. */
#include "calls.h"

#include "base/tensors.h"
#include "data/fill.h"
#include "draw/draw.h"
#include "draw/plan.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OUTPUTS = 32, WHY = 512 };

typedef struct drawn {
    mxo_drawn head; /* first: what others see */
    draw_plan plan;
    prng rng;
    test_case c;
    tensor_set in;
    mxo_tensor x[MXO_MAX_TENSORS];
    mxo_tensor y[MOST_OUTPUTS]; /* buffers owned */
    mxo_param params[OP_MAX_PARAMS];
    char text[CASE_TEXT];
    char whole[CASE_TEXT];
    char why[WHY];
} drawn;

static mxo_text why_of(drawn *d)
{
    return (mxo_text){d->why, sizeof d->why};
}

static void forget_answer(drawn *d)
{
    for (uint32_t i = 0; i < d->head.call.n_out; i++) {
        free(d->y[i].buffer);
    }
    d->head.call.n_out = 0;
    tensor_set_clear(&d->in);
}

mxo_drawn *mxo_draw_open(const char *wanted, mxo_text why)
{
    drawn *d = calloc(1, sizeof *d);
    char *copy = strdup(wanted);
    char *list[] = {copy};

    if (d == NULL || copy == NULL ||
        draw_plan_make(&d->plan, list, 1, why) != 0) {
        free(copy);
        free(d);
        return NULL;
    }
    free(copy);
    d->head.text = d->text;
    d->head.whole = d->whole;
    d->head.why = d->why;
    d->head.record_bytes = DRAW_BYTES;
    d->head.version = DRAW_VERSION;
    return &d->head;
}

void mxo_draw_close(mxo_drawn *head)
{
    drawn *d = (drawn *)head;

    forget_answer(d);
    draw_plan_clear(&d->plan);
    free(d);
}

void mxo_draw_seed(mxo_drawn *head, uint64_t seed)
{
    prng_seed(&((drawn *)head)->rng, seed);
}

void mxo_draw_random(mxo_drawn *head, uint8_t *record)
{
    drawn *d = (drawn *)head;
    draw_record r;

    draw_random(&d->plan, &d->rng, &r);
    memcpy(record, r.byte, sizeof r.byte);
}

void mxo_draw_mutate(mxo_drawn *head, uint8_t *record, uint64_t seed)
{
    drawn *d = (drawn *)head;
    draw_record r;
    prng rng;

    prng_seed(&rng, seed);
    memcpy(r.byte, record, sizeof r.byte);
    draw_mutate(&d->plan, &rng, &r);
    memcpy(record, r.byte, sizeof r.byte);
}

static void put(uint8_t *record, int at, int n_bytes, uint32_t x)
{
    for (int i = 0; i < n_bytes; i++) {
        record[at + i] = (uint8_t)(x >> 8 * i);
    }
}

void mxo_draw_pack(const mxo_drawn *head, const uint32_t *slots, uint32_t n,
                   uint8_t *record)
{
    static const struct {
        int at;
        int n_bytes;
    } first[] = {{DRAW_BASE, 2}, {DRAW_SEED, 4}, {DRAW_DATA, 2}};
    const op_schema *s = ((const drawn *)head)->plan.group[0].base[0].schema;
    const uint32_t n_first = sizeof first / sizeof first[0];
    const uint32_t n_dims = (uint32_t)s->n_dims;

    memset(record, 0, DRAW_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = i - n_first;
        if (i < n_first) {
            put(record, first[i].at, first[i].n_bytes, slots[i]);
        } else if (k < n_dims) {
            put(record, DRAW_DIMS + 4 * (int)k, 4, slots[i]);
        } else if (k - n_dims < (uint32_t)s->n_params) {
            put(record, DRAW_PARAMS + 2 * (int)(k - n_dims), 2, slots[i]);
        }
    }
}

static void print(drawn *d, uint64_t seed)
{
    d->head.seed = seed;
    case_print(&d->c, 0, d->text);
    case_print(&d->c, 1, d->whole);
}

int mxo_draw_decode(mxo_drawn *head, const uint8_t *record, size_t n)
{
    drawn *d = (drawn *)head;
    uint64_t seed;

    forget_answer(d);
    draw_decode(&d->plan, record, n, &d->c, &seed);
    print(d, seed);
    return d->c.flaw[0] == '\0' ? 0 : -1;
}

int mxo_draw_parse(mxo_drawn *head, const char *text, uint64_t seed)
{
    drawn *d = (drawn *)head;
    uint64_t most;

    forget_answer(d);
    if (case_parse(&d->c, text, why_of(d)) != 0) {
        return -1;
    }
    if (!draw_is_legal(&d->c, &most)) {
        (void)snprintf(d->why, sizeof d->why, "the emulator refuses it");
        return -1;
    }
    print(d, seed);
    return 0;
}

static void describe(mxo_tensor *t, const host_tensor *of)
{
    *t = (mxo_tensor){.name = of->name,
                      .dtype = of->dtype,
                      .rank = of->rank,
                      .n_bytes = of->n_bytes,
                      .buffer = of->data};
    memcpy(t->shape, of->shape, sizeof t->shape);
}

static int run(drawn *d)
{
    const mxo_backend *emu = mxo_emulator();
    mxo_call *call = &d->head.call;
    uint32_t n = MOST_OUTPUTS;

    if (emu->infer(NULL, call, d->y, &n, why_of(d)) != MXO_OK) {
        return -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        d->y[i].buffer = calloc((size_t)d->y[i].n_bytes + 1, 1);
        d->y[i].offset = 0;
        call->n_out = i + 1;
        if (d->y[i].buffer == NULL) {
            (void)snprintf(d->why, sizeof d->why, "out of memory");
            return -1;
        }
    }
    return emu->run(NULL, call, why_of(d)) == MXO_OK ? 0 : -1;
}

int mxo_draw_answer(mxo_drawn *head)
{
    drawn *d = (drawn *)head;
    mxo_call *call = &d->head.call;

    forget_answer(d);
    if (fill_inputs(&d->c, d->head.seed, &d->in, why_of(d)) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < d->in.n; i++) {
        describe(&d->x[i], &d->in.t[i]);
    }
    case_params(&d->c, d->params);
    *call = (mxo_call){.struct_size = sizeof *call,
                       .n_params = (uint32_t)d->c.schema->n_params,
                       .n_in = d->in.n,
                       .op = d->c.schema->info->name,
                       .params = d->params,
                       .in = d->x,
                       .out = d->y};
    return run(d);
}
