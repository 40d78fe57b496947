/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of glue.h: one small function each, found by name. */
#include "glue_step.h"

#include "base/number.h"
#include "base/say.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBERS = 8 };

static void replace(glue *g, glue *by)
{
    glue_clear(g);
    *g = *by;
}

static mxo_status refuse(const step_call *call, const char *what)
{
    return say(MXO_E_SHAPE, call->why, "has tensors that do not fit: %s", what);
}

/* "3,*,5" -> numbers, * as 0. Returns how many. */
static uint32_t numbers(piece list, uint64_t *out)
{
    uint32_t n = 0;

    while (list.len > 0 && n < MAX_NUMBERS) {
        char text[24] = "";
        (void)piece_copy(piece_cut(&list, ','), text, sizeof text);
        out[n++] = strtoull(text, NULL, 10);
    }
    return n;
}

/* Split one axis; the factor 0 takes what the others leave. */
static int split_axis(uint64_t length, piece list, uint64_t *shape,
                      uint32_t *rank)
{
    uint64_t factors[MAX_NUMBERS];
    const uint32_t n = numbers(list, factors);
    uint64_t product = 1;

    for (uint32_t i = 0; i < n; i++) {
        product *= factors[i] == 0 ? 1 : factors[i];
    }
    if (*rank + n > GLUE_RANK || length % product != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        shape[*rank] = factors[i] == 0 ? length / product : factors[i];
        product = factors[i] == 0 ? length : product;
        (*rank)++;
    }
    return product == length;
}

static mxo_status step_view(glue *g, const step_call *call)
{
    uint64_t shape[GLUE_RANK];
    uint32_t rank = 0;
    piece rest = call->arguments;

    for (uint32_t axis = 0; axis < g->rank; axis++) {
        if (!split_axis(g->shape[axis], piece_cut(&rest, '|'), shape, &rank)) {
            return refuse(call, "an axis is no multiple of its tile");
        }
    }
    g->rank = rank;
    memcpy(g->shape, shape, rank * sizeof shape[0]);
    return MXO_OK;
}

static mxo_status step_rows(glue *g, const step_call *call)
{
    const uint64_t cols = g->shape[g->rank - 1];

    (void)call;
    if (g->rank > 2) {
        g->shape[0] = cols == 0 ? 0 : g->n / cols;
        g->shape[1] = cols;
        g->rank = 2;
    }
    return MXO_OK;
}

static mxo_status step_perm(glue *g, const step_call *call)
{
    uint64_t axes[MAX_NUMBERS];
    uint64_t shape[GLUE_RANK];
    uint64_t stride[GLUE_RANK];
    glue to;

    if (numbers(call->arguments, axes) != g->rank) {
        return refuse(call, "map.def permutes another number of axes");
    }
    for (uint32_t i = 0; i < g->rank; i++) {
        shape[i] = g->shape[axes[i]];
        stride[i] = 1;
        for (uint32_t j = (uint32_t)axes[i] + 1; j < g->rank; j++) {
            stride[i] *= g->shape[j];
        }
    }
    MXO_TRY(glue_make(&to, g->dtype, g->rank, shape, g->valid != NULL));
    for (uint64_t i = 0; i < to.n; i++) {
        uint64_t rest = i;
        uint64_t from = 0;
        for (uint32_t axis = g->rank; axis-- > 0;) {
            from += rest % shape[axis] * stride[axis];
            rest /= shape[axis];
        }
        glue_move(&to, i, g, from);
    }
    replace(g, &to);
    return MXO_OK;
}

/* Last two axes rounded up to multiples; the pads hold a number. */
static mxo_status step_pad(glue *g, const step_call *call)
{
    uint64_t n[MAX_NUMBERS] = {1, 1, 0};
    uint64_t shape[GLUE_RANK];
    glue to;

    if (g->rank < 2 || numbers(call->arguments, n) != 3 || n[0] == 0 ||
        n[1] == 0) {
        return refuse(call, "a tensor to pad has no rows");
    }
    const uint64_t old_rows = g->shape[g->rank - 2];
    const uint64_t old_cols = g->shape[g->rank - 1];
    const uint64_t rows = round_up(old_rows, n[0]);
    const uint64_t cols = round_up(old_cols, n[1]);

    memcpy(shape, g->shape, sizeof shape);
    shape[g->rank - 2] = rows;
    shape[g->rank - 1] = cols;
    MXO_TRY(glue_make(&to, g->dtype, g->rank, shape, 0));
    for (uint64_t i = 0; i < to.n; i++) {
        const uint64_t c = i % cols;
        const uint64_t r = i / cols % rows;
        const uint64_t outer = i / cols / rows;
        if (r < old_rows && c < old_cols) {
            glue_move(&to, i, g, (outer * old_rows + r) * old_cols + c);
        } else {
            glue_put(&to, i, n[2]);
        }
    }
    replace(g, &to);
    return MXO_OK;
}

