/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.apply and layout.convert: chains become launches.  What lies between
 * two launches is in the context's scratch, which two buffers share in turn.
 */
#ifndef GPU_PLAN_LAYOUT_H
#define GPU_PLAN_LAYOUT_H

#include "host/call.h"
#include "host/plans.h"
#include "layout/layout_values.h"
#include "layout_plan/layout_chain.h"
#include "layout_plan/layout_text.h"
#include "layout_plan/plan_move.h"
#include "layout_plan/plan_terms.h"
#include "port/runtime.h"

/* Whether some elements have no counterpart in the result. */
static int values_lose(const value_change *v)
{
    return v->kind == VALUES_NARROW || v->kind == VALUES_FIELD ||
           v->kind == VALUES_ADD || v->kind == VALUES_POSITIVE;
}

static mxo_status plan_values(gpu_plan *plan, const value_change *v,
                              const void *src, void *dst, uint64_t n,
                              uint8_t *odd, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(layout_values, 0);
    gpu_plan *const next = plan_append(plan);

    if (next == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the plan");
    }
    next->kernel = &kernel;
    next->blocks = (n + VALUES_SPAN - 1) / VALUES_SPAN;
    next->clear = odd;
    next->n_clear = 1;
    next->odd = values_lose(v) ? odd : NULL;
    values_args *const a = PLAN_ARGS(next, values_args);
    a->src = src;
    a->dst = dst;
    a->odd = odd;
    a->n = n;
    a->kind = (uint32_t)v->kind;
    a->add = v->add;
    return MXO_OK;
}

static mxo_status plan_next_move(gpu_plan *plan, const layout_move *move,
                                 mxo_text why)
{
    gpu_plan *const next = plan_append(plan);

    if (next == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the plan");
    }
    plan_move(move, next);
    return MXO_OK;
}

/* Whether there are pads that have no value. */
static int map_has_undefined(const layout_map *m)
{
    for (int i = 0; i < 3; i++) {
        if (m->axis[i].undefined && m->axis[i].padded != m->axis[i].extent) {
            return 1;
        }
    }
    return 0;
}

/* Mask of defined elements: a tensor of ones moves, and undefined pads are
   zeros.  0: no tile does that. */
static int plan_ones(const layout_map *m, uint8_t *valid, gpu_plan *plan)
{
    layout_map ones = *m;
    const layout_move move = {
        &ones,
        0,
        {m->axis[0].extent, m->axis[1].extent, m->axis[2].extent},
        NULL,
        valid};

    if (m->unit_bits < 8 || (m->axis[1].padded != m->axis[1].extent &&
                             !m->axis[1].undefined && m->axis[2].undefined)) {
        return 0; /* rows are looked at before columns */
    }
    ones.elem_bytes = 1;
    ones.unit_bits = 8;
    for (uint32_t i = 0; i < m->n_groups; i++) {
        ones.group[i].stride /= m->elem_bytes;
    }
    for (int i = 0; i < 3; i++) {
        ones.axis[i].byte = !m->axis[i].undefined;
    }
    return plan_tiles(&move, plan);
}

/* Memory with gaps: the launches behind write what they leave. */
static mxo_status plan_clear(gpu_plan *plan, uint8_t *to, uint64_t n,
                             mxo_text why)
{
    gpu_plan *const next = plan_append(plan);

    if (next == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the plan");
    }
    next->clear = to;
    next->n_clear = n;
    return MXO_OK;
}

/* 1 for every element that the chain defines. */
static mxo_status plan_valid(gpu_plan *plan, const layout_chain *c, int back,
                             uint8_t *valid, uint64_t n, mxo_text why)
{
    const layout_map *const m = &c->last;
    gpu_plan *const next = plan_append(plan);

    if (next == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the plan");
    }
    for (uint32_t i = 0; i + 1 < c->n && !back; i++) {
        if (map_has_undefined(&c->step[i].map)) {
            return gpu_fail(MXO_E_UNSUPPORTED, why,
                            "%s does not move undefined pads on", GPU_NAME);
        }
    }
    if ((map_has_undefined(m) || m->n_records > 0) && !back) {
        const layout_move defined = {
            m,
            0,
            {m->axis[0].extent, m->axis[1].extent, m->axis[2].extent},
            NULL,
            valid};
        if (m->n_records > 0 || !plan_ones(m, valid, next)) {
            plan_walk(&defined, 1, next);
        }
        if (m->n_records > 0) {
            next->clear = valid;
            next->n_clear = n;
        }
        return MXO_OK;
    }
    next->clear = valid;
    next->n_clear = n;
    next->clear_to = 1;
    return MXO_OK;
}

