/* SPDX-License-Identifier: Apache-2.0 */
/* Moving a tensor unit by unit, plainly; see step.h. */
#include "step.h"

#include <string.h>

/* Letters of a that are in the same place in b: enough to name a neighbour. */
static size_t likeness(const char *a, const char *b)
{
    size_t n = 0;

    for (size_t i = 0; a[i] != '\0' && b[i] != '\0' && a[i] != '/'; i++) {
        n += a[i] == b[i];
    }
    return n;
}

const mxo_layout_row *layout_step_row(const char *name, mxo_text why)
{
    const mxo_layout_row *row = mxo_layout_find(name);
    const mxo_layout_row *near = mxo_layout_at(0);

    for (uint32_t i = 0; row == NULL && mxo_layout_at(i) != NULL; i++) {
        if (likeness(name, mxo_layout_at(i)->id) > likeness(name, near->id)) {
            near = mxo_layout_at(i);
        }
    }
    if (row == NULL) {
        (void)mxo_fail(MXO_E_PARAM, why,
                       "no layout is called %.60s; near it: %s", name,
                       near->id);
    }
    return row;
}

static mxo_status bind(layout_step *s, const mxo_layout_row *row,
                       const char *name, const uint64_t extent[3],
                       mxo_text why)
{
    if (s->dtype == MXO_N_DTYPES || s->to == MXO_N_DTYPES) {
        return mxo_fail(MXO_E_SHAPE, why, "layout %s: it takes %s, gives %s",
                        row->id, s->values->from, s->values->to);
    }
    s->elem_bytes = mxo_dtype_bytes(s->to);
    return mxo_layout_bind(&s->map, row, name, s->elem_bytes, extent, why);
}

/* Row and values; everything else is zero. */
static mxo_status begin(layout_step *s, const char *name,
                        const mxo_layout_row **row, mxo_text why)
{
    memset(s, 0, sizeof *s);
    *row = layout_step_row(name, why);
    if (*row == NULL) {
        return MXO_E_PARAM;
    }
    s->values = layout_values_find((*row)->values);
    return s->values != NULL
               ? MXO_OK
               : mxo_fail(MXO_E_PARAM, why, "layout %s: no values are called %s",
                          (*row)->id, (*row)->values);
}

mxo_status layout_step_bind(layout_step *s, const char *name, uint32_t dtype,
                            const uint64_t extent[3], mxo_text why)
{
    const mxo_layout_row *row;
    const mxo_status status = begin(s, name, &row, why);

    if (status != MXO_OK) {
        return status;
    }
    s->dtype = dtype;
    s->to = layout_values_to(s->values, dtype);
    return bind(s, row, name, extent, why);
}

mxo_status layout_step_bind_back(layout_step *s, const char *name,
                                 uint32_t dtype, const uint64_t extent[3],
                                 mxo_text why)
{
    const mxo_layout_row *row;
    mxo_status status = begin(s, name, &row, why);

    if (status != MXO_OK) {
        return status;
    }
    s->to = dtype;
    s->dtype = layout_values_from(s->values, dtype);
    status = bind(s, row, name, extent, why);
    for (int axis = 0; axis < 3 && status == MXO_OK; axis++) {
        if (s->map.padded[axis] != extent[axis]) {
            status = mxo_fail(MXO_E_SHAPE, why,
                              "layout %s: memory holds %llu of an axis, not "
                              "%llu",
                              row->id,
                              (unsigned long long)s->map.padded[axis],
                              (unsigned long long)extent[axis]);
        }
    }
    return status;
}

/* Unit i of a tensor whose elements hold several: part of a byte. */
static uint64_t load_unit(const mxo_tensor *t, uint32_t units, uint64_t i)
{
    const uint32_t bits = 8 / units;
    const uint64_t byte = units == 1 ? 0 : mxo_load(t, i / units);

    return units == 1 ? mxo_load(t, i)
                      : byte >> (i % units * bits) & ((1u << bits) - 1);
}

static void store_unit(const mxo_tensor *t, uint32_t units, uint64_t i,
                       uint64_t code)
{
    const uint32_t bits = 8 / units;
    const uint32_t shift = (uint32_t)(i % units) * bits;
    const uint64_t mask = (uint64_t)((1u << bits) - 1) << shift;

    if (units == 1) {
        mxo_store(t, i, code);
    } else {
        const uint64_t byte = mxo_load(t, i / units);
        mxo_store(t, i / units, (byte & ~mask) | (code << shift & mask));
    }
}

/* The pad byte in every byte of an element, or its part of one byte. */
static uint64_t pad_unit(const layout_step *s, uint64_t dst, uint8_t byte)
{
    const uint32_t units = s->map.units;
    uint64_t code = 0;

    if (units > 1) {
        return byte >> (dst % units * (8 / units)) & ((1u << (8 / units)) - 1);
    }
    for (uint32_t i = 0; i < s->elem_bytes; i++) {
        code = code << 8 | byte;
    }
    return code;
}

static mxo_status refuse_value(const layout_step *s, uint64_t element,
                               mxo_text why)
{
    return mxo_fail(MXO_E_PARAM, why,
                    "layout %s: element %llu is outside %s", s->map.row->id,
                    (unsigned long long)element, s->values->name);
}

/* One unit of memory; 0 if the value there is refused. */
static int forward_unit(const layout_step *s, const mxo_tensor *x,
                        const mxo_tensor *y, const mxo_tensor *valid,
                        uint64_t dst, uint64_t *src)
{
    const uint32_t units = s->map.units;
    uint8_t byte = 0;
    const mxo_layout_content content =
        mxo_layout_content_at(&s->map, dst, src, &byte);
    uint64_t code = content == MXO_LAYOUT_LIVE ? load_unit(x, units, *src)
                                               : pad_unit(s, dst, byte);

    if (content == MXO_LAYOUT_LIVE && !s->values->there(&code)) {
        return 0;
    }
    store_unit(y, units, dst, code);
    if (valid != NULL && content == MXO_LAYOUT_UNDEFINED) {
        mxo_store(valid, dst / units, 0);
    }
    return 1;
}

mxo_status layout_step_forward(const layout_step *s, const mxo_tensor *x,
                               const mxo_tensor *y, const mxo_tensor *valid,
                               mxo_text why)
{
    uint64_t src = 0;

    if (valid != NULL) {
        memset(mxo_tensor_data(valid), 1, (size_t)valid->n_bytes);
    }
    for (uint64_t dst = 0; dst < s->map.n_units; dst++) {
        if (!forward_unit(s, x, y, valid, dst, &src)) {
            return refuse_value(s, src / s->map.units, why);
        }
    }
    return MXO_OK;
}

mxo_status layout_step_back(const layout_step *s, const mxo_tensor *x,
                            const mxo_tensor *y, uint64_t rows, uint64_t cols,
                            mxo_text why)
{
    const mxo_layout *l = &s->map;
    const uint64_t per_row = cols * l->units;
    const uint64_t n = l->extent[0] * rows * per_row;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / per_row % rows;
        const uint64_t expert = i / per_row / rows;
        const uint64_t src =
            (expert * l->extent[1] + row) * l->extent[2] * l->units +
            i % per_row;
        uint64_t code = load_unit(x, l->units, mxo_layout_forward(l, src));

        if (!s->values->back(&code)) {
            return refuse_value(s, i / l->units, why);
        }
        store_unit(y, l->units, i, code);
    }
    return MXO_OK;
}