static mxo_status step_valid(glue *g, const step_call *call)
{
    glue to;

    MXO_TRY(glue_make(&to, MXO_U8, g->rank, g->shape, 0));
    (void)call;
    for (uint64_t i = 0; i < to.n; i++) {
        to.data[i] = (uint8_t)glue_counts(g, i);
    }
    replace(g, &to);
    return MXO_OK;
}

/* Elements from, .., to - 1 of the last axis. */
static mxo_status step_cols(glue *g, const step_call *call)
{
    const uint64_t cols = g->shape[g->rank - 1];
    uint64_t n[MAX_NUMBERS] = {0};
    uint64_t shape[GLUE_RANK];
    glue to;

    if (g->rank < 2 || numbers(call->arguments, n) != 2 || n[0] > n[1] ||
        n[1] > cols) {
        return refuse(call, "a row is too short");
    }
    const uint64_t width = n[1] - n[0];

    memcpy(shape, g->shape, sizeof shape);
    shape[g->rank - 1] = width;
    MXO_TRY(glue_make(&to, g->dtype, g->rank, shape, g->valid != NULL));
    for (uint64_t i = 0; i < to.n; i++) {
        glue_move(&to, i, g, i / width * cols + n[0] + i % width);
    }
    replace(g, &to);
    return MXO_OK;
}

static mxo_status step_pack4(glue *g, const step_call *call)
{
    glue to;

    if (g->shape[g->rank - 1] % 2 != 0) {
        return refuse(call, "an odd number of codes");
    }
    MXO_TRY(glue_make(&to, MXO_U8, g->rank, g->shape, 0));
    to.shape[to.rank - 1] /= 2;
    to.n /= 2;
    for (uint64_t i = 0; i < to.n; i++) {
        glue_put(&to, i,
                 (glue_load(g, 2 * i) & 15) | (glue_load(g, 2 * i + 1) & 15)
                                                  << 4);
    }
    replace(g, &to);
    return MXO_OK;
}

static mxo_status step_unpack4(glue *g, const step_call *call)
{
    uint64_t shape[GLUE_RANK];
    glue to;

    (void)call;
    memcpy(shape, g->shape, sizeof shape);
    shape[g->rank - 1] *= 2;

    MXO_TRY(glue_make(&to, MXO_U8, g->rank, shape, 0));
    for (uint64_t i = 0; i < to.n; i++) {
        glue_put(&to, i, glue_load(g, i / 2) >> (4 * (i % 2)) & 15);
    }
    replace(g, &to);
    return MXO_OK;
}

static mxo_status step_bytes(glue *g, const step_call *call)
{
    const uint64_t width = dtype_bytes(g->dtype);

    (void)call;
    safetensors_swap(g->dtype, g->data, g->n * width);
    g->dtype = MXO_U8;
    g->shape[g->rank - 1] *= width;
    g->n *= width;
    return MXO_OK;
}

/* The tensor a step names: an output of the operation, or of the file. */
static mxo_status other(const step_call *call, const host_tensor **t)
{
    char name[MXO_NAME_SIZE] = "";

    (void)piece_copy(call->arguments, name, sizeof name);
    *t = call->source->outputs == NULL
             ? NULL
             : tensor_set_find(call->source->outputs, name);
    if (*t == NULL) {
        *t = scope_tensor(call->source->s, name);
    }
    return *t != NULL ? MXO_OK
                      : say(MXO_E_PARAM, call->why, "has no tensor %s", name);
}

/* A word counts if all of its bytes do. */
static void merge_validity(glue *g, uint64_t width)
{
    for (uint64_t i = 0; g->valid != NULL && i < g->n; i++) {
        uint8_t all = 1;
        for (uint64_t j = 0; j < width; j++) {
            all &= g->valid[i * width + j];
        }
        g->valid[i] = all;
    }
}

static mxo_status step_words(glue *g, const step_call *call)
{
    const host_tensor *like;

    MXO_TRY(other(call, &like));
    if (g->n != like->n_bytes) {
        return refuse(call, "another number of bytes");
    }
    g->dtype = like->dtype;
    g->rank = like->rank;
    memcpy(g->shape, like->shape, sizeof like->shape);
    g->n = tensor_elems(like);
    safetensors_swap(g->dtype, g->data, like->n_bytes);
    merge_validity(g, dtype_bytes(like->dtype));
    return MXO_OK;
}

