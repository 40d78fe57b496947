/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.apply and layout.index: one layout, or the chain of one tensor of a
 * conversion, on a tensor or on indices alone.
 */
#include "layout_chain.h"

#include <stdlib.h>
#include <string.h>

/* A word has the number 0, too. */
static int is_number(const mxo_call *call, const char *key)
{
    return strspn(call_text(call, key), "-+.0123456789") > 0;
}

/* Extents of the axes that an inverse keeps. */
static mxo_status keep_of(const mxo_call *call, const uint64_t shape[3],
                          uint64_t live[3], mxo_text why)
{
    static const char *const keys[] = {"", "keep_rows", "keep_cols"};

    for (int a = 0; a < 3; a++) {
        const double keep = a == 0 ? 0 : call_number(call, keys[a]);
        if (keep < 0 || keep > (double)shape[a] ||
            (a > 0 && !is_number(call, keys[a])) ||
            (keep > 0 && call_is(call, "dir", "forward"))) {
            return cpu_fail(MXO_E_PARAM, why, "%s is out of range", keys[a]);
        }
        live[a] = keep > 0 ? (uint64_t)keep : shape[a];
    }
    return MXO_OK;
}

static mxo_status check_padded(const cpu_chain *c, const mxo_tensor *x,
                               mxo_text why)
{
    const cpu_stage *last = &c->stage[c->n - 1];
    const cpu_map *m = &last->map;
    const uint64_t dense = m->physical_bits / 8;

    for (int a = 0; a < 3; a++) {
        /* Records make rows longer. */
        const uint64_t seen = a < 2 || m->n_records == 0 || dense == 0
                                  ? m->padded[a]
                                  : m->padded[a] * cpu_memory_bytes(m) / dense;
        if (seen != x->shape[a]) {
            return cpu_fail(
                MXO_E_SHAPE, why, "memory holds %llu of an axis, not %llu",
                (unsigned long long)seen, (unsigned long long)x->shape[a]);
        }
    }
    return last->physical == x->dtype
               ? MXO_OK
               : cpu_fail(MXO_E_SHAPE, why, "memory has another type");
}

/* Type of the checkpoint's tensor that became memory of this type. */
static uint32_t checkpoint_dtype(int tensor, uint32_t dtype)
{
    const int kind = tensor % 3; /* weight, scale, bias */

    if (kind == 2) {
        return MXO_BF16;
    }
    return kind == 1 && dtype == MXO_F32 ? MXO_E8M0 : dtype;
}

/* Records: the chain is bound to what is kept of them. */
static mxo_status records_back(cpu_chain *c, const cpu_row *row,
                               const char *text, const mxo_tensor *x,
                               const uint64_t kept[3], mxo_text why)
{
    const uint64_t any[3] = {1, 1024, 1024};
    const uint32_t dtype = x->dtype;
    uint64_t live[3] = {kept[0], kept[1], kept[2]};
    const cpu_values *v = cpu_values_of(row->values);
    const uint32_t from =
        v == NULL || strcmp(v->from, v->to) == 0 ? dtype : MXO_N_DTYPES;

    /* Without keep_cols, all that rows of such a length hold. */
    if (live[2] == x->shape[2] &&
        cpu_chain_of(c, text, from, any, why) == MXO_OK) {
        const cpu_map *m = &c->stage[0].map;
        live[2] = live[2] * (m->physical_bits / 8) / cpu_memory_bytes(m);
    }
    return cpu_chain_of(c, text, from, live, why);
}

static mxo_status chain_of_call(const mxo_call *call, const mxo_tensor *x,
                                int forward, cpu_chain *c, mxo_text why)
{
    const char *text = call_text(call, "layout");
    const int tensor = cpu_conversion_tensor(text);
    char chain[CPU_CHAIN_TEXT];
    uint64_t live[3];

    MXO_TRY(keep_of(call, x->shape, live, why));
    if (tensor >= 0) {
        MXO_TRY(cpu_conversion_chain(text, tensor, chain, why));
        text = chain;
    }
    if (forward) {
        return cpu_chain_of(c, text, x->dtype, x->shape, why);
    }
    const cpu_row *row = tensor >= 0 ? NULL : cpu_row_of(text);

    if (row != NULL && strchr(row->map, '@') != NULL) {
        MXO_TRY(records_back(c, row, text, x, live, why));
        return check_padded(c, x, why);
    }
    MXO_TRY(tensor >= 0
                ? cpu_chain_of(c, text, checkpoint_dtype(tensor, x->dtype),
                               live, why)
                : cpu_chain_back(c, text, x->dtype, x->shape, live, why));
    return check_padded(c, x, why);
}

