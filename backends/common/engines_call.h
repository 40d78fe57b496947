/* SPDX-License-Identifier: Apache-2.0 */
/* From a call of an operation of engines.h to its job. */
#ifndef BACKENDS_ENGINES_CALL_H
#define BACKENDS_ENGINES_CALL_H

#include "codes_call.h"
#include "engines.h"

/* Address of a tensor; NULL where the call has none of so many bytes. */
static inline uint8_t *engines_at(const mxo_tensor *t, uint64_t n_bytes)
{
    return t == NULL || t->n_bytes != n_bytes ? NULL : tensor_address(t);
}

/* A matrix of blocks beside x, of y, and whether they fit. */
static inline mxo_status engines_block_op(const mxo_call *call, engines_job *a,
                                          const mxo_tensor *x, mxo_text why)
{
    const int is_nvfp4 = a->op == ENGINES_NVFP4;
    const mxo_tensor *const scale = call_in(call, "scale");
    const mxo_tensor *const y = call_out(call, is_nvfp4 ? "y" : "q");
    const mxo_tensor *const global = call_in(call, "global_scale");
    const uint64_t n = x->n_bytes / (is_nvfp4 ? 1 : a->bytes);
    const uint32_t type =
        codes_type(call, is_nvfp4 ? "to" : "u8", &a->bytes, &a->to);
    const uint64_t bytes_of_scale =
        scale != NULL && scale->dtype == MXO_BF16 ? 2 : 1;

    a->group = global != NULL || is_nvfp4 ? 16 : 32;
    if (y == NULL || scale == NULL || x->rank != 2 || y->rank != 2 ||
        scale->rank != 2 || y->dtype != type || x->shape[0] != y->shape[0] ||
        x->shape[0] != scale->shape[0] ||
        (is_nvfp4 ? 2 * x->shape[1] != y->shape[1]
                  : x->shape[1] != 2 * y->shape[1])) {
        return call_refuse(call, MXO_E_SHAPE, why, "tensors do not fit");
    }
    a->n = is_nvfp4 ? 2 * n : n / 2;
    a->y = tensor_address(y);
    a->global = global == NULL ? NULL : engines_at(global, 4);
    a->scale =
        engines_at(scale, (is_nvfp4 ? 2 * n : n) / a->group * bytes_of_scale);
    if (!is_nvfp4) {
        (void)codes_type(call, "from", &a->bytes, &a->from);
    }
    return a->scale == NULL || (global != NULL && a->global == NULL)
               ? call_refuse(call, MXO_E_SHAPE, why, "scales do not fit")
               : MXO_OK;
}

static inline mxo_status engines_q8_0_op(const mxo_call *call, engines_job *a,
                                         const mxo_tensor *x, mxo_text why)
{
    const mxo_tensor *const q = call_out(call, "q");
    const mxo_tensor *const scale = call_out(call, "scale");

    if (x->rank != 2 || x->shape[1] % 32 != 0 || q == NULL || scale == NULL ||
        q->dtype != MXO_I8 || scale->dtype != MXO_F16 || q->rank != 2 ||
        scale->rank != 2 || q->shape[0] != x->shape[0] ||
        scale->shape[0] != x->shape[0] || 4 * q->n_bytes != x->n_bytes ||
        16 * scale->n_bytes != q->n_bytes) {
        return call_refuse(call, MXO_E_SHAPE, why,
                           "x needs rows of whole blocks of 32");
    }
    a->n = q->n_bytes / 32;
    a->y = tensor_address(q);
    a->y_scale = tensor_address(scale);
    return MXO_OK;
}

