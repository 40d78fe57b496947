/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps for results whose length or order the vendor leaves open: the first
 * elements of a longer answer, and rows put into the file's order.
 */
#include "glue_step.h"
#include "say.h"

#include <string.h>

static mxo_status find(const step_call *call, piece name, const host_tensor **t)
{
    char text[MXO_NAME_SIZE] = "";

    (void)piece_copy(name, text, sizeof text);
    *t = call->source->outputs == NULL
             ? NULL
             : tensor_set_find(call->source->outputs, text);
    if (*t == NULL) {
        *t = scope_tensor(call->source->s, text);
    }
    return *t != NULL ? MXO_OK
                      : say(MXO_E_PARAM, call->why, "has no tensor %s", text);
}

mxo_status glue_head(glue *g, const step_call *call)
{
    const host_tensor *like;
    const mxo_status status = find(call, call->arguments, &like);

    if (status != MXO_OK) {
        return status;
    }
    if (g->n < tensor_elems(like)) {
        return say(MXO_E_SHAPE, call->why,
                   "has tensors that do not fit: %s is longer than the answer",
                   like->name);
    }
    g->n = tensor_elems(like);
    g->rank = like->rank;
    memcpy(g->shape, like->shape, sizeof like->shape);
    return MXO_OK;
}

/* Where the id of element i of the file stands in the row computed; a row's
   equal ids are taken in order. cols if it is not there. */
static uint64_t place_of(const host_tensor *have, const host_tensor *want,
                         uint64_t cols, uint64_t i)
{
    const uint64_t row = i / cols * cols;
    const uint64_t id = tensor_load(want, i);
    uint64_t skip = 0;
    uint64_t at = 0;

    for (uint64_t j = row; j < i; j++) {
        skip += tensor_load(want, j) == id;
    }
    while (at < cols && (tensor_load(have, row + at) != id || skip-- > 0)) {
        at++;
    }
    return at;
}

mxo_status glue_match(glue *g, const step_call *call)
{
    piece rest = call->arguments;
    const piece first = piece_cut(&rest, ',');
    const host_tensor *have = NULL;
    const host_tensor *want = NULL;
    glue to;
    mxo_status status = find(call, first, &have);

    status = status == MXO_OK ? find(call, rest, &want) : status;
    if (status != MXO_OK) {
        return status;
    }
    if (tensor_elems(have) != g->n || tensor_elems(want) != g->n) {
        return say(MXO_E_SHAPE, call->why,
                   "has tensors that do not fit: another number of elements");
    }
    status = glue_make(&to, g->dtype, g->rank, g->shape, 0);
    if (status != MXO_OK) {
        return status;
    }
    const uint64_t cols = g->shape[g->rank - 1];

    for (uint64_t i = 0; i < g->n; i++) {
        const uint64_t at = place_of(have, want, cols, i);

        glue_move(&to, i, g, at < cols ? i / cols * cols + at : i);
    }
    glue_clear(g);
    *g = to;
    return MXO_OK;
}
