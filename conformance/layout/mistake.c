/* SPDX-License-Identifier: Apache-2.0 */
/* Trying known mistakes on a tensor whose logical content is known. */
#include "mistake.h"

#include "base/tensors.h"

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

/* Output number i in host memory; NULL. */
static uint8_t *fetch(const buffers *b, uint32_t i, uint64_t n)
{
    const layout_evidence *e = b->e;
    char text[256];
    uint8_t *bytes = malloc((size_t)n + 1);

    if (bytes != NULL &&
        e->table->download(e->ctx, bytes, b->handle[i + 1], 0, n,
                           (mxo_text){text, sizeof text}) != MXO_OK) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

static int run_call(buffers *b, const mxo_call *wanted, const uint8_t *bytes,
                    mxo_tensor *out, uint32_t *n_out)
{
    const layout_evidence *e = b->e;
    mxo_tensor in = wanted->in[0];
    char text[256];
    const mxo_text why = {text, sizeof text};
    mxo_call call = *wanted;
    mxo_status status = mxo_emulator()->infer(NULL, wanted, out, n_out, why);

    if (status == MXO_OK) {
        status = e->table->alloc(e->ctx, in.n_bytes + 1, &b->handle[0]);
    }
    for (uint32_t i = 0; status == MXO_OK && i < *n_out; i++) {
        status = e->table->alloc(e->ctx, out[i].n_bytes + 1, &b->handle[i + 1]);
        out[i].buffer = b->handle[i + 1];
        out[i].offset = 0;
    }
    in.buffer = b->handle[0];
    call.in = &in;
    call.out = out;
    call.n_out = *n_out;
    if (status == MXO_OK) {
        status = e->table->upload(e->ctx, in.buffer, 0, bytes, in.n_bytes, why);
    }
    return status == MXO_OK && e->table->run(e->ctx, &call, why) == MXO_OK &&
           e->table->synchronize(e->ctx, why) == MXO_OK;
}

static layout_moved run(const layout_evidence *e, const mxo_call *wanted,
                        const uint8_t *bytes)
{
    mxo_tensor out[OUTPUTS];
    uint32_t n_out = OUTPUTS;
    buffers b = {e, {NULL}};
    layout_moved m = {0};

    if (run_call(&b, wanted, bytes, out, &n_out)) {
        m.bytes = fetch(&b, 0, out[0].n_bytes);
        m.n = out[0].n_bytes;
        m.dtype = out[0].dtype;
    }
    if (m.bytes != NULL && n_out > 1) {
        m.mask = fetch(&b, 1, out[1].n_bytes);
    }
    drop(&b);
    return m;
}

void layout_moved_clear(layout_moved *m)
{
    free(m->bytes);
    free(m->mask);
    *m = (layout_moved){0};
}

int layout_moved_defines(const layout_moved *m, uint64_t i)
{
    return m->mask == NULL || m->mask[i / dtype_bytes(m->dtype)] != 0;
}

layout_moved layout_move(const layout_evidence *e, const char *layout,
                         const char *direction, const uint8_t *bytes,
                         uint32_t dtype)
{
    char rows[24];
    char cols[24];
    (void)snprintf(rows, sizeof rows, "%" PRIu64, e->kept[0]);
    (void)snprintf(cols, sizeof cols, "%" PRIu64, e->kept[1]);
    const mxo_param params[] = {
        {"layout", layout, 0},
        {"dtype", dtype_name(dtype), 0},
        {"dir", direction, 0},
        {"keep_rows", rows, (double)e->kept[0]},
        {"keep_cols", cols, (double)e->kept[1]},
    };
    const mxo_tensor x = {.name = "x",
                          .dtype = dtype,
                          .rank = 3,
                          .shape = {e->extent[0], e->extent[1], e->extent[2]},
                          .n_bytes = e->extent[0] * e->extent[1] *
                                     e->extent[2] * dtype_bytes(dtype)};
    const mxo_call call = {.struct_size = sizeof call,
                           .n_params = 5,
                           .n_in = 1,
                           .op = "layout.apply",
                           .params = params,
                           .in = &x};

    return run(e, &call, bytes);
}

static layout_moved forward(const layout_evidence *e, const char *layout,
                            const uint8_t *bytes)
{
    return layout_move(e, layout, "forward", bytes, e->dtype);
}

/* The actual bytes, where the moved tensor has defined ones. */
static int equals(const layout_evidence *e, const layout_moved *m)
{
    if (m->bytes == NULL || m->n != e->n_actual) {
        return 0;
    }
    if (m->mask == NULL) {
        return memcmp(m->bytes, e->actual, (size_t)m->n) == 0;
    }
    for (uint64_t i = 0; i < m->n; i++) {
        if (m->bytes[i] != e->actual[i] && layout_moved_defines(m, i)) {
            return 0;
        }
    }
    return 1;
}

static int equals_swapped(const layout_evidence *e, const layout_moved *m)
{
    if (m->bytes == NULL || m->n != e->n_actual || dtype_bytes(e->dtype) != 1) {
        return 0;
    }
    for (uint64_t i = 0; i < m->n; i++) {
        const uint8_t byte = m->bytes[i];
        if ((uint8_t)(byte << 4 | byte >> 4) != e->actual[i] &&
            layout_moved_defines(m, i)) {
            return 0;
        }
    }
    return 1;
}

/* Does this layout, applied to these bytes, give what is there? */
static int gives(const layout_evidence *e, const char *layout,
                 const uint8_t *bytes)
{
    layout_moved memory = forward(e, layout, bytes);
    const int same = equals(e, &memory);

    layout_moved_clear(&memory);
    return same;
}

/* Values of a row's parameter that occur in the field. */
static const char *const parameter_values[] = {"1",  "2",  "4",  "8",
                                               "16", "32", "64", "128"};

/* The row with one of its parameters set otherwise. */
static int variant_gives(const layout_evidence *e, const mxo_layout_row *row,
                         char *text, size_t size)
{
    for (const char *p = row->params; *p != '\0';) {
        p += strspn(p, " ");
        const size_t key = strcspn(p, "= ");
        for (size_t i = 0; key > 0 && i < sizeof parameter_values /
                                              sizeof parameter_values[0];
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
        (void)snprintf(text, size,
                       "it is in logical order: no layout was "
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
#define MXO_LAYOUT_MISTAKE(layout, direction, words) {layout, direction, words},
#include "mistakes.def"
#undef MXO_LAYOUT_MISTAKE
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        layout_moved spoilt = layout_move(
            e, known[i].layout, known[i].direction, e->logical, e->dtype);
        const int fits = spoilt.bytes != NULL && spoilt.n == logical_bytes(e) &&
                         spoilt.dtype == e->dtype &&
                         gives(e, e->layout, spoilt.bytes);
        layout_moved_clear(&spoilt);
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
    uint8_t *other =
        n != e->extent[2] ? NULL : malloc((size_t)logical_bytes(e) + 1);

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
    layout_moved right = forward(e, e->layout, e->logical);
    const char *words = NULL;

    if (equals_swapped(e, &right)) {
        words = "the nibbles of every byte are swapped";
    } else if (right.bytes != NULL && right.n == logical_bytes(e) &&
               right.dtype == e->dtype && gives(e, e->layout, right.bytes)) {
        words = "the layout was applied twice";
    }
    layout_moved_clear(&right);
    (void)snprintf(text, size, "%s", words == NULL ? "" : words);
    return words != NULL;
}

/* Expert k of the right memory, `apart` bytes from the one before. */
static int lies_at(const layout_evidence *e, const layout_moved *right,
                   uint64_t k, uint64_t apart)
{
    const uint64_t stride = right->n / e->extent[0];
    const uint64_t first = k * apart;
    const uint64_t live = apart < stride ? apart : stride;
    const uint64_t room = right->n - first < live ? right->n - first : live;

    for (uint64_t i = 0; i < room; i++) {
        if (e->actual[first + i] != right->bytes[k * stride + i] &&
            layout_moved_defines(right, k * stride + i)) {
            return 0;
        }
    }
    return 1;
}

/* Right within each expert, but the experts lie at another distance. */
static int wrong_stride(const layout_evidence *e, char *text, size_t size)
{
    layout_moved right = forward(e, e->layout, e->logical);
    const uint64_t experts = e->extent[0];
    const uint64_t stride = experts == 0 ? 0 : right.n / experts;
    /* The logical tensor, in elements of what the layout gives. */
    const uint64_t plain =
        e->extent[1] * e->extent[2] *
        dtype_bytes(right.bytes == NULL ? e->dtype : right.dtype);
    int fits = right.bytes != NULL && experts > 1 && plain < stride &&
               plain > 0 && right.n == e->n_actual;

    for (uint64_t k = 0; fits && k < experts; k++) {
        fits = lies_at(e, &right, k, plain);
    }
    layout_moved_clear(&right);
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
