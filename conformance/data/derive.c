/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See derive.h. Inputs are found by what their dimensions are called; only a
 * shard of the intermediate has to know the tensors of a layer by name.
 */
#include "derive.h"

#include "case/case_shape.h"
#include "case/opinfo.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 32, PAD = 0xff };

typedef struct making {
    const derivation *d;
    const test_case *c;
    uint64_t n;     /* of the axis, before */
    uint64_t start; /* a shard's, on its block */
} making;

static int is_shard(const making *m)
{
    return m->d->how == DERIVE_SHARD;
}

/* Entries of the axis in the call that is made. */
static uint64_t entries(const making *m)
{
    switch (m->d->how) {
    case DERIVE_LAST:
        return 1;
    case DERIVE_GROWN:
        return 2 * m->n + 1;
    case DERIVE_SLICE:
        return m->d->n;
    case DERIVE_SHARD: /* two codes to a byte */
        return (m->d->first + m->d->n - m->start + 1) / 2 * 2;
    default:
        return m->n;
    }
}

/* Where entry i comes from; n and beyond: from nowhere. */
static uint64_t source(const making *m, uint64_t i)
{
    switch (m->d->how) {
    case DERIVE_REVERSED:
        return m->n - 1 - i;
    case DERIVE_LAST:
        return m->n - 1;
    case DERIVE_PAIRS:
        return i - i % 2;
    case DERIVE_SLICE:
        return m->d->first + i;
    default:
        return i;
    }
}

static void copy_rows(const making *m, const host_tensor *from, host_tensor *to)
{
    const uint64_t n = to->shape[0];
    const size_t row = n == 0 ? 0 : (size_t)(to->n_bytes / n);
    const int is_id = strcmp(to->name, "topk_ids") == 0;

    for (uint64_t i = 0; i < n && row > 0; i++) {
        const uint64_t k = source(m, i);
        if (k < m->n || is_id) { /* a pad's experts are like any others */
            memcpy(to->data + i * row, from->data + k % m->n * row, row);
        } else {
            memset(to->data + i * row, PAD, row);
        }
    }
}

/* Where the experts are: those of the slice here, the others elsewhere. */
static void fill_map(const making *m, host_tensor *map)
{
    const uint64_t first = m->d->how == DERIVE_SLICE ? m->d->first : 0;

    for (uint64_t i = 0; i < tensor_elems(map); i++) {
        const int here = i >= first && i < first + entries(m);
        tensor_store(map, i, here ? i - first : UINT64_MAX);
    }
}

/* Whether column i of the derived call is one of the shard's own. */
static uint64_t is_own(const making *m, uint64_t i)
{
    const uint64_t col = m->start + i;

    return col >= m->d->first && col < m->d->first + m->d->n;
}

/* Codes of a shard's columns out of each row of w2, zeros for the others in its
   first block and its last byte. */
static void copy_codes(const making *m, const host_tensor *from,
                       host_tensor *to)
{
    const uint64_t width = to->shape[to->rank - 1];
    const uint64_t was = from->shape[from->rank - 1];

    for (uint64_t i = 0; i < tensor_elems(to); i++) {
        const uint64_t at = i % width;
        const uint64_t k = i / width * was + m->start / 2 + at;
        const uint64_t keep =
            15 * is_own(m, 2 * at) + 240 * is_own(m, 2 * at + 1);
        tensor_store(to, i, tensor_load(from, k) & keep);
    }
}

/* Scales of a shard's blocks out of each row of w2. */
static void copy_scales(const making *m, const host_tensor *from,
                        host_tensor *to)
{
    const uint64_t width = to->shape[to->rank - 1];
    const uint64_t was = from->shape[from->rank - 1];

    for (uint64_t i = 0; i < tensor_elems(to); i++) {
        const uint64_t k = i / width * was + m->start / BLOCK + i % width;
        tensor_store(to, i, tensor_load(from, k));
    }
}

