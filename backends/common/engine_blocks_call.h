/* SPDX-License-Identifier: Apache-2.0 */
/* From a call of an operation of engine_blocks.h to its job. */
#ifndef BACKENDS_ENGINE_BLOCKS_CALL_H
#define BACKENDS_ENGINE_BLOCKS_CALL_H

#include "codes_call.h"
#include "engine_blocks.h"

static inline int blocks_rule_of(const mxo_call *call, blocks_rule *rule)
{
#define MXO_ENGINE(name, base, least, exponent, offset, edge, zero, element, \
                   sign, source)                                             \
    {name,         BLOCKS_##base, least, BLOCKS_##exponent,                  \
     offset,       BLOCKS_##edge, zero,  BLOCKS_##element,                   \
     BLOCKS_##sign},
    static const blocks_rule rows[] = {
#include <mxoracle/engine.def>
    };
#undef MXO_ENGINE

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (call_is(call, "rule", rows[i].name)) {
            *rule = rows[i];
            return 1;
        }
    }
    return 0;
}

/* An output with these axes, the second left out where rank is 1; or NULL. */
static inline const mxo_tensor *blocks_out(const mxo_call *call,
                                           const char *name, uint32_t dtype,
                                           uint32_t rank, uint64_t rows,
                                           uint64_t cols)
{
    const mxo_tensor *const t = call_out(call, name);
    const int fits = t != NULL && t->dtype == dtype && t->rank == rank &&
                     t->shape[0] == rows && (rank == 1 || t->shape[1] == cols);

    return fits ? t : NULL;
}

/* An output of n elements in one row, to *to; 0: there is none. */
static inline int blocks_list(const mxo_call *call, const char *name,
                              uint32_t dtype, uint64_t n, void **to)
{
    const mxo_tensor *const t = blocks_out(call, name, dtype, 1, n, 0);

    *to = t == NULL ? NULL : tensor_address(t);
    return t != NULL;
}

/* Codes and scales, a byte for so many elements. */
static inline mxo_status blocks_outputs(const mxo_call *call, blocks_job *j,
                                        uint64_t group, uint32_t dtype,
                                        mxo_text why)
{
    const mxo_tensor *const q =
        blocks_out(call, "q", j->wide ? MXO_E4M3 : MXO_U8, 2, j->rows,
                   j->wide ? j->cols : j->cols / 2);
    const mxo_tensor *const scale =
        blocks_out(call, "scale", dtype, 2, j->rows, j->cols / group);

    if (q == NULL || scale == NULL) {
        return call_refuse(call, MXO_E_SHAPE, why, "q or scale does not fit");
    }
    j->in.y = tensor_address(q);
    j->in.y_scale = tensor_address(scale);
    return MXO_OK;
}

static inline mxo_status blocks_mx_call(const mxo_call *call, blocks_job *j,
                                        mxo_text why)
{
    j->wide = (uint32_t)call_is(call, "element", "e4m3fn");
    if (!blocks_rule_of(call, &j->rule)) {
        return call_refuse(call, MXO_E_PARAM, why, "no such rule");
    }
    j->poisoned = strncmp(j->rule.name, "torchao", 7) == 0 ||
                  strcmp(j->rule.name, "gguf_py") == 0 ||
                  j->rule.base == BLOCKS_TYPED;
    j->n = j->rows * j->cols / 32;
    return j->wide && j->rule.base != BLOCKS_TYPED
               ? call_refuse(call, MXO_E_PARAM, why, "this rule is for e2m1")
               : blocks_outputs(call, j, 32, MXO_E8M0, why);
}

static inline mxo_status blocks_nvfp4_call(const mxo_call *call, blocks_job *j,
                                           mxo_text why)
{
    static const char *const rules[] = {"ggml", "mlx", "mlx_global",
                                        "ggml_cuda", "modelopt"};
    const mxo_tensor *const given = call_in(call, "global_scale");

    j->nvfp4 = codes_choice(call, "rule", rules, 5);
    if (j->nvfp4 != BLOCKS_MLX && j->nvfp4 != BLOCKS_MLX_GLOBAL) {
        j->type = j->in.f32;
    }
    j->n = j->rows * j->cols / 16;
    MXO_TRY(blocks_outputs(call, j, 16, MXO_E4M3, why));
    if (j->nvfp4 == BLOCKS_MLX_GLOBAL) {
        if (given == NULL || given->n_bytes != 4) {
            return call_refuse(call, MXO_E_SHAPE, why,
                               "global_scale needs one element");
        }
        j->in.global = tensor_address(given);
    }
    if (j->nvfp4 >= BLOCKS_GGML_CUDA) {
        const uint64_t n = j->nvfp4 == BLOCKS_MODELOPT ? 1 : j->rows;
        void *global;

        if (!blocks_list(call, "global", MXO_F32, n, &global)) {
            return call_refuse(call, MXO_E_SHAPE, why, "global does not fit");
        }
        j->global = (float *)global;
    }
    return MXO_OK;
}

