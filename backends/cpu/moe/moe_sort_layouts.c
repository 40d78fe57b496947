/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of a sort for each kernel family; see moe_sort.h. */
#include "moe_sort.h"

#include <string.h>

/* An output, in the order it is checked. */
typedef struct sort_want {
    const char *name;
    uint32_t dtype;
    uint64_t n; /* MATRIX: one number per pair, tokens by slots */
} sort_want;

#define MATRIX UINT64_MAX

static mxo_status check_outputs(const sort_job *j, const sort_want *want, int n,
                                mxo_text why)
{
    const uint64_t pairs[2] = {j->tokens, j->slots};

    for (int i = 0; i < n; i++) {
        const int is_matrix = want[i].n == MATRIX;
        MXO_TRY(cpu_want(call_out(j->call, want[i].name), want[i].name,
                         want[i].dtype, is_matrix ? 2 : 1,
                         is_matrix ? pairs : &want[i].n, why));
    }
    return MXO_OK;
}

static mxo_status too_much(mxo_text why)
{
    return cpu_fail(MXO_E_SHAPE, why,
                    "moe.sort on cpu: the padded rows or the tokens, slots "
                    "and experts are too many for this layout");
}

static uint64_t count_of(const sort_job *j, uint64_t e)
{
    return j->start[e + 1] - j->start[e];
}

static void put(int32_t *to, uint64_t i, uint64_t value)
{
    to[i] = (int32_t)value;
}

/* Tiles of TRTLLM-gen: as many as any choice of experts can fill. */
static uint64_t trtllm_tiles(const sort_job *j)
{
    const uint64_t full = j->experts < j->pairs ? j->experts : j->pairs;

    return full + (j->pairs - full) / j->block;
}

static mxo_status trtllm_check(const sort_job *j, mxo_text why)
{
    const uint64_t tiles = trtllm_tiles(j);
    const sort_want want[] = {
        {"expanded_idx_to_permuted_idx", MXO_I32, MATRIX},
        {"permuted_idx_to_expanded_idx", MXO_I32, tiles * j->block},
        {"cta_idx_xy_to_batch_idx", MXO_I32, tiles},
        {"cta_idx_xy_to_mn_limit", MXO_I32, tiles},
        {"num_non_exiting_ctas", MXO_I32, 1},
        {"total_num_padded_tokens", MXO_I32, 1},
    };

    return tiles > INT32_MAX / j->block ? too_much(why)
                                        : check_outputs(j, want, 6, why);
}

static void trtllm_run(const sort_job *j)
{
    int32_t *there = cpu_sort_out(j, "expanded_idx_to_permuted_idx");
    int32_t *back = cpu_sort_out(j, "permuted_idx_to_expanded_idx");
    int32_t *expert = cpu_sort_out(j, "cta_idx_xy_to_batch_idx");
    int32_t *limit = cpu_sort_out(j, "cta_idx_xy_to_mn_limit");
    uint64_t tile = 0;

    cpu_sort_fill(there, j->pairs, -1);
    cpu_sort_fill(back, trtllm_tiles(j) * j->block, -1);
    cpu_sort_fill(expert, trtllm_tiles(j), -1);
    cpu_sort_fill(limit, trtllm_tiles(j), -1);
    for (uint64_t e = 0; e < j->locals; e++) {
        const uint64_t first = tile * j->block;
        const uint64_t end = first + count_of(j, e);

        for (uint64_t i = j->start[e]; i < j->start[e + 1]; i++) {
            put(there, (uint64_t)j->pair[i], first + i - j->start[e]);
            put(back, first + i - j->start[e], (uint64_t)j->pair[i]);
        }
        for (; tile * j->block < end; tile++) {
            const uint64_t last = (tile + 1) * j->block;
            put(expert, tile, e);
            put(limit, tile, last < end ? last : end);
        }
    }
    put(cpu_sort_out(j, "num_non_exiting_ctas"), 0, tile);
    put(cpu_sort_out(j, "total_num_padded_tokens"), 0, tile * j->block);
}

static uint64_t aiter_rows(const sort_job *j)
{
    const uint64_t room = j->pairs + j->experts * j->block;

    return room > j->slots ? room - j->slots : 0;
}

