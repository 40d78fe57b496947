/* SPDX-License-Identifier: Apache-2.0 */
/* Naming a layout and binding it with its values; see step.h. */
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
                       const char *name, const uint64_t extent[3], mxo_text why)
{
    if (s->dtype == MXO_N_DTYPES || s->to == MXO_N_DTYPES) {
        return mxo_fail(MXO_E_SHAPE, why, "layout %s: it takes %s, gives %s",
                        row->id, s->values->from, s->values->to);
    }
    return mxo_layout_bind(&s->map, row, name, mxo_dtype_bytes(s->to), extent,
                           why);
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
    return s->values != NULL ? MXO_OK
                             : mxo_fail(MXO_E_PARAM, why,
                                        "layout %s: no values are called %s",
                                        (*row)->id, (*row)->values);
}

mxo_status layout_step_bind(layout_step *s, const char *name, uint32_t dtype,
                            const uint64_t extent[3], mxo_text why)
{
    const mxo_layout_row *row;

    MXO_TRY(begin(s, name, &row, why));
    s->dtype = dtype;
    s->to = layout_values_to(s->values, dtype);
    return bind(s, row, name, extent, why);
}

mxo_status layout_step_bind_back(layout_step *s, const char *name,
                                 uint32_t dtype, const uint64_t extent[3],
                                 mxo_text why)
{
    const mxo_layout_row *row;

    MXO_TRY(begin(s, name, &row, why));
    s->to = dtype;
    s->dtype = layout_values_from(s->values, dtype);
    MXO_TRY(bind(s, row, name, extent, why));
    for (int axis = 0; axis < 3; axis++) {
        if (s->map.padded[axis] != extent[axis]) {
            return mxo_fail(MXO_E_SHAPE, why,
                            "layout %s: memory holds %llu of an axis, not "
                            "%llu",
                            row->id, (unsigned long long)s->map.padded[axis],
                            (unsigned long long)extent[axis]);
        }
    }
    return MXO_OK;
}
