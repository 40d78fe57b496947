/* SPDX-License-Identifier: Apache-2.0 */
/* layout.convert and layout.apply as calls of a backend; see mover.h. */
#include "mover.h"

#include "base/say.h"
#include "base/tensors.h"

#include <mxoracle/layout.h>
#include <mxoracle/mxoracle.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[LAYER_TENSORS] = {
    "w13", "w13_scale", "w13_bias", "w2", "w2_scale", "w2_bias",
};

int mover_open(mover *m, const mxo_backend *table, const char *conversion,
               mxo_text why)
{
    memset(m, 0, sizeof *m);
    m->table = table;
    m->conversion = conversion;
    return table->open(&m->ctx, 0, why) == MXO_OK ? 0 : -1;
}

static void drop(mover *m, mover_buffer *b)
{
    if (b->handle != NULL) {
        m->table->dealloc(m->ctx, b->handle);
    }
    *b = (mover_buffer){NULL, 0};
}

void mover_close(mover *m)
{
    if (m->ctx == NULL) {
        return;
    }
    for (int i = 0; i < LAYER_TENSORS; i++) {
        drop(m, &m->in[i]);
    }
    for (int i = 0; i < MOVER_OUTPUTS; i++) {
        drop(m, &m->out[i]);
    }
    m->table->close(m->ctx);
    free(m->staging);
    memset(m, 0, sizeof *m);
}

static int reserve(mover *m, mover_buffer *b, uint64_t n_bytes, mxo_text why)
{
    if (b->n_bytes >= n_bytes && b->handle != NULL) {
        return 0;
    }
    drop(m, b);
    if (m->table->alloc(m->ctx, n_bytes + 1, &b->handle) != MXO_OK) {
        b->handle = NULL;
        (void)say(MXO_E_NOMEM, why, "%s has no memory for %" PRIu64 " bytes",
                  m->table->name, n_bytes);
        return -1;
    }
    b->n_bytes = n_bytes;
    return 0;
}

static const uint32_t dtypes[LAYER_TENSORS] = {
    MXO_U8, MXO_E8M0, MXO_BF16, MXO_U8, MXO_E8M0, MXO_BF16,
};

/* The type of logical tensor i. */
static uint32_t type_of(const layer_part *p, int i)
{
    return i % W2 == 1 && p->group == 16 ? MXO_E4M3 : dtypes[i];
}

/* Input i of layout.convert for n experts. */
static mxo_tensor input_of(const mover *m, const layer_part *p, int i,
                           uint64_t n)
{
    const uint64_t row = part_row_bytes(p, i) / dtype_bytes(dtypes[i]);
    mxo_tensor t = {.name = names[i],
                    .dtype = type_of(p, i),
                    .rank = i % W2 == 2 ? 2u : 3u,
                    .shape = {n, part_rows(p, i), row},
                    .n_bytes = n * part_rows(p, i) * part_row_bytes(p, i),
                    .buffer = m->in[i].handle};

    t.shape[2] = t.rank == 3 ? row : 0;
    return t;
}

typedef struct convert_call {
    mxo_param params[5];
    mxo_tensor in[LAYER_TENSORS];
    mxo_call call;
} convert_call;

static void prepare(const mover *m, const layer_part *p, int biased, uint64_t n,
                    convert_call *c)
{
    uint32_t n_in = 0;

    memset(c, 0, sizeof *c);
    c->params[0] = (mxo_param){"conversion", m->conversion, 0};
    c->params[1] = (mxo_param){"scale", p->group == 16 ? "e4m3" : "e8m0", 0};
    c->params[2] =
        (mxo_param){"group", p->group == 16 ? "16" : "32", (double)p->group};
    c->params[3] = (mxo_param){"bias", biased ? "1" : "0", biased};
    c->params[4] = (mxo_param){"input_scale", "0", 0};
    for (int i = 0; i < LAYER_TENSORS; i++) {
        if (i % W2 != 2 || biased) {
            c->in[n_in++] = input_of(m, p, i, n);
        }
    }
    c->call = (mxo_call){.struct_size = sizeof c->call,
                         .n_params = 5,
                         .n_in = n_in,
                         .op = "layout.convert",
                         .params = c->params,
                         .in = c->in};
}

int mover_infer(const mover *m, const layer_part *p, int biased, uint64_t n,
                mxo_tensor out[MOVER_OUTPUTS], mxo_text why)
{
    convert_call c;
    uint32_t n_out = MOVER_OUTPUTS;

    prepare(m, p, biased, n, &c);
    return mxo_emulator()->infer(NULL, &c.call, out, &n_out, why) == MXO_OK
               ? (int)n_out
               : -1;
}

uint8_t *mover_staging(mover *m, uint64_t n_bytes, mxo_text why)
{
    if (m->staging_bytes < n_bytes) {
        free(m->staging);
        m->staging = malloc((size_t)n_bytes);
        m->staging_bytes = m->staging == NULL ? 0 : n_bytes;
    }
    if (m->staging == NULL) {
        (void)say(MXO_E_NOMEM, why, "no memory for %" PRIu64 " bytes", n_bytes);
    }
    return m->staging;
}

int mover_upload(mover *m, int i, uint64_t n_bytes, mxo_text why)
{
    return reserve(m, &m->in[i], n_bytes, why) == 0 &&
                   m->table->upload(m->ctx, m->in[i].handle, 0, m->staging,
                                    n_bytes, why) == MXO_OK
               ? 0
               : -1;
}

