/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps for results whose length or values another tensor decides: the first
 * elements of a longer answer, and constants.
 */
#include "base/say.h"
#include "glue_step.h"

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

    MXO_TRY(find(call, call->arguments, &like));
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

/* Every element the same small number. */
mxo_status glue_filled(glue *g, const step_call *call)
{
    static const struct {
        const char *word;
        uint64_t f32;
    } words[] = {{"0", 0}, {"1", 0x3f800000u}, {"inf", 0x7f800000u}};
    char word[8] = "";

    (void)piece_copy(call->arguments, word, sizeof word);
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        if (strcmp(words[w].word, word) == 0 && g->dtype == MXO_F32) {
            for (uint64_t i = 0; i < g->n; i++) {
                glue_put(g, i, words[w].f32);
            }
            return MXO_OK;
        }
    }
    return say(
        MXO_E_SHAPE, call->why,
        "has tensors that do not fit: binary32 0, 1 or inf is filled in");
}

/* A bf16 number is the upper half of the same binary32 number. */
mxo_status glue_wide(glue *g, const step_call *call)
{
    glue to;

    if (g->dtype != MXO_BF16) {
        return say(MXO_E_PARAM, call->why, "widens what is no bf16");
    }
    const mxo_status status = glue_make(&to, MXO_F32, g->rank, g->shape, 0);

    if (status != MXO_OK) {
        return status;
    }
    for (uint64_t i = 0; i < g->n; i++) {
        glue_put(&to, i, glue_load(g, i) << 16);
    }
    glue_clear(g);
    *g = to;
    return MXO_OK;
}
