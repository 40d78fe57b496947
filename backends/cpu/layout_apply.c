/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.apply and layout.index: one layout on one tensor, or on indices
 * alone.
 */
#include "layout_plan.h"
#include "layout_values.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t dtype;
} dtypes[] = {{"u8", MXO_U8},     {"i8", MXO_I8},     {"e8m0", MXO_E8M0},
              {"e4m3", MXO_E4M3}, {"e5m2", MXO_E5M2}, {"bf16", MXO_BF16},
              {"f16", MXO_F16},   {"u16", MXO_U16},   {"i16", MXO_I16},
              {"f32", MXO_F32},   {"i32", MXO_I32},   {"u32", MXO_U32}};

static uint32_t dtype_of(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            return dtypes[i].dtype;
        }
    }
    return MXO_N_DTYPES;
}

/* One side of a conversion of values, given the other. */
static uint32_t other_dtype(const char *here, const char *there, uint32_t dtype)
{
    if (strcmp(here, "*") == 0) {
        return dtype;
    }
    return dtype_of(here) == dtype ? dtype_of(there) : MXO_N_DTYPES;
}

mxo_status cpu_step_of(cpu_step *s, const char *text, uint32_t dtype,
                       const uint64_t shape[3], int forward, mxo_text why)
{
    memset(s, 0, sizeof *s);
    s->row = cpu_row_of(text);
    if (s->row == NULL) { /* perhaps a tensor of a conversion */
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no layout called %.60s", text);
    }
    s->values = cpu_values_of(s->row->values);
    if (s->values == NULL) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend does not know the values of %s",
                        s->row->id);
    }
    s->logical =
        forward ? dtype : other_dtype(s->values->to, s->values->from, dtype);
    s->physical =
        forward ? other_dtype(s->values->from, s->values->to, dtype) : dtype;
    if (s->logical == MXO_N_DTYPES || s->physical == MXO_N_DTYPES) {
        return cpu_fail(MXO_E_SHAPE, why, "%s does not take this type",
                        s->row->id);
    }
    for (int i = 0; i < 3; i++) {
        s->shape[i] = shape[i];
    }
    return MXO_OK;
}

/* The values of n elements into a buffer of its own. */
static mxo_status convert(const cpu_step *s, const uint8_t *src, uint64_t n,
                          int forward, uint8_t **out, mxo_text why)
{
    const uint32_t to = forward ? s->physical : s->logical;

    *out = malloc((size_t)(n * cpu_dtype_bytes(to)) + 1);
    if (*out == NULL) {
        return cpu_fail(MXO_E_NOMEM, why, "no memory for %s", s->row->values);
    }
    return s->values->move(src, n, *out, forward) == 0
               ? MXO_OK
               : cpu_fail(MXO_E_PARAM, why, "a code is outside %s",
                          s->row->values);
}

mxo_status cpu_step_run(cpu_context *ctx, const cpu_step *s, const cpu_map *map,
                        int forward, uint8_t *dst, const uint8_t *src,
                        mxo_text why)
{
    const uint64_t n = map->logical_bits / map->elem_bits;
    const int keeps = strcmp(s->row->values, "keep") == 0;
    uint8_t *wide = NULL;
    uint8_t *narrow = NULL;
    cpu_plan *plan = NULL;
    mxo_status status = cpu_plan_of(&plan, map, why);

    if (status == MXO_OK && keeps) {
        status = cpu_move(ctx, plan, forward, dst, src, why);
    } else if (status == MXO_OK && forward) {
        status = convert(s, src, n, 1, &wide, why);
        status =
            status == MXO_OK ? cpu_move(ctx, plan, 1, dst, wide, why) : status;
    } else if (status == MXO_OK) {
        wide = malloc((size_t)(map->logical_bits / 8) + 1);
        status =
            wide == NULL ? MXO_E_NOMEM : cpu_move(ctx, plan, 0, wide, src, why);
        status =
            status == MXO_OK ? convert(s, wide, n, 0, &narrow, why) : status;
        if (status == MXO_OK) {
            memcpy(dst, narrow, (size_t)(n * cpu_dtype_bytes(s->logical)));
        }
    }
    cpu_plan_free(plan);
    free(wide);
    free(narrow);
    return status;
}

/* 1 where memory is defined: the same plan on a tensor of ones, with pads of
   unknown contents as zeros. */