static inline mxo_status blocks_cast_call(const mxo_call *call, blocks_job *j,
                                          mxo_text why)
{
    const mxo_tensor *const scale = call_in(call, "scale");
    const double k_max = call_number(call, "k_max");
    void *global;
    void *blocks;

    if (scale == NULL || scale->rank != 2 || scale->shape[0] != j->rows ||
        scale->shape[1] * 32 != j->cols) {
        return call_refuse(call, MXO_E_SHAPE, why,
                           "q and scale need rows of whole blocks of 32");
    }
    if (!(k_max >= -128 && k_max <= 127)) {
        return call_refuse(call, MXO_E_PARAM, why, "k_max is not in -128..127");
    }
    j->k_max = (int32_t)k_max;
    j->n = scale->n_bytes;
    j->in.scale = tensor_address(scale);
    MXO_TRY(blocks_outputs(call, j, 16, MXO_E4M3, why));
    if (!blocks_list(call, "global", MXO_F32, 1, &global) ||
        !blocks_list(call, "blocks", MXO_I32, 2, &blocks)) {
        return call_refuse(call, MXO_E_SHAPE, why,
                           "global or blocks does not fit");
    }
    j->global = (float *)global;
    j->blocks = (int32_t *)blocks;
    return MXO_OK;
}

/* The scales, which the host can read here, before anything is written: the
   largest exponent, and what the cast loses. */
static inline mxo_status blocks_cast_scales(const mxo_call *call, blocks_job *j,
                                            const uint8_t *scale, mxo_text why)
{
    const int lossless = call_is(call, "lossless", "1");
    uint32_t most = 0;

    for (uint64_t i = 0; i < j->n; i++) {
        most = scale[i] > most ? scale[i] : most;
    }
    if (j->k_max == -128) {
        j->k_max = most == 0 ? 0 : (int32_t)most - 127;
    }
    if (most == 255 || (j->n > 0 && (int32_t)most - 127 > j->k_max)) {
        return call_refuse(call, MXO_E_PARAM, why,
                           "a scale is above the largest power of two");
    }
    for (uint64_t i = 0; i < j->n; i++) {
        j->kept +=
            scale[i] == 0 || (int32_t)scale[i] - 127 >= j->k_max - BLOCKS_SPAN;
    }
    return lossless && j->kept != (int32_t)j->n
               ? call_refuse(call, MXO_E_PARAM, why,
                             "a block is more than 2^17 below the largest: its "
                             "values would be lost")
               : MXO_OK;
}

static inline mxo_status blocks_make(const mxo_call *call, blocks_job *j,
                                     mxo_text why)
{
    const mxo_tensor *const x = call->n_in > 0 ? &call->in[0] : NULL;
    const int is_cast = strcmp(call->op, "quant.mxfp4_to_nvfp4") == 0;
    const int is_mx = strcmp(call->op, "quant.engine") == 0;
    const uint64_t group = is_mx ? 32 : 16;

    memset(j, 0, sizeof *j);
    j->op = is_cast ? BLOCKS_CAST : is_mx ? BLOCKS_MX : BLOCKS_NVFP4;
    (void)codes_format_of("e2m1", &j->in.e2m1);
    (void)codes_format_of("e4m3fn", &j->in.e4m3);
    (void)codes_format_of("f32", &j->in.f32);
    if (x == NULL || x->rank != 2 || (!is_cast && x->shape[1] % group != 0)) {
        return call_refuse(call, MXO_E_SHAPE, why,
                           "the input needs rows of whole blocks");
    }
    j->in.x = tensor_address(x);
    j->rows = x->shape[0];
    j->cols = is_cast ? 2 * x->shape[1] : x->shape[1];
    if (is_cast) {
        return blocks_cast_call(call, j, why);
    }
    (void)codes_type(call, "from", &j->in.bytes, &j->in.from);
    j->type = j->in.from;
    return is_mx ? blocks_mx_call(call, j, why)
                 : blocks_nvfp4_call(call, j, why);
}

/* Whether a maximum of each row, or one number more, comes before blocks. */
static inline int blocks_has_rows(const blocks_job *j)
{
    return j->op == BLOCKS_NVFP4 && j->nvfp4 >= BLOCKS_GGML_CUDA;
}

static inline int blocks_has_tensor(const blocks_job *j)
{
    return j->op == BLOCKS_CAST ||
           (j->op == BLOCKS_NVFP4 && j->nvfp4 == BLOCKS_MODELOPT);
}

#endif
