/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.groups and layout.grouped: the list of groups is read back, checked
 * and turned into ranges before anything is launched.
 */
#ifndef GPU_PLAN_GROUPS_H
#define GPU_PLAN_GROUPS_H

#include "host/call.h"
#include "host/plans.h"
#include "layout/layout_groups.h"
#include "layout_plan/layout_chain.h"
#include "layout_plan/plan_layout.h"
#include "layout_plan/plan_move.h"
#include "port/runtime.h"

typedef struct groups_plan {
    int in_place;
    int repeat;
    int64_t ends_align; /* 0: the list has sizes */
    int64_t gran;
    int64_t align;
    int64_t rows; /* of the input */
    int64_t to_rows;
    uint64_t n;
    groups_range *list; /* owned */
} groups_plan;

static int64_t up_to(int64_t n, int64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* The range of a group whose entry follows another's. */
static groups_range groups_next(const groups_plan *g, int64_t entry,
                                int64_t entry_before, groups_range before)
{
    const int64_t start =
        g->ends_align == 0 ? 0 : up_to(entry_before, g->ends_align);
    const int64_t count = entry - start;
    groups_range r = {before.src + before.n, 0, count};

    if (count >= 0) {
        r.n = (count + g->gran - 1) / g->gran;
    }
    r.dst = g->in_place ? start : up_to(before.dst + before.n, g->align);
    r.src = g->in_place ? start : r.src;
    return r;
}

static mxo_status groups_ranges(groups_plan *g, const int32_t *entry,
                                mxo_text why)
{
    groups_range r = {0, 0, 0};

    for (uint64_t i = 0; i < g->n; i++) {
        r = groups_next(g, entry[i], i == 0 ? 0 : entry[i - 1], r);
        if (r.n < 0 ||
            (r.n > 0 && (r.src + r.n > g->rows || r.dst + r.n > g->to_rows))) {
            return gpu_fail(MXO_E_PARAM, why,
                            "group %llu is negative or ends beyond the rows",
                            (unsigned long long)i);
        }
        g->list[i] = r;
    }
    return MXO_OK;
}

/* g->list from a tensor in the device's memory; g->list is to be freed. */
static mxo_status groups_fetch(const mxo_call *call, groups_plan *g,
                               const char *name, mxo_text why)
{
    const mxo_tensor *const t = call_in(call, name);
    int32_t *entry;
    mxo_status status;

    if (t == NULL || t->dtype != MXO_I32 || t->rank != 1) {
        return gpu_fail(MXO_E_SHAPE, why, "the list of groups is missing");
    }
    g->n = t->shape[0];
    entry = (int32_t *)malloc(t->n_bytes + 1);
    g->list = (groups_range *)calloc(g->n + 1, sizeof *g->list);
    status = entry == NULL || g->list == NULL
                 ? gpu_fail(MXO_E_NOMEM, why, "no memory for the groups")
                 : call_fetch(call, entry, tensor_address(t), t->n_bytes, why);
    if (status == MXO_OK) {
        status = groups_ranges(g, entry, why);
    }
    free(entry);
    return status;
}

/* A launch over n threads with the ranges in device memory at p. */
static mxo_status groups_launch(const mxo_call *call, const groups_plan *g,
                                gpu_plan *plan, const gpu_kernel *kernel,
                                uint64_t n, void *p, groups_args **a,
                                mxo_text why)
{
    gpu_plan *const next = plan_append(plan);
    const mxo_status status =
        g->repeat ? MXO_OK
                  : call_send(call, p, g->list, g->n * sizeof *g->list, why);

    if (next == NULL || status != MXO_OK) {
        return status != MXO_OK
                   ? status
                   : gpu_fail(MXO_E_NOMEM, why, "no memory for the plan");
    }
    *a = PLAN_ARGS(next, groups_args);
    (*a)->list = g->repeat ? NULL : (const groups_range *)p;
    (*a)->n_list = g->n;
    (*a)->n = n;
    next->kernel = kernel;
    next->blocks = ((n > g->n ? n : g->n) + GPU_BLOCK - 1) / GPU_BLOCK;
    return MXO_OK;
}

mxo_status plan_groups(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(layout_owners, 0);
    groups_plan g = {0,
                     0,
                     0,
                     1,
                     (int64_t)call_number(call, "align"),
                     INT64_MAX,
                     (int64_t)call_number(call, "total"),
                     0,
                     NULL};
    uint8_t *index = NULL;
    uint8_t *ends = NULL;
    groups_args *a = NULL;

    if (g.align < 1 || g.align > INT32_MAX || g.to_rows < 0 ||
        g.to_rows > INT32_MAX) {
        return gpu_fail(MXO_E_PARAM, why, "layout.groups: align or total");
    }
    mxo_status status = groups_fetch(call, &g, "sizes", why);
    if (status == MXO_OK) {
        const gpu_want w = want_vector(MXO_I32, (uint64_t)g.to_rows);
        status = need_shaped(call, 1, "index", &w, &index, why);
    }
    if (status == MXO_OK) {
        const gpu_want w = want_vector(MXO_I32, g.n);
        status = need_shaped(call, 1, "ends", &w, &ends, why);
    }
    if (status == MXO_OK) {
        status = scratch_need(plan->scratch, g.n * sizeof *g.list + 1, why);
    }
    if (status == MXO_OK) {
        status = groups_launch(call, &g, plan, &kernel, (uint64_t)g.to_rows,
                               plan->scratch->p, &a, why);
    }
    if (status == MXO_OK) {
        a->index = (int32_t *)index;
        a->ends = (int32_t *)ends;
    }
    free(g.list);
    return status;
}

static mxo_status grouped_params(const mxo_call *call, const mxo_tensor *x,
                                 groups_plan *g, mxo_text why)
{
    const double limit = 2147483648.0;
    const double blocks = call_number(call, "blocks");
    const double align = call_number(call, "align");
    const double gran = call_number(call, "gran");
    const double ends_align = call_number(call, "ends_align");

    memset(g, 0, sizeof *g);
    g->in_place = call_is(call, "rule", "in_place");
    g->repeat = call_is(call, "rule", "repeat");
    if (gran < 1 || align < 1 || ends_align < 0 || blocks < 0 ||
        gran >= limit || align >= limit || ends_align >= limit ||
        blocks >= limit || (g->in_place && (ends_align == 0 || gran != 1))) {
        return gpu_fail(MXO_E_PARAM, why,
                        "layout.grouped: a parameter is out of its range");
    }
    g->gran = (int64_t)gran;
    g->align = (int64_t)align;
    g->ends_align = (int64_t)ends_align;
    g->rows = (int64_t)x->shape[1];
    g->to_rows = (int64_t)blocks * g->align;
    return MXO_OK;
}

/* Rows of the buffer where the call leaves them open. */
static mxo_status grouped_rows(const mxo_call *call, const mxo_tensor *x,
                               groups_plan *g, mxo_text why)
{
    const mxo_tensor *const list = call_in(call, "groups");
    const int64_t n = list == NULL ? 0 : (int64_t)list->shape[0];

    if (!g->repeat && x->shape[0] != 1) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "layout.grouped: groups are rows of one matrix");
    }
    if (g->to_rows == 0 && g->repeat) {
        g->to_rows = g->rows * g->gran;
    } else if (g->to_rows == 0 && g->in_place) {
        g->to_rows = g->rows;
    } else if (g->to_rows == 0) { /* n - 1 groups of one row, one of the rest */
        g->to_rows = g->rows <= n ? g->rows * g->align
                                  : up_to(g->rows - n + 1, g->align) +
                                        (n - 1) * g->align;
    }
    return g->repeat && (g->to_rows + g->gran - 1) / g->gran != g->rows
               ? gpu_fail(MXO_E_SHAPE, why,
                          "layout.grouped: these rows do not fill the buffer")
               : MXO_OK;
}

