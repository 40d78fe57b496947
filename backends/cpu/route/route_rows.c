/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routers, as docs/ops/route.topk.md tells them apart; their sources are
 * named there.
 */
#include "route.h"

#include <string.h>

enum {
    RENORM = ROUTE_ALWAYS,
    GROUPS_1 = ROUTE_BIASED | ROUTE_GROUPED, /* by their best */
    GROUPS_2 = ROUTE_BIASED | ROUTE_GROUPED | ROUTE_TWO,
    SCALE = ROUTE_FACTORED,
    VLLM = ROUTE_CLEAN | ROUTE_BIASED | ROUTE_BY_VALUE | ROUTE_FACTORED,
    FUSED = GROUPS_2 | ROUTE_TWO_KERNELS | ROUTE_FACTORED,
    TYPED = ROUTE_IN_TYPE,
    TORCH = GROUPS_1 | SCALE | TYPED | ROUTE_TORCH
};

static const cpu_router rows[] = {
    {"softmax_topk", ROUTE_SOFTMAX, ROUTE_OVER_SUM, GROUPS_1 | SCALE, 0, 0, 0},
    {"topk_softmax", ROUTE_LOGIT, ROUTE_OVER_K, RENORM, 0, 0, 0},
    {"sigmoid_topk", ROUTE_SIGMOID, ROUTE_OVER_SUM, GROUPS_1 | SCALE, 0, 0, 0},
    {"trtllm_default", ROUTE_SOFTMAX, ROUTE_AS_IS, 0, 256, 8, 0},
    {"trtllm_renormalize", ROUTE_LOGIT, ROUTE_OVER_K, RENORM, 0, 32, 0},
    {"trtllm_renormalize_naive", ROUTE_LOGIT, ROUTE_OVER_K, RENORM, 0, 32, 0},
    {"trtllm_deepseek_v3", ROUTE_SATURATED, ROUTE_SCALED,
     GROUPS_2 | ROUTE_BIAS_BF16 | SCALE | RENORM, 0, 0, 0},
    {"trtllm_llama4", ROUTE_LOGIT, ROUTE_AS_IS, ROUTE_WEIGH_LOGIT, 128, 1, 0},
    {"trtllm_topk", ROUTE_LOGIT, ROUTE_AS_IS, 0, 256, 8, 0},
    {"trtllm_sigmoid_renorm", ROUTE_SATURATED, ROUTE_AT_LEAST, 0, 256, 8, 0},
    {"trtllm_minimax2", ROUTE_SATURATED, ROUTE_SCALED,
     ROUTE_BIASED | SCALE | RENORM, 0, 0, 0},
    {"trtllm_sigmoid", ROUTE_SATURATED, ROUTE_AS_IS, 0, 256, 8, 0},
    {"trtllm_topk_sigmoid", ROUTE_LOGIT, ROUTE_AS_IS, ROUTE_WEIGH_LOGIT, 0, 0,
     0},
    {"vllm_softmax", ROUTE_WARP, ROUTE_OVER_POSITIVE, VLLM, 0, 0, 0},
    {"vllm_sigmoid", ROUTE_RECIPROCAL, ROUTE_OVER_POSITIVE, VLLM, 0, 0, 0},
    {"vllm_softplus_sqrt", ROUTE_SOFTPLUS, ROUTE_FACTOR, VLLM | ROUTE_UNBIAS, 0,
     0, 0},
    {"vllm_fused_scores", ROUTE_LOGIT, ROUTE_FUSED, FUSED, 0, 32, 32},
    {"vllm_fused_sigmoid", ROUTE_TANH, ROUTE_FUSED, FUSED, 0, 32, 32},
    {"vllm_torch_softmax", ROUTE_SOFTMAX, ROUTE_OVER_SUM, TORCH, 0, 0, 0},
    {"vllm_torch_sigmoid", ROUTE_SIGMOID, ROUTE_OVER_SUM, TORCH, 0, 0, 0},
    {"vllm_cpu", ROUTE_LOGIT, ROUTE_TYPED, 0, 0, 0, 0},
    {"triton35_topk_softmax", ROUTE_LOGIT, ROUTE_OVER_K,
     RENORM | ROUTE_BY_ID | ROUTE_PAYLOADS, 0, 0, 0},
    {"triton35_softmax_topk", ROUTE_SOFTMAX, ROUTE_AS_IS, TYPED | ROUTE_BY_ID,
     0, 0, 0},
    {"triton37_topk_softmax", ROUTE_LOGIT, ROUTE_OVER_K,
     RENORM | ROUTE_PAYLOADS, 0, 0, 0},
    {"triton37_softmax_topk", ROUTE_SOFTMAX, ROUTE_AS_IS, TYPED, 0, 0, 0},
};

const cpu_router *cpu_router_of(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}
