/* SPDX-License-Identifier: Apache-2.0 */
/* See layer.h. */
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY_ROWS = 16, GEMM_RUNS = 5 };

static uint64_t times(uint64_t least, uint64_t n)
{
    return n == 0 || least <= n ? 1 : (least + n - 1) / n;
}

/* Which of the two GEMMs the case has: bit 0 the first, bit 1 the second. */
static int gemms_of(const test_case *c)
{
    const char *const op = c->schema->info->name;

    const int first = strcmp(op, "moe.gemm1") == 0;
    const int second = strcmp(op, "moe.gemm2") == 0;

    return strcmp(op, "moe.layer") == 0 ? 3 : first + 2 * second;
}

int bench_layer_of(bench_layer *l, const test_case *c, const bench_options *o)
{
    const bench_layer none = {0, 1, 1, 0};

    *l = none;
    if (gemms_of(c) == 0 || case_dim(c, "global") != 0 ||
        case_dim(c, "tokens") == 0) {
        return 0;
    }
    l->experts = case_dim(c, "experts");
    l->by_experts = times(o->experts, l->experts);
    l->by_tokens = times(o->tokens, case_dim(c, "tokens"));
    return 1;
}

uint64_t bench_layer_grows(const bench_layer *l, const test_case *c, int i)
{
    const op_input *in = &c->schema->inputs[i];
    const int dim = in->rank > 0 ? in->shape[0].dim : -1;

    if (dim < 0) {
        return 1;
    }
    return dim == op_dim_index(c->schema, "experts")  ? l->by_experts
           : dim == op_dim_index(c->schema, "tokens") ? l->by_tokens
                                                      : 1;
}

/* Copy of its expert for slot i: spread evenly, without a pattern. */
static uint64_t copy_of(uint64_t i, uint64_t n)
{
    uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    return (x >> 32) % n;
}

int bench_layer_ids(bench_layer *l, const test_case *c,
                    const host_tensor *small, const mxo_tensor *t, subject *s,
                    mxo_text why)
{
    const uint64_t few = small->n_bytes / 4;
    const uint64_t n = t->n_bytes / 4;
    int32_t *ids = malloc((size_t)t->n_bytes + 1);
    uint8_t *met = calloc((size_t)(l->experts * l->by_experts), 1);
    int status = -1;

    (void)c;
    if (ids != NULL && met != NULL) {
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t e = tensor_load(small, i % few) +
                               l->experts * copy_of(i, l->by_experts);
            ids[i] = (int32_t)e;
            l->active += !met[e];
            met[e] = 1;
        }
        status = s->table->upload(s->ctx, t->buffer, 0, ids, t->n_bytes, why) ==
                         MXO_OK
                     ? 0
                     : -1;
    } else {
        (void)snprintf(why.ptr, why.size, "no memory for topk_ids");
    }
    free(met);
    free(ids);
    return status;
}

/* Seconds of batch products of m x k and k x n by the device's library. */
static double gemm_seconds(subject *s, uint64_t batch, uint64_t m, uint64_t n,
                           uint64_t k)
{
    const mxo_param params[] = {{"batch", "", (double)batch},
                                {"m", "", (double)m},
                                {"n", "", (double)n},
                                {"k", "", (double)k}};
    const mxo_call call = {.struct_size = sizeof call,
                           .n_params = 4,
                           .op = "yardstick.gemm_bf16",
                           .params = params};
    double seconds = 0;

    return s->table->time(s->ctx, &call, GEMM_RUNS, &seconds,
                          (mxo_text){NULL, 0}) == MXO_OK
               ? seconds / GEMM_RUNS
               : 0;
}

void bench_layer_rate(const bench_layer *l, const test_case *c, subject *s,
                      bench_row *row)
{
    const uint64_t hidden = case_dim(c, "hidden");
    const uint64_t inter = case_dim(c, "inter");
    const uint64_t slots =
        case_dim(c, "tokens") * l->by_tokens * case_dim(c, "topk");
    const uint64_t experts = l->experts * l->by_experts;
    const uint64_t rows = slots / experts;
    const uint64_t n[2] = {2 * inter, hidden}, k[2] = {hidden, inter};
    double flops = 0, seconds = 0;
    int rated = rows >= MANY_ROWS;

    row->tokens = case_dim(c, "tokens") * l->by_tokens;
    row->experts = experts;
    for (int g = 0; g < 2; g++) {
        if ((gemms_of(c) >> g & 1) == 0) {
            continue;
        }
        row->streamed += l->active * n[g] * (k[g] / 2 + (k[g] + 31) / 32);
        if (rated) {
            const double one = gemm_seconds(s, experts, rows, n[g], k[g]);
            flops += 2.0 * (double)(experts * rows * n[g]) * (double)k[g];
            seconds += one;
            rated = one > 0;
        }
    }
    row->gemm = rated ? flops / seconds / 1e9 : 0;
}
