/* SPDX-License-Identifier: Apache-2.0 */
/* The sum over a token's experts: moe.finalize's, under the names of profiles.
 */
#include "plan.h"

#include <string.h>

typedef struct sum_row {
    mxo_profile_choice choice;
    mxo_finalize_job job; /* weighted and to: as the recipe says */
} sum_row;

static const sum_row rows[] = {
    {MXO_P_SUM_FMA, {MXO_FINALIZE_FMA, MXO_FMT_F32, 0, 0, MXO_FMT_F32}},
    {MXO_P_SUM_FMA_FTZ, {MXO_FINALIZE_FMA_FTZ, MXO_FMT_F32, 0, 0, MXO_FMT_F32}},
    {MXO_P_SUM_BY_EXPERT, {MXO_FINALIZE_ADD, MXO_FMT_F32, 0, 0, MXO_FMT_F32}},
    {MXO_P_SUM_EXPERTS_BF16,
     {MXO_FINALIZE_TYPED, MXO_FMT_BF16, 1, 0, MXO_FMT_F32}},
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

/* Slots of one expert stay in their order. */
static void sort_by_expert(const layer_plan *p, uint64_t *slot, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        const uint64_t moved = slot[i];
        uint32_t at = i;
        for (; at > 0 && layer_expert(p, slot[at - 1]) > layer_expert(p, moved);
             at--) {
            slot[at] = slot[at - 1];
        }
        slot[at] = moved;
    }
}

uint32_t layer_token_slots(const layer_plan *p, uint64_t token, uint64_t *slot)
{
    const int keeps =
        strcmp(layer_word(p->call, MXO_FIELD_ABSENT), "zero") == 0;
    uint32_t n = 0;

    for (uint64_t i = token * p->topk; i < (token + 1) * p->topk; i++) {
        slot[n] = i;
        n += keeps || layer_expert(p, i) >= 0;
    }
    if (p->two.sum == MXO_P_SUM_BY_EXPERT ||
        p->two.sum == MXO_P_SUM_EXPERTS_BF16) {
        sort_by_expert(p, slot, n);
    }
    return n;
}
