/* SPDX-License-Identifier: Apache-2.0 */
/* The products behind a case.  See gemm.h. */
#include "gemm.h"

#include <stdlib.h>

/* Tokens of every expert, [experts + 1]; NULL if the case does not say. */
static uint64_t *count_rows(const test_case *c, const tensor_set *in)
{
    const host_tensor *ids = tensor_set_find(in, "topk_ids");
    const uint64_t experts = case_dim(c, "experts");
    uint64_t *rows = NULL;

    if (ids != NULL && tensor_set_find(in, "expert_map") == NULL) {
        rows = calloc((size_t)experts + 1, sizeof *rows);
    }
    for (uint64_t i = 0; rows != NULL && i < ids->n_bytes / 4; i++) {
        const uint64_t e = tensor_load(ids, i); /* below 0: far beyond */
        rows[e < experts ? e : experts]++;
    }
    return rows;
}

/* One GEMM of all experts that have rows. */
static size_t add_gemm(gemm_shape *to, const uint64_t *rows, uint64_t experts,
                       gemm_shape one)
{
    size_t n = 0;

    for (uint64_t e = 0; e < experts; e++) {
        if (rows[e] > 0) {
            to[n++] = (gemm_shape){rows[e] * one.m, one.n, one.k};
        }
    }
    return n;
}

static size_t layer_shapes(const test_case *c, const tensor_set *in,
                           uint64_t repeats, gemm_shape **shape)
{
    const uint64_t experts = case_dim(c, "experts");
    const uint64_t hidden = case_dim(c, "hidden");
    const uint64_t inter = case_dim(c, "inter");
    uint64_t *rows = count_rows(c, in);
    size_t n = 0;

    *shape = malloc((2 * (size_t)experts + 1) * sizeof **shape);
    if (rows != NULL && *shape != NULL) {
        if (op_dim_index(c->schema, "hblocks") >= 0) {
            n = add_gemm(*shape, rows, experts,
                         (gemm_shape){repeats, 2 * inter, hidden});
        }
        if (op_dim_index(c->schema, "iblocks") >= 0) {
            n += add_gemm(*shape + n, rows, experts,
                          (gemm_shape){repeats, hidden, inter});
        }
    }
    free(rows);
    return n;
}

size_t gemm_shapes_of(const test_case *c, const tensor_set *in,
                      uint64_t repeats, gemm_shape **shape)
{
    const gemm_shape one = {case_dim(c, "rows") * repeats, case_dim(c, "cols"),
                            case_dim(c, "k")};

    *shape = NULL;
    if (one.k == 0) {
        return layer_shapes(c, in, repeats, shape);
    }
    *shape = malloc(sizeof **shape);
    if (*shape == NULL || one.m == 0 || one.n == 0) {
        return 0;
    }
    **shape = one;
    return 1;
}

void gemm_rate_row(bench_row *row, const test_case *c, const tensor_set *in,
                   int threads)
{
    gemm_shape *shape = NULL;

    if (row->macs == 0) {
        return;
    }
    const size_t n = gemm_shapes_of(c, in, row->repeats, &shape);

    row->square = gemm_rate(&gemm_square, 1, threads);
    row->same_shapes = gemm_rate(shape, n, threads);
    free(shape);
}
