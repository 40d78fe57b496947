/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.nvfp4_scalars: from a call to its job, and an expert's numbers.  Steps of
 * binary32, each rounded; C that CUDA C++ and HIP C++ also accept.
 * docs/ops/moe.nvfp4_scalars.md
 */
#ifndef BACKENDS_NVFP4_SCALARS_H
#define BACKENDS_NVFP4_SCALARS_H

#include "call_read.h"
#include "codes.h"

enum { NVFP4_W13, NVFP4_X13, NVFP4_W2, NVFP4_X2, NVFP4_N_IN };
enum { NVFP4_A1, NVFP4_A2, NVFP4_G1, NVFP4_G1_C, NVFP4_G2, NVFP4_N_OUT };

static const char *const nvfp4_scalars_in[NVFP4_N_IN] = {
    "w13_scale_2", "w13_input_scale", "w2_scale_2", "w2_input_scale"};
static const char *const nvfp4_scalars_out[NVFP4_N_OUT] = {
    "a1_gscale", "a2_gscale", "g1_alphas", "g1_scale_c", "g2_alphas"};

typedef struct nvfp4_scalars_job {
    const uint8_t *in[NVFP4_N_IN];
    uint8_t *out[NVFP4_N_OUT];
    uint64_t count[NVFP4_N_IN]; /* numbers of each */
    uint64_t experts;
    uint32_t encoded;  /* 2688 / amax: the inverse is taken first */
    uint32_t quotient; /* g1_scale_c, and not a product */
} nvfp4_scalars_job;

/* Number i of an input, as amax / 2688. */
CODES_FN float nvfp4_scalar(const nvfp4_scalars_job *a, int in, uint64_t i)
{
    float x;

    memcpy(&x, a->in[in] + 4 * i, sizeof x);
    return a->encoded ? 1.0f / x : x;
}

CODES_FN float nvfp4_scalars_largest(const nvfp4_scalars_job *a, int in)
{
    float most = 0;

    for (uint64_t i = 0; i < a->count[in]; i++) {
        const float x = nvfp4_scalar(a, in, i);
        most = x > most ? x : most;
    }
    return most;
}

CODES_FN void nvfp4_scalars_put(const nvfp4_scalars_job *a, int out, uint64_t i,
                                float x)
{
    memcpy(a->out[out] + 4 * i, &x, sizeof x);
}

/* Experts first, first + step, ... */
CODES_FN void nvfp4_scalars_experts(const nvfp4_scalars_job *a, uint64_t first,
                                    uint64_t step)
{
    const float x13 = nvfp4_scalars_largest(a, NVFP4_X13);
    const float x2 = nvfp4_scalars_largest(a, NVFP4_X2);
    const float a2 = 1.0f / x2;

    for (uint64_t e = first; e < a->experts; e += step) {
        const float g1 = nvfp4_scalar(a, NVFP4_W13, 2 * e) * x13;

        nvfp4_scalars_put(a, NVFP4_G1, e, g1);
        nvfp4_scalars_put(a, NVFP4_G1_C, e, a->quotient ? g1 / x2 : g1 * a2);
        nvfp4_scalars_put(a, NVFP4_G2, e, nvfp4_scalar(a, NVFP4_W2, e) * x2);
    }
    if (first == 0) {
        nvfp4_scalars_put(a, NVFP4_A1, 0, 1.0f / x13);
        nvfp4_scalars_put(a, NVFP4_A2, 0, a2);
    }
}

/* A scalar that is no positive number is one that a checkpoint lost. */
static inline mxo_status nvfp4_scalars_check(const mxo_call *call, int in,
                                             uint64_t i, float x, mxo_text why)
{
    if (x > 0 && x - x == 0) {
        return MXO_OK;
    }
    if (why.ptr != NULL && why.size > 0) {
        (void)snprintf(why.ptr, why.size, "%s: %s[%llu] is no positive number",
                       call->op, nvfp4_scalars_in[in], (unsigned long long)i);
    }
    return MXO_E_PARAM;
}

static inline int nvfp4_scalars_fits(const mxo_tensor *t, uint64_t experts,
                                     int is_pair)
{
    return t != NULL && t->dtype == MXO_F32 && t->rank == (is_pair ? 2u : 1u) &&
           t->shape[0] == experts && (!is_pair || t->shape[1] == 2) &&
           t->n_bytes == experts * (is_pair ? 8 : 4);
}

static inline mxo_status nvfp4_scalars_make(const mxo_call *call,
                                            nvfp4_scalars_job *a, mxo_text why)
{
    const mxo_tensor *const w = call_in(call, nvfp4_scalars_in[NVFP4_W2]);
    int fits = w != NULL && w->rank == 1 && w->shape[0] > 0;

    memset(a, 0, sizeof *a);
    a->experts = fits ? w->shape[0] : 0;
    for (int i = 0; fits && i < NVFP4_N_IN; i++) {
        const mxo_tensor *const t = call_in(call, nvfp4_scalars_in[i]);
        fits = nvfp4_scalars_fits(t, a->experts, i <= NVFP4_X13);
        a->in[i] = fits ? tensor_address(t) : NULL;
        a->count[i] = a->experts * (i <= NVFP4_X13 ? 2 : 1);
    }
    for (int i = 0; fits && i < NVFP4_N_OUT; i++) {
        const mxo_tensor *const t = call_out(call, nvfp4_scalars_out[i]);
        fits = nvfp4_scalars_fits(t, i <= NVFP4_A2 ? 1 : a->experts, 0);
        a->out[i] = fits ? tensor_address(t) : NULL;
    }
    a->encoded = (uint32_t)call_is(call, "scales", "compressed_tensors");
    a->quotient = (uint32_t)call_is(call, "scale_c", "quotient");
    return fits ? MXO_OK
                : call_refuse(call, MXO_E_SHAPE, why,
                              "a number for each expert, two for w13");
}

#endif