static mxo_status fill_valid(cpu_context *ctx, const cpu_map *map,
                             const mxo_tensor *valid, mxo_text why)
{
    const uint64_t elem = map->elem_bits / 8;
    const uint64_t n = map->physical_bits / 8;
    cpu_map known = *map;
    cpu_plan *plan = NULL;
    uint8_t *ones = malloc((size_t)(map->logical_bits / 8) + 1);
    uint8_t *image = malloc((size_t)n + 1);
    uint8_t *out = cpu_data(valid);
    mxo_status status = MXO_OK;

    for (int w = 0; w < known.n_walls; w++) {
        known.wall[w].byte = known.wall[w].unknown ? 0 : 0xff;
    }
    if (ones == NULL || image == NULL) {
        status = cpu_fail(MXO_E_NOMEM, why, "no memory for valid");
    } else {
        memset(ones, 0xff, (size_t)(map->logical_bits / 8));
        status = cpu_plan_of(&plan, &known, why);
    }
    if (status == MXO_OK) {
        status = cpu_move(ctx, plan, 1, image, ones, why);
    }
    for (uint64_t i = 0; status == MXO_OK && i < valid->n_bytes; i++) {
        out[i] = image[i * elem] == 0xff;
    }
    cpu_plan_free(plan);
    free(ones);
    free(image);
    return status;
}

static mxo_status set_valid(cpu_context *ctx, const cpu_map *map, int forward,
                            const mxo_tensor *valid, mxo_text why)
{
    int unknown = 0;

    for (int w = 0; w < map->n_walls; w++) {
        unknown |= map->wall[w].unknown;
    }
    if (forward && unknown) {
        cpu_context unnamed = *ctx;
        return fill_valid(&unnamed, map, valid, why);
    }
    memset(cpu_data(valid), 1, (size_t)valid->n_bytes);
    return MXO_OK;
}

/* What of the axes is left on the way back. */
static mxo_status keep_of(const mxo_call *call, const uint64_t shape[3],
                          uint64_t live[3], mxo_text why)
{
    static const char *const keys[] = {"", "keep_rows", "keep_cols"};

    for (int a = 0; a < 3; a++) {
        const double keep = a == 0 ? 0 : cpu_number(call, keys[a]);
        if (keep < 0 || keep > (double)shape[a]) {
            return cpu_fail(MXO_E_PARAM, why, "%s is out of range", keys[a]);
        }
        live[a] = keep > 0 ? (uint64_t)keep : shape[a];
    }
    return MXO_OK;
}

static mxo_status check_padded(const cpu_map *map, const uint64_t shape[3],
                               mxo_text why)
{
    for (int a = 0; a < 3; a++) {
        if (map->padded[a] != shape[a]) {
            return cpu_fail(MXO_E_SHAPE, why,
                            "memory holds %llu of an axis, not %llu",
                            (unsigned long long)map->padded[a],
                            (unsigned long long)shape[a]);
        }
    }
    return MXO_OK;
}

static mxo_status map_call(const mxo_call *call, const mxo_tensor *x,
                           int forward, cpu_step *s, cpu_map *map, mxo_text why)
{
    uint64_t live[3];
    mxo_status status = cpu_step_of(s, cpu_text(call, "layout"), x->dtype,
                                    x->shape, forward, why);

    status = status == MXO_OK ? keep_of(call, x->shape, live, why) : status;
    if (status == MXO_OK) {
        status = cpu_map_of(map, s->row, cpu_text(call, "layout"), x->shape,
                            forward ? NULL : live, cpu_dtype_bytes(s->physical),
                            why);
    }
    return status == MXO_OK && !forward ? check_padded(map, x->shape, why)
                                        : status;
}

static mxo_status check_tensors(const mxo_tensor *x, const mxo_tensor *y,
                                const mxo_tensor *valid, const cpu_step *s,
                                const cpu_map *map, int forward, mxo_text why)
{
    const uint64_t wide = cpu_dtype_bytes(s->physical);
    const uint64_t live = map->logical_bits / 8 / wide;
    const uint64_t memory = map->physical_bits / 8 / wide;
    const uint64_t n_y = forward ? memory : live;
    const uint64_t narrow = cpu_dtype_bytes(s->logical);
    mxo_status status =
        cpu_want_bytes(y, "y", forward ? s->physical : s->logical,
                       n_y * (forward ? wide : narrow), why);

    if (status == MXO_OK && valid != NULL) {
        status = cpu_want_bytes(valid, "valid", MXO_U8, n_y, why);
    }
    if (status == MXO_OK) {
        status = cpu_want_bytes(x, "x", x->dtype,
                                forward ? live * narrow : memory * wide, why);
    }
    return status;
}