/* Scratch: what a chain needs, the buffer, the ranges. */
static mxo_status grouped_launch(const mxo_call *call, const groups_plan *g,
                                 const mxo_tensor *x, gpu_plan *plan,
                                 const layout_chain *c, chain_run *run,
                                 mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(layout_gather_rows, 0);
    const uint64_t row_bytes = x->shape[2] * type_bytes(x->dtype);
    const uint64_t rows = x->shape[0] * (uint64_t)g->to_rows;
    const uint64_t room = (rows * row_bytes + 255) / 256 * 256;
    const uint64_t before = 2 * chain_room(c) + 256;
    groups_args *a = NULL;
    MXO_TRY(scratch_need(plan->scratch,
                         before + room + (g->n + 1) * sizeof *g->list, why));

    MXO_TRY(chain_begin(run, plan, chain_room(c), why));
    uint8_t *const buffer = (uint8_t *)plan->scratch->p + before;
    const uint32_t unit = row_bytes % 16 == 0 ? 16 : row_bytes % 4 == 0 ? 4 : 1;
    MXO_TRY(groups_launch(call, g, plan, &kernel, rows * row_bytes / unit,
                          buffer + room, &a, why));
    a->src = tensor_address(x);
    a->dst = buffer;
    a->unit = unit;
    a->row_units = row_bytes / unit;
    a->rows = x->shape[1];
    a->to_rows = (uint64_t)g->to_rows;
    a->repeat = (uint64_t)g->gran;
    run->at = buffer;
    return MXO_OK;
}

