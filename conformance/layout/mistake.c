/* SPDX-License-Identifier: Apache-2.0 */
/* Trying known mistakes on a tensor whose logical content is known. */
#include "mistake.h"

#include "../tensors.h"

#include <mxoracle/layout.h>
#include <mxoracle/mxoracle.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUTS = 16, NAME = 64 };

static uint64_t logical_bytes(const layout_evidence *e)
{
    return e->extent[0] * e->extent[1] * e->extent[2] * dtype_bytes(e->dtype);
}

/* Buffers of one call; the first is the input. */
typedef struct buffers {
    const layout_evidence *e;
    void *handle[OUTPUTS + 1];
} buffers;

static void drop(buffers *b)
{
    for (int i = 0; i <= OUTPUTS; i++) {
        if (b->handle[i] != NULL) {
            b->e->table->dealloc(b->e->ctx, b->handle[i]);
        }
    }
}

static uint8_t *run(const layout_evidence *e, const mxo_call *wanted,
                    const uint8_t *bytes, uint64_t *n, uint32_t *dtype)
{
    mxo_tensor in = wanted->in[0];
    mxo_tensor out[OUTPUTS];
    uint32_t n_out = OUTPUTS;
    char text[256];
    const mxo_text why = {text, sizeof text};
    buffers b = {e, {NULL}};
    mxo_call call = *wanted;
    uint8_t *result = NULL;
    mxo_status status =
        mxo_emulator()->infer(NULL, wanted, out, &n_out, why);

    if (status == MXO_OK) {
        status = e->table->alloc(e->ctx, in.n_bytes + 1, &b.handle[0]);
    }
    for (uint32_t i = 0; status == MXO_OK && i < n_out; i++) {
        status = e->table->alloc(e->ctx, out[i].n_bytes + 1, &b.handle[i + 1]);
        out[i].buffer = b.handle[i + 1];
        out[i].offset = 0;
    }
    in.buffer = b.handle[0];
    call.in = &in;
    call.out = out;
    call.n_out = n_out;
    if (status == MXO_OK) {
        status = e->table->upload(e->ctx, in.buffer, 0, bytes, in.n_bytes, why);
    }
    if (status == MXO_OK && e->table->run(e->ctx, &call, why) == MXO_OK &&
        e->table->synchronize(e->ctx, why) == MXO_OK) {
        result = malloc((size_t)out[0].n_bytes + 1);
        *n = out[0].n_bytes;
        *dtype = out[0].dtype;
    }
    if (result != NULL && e->table->download(e->ctx, result, b.handle[1], 0,
                                             *n, why) != MXO_OK) {
        free(result);
        result = NULL;
    }
    drop(&b);
    return result;
}

uint8_t *layout_move(const layout_evidence *e, const char *layout,
                     const char *direction, const uint8_t *bytes,
                     uint32_t *dtype, uint64_t *n)
{
    const mxo_param params[] = {
        {"layout", layout, 0}, {"dtype", dtype_name(*dtype), 0},
        {"dir", direction, 0}, {"keep_rows", "0", 0},
        {"keep_cols", "0", 0},
    };
    const mxo_tensor x = {
        .name = "x",
        .dtype = *dtype,
        .rank = 3,
        .shape = {e->extent[0], e->extent[1], e->extent[2]},
        .n_bytes = e->extent[0] * e->extent[1] * e->extent[2] *
                   dtype_bytes(*dtype)};
    const mxo_call call = {.struct_size = sizeof call,
                           .n_params = 5,
                           .n_in = 1,
                           .op = "layout.apply",
                           .params = params,
                           .in = &x};

    return run(e, &call, bytes, n, dtype);
}

static int equals(const layout_evidence *e, const uint8_t *bytes, uint64_t n)
{
    return bytes != NULL && n == e->n_actual &&
           memcmp(bytes, e->actual, (size_t)n) == 0;
}

static int equals_swapped(const layout_evidence *e, const uint8_t *bytes,
                          uint64_t n)
{
    if (bytes == NULL || n != e->n_actual || dtype_bytes(e->dtype) != 1) {
        return 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        if ((uint8_t)(bytes[i] << 4 | bytes[i] >> 4) != e->actual[i]) {
            return 0;
        }
    }
    return 1;
}

/* Does this layout, applied to these bytes, give what is there? */
static int gives(const layout_evidence *e, const char *layout,
                 const uint8_t *bytes)
{
    uint32_t dtype = e->dtype;
    uint64_t n = 0;
    uint8_t *memory = layout_move(e, layout, "forward", bytes, &dtype, &n);
    const int same = equals(e, memory, n);

    free(memory);
    return same;
}

/* Values of a row's parameter that occur in the field. */
static const char *const parameter_values[] = {"1", "2", "4", "8", "16", "32",
                                               "64", "128"};

/* The row with one of its parameters set otherwise. */
static int variant_gives(const layout_evidence *e, const mxo_layout_row *row,
                         char *text, size_t size)
{
    for (const char *p = row->params; *p != '\0';) {
        p += strspn(p, " ");
        const size_t key = strcspn(p, "= ");
        for (size_t i = 0;
             key > 0 &&
             i < sizeof parameter_values / sizeof parameter_values[0];
             i++) {
            char name[NAME];
            (void)snprintf(name, sizeof name, "%s/%.*s=%s", row->id, (int)key,
                           p, parameter_values[i]);
            if (strcmp(name, e->layout) != 0 && gives(e, name, e->logical)) {
                (void)snprintf(text, size, "it is in the layout %s, not %s",
                               name, e->layout);
                return 1;
            }
        }
        p += strcspn(p, " ");
    }
    return 0;
}