static inline mxo_status engines_dot_op(const mxo_call *call, engines_job *a,
                                        const mxo_tensor *x, mxo_text why)
{
    const int is_mx = call_is(call, "weights", "mxfp4");
    const mxo_tensor *const w = call_in(call, "w");
    const mxo_tensor *const y = call_out(call, "y");

    a->group = is_mx ? 32 : 16;
    a->chunks = call_is(call, "order", "x4")   ? 4
                : call_is(call, "order", "x8") ? 8
                                               : 0;
    if (x->rank != 2 || w == NULL || y == NULL || w->rank != 2 ||
        y->rank != 2 || y->dtype != MXO_F32 ||
        x->shape[1] % (is_mx ? 32 : 64) || 2 * w->shape[1] != x->shape[1] ||
        y->shape[0] != x->shape[0] || y->shape[1] != w->shape[0]) {
        return call_refuse(call, MXO_E_SHAPE, why,
                           "K is no multiple of whole blocks");
    }
    if (!is_mx && a->chunks != 0) {
        return call_refuse(call, MXO_E_PARAM, why,
                           "NVFP4 has no repacked kernel");
    }
    a->k = x->shape[1];
    a->cols = w->shape[0];
    a->n = x->shape[0] * a->cols;
    a->w = tensor_address(w);
    a->scale = engines_at(call_in(call, "a_scale"), x->shape[0] * a->k / 16);
    a->w_scale =
        engines_at(call_in(call, "w_scale"), a->cols * a->k / a->group);
    a->y = tensor_address(y);
    return a->scale == NULL || a->w_scale == NULL
               ? call_refuse(call, MXO_E_SHAPE, why, "scales do not fit")
               : MXO_OK;
}

static inline mxo_status engines_exponent_op(const mxo_call *call,
                                             engines_job *a,
                                             const mxo_tensor *x, mxo_text why)
{
    static const char *const elements[] = {"e2m1", "e2m3", "e4m3fn"};
    const mxo_tensor *const y = call_out(call, "y");
    const uint32_t element = codes_choice(call, "element", elements, 3);

    a->half = element == 1 ? 1u << 19 : 1u << 21;
    a->offset = element == 2 ? 8 : 2;
    a->n = x->n_bytes / 4;
    a->y = x->rank != 1 || y == NULL || y->rank != 1 || y->dtype != MXO_F32
               ? NULL
               : engines_at(y, x->n_bytes);
    return a->y == NULL ? call_refuse(call, MXO_E_SHAPE, why, "y is like amax")
                        : MXO_OK;
}

static inline mxo_status engines_make(const mxo_call *call, engines_job *a,
                                      mxo_text why)
{
    static const char *const ops[] = {"quant.mx_exponent", "quant.scaled",
                                      "dequant.nvfp4_engine", "quant.q8_0",
                                      "gemm.q8_0"};
    static const char *const rules[] = {"ggml", "mlx", "mlx_global",
                                        "compressed_tensors", "modelopt"};
    const mxo_tensor *const x = call->n_in > 0 ? &call->in[0] : NULL;

    memset(a, 0, sizeof *a);
    (void)codes_format_of("e2m1", &a->e2m1);
    (void)codes_format_of("e4m3fn", &a->e4m3);
    (void)codes_format_of("f16", &a->f16);
    (void)codes_format_of("f32", &a->f32);
    a->from = a->f32;
    a->bytes = 4;
    while (a->op < 5 && strcmp(ops[a->op], call->op) != 0) {
        a->op++;
    }
    if (x == NULL || a->op == 5) {
        return call_refuse(call, MXO_E_UNSUPPORTED, why, "no such operation");
    }
    a->x = tensor_address(x);
    a->rule = codes_choice(call, "rule", rules, 5);
    switch (a->op) {
    case ENGINES_SCALED:
        (void)codes_type(call, "from", &a->bytes, &a->from);
        return engines_block_op(call, a, x, why);
    case ENGINES_NVFP4:
        return engines_block_op(call, a, x, why);
    case ENGINES_Q8_0:
        return engines_q8_0_op(call, a, x, why);
    case ENGINES_DOT:
        return engines_dot_op(call, a, x, why);
    default:
        return engines_exponent_op(call, a, x, why);
    }
}

#endif
