/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain that is no single map, expert by expert: each thread takes experts
 * and passes each through all stages in buffers that stay in its cache.
 */
#include "layout_chain.h"

#include <stdlib.h>
#include <string.h>

enum { GRAIN = 4096, WIDEST = 8 };

typedef struct slicing {
    const cpu_context *ctx;
    const cpu_chain *one; /* of one expert */
    cpu_plan *plan[CPU_STAGES];
    int forward;
    int out_of_memory;
    uint64_t room; /* bytes of the largest tensor in between */
    uint64_t dst_step;
    uint64_t src_step;
    uint8_t *dst;
    const uint8_t *src;
} slicing;

/* The map of one of n experts; -1 if experts are not side by side. */
static int slice_map(cpu_map *m, uint64_t n)
{
    const cpu_digit *d = &m->digit[0];

    for (int k = 0; k < m->n_tables; k++) {
        if (m->table[k].first == 0) {
            return -1;
        }
    }
    for (int w = 0; w < m->n_walls; w++) {
        if (d->coord[w] != 0) {
            return -1;
        }
    }
    if (m->n == 0 || d->size != n || m->extent[0] != n ||
        d->logical * n != m->logical_bits ||
        d->physical * n != m->physical_bits) {
        return -1;
    }
    m->digit[0].size = 1;
    m->logical_bits /= n;
    m->physical_bits /= n;
    m->extent[0] = 1;
    return 0;
}

static int slice_chain(cpu_chain *one, const cpu_chain *c)
{
    *one = *c;
    for (int i = 0; i < c->n; i++) {
        if (slice_map(&one->stage[i].map, c->stage[0].map.extent[0]) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Values that cannot be checked before anything is moved. */
static int may_fail_late(const cpu_chain *c, int forward)
{
    for (int i = 0; i < c->n; i++) {
        const cpu_values *v = c->stage[i].values;
        if (v != NULL && (!forward || (i > 0 && !cpu_values_total(v)))) {
            return 1;
        }
    }
    return 0;
}

typedef struct checking {
    const cpu_stage *stage;
    const uint8_t *src;
    int failed;
} checking;

static void check_span(void *job, uint64_t begin, uint64_t end)
{
    checking *c = job;
    const uint64_t width = cpu_dtype_bytes(c->stage->logical);
    uint8_t unused[GRAIN * WIDEST];

    while (begin < end) {
        const uint64_t n = end - begin < GRAIN ? end - begin : GRAIN;
        if (c->stage->values->move(c->src + begin * width, n, unused, 1) != 0) {
            c->failed = 1;
        }
        begin += n;
    }
}

mxo_status cpu_chain_check(cpu_context *ctx, const cpu_chain *c,
                           const uint8_t *src, mxo_text why)
{
    const cpu_stage *s = &c->stage[0];
    checking check = {s, src, 0};

    if (may_fail_late(c, 1)) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend changes no values behind the first "
                        "layout of a chain");
    }
    if (s->values == NULL || cpu_values_total(s->values)) {
        return MXO_OK;
    }
    cpu_split(ctx, cpu_map_elements(&s->map), GRAIN, check_span, &check);
    return check.failed ? cpu_fail(MXO_E_PARAM, why,
                                   "layout %s: an element is outside %s",
                                   s->row->id, s->row->values)
                        : MXO_OK;
}

/* All stages of one expert; each reads what the last one left in the other
   half of the room. */
static mxo_status move_one(const slicing *s, cpu_context *ctx, uint64_t e,
                           uint8_t *room)
{
    const uint8_t *from = s->src + e * s->src_step;
    uint64_t half = 0;

    for (int k = 0; k < s->one->n; k++) {
        const int i = s->forward ? k : s->one->n - 1 - k;
        const cpu_stage *stage = &s->one->stage[i];
        uint8_t *to = room + half;

        if (stage->values != NULL) {
            (void)stage->values->move(from, cpu_map_elements(&stage->map), to,
                                      1);
            from = to;
            half ^= s->room;
            to = room + half;
        }
        if (k == s->one->n - 1) {
            to = s->dst + e * s->dst_step;
        }
        MXO_TRY(cpu_move(ctx, s->plan[i], s->forward, to, from,
                         (mxo_text){NULL, 0}));
        from = to;
        half ^= s->room;
    }
    return MXO_OK;
}

static void move_span(void *job, uint64_t begin, uint64_t end)
{
    slicing *s = job;
    cpu_context ctx = *s->ctx;
    uint8_t *room = malloc((size_t)(2 * s->room) + 1);
    int failed = room == NULL;

    ctx.n_threads = 1;
    for (uint64_t e = begin; e < end && !failed; e++) {
        failed = move_one(s, &ctx, e, room) != MXO_OK;
    }
    if (failed) {
        s->out_of_memory = 1;
    }
    free(room);
}

static mxo_status make_plans(slicing *s, const cpu_chain *c, mxo_text why)
{
    for (int i = 0; i < c->n; i++) {
        const cpu_stage *stage = &s->one->stage[i];
        const uint64_t logical = stage->map.logical_bits / 8;
        const uint64_t memory = stage->map.physical_bits / 8;

        s->room = logical > s->room ? logical : s->room;
        s->room = memory > s->room ? memory : s->room;
        MXO_TRY(cpu_plan_of(&s->plan[i], &stage->map,
                            s->ctx->lane->transpose != NULL, why));
    }
    s->room = (s->room + CPU_VECTOR - 1) / CPU_VECTOR * CPU_VECTOR;
    cpu_plan *last = s->plan[s->forward ? c->n - 1 : 0];
    last->whole_bytes = last->map.physical_bits / 8 * c->stage[0].map.extent[0];
    return MXO_OK;
}

int cpu_chain_slices(const cpu_context *ctx, const cpu_chain *c, int forward)
{
    const uint64_t n = c->n > 0 ? c->stage[0].map.extent[0] : 0;
    cpu_chain one;

    return n > 1 && n >= (uint64_t)cpu_threads(ctx, UINT64_MAX, 1) &&
           !may_fail_late(c, forward) && slice_chain(&one, c) == 0;
}

mxo_status cpu_chain_run_slices(cpu_context *ctx, const cpu_chain *c,
                                int forward, uint8_t *dst, const uint8_t *src,
                                mxo_text why)
{
    const uint64_t n = c->stage[0].map.extent[0];
    cpu_chain one;
    slicing s = {
        .ctx = ctx, .one = &one, .forward = forward, .dst = dst, .src = src};
    mxo_status status = forward ? cpu_chain_check(ctx, c, src, why) : MXO_OK;

    if (slice_chain(&one, c) != 0) {
        return cpu_fail(MXO_E_UNSUPPORTED, why, "experts overlap");
    }
    if (status == MXO_OK) {
        status = make_plans(&s, c, why);
    }
    if (status == MXO_OK) {
        const uint64_t narrow = cpu_map_elements(&one.stage[0].map) *
                                cpu_dtype_bytes(one.stage[0].logical);
        const uint64_t wide = one.stage[c->n - 1].map.physical_bits / 8;
        s.dst_step = forward ? wide : narrow;
        s.src_step = forward ? narrow : wide;
        cpu_split(ctx, n, 1, move_span, &s);
        cpu_name_kernel(ctx, "layout_slices", cpu_threads(ctx, n, 1));
    }
    for (int i = 0; i < c->n; i++) {
        cpu_plan_free(s.plan[i]);
    }
    return status == MXO_OK && s.out_of_memory
               ? cpu_fail(MXO_E_NOMEM, why, "no memory for a chain's buffers")
               : status;
}