/* The layout that was asked for, otherwise parametrised; then all others. */
static int another_layout(const layout_evidence *e, char *text, size_t size)
{
    const mxo_layout_row *asked = mxo_layout_find(e->layout);

    if (logical_bytes(e) == e->n_actual &&
        memcmp(e->logical, e->actual, (size_t)e->n_actual) == 0) {
        (void)snprintf(text, size, "it is in logical order: no layout was "
                                   "applied");
        return 1;
    }
    if (asked != NULL && variant_gives(e, asked, text, size)) {
        return 1;
    }
    for (uint32_t i = 0; mxo_layout_at(i) != NULL; i++) {
        const mxo_layout_row *row = mxo_layout_at(i);
        if (strcmp(row->id, e->layout) != 0 && gives(e, row->id, e->logical)) {
            (void)snprintf(text, size, "it is in the layout %s, not %s",
                           row->id, e->layout);
            return 1;
        }
    }
    for (uint32_t i = 0; mxo_layout_at(i) != NULL; i++) {
        if (mxo_layout_at(i) != asked &&
            variant_gives(e, mxo_layout_at(i), text, size)) {
            return 1;
        }
    }
    return 0;
}

/* The asked layout after something else was done to the tensor. */
static int spoilt_source(const layout_evidence *e, char *text, size_t size)
{
    static const struct {
        const char *layout;
        const char *direction;
        const char *words;
    } known[] = {
#define MXO_LAYOUT_MISTAKE(layout, direction, words)                          \
    {layout, direction, words},
#include "mistakes.def"
#undef MXO_LAYOUT_MISTAKE
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t dtype = e->dtype;
        uint64_t n = 0;
        uint8_t *spoilt = layout_move(e, known[i].layout, known[i].direction,
                                      e->logical, &dtype, &n);
        const int fits = spoilt != NULL && n == logical_bytes(e) &&
                         dtype == e->dtype && gives(e, e->layout, spoilt);
        free(spoilt);
        if (fits) {
            (void)snprintf(text, size, "%s", known[i].words);
            return 1;
        }
    }
    return 0;
}

/* Rows for columns, when a matrix is square. */
static int transposed(const layout_evidence *e, char *text, size_t size)
{
    const uint64_t n = e->extent[1];
    const uint32_t width = dtype_bytes(e->dtype);
    uint8_t *other = n != e->extent[2] ? NULL
                                       : malloc((size_t)logical_bytes(e) + 1);

    for (uint64_t i = 0; other != NULL && i < e->extent[0] * n * n; i++) {
        const uint64_t to = i / (n * n) * n * n + i % n * n + i / n % n;
        memcpy(other + to * width, e->logical + i * width, width);
    }
    const int fits = other != NULL && gives(e, e->layout, other);

    free(other);
    if (fits) {
        (void)snprintf(text, size, "rows and columns (N and K) are exchanged");
    }
    return fits;
}

/* What the asked layout gives, put there in a wrong way. */
static int spoilt_memory(const layout_evidence *e, char *text, size_t size)
{
    uint32_t dtype = e->dtype;
    uint64_t n = 0;
    uint8_t *right = layout_move(e, e->layout, "forward", e->logical, &dtype, &n);
    const char *words = NULL;

    if (right != NULL && equals_swapped(e, right, n)) {
        words = "the nibbles of every byte are swapped";
    } else if (right != NULL && n == logical_bytes(e) && dtype == e->dtype &&
               gives(e, e->layout, right)) {
        words = "the layout was applied twice";
    }
    free(right);
    (void)snprintf(text, size, "%s", words == NULL ? "" : words);
    return words != NULL;
}

/* Right within each expert, but the experts lie at another distance. */
static int wrong_stride(const layout_evidence *e, char *text, size_t size)
{
    uint32_t dtype = e->dtype;
    uint64_t n = 0;
    uint8_t *right = layout_move(e, e->layout, "forward", e->logical, &dtype, &n);
    const uint64_t experts = e->extent[0];
    const uint64_t stride = experts == 0 ? 0 : n / experts;
    const uint64_t plain = experts == 0 ? 0 : logical_bytes(e) / experts;
    const uint64_t live = plain < stride ? plain : stride;
    int fits = right != NULL && experts > 1 && plain != stride && live > 0 &&
               n == e->n_actual;

    for (uint64_t k = 0; fits && k < experts; k++) {
        const uint64_t room = n - k * plain < live ? n - k * plain : live;
        fits = k * plain < n && memcmp(e->actual + k * plain,
                                       right + k * stride, (size_t)room) == 0;
    }
    free(right);
    if (fits) {
        (void)snprintf(text, size,
                       "experts are %" PRIu64 " bytes apart, not %" PRIu64
                       ": the stride ignores the pad",
                       plain, stride);
    }
    return fits;
}

int layout_mistake(const layout_evidence *e, char *text, size_t size)
{
    return another_layout(e, text, size) || spoilt_source(e, text, size) ||
           transposed(e, text, size) || spoilt_memory(e, text, size) ||
           wrong_stride(e, text, size);
}