static mxo_status aiter_check(const sort_job *j, mxo_text why)
{
    const uint64_t rows = aiter_rows(j);
    const sort_want want[] = {
        {"sorted_ids", MXO_I32, rows},
        {"sorted_weights", MXO_F32, rows},
        {"sorted_expert_ids", MXO_I32, cpu_sort_blocks(j, rows)},
        {"num_valid", MXO_I32, 2},
    };

    return j->tokens >> 24 != 0 || j->slots >= 128 || j->slots > j->experts ||
                   j->pairs + j->experts * j->block > INT32_MAX
               ? too_much(why)
               : check_outputs(j, want, 4, why);
}

static void aiter_run(const sort_job *j)
{
    int32_t *ids = cpu_sort_out(j, "sorted_ids");
    int32_t *weights = cpu_sort_out(j, "sorted_weights");
    int32_t *expert = cpu_sort_out(j, "sorted_expert_ids");
    const uint64_t rows = aiter_rows(j);
    uint64_t block = 0;

    cpu_sort_fill(ids, rows, (int32_t)(j->slots << 24 | j->tokens));
    cpu_sort_fill(weights, rows, 0);
    cpu_sort_fill(expert, cpu_sort_blocks(j, rows), -1);
    for (uint64_t e = 0; e < j->locals; e++) {
        const uint64_t first = block * j->block;

        for (uint64_t i = j->start[e]; i < j->start[e + 1]; i++) {
            const uint64_t pair = (uint64_t)j->pair[i];
            const uint64_t row = first + i - j->start[e];
            put(ids, row, pair % j->slots << 24 | pair / j->slots);
            put(weights, row, j->weights[pair]);
        }
        for (uint64_t b = cpu_sort_blocks(j, count_of(j, e)); b > 0; b--) {
            put(expert, block++, e);
        }
    }
    put(cpu_sort_out(j, "num_valid"), 0, block * j->block);
    put(cpu_sort_out(j, "num_valid"), 1, j->tokens);
}

static uint64_t vllm_rows(const sort_job *j)
{
    const uint64_t most = j->pairs + j->experts * (j->block - 1);
    const uint64_t few = j->pairs * j->block;

    return j->pairs < j->experts && few < most ? few : most;
}

static mxo_status vllm_check(const sort_job *j, mxo_text why)
{
    const uint64_t rows = vllm_rows(j);
    const sort_want want[] = {
        {"sorted_token_ids", MXO_I32, rows},
        {"expert_ids", MXO_I32, cpu_sort_blocks(j, rows)},
        {"num_tokens_post_padded", MXO_I32, 1},
    };

    return j->pairs + j->experts * (j->block - 1) > INT32_MAX
               ? too_much(why)
               : check_outputs(j, want, 3, why);
}

/* Every expert keeps its rows; who is not here is told by its blocks. */
static void vllm_run(const sort_job *j)
{
    int32_t *rows = cpu_sort_out(j, "sorted_token_ids");
    int32_t *expert = cpu_sort_out(j, "expert_ids");
    uint64_t block = 0;

    cpu_sort_fill(rows, vllm_rows(j), (int32_t)j->pairs);
    cpu_sort_fill(expert, cpu_sort_blocks(j, vllm_rows(j)), -1);
    for (uint64_t e = 0; e < j->experts; e++) {
        const uint64_t n = count_of(j, e);

        memcpy(rows + block * j->block, j->pair + j->start[e],
               n * sizeof *rows);
        for (uint64_t b = cpu_sort_blocks(j, n); b > 0; b--) {
            expert[block++] = j->local[e];
        }
    }
    put(cpu_sort_out(j, "num_tokens_post_padded"), 0, block * j->block);
}

static uint64_t triton_tiles(const sort_job *j)
{
    return j->pairs <= j->experts ? j->pairs
                                  : j->experts + (j->pairs - j->experts) / 16;
}

