/* SPDX-License-Identifier: Apache-2.0 */
/* Trying known mistakes on a tensor whose logical content is known. */
#include "mistake.h"

#include "base/tensors.h"
#include "places.h"
#include "source_mistake.h"

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

    if (e->progress != NULL) {
        progress_show(e->progress, e->progress->done + 1, 0, layout);
    }
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

int layout_gives(const layout_evidence *e, const char *layout,
                 const uint8_t *bytes)
{
    if (!places_fit(e, layout, bytes, NULL)) {
        return 0;
    }
    layout_moved memory = forward(e, layout, bytes);
    const int same = equals(e, &memory);

    layout_moved_clear(&memory);
    return same;
}

/* Values of a row's parameter that occur in the field. */
static const char *const parameter_values[] = {"128", "64", "32", "16",
                                               "8",   "4",  "2",  "1"};

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
            if (strcmp(name, e->layout) != 0 &&
                layout_gives(e, name, e->logical)) {
                (void)snprintf(text, size, "it is in the layout %s, not %s",
                               name, e->layout);
                return 1;
            }
        }
        p += strcspn(p, " ");
    }
    return 0;
}

/* The tensor as it is in the extents that its memory has: pads are 0. */
static uint8_t *whole_tensor(const layout_evidence *e, layout_evidence *whole)
{
    const uint32_t width = dtype_bytes(e->dtype);
    char text[256];

    *whole = *e;
    if (mxo_layout_padded(e->layout, e->dtype, e->extent, whole->extent,
                          (mxo_text){text, sizeof text}) != MXO_OK ||
        logical_bytes(whole) != e->n_actual) {
        return NULL;
    }
    uint8_t *to = calloc((size_t)e->n_actual + 1, 1);
    const uint64_t row = e->extent[2] * width;
    const uint64_t all = e->extent[0] * e->extent[1];
    const uint64_t rows = all / whole->extent[0]; /* a stack is one expert */

    for (uint64_t i = 0; to != NULL && i < all; i++) {
        const uint64_t r = i / rows * whole->extent[1] + i % rows;
        memcpy(to + r * whole->extent[2] * width, e->logical + i * row,
               (size_t)row);
    }
    return to;
}

/* The logical order, with or without a pad, and no layout at all. */
static int not_applied(const layout_evidence *e, const uint8_t *whole,
                       char *text, size_t size)
{
    const uint64_t n = logical_bytes(e);
    const int is_plain =
        n <= e->n_actual && memcmp(e->logical, e->actual, (size_t)n) == 0;

    if (is_plain ||
        (whole != NULL && memcmp(whole, e->actual, (size_t)e->n_actual) == 0)) {
        (void)snprintf(text, size,
                       "it is in logical order: no layout was applied%s",
                       n == e->n_actual ? ""
                       : is_plain       ? ", and nothing was padded"
                                        : " but the pad");
        return 1;
    }
    return 0;
}

/* Another layout, as its row says it or parametrised. */
static int another_layout(const layout_evidence *e, char *text, size_t size)
{
    const mxo_layout_row *asked = mxo_layout_find(e->layout);

    if (asked != NULL && variant_gives(e, asked, text, size)) {
        return 1;
    }
    for (uint32_t i = 0; mxo_layout_at(i) != NULL; i++) {
        const mxo_layout_row *row = mxo_layout_at(i);
        if (strcmp(row->id, e->layout) != 0 &&
            layout_gives(e, row->id, e->logical)) {
            (void)snprintf(text, size, "it is in the layout %s, not %s",
                           row->id, e->layout);
            return 1;
        }
    }
    return 0;
}

static int another_variant(const layout_evidence *e, char *text, size_t size)
{
    const mxo_layout_row *asked = mxo_layout_find(e->layout);

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
                         layout_gives(e, e->layout, spoilt.bytes);
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
    const int fits = other != NULL && layout_gives(e, e->layout, other);

    free(other);
    if (fits) {
        (void)snprintf(text, size, "rows and columns (N and K) are exchanged");
    }
    return fits;
}

/* Memory taken for a tensor of its own extents. */
static int moved_again(const layout_evidence *whole, const uint8_t *bytes,
                       const char *direction)
{
    layout_moved m =
        layout_move(whole, whole->layout, direction, bytes, whole->dtype);
    const int same = equals(whole, &m);

    layout_moved_clear(&m);
    return same;
}

/* The pads of the layout are bytes that do not follow the tensor's. */
static int pad_is_other(const layout_evidence *e, const layout_moved *right,
                        char *text, size_t size)
{
    const uint64_t n = logical_bytes(e);
    uint8_t *inverted = malloc((size_t)n + 1);
    layout_moved other = {0};
    uint64_t first = right->n;

    for (uint64_t i = 0; inverted != NULL && i < n; i++) {
        inverted[i] = (uint8_t)~e->logical[i];
    }
    if (inverted != NULL && right->bytes != NULL && right->n == e->n_actual) {
        other = forward(e, e->layout, inverted);
    }
    int fits = other.bytes != NULL && other.n == right->n;

    for (uint64_t i = 0; fits && i < right->n; i++) {
        if (e->actual[i] != right->bytes[i] && layout_moved_defines(right, i)) {
            fits = other.bytes[i] == right->bytes[i];
            first = first == right->n ? i : first;
        }
    }
    fits = fits && first < right->n;
    if (fits) {
        (void)snprintf(text, size,
                       "all is right but the pad of the layout: it is %02x, "
                       "not %02x",
                       e->actual[first], right->bytes[first]);
    }
    layout_moved_clear(&other);
    free(inverted);
    return fits;
}

/* Result of the asked layout, stored in a wrong way. */
static int spoilt_memory(const layout_evidence *e, char *text, size_t size)
{
    layout_evidence whole;
    layout_moved right = forward(e, e->layout, e->logical);
    uint8_t *plain = whole_tensor(e, &whole);
    const char *words = NULL;
    int found = not_applied(e, plain, text, size);

    if (found) {
        words = text;
    } else if (equals_swapped(e, &right)) {
        words = "the nibbles of every byte are swapped";
    } else if (plain != NULL && right.bytes != NULL && right.n == e->n_actual &&
               right.dtype == e->dtype &&
               moved_again(&whole, right.bytes, "forward")) {
        words = "the layout was applied twice";
    } else if (plain != NULL && moved_again(&whole, plain, "inverse")) {
        words = "the inverse of the layout was applied";
    }
    if (!found && words != NULL) {
        (void)snprintf(text, size, "%s", words);
    }
    found = words != NULL || pad_is_other(e, &right, text, size);
    layout_moved_clear(&right);
    free(plain);
    return found;
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
    layout_evidence looked_at = *e;

    places_choose(&looked_at);
    e = &looked_at;
    return wrong_stride(e, text, size) || spoilt_memory(e, text, size) ||
           source_mistake(e, text, size) || another_layout(e, text, size) ||
           spoilt_source(e, text, size) || transposed(e, text, size) ||
           another_variant(e, text, size);
}
