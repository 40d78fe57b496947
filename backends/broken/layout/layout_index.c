/* SPDX-License-Identifier: Apache-2.0 */
/* layout.index: where one element is, and what lies at one place. */
#include "layout.h"

#include "broken.h"

#include <string.h>

static int64_t index_forward(const broken *b, const lay *l, int64_t at)
{
    uint64_t rest = (uint64_t)at;
    lay_at from;

    for (int axis = LAY_AXES - 1; axis >= 0; axis--) {
        const uint64_t extent = l->axis[axis].extent;
        if (extent == 0) {
            return -1;
        }
        from.at[axis] = rest % extent;
        rest /= extent;
    }
    return at < 0 || rest > 0 ? -1 : (int64_t)lay_place_of(b, l, from);
}

static int64_t index_back(const lay *l, int64_t at)
{
    if (at < 0 || (uint64_t)at >= l->n_units) {
        return -1;
    }
    if (lay_is_gap(l, (uint64_t)at)) {
        return -3;
    }
    const lay_at from = lay_source(l, (uint64_t)at);
    const int pad = lay_pad_of(l, from);

    return pad == -2             ? (int64_t)lay_logical(l, from)
           : pad == LAY_ANYTHING ? -3
                                 : -2;
}

/* Arithmetic of too few bits. */
static int64_t narrowed(const broken *b, int64_t i)
{
    if (i >= 0 && IS(L26)) {
        return i & 0xffffffff;
    }
    if (i >= 0 && IS(L27)) {
        return (i & 0xffffffff) - ((i & 0x80000000) != 0 ? 0x100000000 : 0);
    }
    return i;
}

static void store_i64(const mxo_tensor *t, uint64_t i, int64_t value)
{
    memcpy(tensor_address(t) + 8 * i, &value, 8);
}

mxo_status broken_layout_index(const broken *b, const mxo_call *call,
                               mxo_text why)
{
    const mxo_tensor *at = call_in(call, "at");
    const mxo_tensor *to = call_out(call, "to");
    const mxo_tensor *sizes = call_out(call, "sizes");
    const char *name = call_text(call, "layout");
    const uint64_t extent[] = {(uint64_t)call_number(call, "experts"),
                               (uint64_t)call_number(call, "rows"),
                               (uint64_t)call_number(call, "cols")};
    lay l;

    if (lay_row_of(name) == NULL || at == NULL || to == NULL || sizes == NULL) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "no such layout here");
    }
    if (lay_of(b, &l, name, (uint32_t)call_number(call, "elem_bytes"),
               extent) != 0) {
        return broken_fail(MXO_E_SHAPE, why, "the layout does not fit");
    }
    for (uint64_t i = 0; i < broken_elems(at); i++) {
        int64_t index;
        memcpy(&index, tensor_address(at) + 8 * i, 8);
        index = IS(L28) && index >= 0 ? index & 0xffffffff : index;
        index = call_is(call, "dir", "inverse") ? index_back(&l, index)
                                                : index_forward(b, &l, index);
        store_i64(to, i, narrowed(b, index));
    }
    const uint64_t n = lay_parts(&l) * extent[0] * extent[1] * extent[2];

    store_i64(sizes, 0, (int64_t)lay_parts(&l));
    store_i64(sizes, 1, (int64_t)n);
    store_i64(sizes, 2, (int64_t)l.n_units);
    for (int axis = 0; axis < LAY_PARTS; axis++) {
        store_i64(sizes, 3 + (uint64_t)axis, (int64_t)l.axis[axis].padded);
    }
    return MXO_OK;
}
