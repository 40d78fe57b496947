/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routing: which experts a token goes to, and with which weights.
 *
 * Routers differ in small things that decide ids: whether the softmax comes
 * before or after the choice, who wins a tie, where a NaN ranks, whether the
 * correction bias is rounded, in which order the weights are summed.  Each
 * router is a row of <mxoracle/route.def>.
 */
#ifndef MXORACLE_ROUTE_H
#define MXORACLE_ROUTE_H

#include <mxoracle/format.h>

#ifdef __cplusplus
extern "C" {
#endif

/** More experts than any published model has; rows live on the stack. */
enum { MXO_ROUTE_MAX_EXPERTS = 2048 };

/** Routers; the rows with their sources are in <mxoracle/route.def>. */
typedef enum mxo_route_dialect {
#define MXO_ROUTE(id, ...) MXO_ROUTE_##id,
#include <mxoracle/route.def>
#undef MXO_ROUTE
    MXO_N_ROUTES
} mxo_route_dialect;

/** A router: how, over how many experts, with which constants. */
typedef struct mxo_route {
    mxo_route_dialect dialect;
    mxo_format from;      /* of the logits: bf16, f16 or f32 */
    mxo_format to;        /* of the weights: bf16, f16 or f32 */
    mxo_format bias_from; /* of the bias, where it decides how sums round */
    uint32_t experts;     /* 1 .. MXO_ROUTE_MAX_EXPERTS */
    uint32_t top_k;       /* without shared experts */
    uint32_t groups;      /* 1: none */
    uint32_t kept;        /* groups that stay */
    uint32_t shared;      /* fused shared experts, weight 1, after the others */
    uint8_t renormalize;  /* where the row leaves it open */
    uint64_t scale;       /* routed scaling factor, binary64 pattern */
    const uint32_t *bias; /* experts binary32 patterns, or NULL; borrowed */
} mxo_route;

/** @brief Name of a dialect in case text; NULL past the last. */
const char *mxo_route_name(mxo_route_dialect dialect);

/**
 * @brief The sentence that says why a router cannot be, or NULL.
 *
 * Errors   more experts, choices or groups than there are; groups that do not
 *          divide the experts; a bias, groups, shared experts or a scaling
 *          factor where the row has none; a NaN in a bias that is compared by
 *          value; a scaling factor that is not finite; what the vendor's
 *          kernel refuses (emu/route/limits.def).
 * Threads  pure.
 */
const char *mxo_route_check(const mxo_route *route);

/**
 * @brief The experts of one token and their weights.
 *
 * Shapes   logits: [experts]; ids, weights: [top_k + shared].
 * Units    logits and weights are codes of route->from and route->to; given
 *          is NULL, or top_k ids from a table that replace the choice.
 * Needs    mxo_route_check(route) == NULL; given ids are below experts.
 * Rounds   after every step, to binary32, and the weight once more to
 *          route->to; exponential, tanh and logarithm are correctly rounded
 *          (kernels use approximations of a few units in the last place).
 * NaN      ranks as the row says; a NaN weight is quiet.
 * Threads  pure.
 * Source   per row: <mxoracle/route.def>; docs/ops/route.topk.md
 */
void mxo_route_token(const mxo_route *route, const uint32_t *logits,
                     const int32_t *given, int32_t *ids, uint32_t *weights);

/**
 * @brief ln(x), correctly rounded to binary32.
 *
 * Units    binary32 patterns.
 * NaN      NaN and negative numbers give 7fc00000; ln(+-0) = -Inf.
 * Threads  pure.
 */
uint32_t mxo_f32_ln(uint32_t x);

/** @brief The square root, correctly rounded; of negative numbers 7fc00000. */
uint32_t mxo_f32_sqrt(uint32_t x);

#ifdef __cplusplus
}
#endif
#endif