mxo_status cpu_layout_apply(cpu_context *ctx, const mxo_call *call,
                            mxo_text why)
{
    const mxo_tensor *x = cpu_in(call, "x");
    const mxo_tensor *y = cpu_out(call, "y");
    const mxo_tensor *valid = cpu_out(call, "valid");
    const int forward = cpu_is(call, "dir", "forward");
    cpu_step s;
    cpu_map map;
    mxo_status status =
        cpu_known(call, "layout dtype dir keep_rows keep_cols", why);

    if (status == MXO_OK && (x == NULL || x->rank != 3)) {
        status = cpu_fail(MXO_E_SHAPE, why, "x has three axes");
    }
    status =
        status == MXO_OK ? map_call(call, x, forward, &s, &map, why) : status;
    if (status == MXO_OK) {
        status = check_tensors(x, y, valid, &s, &map, forward, why);
    }
    if (status == MXO_OK) {
        status =
            cpu_step_run(ctx, &s, &map, forward, cpu_data(y), cpu_data(x), why);
    }
    if (status == MXO_OK && valid != NULL) {
        status = set_valid(ctx, &map, forward, valid, why);
    }
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
    return (int64_t)to;
}

static int64_t index_inverse(const cpu_map *m, uint64_t at)
{
    uint64_t bit = 0;
    const int wall = cpu_unit_source(m, at, &bit);

    if (wall >= 0) {
        return m->wall[wall].unknown ? UNKNOWN : PAD;
    }
    return (int64_t)(bit / m->digit[m->n - 1].size);
}

static mxo_status map_sizes(const mxo_call *call, cpu_map *map, mxo_text why)
{
    static const char *const keys[] = {"experts", "rows", "cols"};
    const char *text = cpu_text(call, "layout");
    const cpu_row *row = cpu_row_of(text);
    const double elem = cpu_number(call, "elem_bytes");
    uint64_t extent[3];

    if (row == NULL) {
        return cpu_fail(MXO_E_PARAM, why, "no layout is called %.60s", text);
    }
    if (!(elem >= 1 && elem <= 8)) {
        return cpu_fail(MXO_E_PARAM, why, "elem_bytes is out of range");
    }
    for (int a = 0; a < 3; a++) {
        const double n = cpu_number(call, keys[a]);
        if (!(n >= 0 && n <= 9007199254740992.0)) {
            return cpu_fail(MXO_E_PARAM, why, "%s is out of range", keys[a]);
        }
        extent[a] = (uint64_t)n;
    }
    return cpu_map_of(map, row, text, extent, NULL, (uint64_t)elem, why);
}

mxo_status cpu_layout_index(cpu_context *ctx, const mxo_call *call,
                            mxo_text why)
{
    const mxo_tensor *at = cpu_in(call, "at");
    const mxo_tensor *to = cpu_out(call, "to");
    const mxo_tensor *sizes = cpu_out(call, "sizes");
    const int forward = cpu_is(call, "dir", "forward");
    cpu_map m;
    mxo_status status =
        cpu_known(call, "layout dir elem_bytes experts rows cols", why);

    status = status == MXO_OK ? map_sizes(call, &m, why) : status;
    status = status == MXO_OK && at == NULL
                 ? cpu_fail(MXO_E_SHAPE, why, "the tensor at is missing")
                 : status;
    if (status == MXO_OK) {
        status = cpu_want_bytes(to, "to", MXO_I64, at->n_bytes, why);
    }
    if (status == MXO_OK) {
        status = cpu_want_bytes(sizes, "sizes", MXO_I64, 8 * N_SIZES, why);
    }
    if (status != MXO_OK) {
        return status;
    }
    const uint64_t unit = m.digit[m.n - 1].size;
    const int64_t facts[N_SIZES] = {(int64_t)m.parts,
                                    (int64_t)(m.logical_bits / unit),
                                    (int64_t)(m.physical_bits / unit),
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
