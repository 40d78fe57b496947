/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a layer that contradict each other, as far as its profile is known
 * here.  Each check is left out by one mutant.
 */
#include "layer.h"

#include <string.h>

static int is_one_of(const mxo_call *call, const char *key,
                     const char *const *words)
{
    int is_it = 0;

    for (; *words != NULL; words++) {
        is_it = is_it || broken_entry_is(call, key, *words);
    }
    return is_it;
}

static int fits_splits(const mxo_call *call)
{
    return call_number(call, "splits") == 1 ||
           broken_entry_is(call, "order", "split") ||
           broken_entry_is(call, "order", "streamk_bf16");
}

static int fits_promotion(const mxo_call *call)
{
    const layer_order o = broken_read_order(call);

    return o.promote == 0 || (o.kind == ORDER_UNIT &&
                              !broken_entry_is(call, "scale_at", "block"));
}

/* Is the routing weight multiplied where rows are added, and only there? */
static int fits_sum(const mxo_call *call)
{
    static const char *const weighing[] = {"fma", "fma_ftz", "product", NULL};
    const int adds =
        strncmp(call->op, "moe.layer", 9) == 0 || call_is(call, "stage", "sum");

    return !adds || broken_entry_is(call, "sum", "exact") ||
           is_one_of(call, "sum", weighing) ==
               broken_entry_is(call, "routing_at", "sum");
}

static int is_scaled(const mxo_call *call, int second)
{
    static const char *const kinds[] = {"quant.static", "quant.nvfp4", NULL};

    return (!second || broken_entry_is(call, "requant", "same")) &&
           is_one_of(call, "quant", kinds);
}

static int has_gemm(const mxo_call *call, int second)
{
    return call_in(call, second ? "w2" : "w13") != NULL;
}

/* An order that starts with the bias has a place for it. */
static int fits_bias(const mxo_call *call)
{
    static const char *const none[] = {"any",   "block32",      "pairwise",
                                       "split", "streamk_bf16", NULL};
    int fits = 1;

    for (int i = 0; i < 2 && !call_is(call, "bias", "none"); i++) {
        fits =
            fits && !(has_gemm(call, i) &&
                      broken_entry_is(call, i ? "bias2" : "bias1", "order") &&
                      (is_scaled(call, i) || is_one_of(call, "order", none)));
    }
    return fits;
}

/* Parts are added in bf16, and nothing is left behind them. */
static int fits_stream(const mxo_call *call)
{
    static const char *const behind[] = {"behind", "unrounded", NULL};
    int fits = 1;

    for (int i = 0; i < 2 && broken_entry_is(call, "order", "streamk_bf16");
         i++) {
        const int weighs = i && broken_entry_is(call, "routing_at", "acc");
        const int late = !call_is(call, "bias", "none") &&
                         is_one_of(call, i ? "bias2" : "bias1", behind);

        fits = fits &&
               (!has_gemm(call, i) ||
                (broken_entry_is(call, i ? "row_out" : "gemm1_out", "bf16") &&
                 !weighs && !late));
    }
    return fits;
}

static int fits_given(const mxo_call *call)
{
    const int needs = (has_gemm(call, 0) && is_scaled(call, 0)) ||
                      (has_gemm(call, 1) && is_scaled(call, 1));

    return !needs || call_is(call, "input_scale", "given");
}

mxo_status broken_layer_legal(const broken *b, const mxo_call *call,
                              mxo_text why)
{
    static const struct {
        int mutant;
        int (*fits)(const mxo_call *);
        const char *what;
    } rows[] = {
        {BROKEN_RF60, fits_splits, "this order has no parts"},
        {BROKEN_RF61, fits_promotion, "this order has no sums to promote"},
        {BROKEN_RF62, fits_sum, "sum and routing_at contradict each other"},
        {BROKEN_RF63, fits_bias, "this order has no place for a bias"},
        {BROKEN_RF64, fits_stream, "parts are added in bf16 and left so"},
        {BROKEN_RF65, fits_given, "the quantiser needs a given scale"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (broken_knows_profile(call) && b->mutant != rows[i].mutant &&
            !rows[i].fits(call)) {
            return broken_fail(MXO_E_PARAM, why, rows[i].what);
        }
    }
    return MXO_OK;
}
