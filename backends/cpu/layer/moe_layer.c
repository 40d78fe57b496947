/* SPDX-License-Identifier: Apache-2.0 */
/* moe.layer, moe.gemm1 and moe.gemm2: what is read, run and kept in between. */
#include "layer.h"

#include <stdlib.h>
#include <string.h>

#define GEMM_KEYS                                                 \
    "profile bias map bounds input_scale conversion hidden_size " \
    "intermediate_size from weight_rule scale_at order mul "      \
    "splits "                                                     \
    "promote bias_type quant quant_element quant_rule quant_group "
#define FIRST_KEYS                                                           \
    "activation rows alpha beta limit per_expert glu glu_nan glu_out bias1 " \
    "gemm1_out "
#define SECOND_KEYS                                                       \
    "requant requant_rule bias2 routing_at routing_type row_out sum out " \
    "absent "

/* The first half's output stays here between the halves. */
static mxo_status run_first(layer *l, void **act, mxo_text why)
{
    *act = malloc(l->slots * l->inter * cpu_dtype_bytes(l->unit.base.to) + 1);
    return *act == NULL ? cpu_fail(MXO_E_NOMEM, why, "no memory for act")
                        : cpu_layer_run_first(l, *act, why);
}

/* Rows of experts that live elsewhere are zeros. */
static void clear(const mxo_tensor *y)
{
    if (y->n_bytes > 0) {
        memset(cpu_data(y), 0, (size_t)y->n_bytes);
    }
}

/* The second half, of act, through the sum if there is one. */
static mxo_status run_second(layer *l, uint32_t from, const void *act,
                             mxo_text why)
{
    const mxo_tensor *y = call_out(l->call, "y");

    if (!l->has_sum) {
        clear(y);
        return cpu_layer_run_second(l, from, act, cpu_data(y), why);
    }
    float *rows = calloc(l->slots * l->hidden + 1, sizeof *rows);
    mxo_status status = rows == NULL
                            ? cpu_fail(MXO_E_NOMEM, why, "no memory for rows")
                            : cpu_layer_run_second(l, from, act, rows, why);

    if (status == MXO_OK) {
        status = cpu_layer_run_sum(l, rows, why);
    }
    free(rows);
    return status;
}

static mxo_status run(layer *l, mxo_text why)
{
    const mxo_tensor *y = call_out(l->call, "y");
    void *act = NULL;
    mxo_status status = MXO_OK;

    if (!l->has_one) {
        const mxo_tensor *given = call_in(l->call, "act");
        return run_second(l, given->dtype, cpu_data(given), why);
    }
    if (!l->has_two) {
        clear(y);
        return cpu_layer_run_first(l, cpu_data(y), why);
    }
    status = run_first(l, &act, why);
    if (status == MXO_OK) {
        status = run_second(l, l->unit.base.to, act, why);
    }
    free(act);
    return status;
}

static mxo_status compute(layer *l, const mxo_call *call, mxo_text why)
{
    l->call = call;

    MXO_TRY(cpu_layer_read(l, why));
    MXO_TRY(cpu_layer_group(l, why));
    return run(l, why);
}

static mxo_status start(cpu_context *ctx, const mxo_call *call, layer *l,
                        mxo_text why)
{
    layer_loaded back = {0};
    mxo_status status = MXO_OK;

    l->ctx = ctx;
    if (!call_is(call, "conversion", "none")) {
        status = cpu_layer_undo(l, call, &back, why);
        call = &back.call;
    }
    if (status == MXO_OK) {
        status = compute(l, call, why);
    }
    cpu_layer_forget(&back);
    cpu_layer_close(l);
    cpu_name_kernel(ctx,
                    cpu_mac_of(ctx->lane) == ctx->lane->mac ? "moe_slices"
                                                            : "moe_slices_vnni",
                    cpu_threads(ctx, UINT64_MAX, 1));
    return status;
}

mxo_status cpu_moe_layer(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    layer l = {.has_one = 1, .has_two = 1, .has_glu = 1, .has_sum = 1};

    MXO_TRY(cpu_known(call, GEMM_KEYS FIRST_KEYS SECOND_KEYS, why));
    return start(ctx, call, &l, why);
}

mxo_status cpu_moe_gemm1(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    layer l = {.has_one = 1, .has_glu = call_is(call, "stage", "act")};

    MXO_TRY(cpu_known(call, GEMM_KEYS FIRST_KEYS "stage ", why));
    return start(ctx, call, &l, why);
}

mxo_status cpu_moe_gemm2(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    layer l = {.has_two = 1, .has_sum = call_is(call, "stage", "sum")};

    MXO_TRY(cpu_known(call, GEMM_KEYS SECOND_KEYS "stage ", why));
    return start(ctx, call, &l, why);
}