static mxo_status check_tensors(const mxo_tensor *x, const mxo_tensor *y,
                                const mxo_tensor *valid, const cpu_chain *c,
                                int forward, mxo_text why)
{
    const cpu_stage *first = &c->stage[0];
    const cpu_stage *last = &c->stage[c->n - 1];
    const uint64_t live = first->map.logical_bits / first->map.elem_bits;
    const uint64_t memory =
        cpu_memory_bytes(&last->map) / (last->map.elem_bits / 8);
    const uint32_t narrow = cpu_dtype_bytes(first->logical);
    const uint32_t wide = cpu_dtype_bytes(last->physical);

    MXO_TRY(cpu_want_bytes(y, "y", forward ? last->physical : first->logical,
                           forward ? memory * wide : live * narrow, why));
    MXO_TRY(
        cpu_want_bytes(valid, "valid", MXO_U8, forward ? memory : live, why));
    return cpu_want_bytes(x, "x", x->dtype,
                          forward ? live * narrow : memory * wide, why);
}

/* 1 for each element of memory that is one of a record's body. */
static mxo_status valid_records(cpu_context *ctx, const cpu_chain *c,
                                uint8_t *valid, mxo_text why)
{
    const cpu_map *m = &c->stage[c->n - 1].map;
    const uint64_t size = m->elem_bits / 8;
    const uint64_t n = m->physical_bits / m->elem_bits;
    uint8_t *dense = malloc(n == 0 ? 1 : (size_t)n);
    mxo_status status =
        dense == NULL ? cpu_fail(MXO_E_NOMEM, why, "no memory for %llu bytes",
                                 (unsigned long long)n)
                      : cpu_chain_valid(ctx, c, dense, why);

    if (status == MXO_OK) {
        memset(valid, 0, (size_t)(cpu_memory_bytes(m) / size));
        for (uint64_t i = 0; i < n; i++) {
            valid[cpu_record_spread(m, i * size) / size] = dense[i];
        }
    }
    free(dense);
    return status;
}

/* A chain whose memory has gaps, through a tensor without them. */
static mxo_status run_records(cpu_context *ctx, const cpu_chain *c, int forward,
                              uint8_t *dst, const uint8_t *src, mxo_text why)
{
    const cpu_map *m = &c->stage[c->n - 1].map;
    const size_t n = (size_t)(m->physical_bits / 8);
    uint8_t *dense = malloc(n == 0 ? 1 : n);
    mxo_status status = MXO_OK;

    if (dense == NULL) {
        return cpu_fail(MXO_E_NOMEM, why, "no memory for %zu bytes", n);
    }
    if (forward) {
        status = cpu_chain_run(ctx, c, 1, dense, src, why);
        if (status == MXO_OK && n > 0) {
            memset(dst, 0, (size_t)cpu_memory_bytes(m));
            cpu_record_put(m, dst, dense);
        }
    } else {
        cpu_record_take(m, dense, src);
        status = cpu_chain_run(ctx, c, 0, dst, dense, why);
    }
    free(dense);
    return status;
}

static mxo_status run_chain(cpu_context *ctx, const cpu_chain *c, int forward,
                            uint8_t *dst, const uint8_t *src, mxo_text why)
{
    return c->stage[c->n - 1].map.n_records > 0
               ? run_records(ctx, c, forward, dst, src, why)
               : cpu_chain_run(ctx, c, forward, dst, src, why);
}

static mxo_status set_valid(cpu_context *ctx, const cpu_chain *c, int forward,
                            const mxo_tensor *valid, mxo_text why)
{
    const cpu_map *m = &c->stage[c->n - 1].map;

    if (valid == NULL) {
        return MXO_OK;
    }
    if (forward && m->n_records > 0) {
        return valid_records(ctx, c, cpu_data(valid), why);
    }
    if (forward) {
        return cpu_chain_valid(ctx, c, cpu_data(valid), why);
    }
    cpu_fill_ones(ctx, cpu_data(valid), valid->n_bytes);
    return MXO_OK;
}

mxo_status cpu_layout_apply(cpu_context *ctx, const mxo_call *call,
                            mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    const mxo_tensor *y = call_out(call, "y");
    const mxo_tensor *valid = call_out(call, "valid");
    const int forward = call_is(call, "dir", "forward");
    cpu_chain *c = malloc(sizeof *c);
    mxo_status status =
        cpu_known(call, "layout dtype dir keep_rows keep_cols", why);

    if (status == MXO_OK && c == NULL) {
        status = cpu_fail(MXO_E_NOMEM, why, "no memory for a chain");
    }
    if (status == MXO_OK && (x == NULL || x->rank != 3)) {
        status = cpu_fail(MXO_E_SHAPE, why, "x has three axes");
    }
    status =
        status == MXO_OK ? chain_of_call(call, x, forward, c, why) : status;
    status =
        status == MXO_OK ? check_tensors(x, y, valid, c, forward, why) : status;
    if (status == MXO_OK) {
        status = run_chain(ctx, c, forward, cpu_data(y), cpu_data(x), why);
    }
    status = status == MXO_OK ? set_valid(ctx, c, forward, valid, why) : status;
    free(c);
    return status;
}

enum { BEYOND = -1, PAD = -2, UNKNOWN = -3, N_SIZES = 6 };