/* Gate and up rows of a shard's columns, of w13, its scales or its bias. */
static void copy_gated_rows(const making *m, const host_tensor *from,
                            host_tensor *to)
{
    const int joint = strcmp(case_value(m->c, "rows"), "interleaved") == 0;
    const uint64_t experts = to->shape[0];
    const uint64_t rows = to->shape[1];
    const uint64_t half = rows / 2;
    const size_t row = (size_t)(to->n_bytes / (experts * rows));

    for (uint64_t i = 0; i < experts * rows; i++) {
        const uint64_t r = i % rows;
        const uint64_t k = joint      ? 2 * m->start + r
                           : r < half ? m->start + r
                                      : m->n + m->start + r - half;
        memcpy(to->data + i * row,
               from->data + (i / rows * from->shape[1] + k) * row, row);
    }
}

static void fill_shard(const making *m, const host_tensor *from,
                       host_tensor *to)
{
    if (strncmp(to->name, "w13", 3) == 0 && to->rank > 1) {
        copy_gated_rows(m, from, to);
    } else if (strcmp(to->name, "w2") == 0) {
        copy_codes(m, from, to);
    } else if (strcmp(to->name, "w2_scale") == 0) {
        copy_scales(m, from, to);
    } else if (strcmp(to->name, "w2_bias") != 0 || m->d->first == 0) {
        memcpy(to->data, from->data, (size_t)from->n_bytes);
    }
}

static void fill_input(const making *m, const op_input *input,
                       const host_tensor *from, host_tensor *to)
{
    const int axis = op_dim_index(m->c->schema, m->d->axis);

    if (strcmp(to->name, "x") == 0 && m->d->x != NULL) {
        from = m->d->x;
    }
    if (from == NULL) {
        fill_map(m, to);
    } else if (is_shard(m)) {
        fill_shard(m, from, to);
    } else if (input->shape[0].dim == axis && axis >= 0) {
        copy_rows(m, from, to);
    } else {
        memcpy(to->data, from->data, (size_t)from->n_bytes);
    }
    /* Experts that changed places keep their tokens. */
    const int renumber = strcmp(to->name, "topk_ids") == 0 &&
                         m->d->how == DERIVE_REVERSED &&
                         strcmp(m->d->axis, "experts") == 0;

    for (uint64_t i = 0; renumber && i < tensor_elems(to); i++) {
        tensor_store(to, i, m->n - 1 - tensor_load(to, i));
    }
}

/* A dimension, if the operation has it. */
static void set_dim(test_case *c, const char *name, uint64_t n)
{
    const int dim = op_dim_index(c->schema, name);

    if (dim >= 0) {
        case_resize(c, dim, n);
    }
}

static uint64_t blocks(uint64_t n)
{
    return (n + BLOCK - 1) / BLOCK;
}

int derive_call(const derivation *d, const test_case *c, const tensor_set *in,
                test_case *made, tensor_set *inputs, mxo_text why)
{
    const making m = {d, c, case_dim(c, d->axis), d->first / BLOCK * BLOCK};
    uint64_t shape[MXO_MAX_RANK];
    uint32_t dtype;
    host_tensor *to;

    *made = *c;
    set_dim(made, d->axis, entries(&m));
    if (is_shard(&m)) {
        set_dim(made, "iblocks", blocks(entries(&m)));
    } else if (d->how == DERIVE_SLICE) {
        set_dim(made, "global", m.n);
        memcpy(made->value[op_param_index(c->schema, "map")], "1", 2);
    }
    for (int i = 0; i < c->schema->n_inputs; i++) {
        const op_input *input = &c->schema->inputs[i];
        if (d->how == DERIVE_UNLOADED && input->conversion >= 0) {
            memcpy(made->value[input->conversion], "none", 5);
        }
        if (!case_has_input(made, i)) {
            continue;
        }
        if (case_input(made, i, &dtype, shape, why) != 0) {
            return -1;
        }
        if (tensor_set_add(inputs, input->name, dtype, input->rank, shape,
                           &to) != MXO_OK) {
            (void)snprintf(why.ptr, why.size, "no memory for %s", input->name);
            return -1;
        }
        fill_input(&m, input, tensor_set_find(in, input->name), to);
    }
    return 0;
}
