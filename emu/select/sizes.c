/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes: rounded up for a backend, enlarged for a transport, allocated. */
#include "rules.h"

#include <stddef.h>

static const sel_round *round_row(const mxo_select_config *c,
                                  mxo_sel_backend backend)
{
    const sel_round *rows = sel_rules(c)->rounds;
    const sel_device d = sel_device_of(c);
    const int handed = c->entry == MXO_SEL_ENTRY_deepseek_v4 &&
                       sel_has(c, sel_rules(c)->switches.hands_activation);
    int i = 0;

    for (; i < SEL_MAX_ROUND && rows[i].hidden != 0; i++) {
        if (rows[i].version == c->version &&
            (rows[i].backends == 0 || (rows[i].backends >> backend & 1) != 0) &&
            (rows[i].platforms & d.platform) != 0 &&
            (rows[i].gfx == 0 || (rows[i].gfx & d.gfx) != 0) &&
            (rows[i].not_gfx & d.gfx) == 0 &&
            (rows[i].activations == 0 ||
             (handed && (rows[i].activations >> c->activation & 1) != 0))) {
            return &rows[i];
        }
    }
    return NULL;
}

void mxo_select_alignment(const mxo_select_config *c, mxo_sel_backend backend,
                          int64_t *hidden, int64_t *intermediate)
{
    const sel_round *row = round_row(c, backend);

    *hidden = row == NULL ? 1 : row->hidden;
    *intermediate = row == NULL ? 1 : row->intermediate;
}

static int64_t up(int64_t x, int64_t a)
{
    return (x + a - 1) / a * a;
}

void mxo_select_round_up(const mxo_select_config *c, mxo_sel_backend backend,
                         int64_t *hidden, int64_t *intermediate)
{
    int64_t h;
    int64_t i;

    mxo_select_alignment(c, backend, &h, &i);
    *hidden = up(*hidden, h);
    *intermediate = up(*intermediate, i);
}

int64_t mxo_select_comm_hidden(const mxo_select_config *c,
                               mxo_sel_failure *failure)
{
    static const int64_t ladder[] = {2048, 2560, 3072, 4096,
                                     5120, 6144, 7168, 8192};
    const int a2a =
        sel_all_to_all(c) & sel_rules(c)->switches.comm_a2a[c->version];

    *failure = (mxo_sel_failure){.error = MXO_SEL_ERROR_NONE};
    if ((a2a & (SEL_A2A_DEEPEP_HT | SEL_A2A_DEEPEP_V2)) != 0) {
        return up(c->hidden, 256); /* 512 bytes of bf16 */
    }
    if (a2a == 0) {
        return c->hidden;
    }
    for (size_t i = 0; i < sizeof ladder / sizeof ladder[0]; i++) {
        if (c->hidden <= ladder[i]) {
            return ladder[i];
        }
    }
    failure->error = MXO_SEL_ERROR_HIDDEN;
    failure->size = c->hidden;
    return c->hidden;
}

/* Backend whose sizes env-2025-08 rounds to: its variables decide. */
static mxo_sel_backend old_backend(const mxo_select_config *c,
                                   mxo_sel_failure *failure)
{
    static const mxo_sel_env asked[] = {
        MXO_SEL_ENV_VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8,
        MXO_SEL_ENV_VLLM_USE_FLASHINFER_MOE_MXFP4_BF16};

    for (int i = 0; i < 2; i++) {
        const char *text = c->env[asked[i]];
        const int on = text == NULL ? 0 : sel_int_bool(text);
        if (on < 0) {
            failure->error = MXO_SEL_ERROR_INTEGER;
            failure->env = asked[i];
            return MXO_SEL_BACKEND_NONE;
        }
        if (on) {
            return MXO_SEL_BACKEND_FLASHINFER_TRTLLM_MXFP4_MXFP8;
        }
    }
    return MXO_SEL_BACKEND_TRITON;
}

void mxo_select_weights(const mxo_select_config *c, mxo_sel_backend backend,
                        int64_t num_experts, mxo_sel_weights *out,
                        mxo_sel_failure *failure)
{
    int64_t h = c->hidden;
    int64_t i = c->intermediate;

    *failure = (mxo_sel_failure){.error = MXO_SEL_ERROR_NONE};
    *out = (mxo_sel_weights){0};
    if (c->version == MXO_SEL_2025_08) {
        backend = old_backend(c, failure);
        if (failure->error != MXO_SEL_ERROR_NONE) {
            return;
        }
    }
    const int64_t gated = sel_is_gated(c) ? 2 : 1;

    mxo_select_round_up(c, backend, &h, &i);
    *out = (mxo_sel_weights){.hidden = h,
                             .intermediate = i,
                             .w13 = {num_experts, gated * i, h / 2},
                             .w13_scale = {num_experts, gated * i, h / 32},
                             .w13_bias = {num_experts, gated * i},
                             .w2 = {num_experts, h, i / 2},
                             .w2_scale = {num_experts, h, i / 32},
                             .w2_bias = {num_experts, h}};
}

int mxo_select_tile_tokens(int64_t num_tokens, int64_t top_k,
                           int64_t num_experts, mxo_sel_failure *failure)
{
    int64_t n;
    int tile = 8;

    *failure = (mxo_sel_failure){.error = MXO_SEL_ERROR_NONE};
    if (num_experts == 0) {
        failure->error = MXO_SEL_ERROR_DIVISION;
        return 0;
    }
    n = num_tokens * top_k / num_experts;
    /*
     * 1.3 in binary64 is a little above 13/10, and the product rounds to
     * nearest: where 13 n / 10 is whole the product is that number, elsewhere
     * it is a tenth or more away from the next. Past 64 nothing changes.
     */
    n = n > 64 ? 64 : n * 13 / 10;
    while (tile < n && tile < 64) {
        tile *= 2;
    }
    return tile;
}

int mxo_select_num_warps(const mxo_select_config *c, mxo_sel_failure *failure)
{
    const char *text = c->env[MXO_SEL_ENV_VLLM_MOE_DP_CHUNK_SIZE];
    int64_t chunk = text == NULL ? 256 : 0;

    *failure = (mxo_sel_failure){.error = MXO_SEL_ERROR_NONE};
    if (!c->parallel.use_ep) {
        return 8;
    }
    if (text != NULL && sel_int_bool(text) < 0) {
        failure->error = MXO_SEL_ERROR_INTEGER;
        failure->env = MXO_SEL_ENV_VLLM_MOE_DP_CHUNK_SIZE;
        return 0;
    }
    for (; text != NULL && *text != '\0'; text++) {
        if (*text == '-') {
            return 4;
        }
        if (*text >= '0' && *text <= '9' && chunk <= 512) {
            chunk = 10 * chunk + (*text - '0');
        }
    }
    return chunk <= 512 ? 4 : 8;
}
