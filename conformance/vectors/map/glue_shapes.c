/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that see the same elements under another shape, type or extent. */
#include "glue_step.h"

#include "base/say.h"

#include <stdio.h>
#include <string.h>

mxo_status glue_merge(glue *g, const step_call *call)
{
    (void)call;
    if (g->rank > 1) {
        g->rank--;
        g->shape[g->rank - 1] *= g->shape[g->rank];
    }
    return MXO_OK;
}

mxo_status glue_cast(glue *g, const step_call *call)
{
    char name[16] = "";

    (void)piece_copy(call->arguments, name, sizeof name);
    const uint32_t dtype = dtype_by_name(name);

    if (dtype == MXO_N_DTYPES || dtype_bytes(dtype) != dtype_bytes(g->dtype)) {
        return say(MXO_E_SHAPE, call->why,
                   "has elements of another size than %s", name);
    }
    g->dtype = dtype;
    return MXO_OK;
}

mxo_status glue_part(glue *g, const step_call *call)
{
    unsigned axis = 0;
    unsigned i = 0;
    unsigned n = 0;
    uint64_t shape[GLUE_RANK];
    uint64_t inner = 1;
    char text[40] = "";
    glue to;

    (void)piece_copy(call->arguments, text, sizeof text);
    if (sscanf(text, "%u,%u,%u", &axis, &i, &n) != 3 || axis >= g->rank ||
        i >= n || g->shape[axis] % n != 0) {
        return say(MXO_E_SHAPE, call->why, "has an axis without such a part");
    }
    memcpy(shape, g->shape, sizeof shape);
    shape[axis] /= n;
    const mxo_status status =
        glue_make(&to, g->dtype, g->rank, shape, g->valid != NULL);

    if (status != MXO_OK) {
        return status;
    }
    for (uint32_t a = axis; a < g->rank; a++) {
        inner *= shape[a];
    }
    for (uint64_t at = 0; at < to.n; at++) {
        glue_move(&to, at, g, (at / inner * n + i) * inner + at % inner);
    }
    glue_clear(g);
    *g = to;
    return MXO_OK;
}