static mxo_status step_take(glue *g, const step_call *call)
{
    const host_tensor *rows;
    uint64_t shape[GLUE_RANK];
    glue to;
    mxo_status status = other(call, &rows);

    if (status != MXO_OK) {
        return status;
    }
    const uint64_t inner = g->shape[0] == 0 ? 0 : g->n / g->shape[0];

    memcpy(shape, g->shape, sizeof shape);
    shape[0] = tensor_elems(rows);
    status = glue_make(&to, g->dtype, g->rank, shape, 0);
    for (uint64_t i = 0; status == MXO_OK && inner > 0 && i < to.n; i++) {
        const uint64_t row = tensor_load(rows, i / inner);
        if (row >= g->shape[0]) {
            glue_clear(&to);
            return refuse(call, "a row index is out of range");
        }
        glue_move(&to, i, g, row * inner + i % inner);
    }
    if (status == MXO_OK) {
        replace(g, &to);
    }
    return status;
}

static mxo_status step_delta2(glue *g, const step_call *call)
{
    const host_tensor *base;
    glue to;

    MXO_TRY(other(call, &base));
    if (tensor_elems(base) != g->n) {
        return refuse(call, "another number of elements");
    }
    MXO_TRY(glue_make(&to, MXO_U8, 1, (uint64_t[]){(g->n + 3) / 4}, 0));
    for (uint64_t i = 0; i < g->n; i++) {
        const uint64_t delta = (glue_load(g, i) - tensor_load(base, i)) & 3;
        to.data[i / 4] |= (uint8_t)(delta << (2 * (i % 4)));
    }
    replace(g, &to);
    return MXO_OK;
}

typedef struct step_row {
    const char *name;
    glue_step step;
} step_row;

static mxo_status step_where(glue *g, const step_call *call)
{
    const host_tensor *mask;
    glue to;

    MXO_TRY(other(call, &mask));
    if (tensor_elems(mask) != g->n) {
        return refuse(call, "another number of elements");
    }
    MXO_TRY(glue_make(&to, g->dtype, g->rank, g->shape, 1));
    for (uint64_t i = 0; i < to.n; i++) {
        glue_put(&to, i, glue_load(g, i));
        to.valid[i] = tensor_load(mask, i) != 0;
    }
    replace(g, &to);
    return MXO_OK;
}

/*
 * y[n][k] as a GEMM with the identity shows it: out[n][k] is the sum over j of
 * y[n][j] * (j == k), started from +0. So -0 becomes +0, and 0 * Inf or NaN
 * anywhere in a row makes its other columns NaN.
 */
static mxo_status step_identity(glue *g, const step_call *call)
{
    const uint64_t cols = g->shape[g->rank - 1];

    (void)call;
    for (uint64_t row = 0; row < (cols == 0 ? 0 : g->n / cols); row++) {
        uint64_t n_special = 0;
        uint64_t last = 0;
        for (uint64_t i = row * cols; i < (row + 1) * cols; i++) {
            const double v = dtype_value(g->dtype, glue_load(g, i));
            const int special = v - v != 0;
            n_special += (uint64_t)special;
            last = special ? i : last;
            glue_put(g, i, v == 0 ? 0 : glue_load(g, i));
        }
        for (uint64_t i = row * cols; i < (row + 1) * cols; i++) {
            if (n_special > 1 || (n_special == 1 && i != last)) {
                glue_put(g, i, UINT64_C(0x7fff));
            }
        }
    }
    return MXO_OK;
}

static const step_row steps[] = {
    {"bytes", step_bytes},       {"cast", glue_cast},
    {"cols", step_cols},         {"delta2", step_delta2},
    {"diagonal", glue_diagonal}, {"filled", glue_filled},
    {"head", glue_head},         {"identity", step_identity},
    {"merge", glue_merge},       {"pack4", step_pack4},
    {"pad", step_pad},           {"part", glue_part},
    {"perm", step_perm},         {"rows", step_rows},
    {"shaped", glue_shaped},     {"take", step_take},
    {"unpack4", step_unpack4},   {"valid", step_valid},
    {"view", step_view},         {"where", step_where},
    {"wide", glue_wide},         {"words", step_words},
};

glue_step glue_find_step(const char *name)
{
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strcmp(steps[i].name, name) == 0) {
            return steps[i].step;
        }
    }
    return NULL;
}
