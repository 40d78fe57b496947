/* SPDX-License-Identifier: Apache-2.0 */
/* The sum over a token's experts: moe.finalize's, under the names of profiles.
 */
#include "layer.h"

typedef struct sum_row {
    mxo_profile_choice choice;
    mxo_finalize_job job; /* weighted and to: as the recipe says */
} sum_row;

static const sum_row rows[] = {
    {MXO_P_SUM_FMA, {MXO_FINALIZE_FMA, MXO_FMT_F32, 0, 0, MXO_FMT_F32}},
    {MXO_P_SUM_PRODUCT, {MXO_FINALIZE_ADD, MXO_FMT_F32, 0, 0, MXO_FMT_F32}},
    {MXO_P_SUM_SLOTS, {MXO_FINALIZE_ADD, MXO_FMT_F32, 0, 0, MXO_FMT_F32}},
    {MXO_P_SUM_MOE_SUM, {MXO_FINALIZE_VLLM, MXO_FMT_BF16, 1, 0, MXO_FMT_F32}},
    {MXO_P_SUM_CPU, {MXO_FINALIZE_CPU, MXO_FMT_BF16, 0, 0, MXO_FMT_F32}},
    {MXO_P_SUM_ATOMIC, {MXO_FINALIZE_TYPED, MXO_FMT_BF16, 1, 0, MXO_FMT_F32}},
    {MXO_P_SUM_EXACT, {MXO_FINALIZE_EXACT, MXO_FMT_F32, 0, 0, MXO_FMT_F32}},
};

uint64_t layer_sum(const layer_recipe *r, const mxo_finalize_term *terms,
                   uint32_t n)
{
    const sum_row *row = rows;

    while (row->choice != r->sum) {
        row++;
    }
    mxo_finalize_job job = row->job;

    job.weighted = r->routing_at == MXO_P_ROUTING_AT_SUM;
    job.to = layer_format(r->out);
    if (job.step == MXO_FMT_BF16 && layer_format(r->row_out) == MXO_FMT_F16) {
        job.step = MXO_FMT_F16;
    }
    return mxo_finalize(&job, terms, n);
}