int mover_forward(mover *m, const layer_part *p, int biased, uint64_t n,
                  mxo_text why)
{
    mxo_tensor out[MOVER_OUTPUTS];
    convert_call c;
    const int n_out = mover_infer(m, p, biased, n, out, why);

    for (int i = 0; i < n_out; i++) {
        if (reserve(m, &m->out[i], out[i].n_bytes, why) != 0) {
            return -1;
        }
        out[i].buffer = m->out[i].handle;
        out[i].offset = 0;
    }
    prepare(m, p, biased, n, &c);
    c.call.n_out = (uint32_t)(n_out < 0 ? 0 : n_out);
    c.call.out = out;
    return n_out >= 0 && m->table->run(m->ctx, &c.call, why) == MXO_OK &&
                   m->table->synchronize(m->ctx, why) == MXO_OK
               ? 0
               : -1;
}

int mover_download(mover *m, int i, uint8_t *to, uint64_t n_bytes, mxo_text why)
{
    return m->table->download(m->ctx, to, m->out[i].handle, 0, n_bytes, why) ==
                   MXO_OK
               ? 0
               : -1;
}

/* "triton_hopper/tk=36" and w13: "triton_hopper.w13/tk=36". */
static void chain_name(const mover *m, int i, char name[64])
{
    const size_t id = strcspn(m->conversion, "/");

    (void)snprintf(name, 64, "%.*s.%s%s", (int)id, m->conversion, names[i],
                   m->conversion + id);
}

/* layout.apply backwards; the result is output 0. */
static int run_apply(mover *m, const mxo_tensor *x, const char *layout,
                     const uint64_t kept[2], mxo_text why)
{
    char rows[24];
    char cols[24];
    (void)snprintf(rows, sizeof rows, "%" PRIu64, kept[0]);
    (void)snprintf(cols, sizeof cols, "%" PRIu64, kept[1]);
    const mxo_param params[] = {
        {"layout", layout, 0},
        {"dtype", dtype_name(x->dtype), 0},
        {"dir", "inverse", 0},
        {"keep_rows", rows, (double)kept[0]},
        {"keep_cols", cols, (double)kept[1]},
    };
    mxo_tensor out[MOVER_OUTPUTS];
    uint32_t n_out = MOVER_OUTPUTS;
    mxo_call call = {.struct_size = sizeof call,
                     .n_params = 5,
                     .n_in = 1,
                     .op = "layout.apply",
                     .params = params,
                     .in = x,
                     .out = out};

    if (mxo_emulator()->infer(NULL, &call, out, &n_out, why) != MXO_OK) {
        return -1;
    }
    for (uint32_t i = 0; i < n_out; i++) {
        if (reserve(m, &m->out[i], out[i].n_bytes, why) != 0) {
            return -1;
        }
        out[i].buffer = m->out[i].handle;
        out[i].offset = 0;
    }
    call.n_out = n_out;
    return m->table->run(m->ctx, &call, why) == MXO_OK &&
                   m->table->synchronize(m->ctx, why) == MXO_OK
               ? 0
               : -1;
}

/* The padded extents that memory is seen in. */
static int seen_extent(const char *layout, const layer_part *p, int i,
                       uint64_t n, uint64_t seen[3], mxo_text why)
{
    const uint64_t extent[3] = {n, part_rows(p, i),
                                part_row_bytes(p, i) / dtype_bytes(dtypes[i])};

    return mxo_layout_padded(layout, type_of(p, i), extent, seen, why) == MXO_OK
               ? 0
               : -1;
}

/* Does tensor i of n experts end in a pad that a whole stack of them has once?
 */
static int has_tail(const mover *m, const layer_part *p, int i, uint64_t n)
{
    char unused[256];
    const mxo_text why = {unused, sizeof unused};
    char layout[64];
    uint64_t seen[3];

    chain_name(m, i, layout);
    return seen_extent(layout, p, i, 2 * n, seen, why) == 0 &&
           seen[0] != 2 * n && seen_extent(layout, p, i, n, seen, why) == 0 &&
           seen[1] != n * part_rows(p, i);
}

int mover_takes(const mover *m, const layer_part *p, int biased, uint64_t n)
{
    char unused[256];
    mxo_tensor out[MOVER_OUTPUTS];
    int whole = mover_infer(m, p, biased, n, out,
                            (mxo_text){unused, sizeof unused}) >= 0;

    for (int i = 0; i < LAYER_TENSORS && whole; i++) {
        whole = !has_tail(m, p, i, n);
    }
    return whole;
}

int mover_back(mover *m, const layer_part *p, int i, uint32_t dtype, uint64_t n,
               const uint8_t *from, uint64_t from_bytes, uint8_t *to,
               mxo_text why)
{
    const uint64_t cols = part_row_bytes(p, i) / dtype_bytes(dtypes[i]);
    const uint64_t want = n * part_rows(p, i) * part_row_bytes(p, i);
    mxo_tensor x = {.name = "x", .dtype = dtype, .rank = 3};
    char layout[64];

    chain_name(m, i, layout);
    if (seen_extent(layout, p, i, n, x.shape, why) != 0 ||
        reserve(m, &m->in[i], from_bytes, why) != 0 ||
        m->table->upload(m->ctx, m->in[i].handle, 0, from, from_bytes, why) !=
            MXO_OK) {
        return -1;
    }
    x.n_bytes = from_bytes;
    x.buffer = m->in[i].handle;

    /* A stack is seen as one expert. */
    const uint64_t kept[2] = {n * part_rows(p, i) / x.shape[0], cols};

    return run_apply(m, &x, layout, kept, why) == 0 &&
                   m->table->download(m->ctx, to, m->out[0].handle, 0, want,
                                      why) == MXO_OK
               ? 0
               : -1;
}