/* The chain of one layout over the buffer, and the tensors it writes. */
static mxo_status grouped_chain(const mxo_call *call, const mxo_tensor *x,
                                const groups_plan *g, layout_chain *c,
                                chain_run *run, uint8_t **valid, mxo_text why)
{
    const char *const name = call_text(call, "layout");
    uint64_t shape[3] = {x->shape[0], (uint64_t)g->to_rows, x->shape[2]};
    uint32_t type = x->dtype;

    c->n = 0;
    MXO_TRY(chain_add(c, name, strlen(name), 0, &type, shape, why));
    if (c->step[0].map.unit_bits < 8) {
        return gpu_fail(MXO_E_PARAM, why, "layout.grouped: %s splits bytes",
                        name);
    }
    const uint64_t n = map_bytes(&c->last) / c->last.elem_bytes;
    MXO_TRY(need_memory(call, "y", type, n * type_bytes(type), &run->end, why));
    return need_memory(call, "valid", MXO_U8, n, valid, why);
}

mxo_status plan_grouped(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    const mxo_tensor *const x = call_in(call, "x");
    uint8_t *valid = NULL;
    layout_chain chain;
    chain_run run;
    groups_plan g;

    if (x == NULL || x->rank != 3 || type_bytes(x->dtype) == 0) {
        return gpu_fail(MXO_E_SHAPE, why, "layout.grouped: x does not fit");
    }
    mxo_status status = grouped_params(call, x, &g, why);
    if (status == MXO_OK) {
        status = grouped_rows(call, x, &g, why);
    }
    if (status == MXO_OK) {
        status = grouped_chain(call, x, &g, &chain, &run, &valid, why);
    }
    if (status == MXO_OK && !g.repeat) {
        status = groups_fetch(call, &g, "groups", why);
    }
    if (status == MXO_OK) {
        status = grouped_launch(call, &g, x, plan, &chain, &run, why);
    }
    if (status == MXO_OK) {
        status = chain_there(&run, &chain, why);
    }
    free(g.list);
    return status == MXO_OK
               ? plan_valid(plan, &chain, 0, valid,
                            map_bytes(&chain.last) / chain.last.elem_bytes, why)
               : status;
}

#endif