/* Where the launches of a chain read and write. */
typedef struct chain_run {
    gpu_plan *plan;
    const uint8_t *at; /* input of the next launch */
    uint8_t *end;      /* output of the last one */
    uint8_t *between[2];
    uint8_t *odd;
    int turn;
    int joins; /* another tensor is between the records already */
} chain_run;

/* Bytes that any launch of a chain leaves in scratch, at most. */
static uint64_t chain_room(const layout_chain *c)
{
    uint64_t most = 0;

    if (c->n == 1 && c->step[0].values.kind < 0) {
        return 0;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        const layout_map *const m = &c->step[i].map;
        const uint64_t n =
            m->axis[0].padded * m->axis[1].padded * m->axis[2].padded;

        most = n > most ? n : most;
    }
    return (4 * most + 255) / 256 * 256;
}

static mxo_status chain_begin(chain_run *run, gpu_plan *plan, uint64_t room,
                              mxo_text why)
{
    MXO_TRY(scratch_need(plan->scratch, 2 * room + 256, why));
    run->plan = plan;
    run->odd = (uint8_t *)plan->scratch->p;
    run->between[0] = run->odd + 256;
    run->between[1] = run->between[0] + room;
    run->turn = 0;
    run->joins = 0;
    return MXO_OK;
}

static mxo_status chain_move(chain_run *run, layout_move move, int last,
                             mxo_text why)
{
    run->turn ^= 1;
    move.src = run->at;
    move.dst = last ? run->end : run->between[run->turn];
    run->at = move.dst;
    if (move.map->n_records > 0 && !move.back && !run->joins) {
        MXO_TRY(plan_clear(run->plan, move.dst, map_bytes(move.map), why));
    }
    return plan_next_move(run->plan, &move, why);
}

/* If values may be lost, all are looked at before any is written. */
static mxo_status chain_values(chain_run *run, const value_change *v,
                               uint64_t n, int last, mxo_text why)
{
    const uint8_t *const from = run->at;

    if (last && values_lose(v)) {
        MXO_TRY(plan_values(run->plan, v, from, NULL, n, run->odd, why));
    }
    uint8_t *const to = last ? run->end : run->between[run->turn ^= 1];
    run->at = to;
    return plan_values(run->plan, v, from, to, n, run->odd, why);
}

static mxo_status chain_there(chain_run *run, const layout_chain *c,
                              mxo_text why)
{
    for (uint32_t i = 0; i < c->n; i++) {
        const layout_map *const m = &c->step[i].map;
        const value_change *const v = &c->step[i].values;
        const int moves = v->kind < 0 || !map_is_plain(m);
        const int last = i + 1 == c->n;
        const layout_move move = {
            m,
            0,
            {m->axis[0].extent, m->axis[1].extent, m->axis[2].extent},
            NULL,
            NULL};

        if (v->kind >= 0) {
            MXO_TRY(chain_values(run, v,
                                 move.kept[0] * move.kept[1] * move.kept[2],
                                 last && !moves, why));
        }
        if (moves) {
            MXO_TRY(chain_move(run, move, last, why));
        }
    }
    return MXO_OK;
}

/* Nothing of the tensor is cut off. */
static int move_is_whole(const layout_move *move)
{
    for (int i = 0; i < 3; i++) {
        if (move->kept[i] != move->map->axis[i].extent) {
            return 0;
        }
    }
    return 1;
}

/* kept: of the first step's tensor. */
static mxo_status chain_back(chain_run *run, const layout_chain *c,
                             const uint64_t kept[3], mxo_text why)
{
    for (uint32_t i = c->n; i-- > 0;) {
        const layout_map *const m = &c->step[i].map;
        const value_change *const v = &c->step[i].values;
        layout_move move = {m, 1, {kept[0], kept[1], kept[2]}, NULL, NULL};

        for (int axis = 0; axis < 3 && (i != 0 || c->step[i].folded); axis++) {
            move.kept[axis] = m->axis[axis].extent;
        }
        if (m->is_stack) {
            move.kept[1] *= move.kept[0];
            move.kept[0] = 1;
        }
        if (v->kind < 0 || !map_is_plain(m) || !move_is_whole(&move)) {
            MXO_TRY(chain_move(run, move, i == 0 && v->kind < 0, why));
        }
        if (v->kind >= 0) {
            MXO_TRY(chain_values(run, v,
                                 move.kept[0] * move.kept[1] * move.kept[2],
                                 i == 0, why));
        }
    }
    return MXO_OK;
}

/* Values of a chain that was read forward, turned round. */
static mxo_status chain_turn(layout_chain *c, mxo_text why)
{
    for (uint32_t i = 0; i < c->n; i++) {
        layout_step *const s = &c->step[i];

        MXO_TRY(
            values_of(s->map.row->values, 1, s->values.to, &s->values, why));
    }
    return MXO_OK;
}

