/* SPDX-License-Identifier: Apache-2.0 */
/* Values that steps work on, and the expressions that chain them. */
#include "glue_step.h"

#include "base/say.h"

#include <stdlib.h>
#include <string.h>

void glue_clear(glue *g)
{
    free(g->data);
    free(g->valid);
    memset(g, 0, sizeof *g);
}

uint64_t glue_load(const glue *g, uint64_t i)
{
    return code_load(g->data, dtype_bytes(g->dtype), i);
}

void glue_put(glue *g, uint64_t i, uint64_t code)
{
    code_store(g->data, dtype_bytes(g->dtype), i, code);
}

/* An empty result of this shape, with validity if from has it. */
mxo_status glue_make(glue *g, uint32_t dtype, uint32_t rank,
                     const uint64_t *shape, int valid)
{
    memset(g, 0, sizeof *g);
    g->dtype = dtype;
    g->rank = rank;
    g->n = 1;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] != 0 && g->n > (UINT64_C(1) << 40) / shape[i]) {
            return MXO_E_NOMEM;
        }
        g->shape[i] = shape[i];
        g->n *= shape[i];
    }
    g->data = calloc((size_t)g->n + 1, dtype_bytes(dtype));
    g->valid = valid ? calloc((size_t)g->n + 1, 1) : NULL;
    if (g->data == NULL || (valid && g->valid == NULL)) {
        glue_clear(g);
        return MXO_E_NOMEM;
    }
    return MXO_OK;
}

int glue_counts(const glue *g, uint64_t i)
{
    return g->valid == NULL || g->valid[i];
}

/* Copy element j of from to element i of g. */
void glue_move(glue *g, uint64_t i, const glue *from, uint64_t j)
{
    glue_put(g, i, glue_load(from, j));
    if (g->valid != NULL) {
        g->valid[i] = (uint8_t)glue_counts(from, j);
    }
}

static mxo_status from_tensor(const host_tensor *t, glue *g)
{
    const uint64_t scalar = 1; /* a scalar is a row of one */

    MXO_TRY(t->rank == 0 ? glue_make(g, t->dtype, 1, &scalar, 0)
                         : glue_make(g, t->dtype, t->rank, t->shape, 0));
    if (t->n_bytes > 0) {
        memcpy(g->data, t->data, (size_t)t->n_bytes);
    }
    return MXO_OK;
}

static mxo_status mantissas(const host_tensor *like, glue *g)
{
    const uint64_t n = 4 * tensor_elems(like);

    MXO_TRY(glue_make(g, MXO_F32, 1, &n, 0));
    for (uint64_t i = 0; i < n; i++) {
        glue_put(g, i, 0x3f800000 + i);
    }
    return MXO_OK;
}

static mxo_status positions(const host_tensor *like, glue *g)
{
    const uint64_t n = tensor_elems(like);

    MXO_TRY(glue_make(g, like->dtype, 1, &n, 0));
    for (uint64_t i = 0; i < n; i++) {
        glue_put(g, i, i);
    }
    return MXO_OK;
}

/* name or name(argument) */
static void parse_word(piece word, char *name, piece *argument)
{
    const char *open = memchr(word.ptr, '(', word.len);
    const size_t n = open == NULL ? word.len : (size_t)(open - word.ptr);

    name[0] = '\0';
    (void)piece_copy((piece){word.ptr, n}, name, MXO_NAME_SIZE);
    argument->ptr = word.ptr + n + (open != NULL);
    argument->len = open == NULL ? 0 : word.len - n - 2;
}

static mxo_status base_value(const glue_source *source, piece word, glue *g,
                             mxo_text why)
{
    char name[MXO_NAME_SIZE];
    char inside[MXO_NAME_SIZE] = "";
    piece argument;
    const host_tensor *t = NULL;

    parse_word(word, name, &argument);
    if (argument.len > 0) {
        (void)piece_copy(argument, inside, sizeof inside);
        t = tensor_set_find(&source->s->file->tensors, inside);
        if (t == NULL) {
            return say(MXO_E_PARAM, why, "has no tensor %s", inside);
        }
        return strcmp(name, "positions") == 0 ? positions(t, g)
                                              : mantissas(t, g);
    }
    if (source->outputs != NULL) {
        t = tensor_set_find(source->outputs, name);
    }
    if (t == NULL) {
        t = scope_tensor(source->s, name);
    }
    if (t == NULL && strncmp(name, "tmp.", 4) == 0) {
        /* The row that makes it was not supported, and has said so. */
        return say(MXO_E_UNSUPPORTED, why, "%s was not computed", name);
    }
    return t != NULL ? from_tensor(t, g)
                     : say(MXO_E_PARAM, why, "has no tensor %s", name);
}

mxo_status glue_eval(const glue_source *source, piece expr, glue *g,
                     mxo_text why)
{
    memset(g, 0, sizeof *g);
    (void)say(MXO_OK, why, "has tensors that do not fit memory");
    mxo_status status = base_value(source, piece_cut(&expr, '>'), g, why);

    while (status == MXO_OK && expr.len > 0) {
        char name[MXO_NAME_SIZE];
        step_call call = {source, {NULL, 0}, why};

        parse_word(piece_cut(&expr, '>'), name, &call.arguments);
        const glue_step step = glue_find_step(name);

        status = step != NULL
                     ? step(g, &call)
                     : say(MXO_E_PARAM, why, "map.def: %s is no step", name);
    }
    if (status != MXO_OK) {
        glue_clear(g);
    }
    return status;
}

mxo_status glue_diagonal(glue *g, const step_call *call)
{
    const uint64_t n = g->rank < 2 ? 0 : g->shape[g->rank - 1];
    glue to;

    if (g->rank != 2 || g->shape[0] != n) {
        return say(MXO_E_SHAPE, call->why,
                   "has tensors that do not fit: a diagonal needs a square");
    }
    const mxo_status status = glue_make(&to, g->dtype, 1, &n, 0);
    if (status == MXO_OK) {
        for (uint64_t i = 0; i < n; i++) {
            glue_move(&to, i, g, i * n + i);
        }
        glue_clear(g);
        *g = to;
    }
    return status;
}

/* The multiples after the tensor's name; 1 where there is none. */
static void read_multiples(piece rest, uint64_t multiple[2])
{
    for (int i = 0; i < 2; i++) {
        char text[24] = "";
        (void)piece_copy(piece_cut(&rest, ','), text, sizeof text);
        multiple[i] = strtoull(text, NULL, 10);
        multiple[i] += multiple[i] == 0;
    }
}

mxo_status glue_shaped(glue *g, const step_call *call)
{
    piece rest = call->arguments;
    char name[MXO_NAME_SIZE] = "";
    uint64_t multiple[2];
    uint64_t n = 1;

    (void)piece_copy(piece_cut(&rest, ','), name, sizeof name);
    read_multiples(rest, multiple);
    const host_tensor *like =
        tensor_set_find(&call->source->s->file->tensors, name);

    if (like == NULL) {
        return say(MXO_E_PARAM, call->why, "has no tensor %s", name);
    }
    for (uint32_t i = 0; i < like->rank; i++) {
        const uint64_t m =
            i + 2 < like->rank ? 1 : multiple[i + 2 - like->rank];
        g->shape[i] = (like->shape[i] + m - 1) / m * m;
        n *= g->shape[i];
    }
    g->rank = like->rank;
    return n == g->n ? MXO_OK
                     : say(MXO_E_SHAPE, call->why,
                           "has tensors that do not fit: "
                           "%llu elements are not in the shape of %s",
                           (unsigned long long)g->n, name);
}
