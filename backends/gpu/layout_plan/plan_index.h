/* SPDX-License-Identifier: Apache-2.0 */
/* layout.index: the map alone, of a tensor that need not exist. */
#ifndef GPU_PLAN_INDEX_H
#define GPU_PLAN_INDEX_H

#include "host/call.h"
#include "host/plans.h"
#include "layout/layout_index.h"
#include "layout_plan/layout_map.h"
#include "layout_plan/layout_text.h"
#include "layout_plan/plan_layout.h"
#include "layout_plan/plan_move.h"
#include "port/runtime.h"

/* Units of experts * rows * columns, or 0: more than 63 bits count. */
static uint64_t index_count(const uint64_t n[3], uint64_t units)
{
    uint64_t product = units;

    for (int i = 0; i < 3; i++) {
        if (n[i] != 0 && product > INT64_MAX / n[i]) {
            return 0;
        }
        product *= n[i];
    }
    return product;
}

/* Units of memory where so many of them are among records; 0: as above. */
static uint64_t index_memory(const layout_map *m, uint64_t n)
{
    for (uint32_t i = 0; i < m->n_records; i++) {
        const uint64_t every = 8 * m->record[i].every / m->unit_bits;

        n /= 8 * m->record[i].body / m->unit_bits;
        n = n > INT64_MAX / every ? 0 : n * every;
    }
    return n;
}

static mxo_status index_map(const mxo_call *call, layout_map *m, mxo_text why)
{
    static const char *const keys[] = {"experts", "rows", "cols"};
    const char *const name = call_text(call, "layout");
    const double elem_bytes = call_number(call, "elem_bytes");
    uint64_t shape[3];

    for (int i = 0; i < 3; i++) {
        const double n = call_number(call, keys[i]);

        if (n < 0 || n >= 0x1p40) {
            return gpu_fail(n < 0 ? MXO_E_PARAM : MXO_E_SHAPE, why,
                            "layout.index: %s is out of its range", keys[i]);
        }
        shape[i] = (uint64_t)n;
    }
    return elem_bytes < 1 || elem_bytes > 8
               ? gpu_fail(MXO_E_PARAM, why, "layout.index: elem_bytes")
               : map_read(m, name, strlen(name), shape, (uint32_t)elem_bytes,
                          why);
}

mxo_status plan_index(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(layout_index, 0);
    const mxo_tensor *const at = call_in(call, "at");
    index_args *const a = PLAN_ARGS(plan, index_args);
    uint8_t *to = NULL;
    uint8_t *sizes = NULL;
    layout_map m;

    MXO_TRY(index_map(call, &m, why));
    if (at == NULL || at->dtype != MXO_I64) {
        return gpu_fail(MXO_E_SHAPE, why, "layout.index needs at");
    }
    const gpu_want like_at = want_beside(at, MXO_I64, at->shape[0]);
    const gpu_want n_facts = want_vector(MXO_I64, INDEX_SIZES);

    MXO_TRY(need_shaped(call, 1, "to", &like_at, &to, why));
    MXO_TRY(need_shaped(call, 1, "sizes", &n_facts, &sizes, why));
    const uint64_t extent[3] = {m.axis[0].extent, m.axis[1].extent,
                                m.axis[2].extent};
    const uint64_t padded[3] = {m.axis[0].padded, m.axis[1].padded,
                                m.axis[2].padded};
    a->units = m.unit_bits < 8 ? 8 / m.unit_bits : 1;
    const uint64_t facts[INDEX_SIZES] = {
        a->units,
        index_count(extent, a->units),
        index_memory(&m, index_count(padded, a->units)),
        padded[0],
        padded[1],
        padded[2]};
    if (facts[2] == 0 && padded[0] * padded[1] * padded[2] != 0) {
        return gpu_fail(MXO_E_SHAPE, why, "layout.index: too many units");
    }
    memcpy(a->facts, facts, sizeof facts);
    walk_facts(&m, extent, &a->walk);
    a->at = (const uint64_t *)tensor_address(at);
    a->to = (uint64_t *)to;
    a->sizes = (uint64_t *)sizes;
    a->n = at->n_bytes / 8;
    a->inverse = call_is(call, "dir", "inverse");
    plan->kernel = &kernel;
    plan->blocks = a->n / GPU_BLOCK + 1;
    return MXO_OK;
}

#endif