/* A name's chain for x; back: of what x is memory. */
static mxo_status chain_of(layout_chain *c, const mxo_call *call, int back,
                           const mxo_tensor *x, const uint64_t kept[3],
                           mxo_text why)
{
    const char *const name = call_text(call, "layout");
    uint64_t shape[3] = {x->shape[0], x->shape[1], x->shape[2]};
    uint32_t type = x->dtype;
    int tensor = 0;
    const conversion_row *const row = conversion_tensor(name, &tensor);

    c->n = 0;
    if (row == NULL) {
        return chain_add(c, name, strlen(name), back, &type, shape, why);
    }
    if (back && strstr(chain_tensors[tensor], "bias") != NULL) {
        type = MXO_BF16;
    } else if (back && type == MXO_F32) {
        type = MXO_E8M0;
    }
    MXO_TRY(chain_of_tensor(c, row, name, tensor, type, kept, why));
    return back ? chain_turn(c, why) : MXO_OK;
}

static int is_record(const char *name)
{
    const layout_row *const row = layout_find(name, strcspn(name, "/"));

    return row != NULL && strchr(row->map, '@') != NULL;
}

/* Rows of records are longer than what they hold: the map is that of what is
   kept, without keep_cols of all that rows of such a length hold. */
static mxo_status chain_of_records(layout_chain *c, const mxo_call *call,
                                   const mxo_tensor *x, uint64_t kept[3],
                                   mxo_text why)
{
    const char *const name = call_text(call, "layout");
    const layout_map *const m = &c->last;
    uint64_t any[3] = {1, 1024, 1024}; /* what one holds is always the same */
    uint32_t type = x->dtype;

    c->n = 0;
    if (kept[2] == x->shape[2]) {
        MXO_TRY(chain_add(c, name, strlen(name), 1, &type, any, why));
        kept[2] = kept[2] * map_dense(m) / map_bytes(m);
        type = x->dtype;
        c->n = 0;
    }
    uint64_t shape[3] = {kept[0], kept[1], kept[2]};
    return chain_add(c, name, strlen(name), 1, &type, shape, why);
}

/* Memory is seen in the shape of the padded tensor; records make it wider. */
static mxo_status chain_fills(const layout_chain *c, const mxo_tensor *x,
                              mxo_text why)
{
    const layout_map *const m = &c->last;
    const uint64_t dense = map_dense(m);
    const uint32_t type = c->step[c->n - 1].values.from;
    const uint64_t cols = dense == 0 ? m->axis[2].padded
                                     : m->axis[2].padded * map_bytes(m) / dense;

    return type == x->dtype && m->axis[0].padded == x->shape[0] &&
                   m->axis[1].padded == x->shape[1] && cols == x->shape[2]
               ? MXO_OK
               : gpu_fail(MXO_E_SHAPE, why,
                          "%s: this is no memory of its shape and type",
                          m->row->id);
}

mxo_status plan_apply(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    const mxo_tensor *const x = call_in(call, "x");
    const int back = call_is(call, "dir", "inverse");
    const uint64_t rows = (uint64_t)call_number(call, "keep_rows");
    const uint64_t cols = (uint64_t)call_number(call, "keep_cols");
    layout_chain chain;
    chain_run run;
    uint8_t *valid = NULL;

    if (x == NULL || x->rank != 3 || type_bytes(x->dtype) == 0 ||
        rows > x->shape[1] || cols > x->shape[2]) {
        return gpu_fail(MXO_E_SHAPE, why, "layout.apply: x does not fit");
    }
    if (!back && (rows > 0 || cols > 0)) {
        return gpu_fail(MXO_E_PARAM, why, "layout.apply: all is kept");
    }
    uint64_t kept[3] = {x->shape[0], back && rows > 0 ? rows : x->shape[1],
                        back && cols > 0 ? cols : x->shape[2]};
    MXO_TRY(back && is_record(call_text(call, "layout"))
                ? chain_of_records(&chain, call, x, kept, why)
                : chain_of(&chain, call, back, x, kept, why));
    if (back) {
        MXO_TRY(chain_fills(&chain, x, why));
    }
    const layout_step *const end = &chain.step[back ? 0 : chain.n - 1];
    const uint64_t n = back ? kept[0] * kept[1] * kept[2]
                            : map_bytes(&end->map) / end->map.elem_bytes;
    MXO_TRY(need_memory(call, "y", end->values.to,
                        n * type_bytes(end->values.to), &run.end, why));
    MXO_TRY(need_memory(call, "valid", MXO_U8, n, &valid, why));
    MXO_TRY(chain_begin(&run, plan, chain_room(&chain), why));
    run.at = tensor_address(x);
    MXO_TRY(back ? chain_back(&run, &chain, kept, why)
                 : chain_there(&run, &chain, why));
    return plan_valid(plan, &chain, back, valid, n, why);
}

#endif