/* Unit of memory of unit at of the live tensor. */
static int64_t index_forward(const cpu_map *m, uint64_t at)
{
    uint64_t coord[4];
    uint64_t value[CPU_DIGITS];
    uint64_t to = 0;

    coord[3] = at % m->parts;
    at /= m->parts;
    for (int a = 2; a >= 0; a--) {
        coord[a] = at % m->extent[a];
        at /= m->extent[a];
    }
    for (int i = 0; i < m->n - 1; i++) {
        const cpu_digit *d = &m->digit[i];
        value[i] = coord[d->axis] / d->step % d->size;
        to += value[i] * (d->physical / m->digit[m->n - 1].size);
    }
    for (int k = 0; k < m->n_tables; k++) {
        const cpu_table *t = &m->table[k];
        const uint64_t unit = m->digit[t->first + t->count - 1].physical /
                              m->digit[m->n - 1].size;
        uint64_t v = 0;
        for (int i = t->first; i < t->first + t->count; i++) {
            v = v * m->digit[i].size + value[i];
        }
        to = to - v * unit + t->entry[v] * unit;
    }
    if (m->n_records > 0) { /* units that share a byte go with it */
        const uint64_t bits = m->digit[m->n - 1].size;
        const uint64_t bit = to * bits;
        to = (8 * cpu_record_spread(m, bit / 8) + bit % 8) / bits;
    }
    return (int64_t)to;
}

static int64_t index_inverse(const cpu_map *m, uint64_t at)
{
    uint64_t bit = 0;

    if (m->n_records > 0) {
        const uint64_t bits = m->digit[m->n - 1].size;
        const uint64_t byte = cpu_record_close(m, at * bits / 8);
        if (byte == UINT64_MAX) {
            return UNKNOWN;
        }
        at = (8 * byte + at * bits % 8) / bits;
    }
    const int wall = cpu_unit_source(m, at, &bit);

    if (wall >= 0) {
        return m->wall[wall].unknown ? UNKNOWN : PAD;
    }
    return (int64_t)(bit / m->digit[m->n - 1].size);
}

static mxo_status map_sizes(const mxo_call *call, cpu_map *map, mxo_text why)
{
    static const char *const keys[] = {"experts", "rows", "cols"};
    const char *text = call_text(call, "layout");
    const cpu_row *row = cpu_row_of(text);
    const double elem = call_number(call, "elem_bytes");
    uint64_t extent[3];

    if (row == NULL) {
        return cpu_fail(MXO_E_PARAM, why, "no layout is called %.60s", text);
    }
    if (!(elem >= 1 && elem <= 8)) {
        return cpu_fail(MXO_E_PARAM, why, "elem_bytes is out of range");
    }
    for (int a = 0; a < 3; a++) {
        const double n = call_number(call, keys[a]);
        if (!(n >= 0 && n <= 9007199254740992.0) || !is_number(call, keys[a])) {
            return cpu_fail(MXO_E_PARAM, why, "%s is out of range", keys[a]);
        }
        extent[a] = (uint64_t)n;
    }
    return cpu_map_of(map, row, text, extent, NULL, (uint64_t)elem, why);
}

mxo_status cpu_layout_index(cpu_context *ctx, const mxo_call *call,
                            mxo_text why)
{
    const mxo_tensor *at = call_in(call, "at");
    const mxo_tensor *to = call_out(call, "to");
    const mxo_tensor *sizes = call_out(call, "sizes");
    const uint64_t n_sizes[1] = {N_SIZES};
    const int forward = call_is(call, "dir", "forward");
    cpu_map m;

    MXO_TRY(cpu_known(call, "layout dir elem_bytes experts rows cols", why));
    MXO_TRY(map_sizes(call, &m, why));
    if (at == NULL) {
        return cpu_fail(MXO_E_SHAPE, why, "the tensor at is missing");
    }
    MXO_TRY(cpu_want(to, "to", MXO_I64, 1, at->shape, why));
    MXO_TRY(cpu_want(sizes, "sizes", MXO_I64, 1, n_sizes, why));
    const uint64_t unit = m.digit[m.n - 1].size;
    const int64_t facts[N_SIZES] = {(int64_t)m.parts,
                                    (int64_t)(m.logical_bits / unit),
                                    (int64_t)(8 * cpu_memory_bytes(&m) / unit),
                                    (int64_t)m.padded[0],
                                    (int64_t)m.padded[1],
                                    (int64_t)m.padded[2]};
    memcpy(cpu_data(sizes), facts, sizeof facts);
    for (uint64_t i = 0; i < at->n_bytes / 8; i++) {
        int64_t index;
        memcpy(&index, (const uint8_t *)cpu_data(at) + 8 * i, 8);
        const int inside = index >= 0 && index < facts[forward ? 1 : 2];
        index = !inside   ? BEYOND
                : forward ? index_forward(&m, (uint64_t)index)
                          : index_inverse(&m, (uint64_t)index);
        memcpy((uint8_t *)cpu_data(to) + 8 * i, &index, 8);
    }
    cpu_name_kernel(ctx, "layout_index", 1);
    return MXO_OK;
}