static mxo_status triton_check(const sort_job *j, mxo_text why)
{
    const sort_want want[] = {
        {"gather_src", MXO_I32, j->pairs},
        {"gather_dst", MXO_I32, j->pairs},
        {"gate_scal", MXO_F32, j->pairs},
        {"expt_hist", MXO_I32, j->experts},
        {"token_offs_raw", MXO_I32, j->experts + 1},
        {"token_offs_pad", MXO_I32, j->experts + 1},
        {"block_pid_map", MXO_I32, triton_tiles(j)},
    };

    return j->block < 16 || j->experts > 0x10000
               ? cpu_fail(MXO_E_PARAM, why,
                          "moe.sort on cpu: triton has blocks from 16 up and "
                          "16 bits for an expert")
               : check_outputs(j, want, 7, why);
}

static void triton_rows(const sort_job *j)
{
    int32_t *source = cpu_sort_out(j, "gather_src");
    int32_t *target = cpu_sort_out(j, "gather_dst");
    int32_t *weight = cpu_sort_out(j, "gate_scal");

    cpu_sort_fill(source, j->pairs, -1);
    cpu_sort_fill(target, j->pairs, -1);
    cpu_sort_fill(weight, j->pairs, 0);
    for (uint64_t row = 0; row < j->start[j->experts]; row++) {
        source[row] = j->pair[row];
        put(target, (uint64_t)j->pair[row], row);
        put(weight, row, j->weights[j->pair[row]]);
    }
}

static void triton_run(const sort_job *j)
{
    int32_t *count = cpu_sort_out(j, "expt_hist");
    int32_t *raw = cpu_sort_out(j, "token_offs_raw");
    int32_t *padded = cpu_sort_out(j, "token_offs_pad");
    int32_t *map = cpu_sort_out(j, "block_pid_map");
    uint64_t tile = 0;

    triton_rows(j);
    cpu_sort_fill(map, triton_tiles(j), -1);
    for (uint64_t e = 0; e < j->experts; e++) {
        const uint64_t blocks = cpu_sort_blocks(j, count_of(j, e));

        put(count, e, count_of(j, e));
        put(raw, e, j->start[e]);
        put(padded, e, tile);
        for (uint64_t b = 0; b < blocks; b++) {
            put(map, tile++, b << 16 | e);
        }
    }
    put(raw, j->experts, j->start[j->experts]);
    put(padded, j->experts, tile);
}

static uint64_t deepgemm_rows(const sort_job *j)
{
    return cpu_sort_blocks(j, j->pairs + j->experts * (j->block - 1)) *
           j->block;
}

static mxo_status deepgemm_check(const sort_job *j, mxo_text why)
{
    const sort_want want[] = {
        {"inv_perm", MXO_I32, MATRIX},
        {"expert_ids", MXO_I32, deepgemm_rows(j)},
        {"psum", MXO_I32, j->experts},
    };

    return deepgemm_rows(j) > INT32_MAX ? too_much(why)
                                        : check_outputs(j, want, 3, why);
}

static void deepgemm_run(const sort_job *j)
{
    int32_t *row_of = cpu_sort_out(j, "inv_perm");
    int32_t *expert = cpu_sort_out(j, "expert_ids");
    int32_t *end = cpu_sort_out(j, "psum");
    uint64_t row = 0;

    cpu_sort_fill(row_of, j->pairs, -1);
    cpu_sort_fill(expert, deepgemm_rows(j), -1);
    for (uint64_t e = 0; e < j->experts; e++) {
        row = cpu_sort_blocks(j, row) * j->block;
        for (uint64_t i = j->start[e]; i < j->start[e + 1]; i++, row++) {
            put(row_of, (uint64_t)j->pair[i], row);
            put(expert, row, e);
        }
        put(end, e, row);
    }
}

static const sort_layout layouts[] = {
    {"aiter", 0, aiter_check, aiter_run},
    {"deepgemm", 0, deepgemm_check, deepgemm_run},
    {"triton", 0, triton_check, triton_run},
    {"trtllm", 0, trtllm_check, trtllm_run},
    {"vllm", 1, vllm_check, vllm_run},
};

const sort_layout *cpu_sort_layout(const char *name)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        if (strcmp(layouts[i].name, name) == 0) {
            return &layouts[i];
        }
    }
    return NULL;
}
