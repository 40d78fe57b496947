/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.sort: the example of its page, and for every
 * layout the same answer by way of qsort() on (expert, pair).
 */
#include "unit/emu_call.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 23, SLOTS = 3, EXPERTS = 6, PAIRS = TOKENS * SLOTS };

static int32_t ids[PAIRS];
static float weights[PAIRS];
static int sorted[PAIRS];
static int n_sorted;

static int by_expert_and_pair(const void *a, const void *b)
{
    const int x = *(const int *)a;
    const int y = *(const int *)b;

    return ids[x] != ids[y] ? ids[x] - ids[y] : x - y;
}

/* Expert 4 has no pair; some pairs have no expert. */
static void fill(void)
{
    n_sorted = 0;
    for (int i = 0; i < PAIRS; i++) {
        ids[i] = (i * i + i / 5) % EXPERTS;
        ids[i] = ids[i] == 4 || i % 11 == 7 ? -1 : ids[i];
        weights[i] = 1.0f / (float)(i + 2);
        if (ids[i] >= 0) {
            sorted[n_sorted++] = i;
        }
    }
    qsort(sorted, (size_t)n_sorted, sizeof sorted[0], by_expert_and_pair);
}

static void run(emu_call *c, const char *params, int weighted)
{
    fill();
    emu_begin(c, "moe.sort", params);
    emu_in(c, "topk_ids", MXO_I32, ids, 2, TOKENS, SLOTS);
    if (weighted) {
        emu_in(c, "topk_weights", MXO_F32, weights, 2, TOKENS, SLOTS);
    }
    ck_assert_int_eq(emu_run(c), MXO_OK);
}

static int32_t at(const emu_call *c, const char *name, int i)
{
    int32_t v;

    memcpy(&v, emu_bytes(c, name) + 4 * i, 4);
    return v;
}

/* Row of the i-th sorted pair, if experts start at multiples of block. */
static int padded_row(int i, int block)
{
    int row = 0;

    for (int k = 1; k <= i; k++) {
        row++;
        if (ids[sorted[k]] != ids[sorted[k - 1]]) {
            row = (row + block - 1) / block * block;
        }
    }
    return row;
}

START_TEST(trtllm_rows_are_those_of_qsort)
{
    emu_call c;
    int seen[512] = {0};

    run(&c, "layout=trtllm,num_experts=6,block_size=8", 0);
    for (int i = 0; i < n_sorted; i++) {
        const int row = padded_row(i, 8);

        ck_assert_int_eq(at(&c, "expanded_idx_to_permuted_idx", sorted[i]),
                         row);
        ck_assert_int_eq(at(&c, "permuted_idx_to_expanded_idx", row),
                         sorted[i]);
        ck_assert_int_eq(at(&c, "cta_idx_xy_to_batch_idx", row / 8),
                         ids[sorted[i]]);
        ck_assert_int_lt(row, at(&c, "cta_idx_xy_to_mn_limit", row / 8));
        seen[row] = 1;
    }
    const int ctas = padded_row(n_sorted - 1, 8) / 8 + 1;

    ck_assert_int_eq(at(&c, "num_non_exiting_ctas", 0), ctas);
    ck_assert_int_eq(at(&c, "total_num_padded_tokens", 0), 8 * ctas);
    for (int row = 0; row < 8 * ctas; row++) {
        if (!seen[row]) {
            ck_assert_int_eq(at(&c, "permuted_idx_to_expanded_idx", row), -1);
            ck_assert_int_ge(row, at(&c, "cta_idx_xy_to_mn_limit", row / 8));
        }
    }
    ck_assert_int_eq(at(&c, "cta_idx_xy_to_batch_idx", ctas), -1);
    ck_assert_int_eq(at(&c, "expanded_idx_to_permuted_idx", 7), -1);
    emu_end(&c);
}
END_TEST

START_TEST(aiter_rows_are_those_of_qsort)
{
    emu_call c;
    float w;

    run(&c, "layout=aiter,num_experts=6,block_size=32", 1);
    ck_assert_uint_eq(emu_out(&c, "sorted_ids")->shape[0], PAIRS + 6 * 32 - 3);
    for (int i = 0; i < n_sorted; i++) {
        const int row = padded_row(i, 32);
        const int pair = sorted[i];

        ck_assert_int_eq(at(&c, "sorted_ids", row),
                         pair % SLOTS << 24 | pair / SLOTS);
        memcpy(&w, emu_bytes(&c, "sorted_weights") + 4 * row, 4);
        ck_assert(w == weights[pair]);
        ck_assert_int_eq(at(&c, "sorted_expert_ids", row / 32), ids[pair]);
    }
    ck_assert_int_eq(at(&c, "num_valid", 0), 5 * 32);
    ck_assert_int_eq(at(&c, "num_valid", 1), TOKENS);
    ck_assert_int_eq(at(&c, "sorted_ids", 5 * 32), SLOTS << 24 | TOKENS);
    ck_assert_int_eq(at(&c, "sorted_expert_ids", 5), -1);
    emu_end(&c);
}
END_TEST

START_TEST(vllm_rows_are_those_of_qsort)
{
    emu_call c;

    run(&c, "layout=vllm,num_experts=6,block_size=16", 0);
    ck_assert_uint_eq(emu_out(&c, "sorted_token_ids")->shape[0],
                      PAIRS + 6 * 15);
    for (int i = 0; i < n_sorted; i++) {
        const int row = padded_row(i, 16);

        ck_assert_int_eq(at(&c, "sorted_token_ids", row), sorted[i]);
        ck_assert_int_eq(at(&c, "expert_ids", row / 16), ids[sorted[i]]);
    }
    ck_assert_int_eq(at(&c, "num_tokens_post_padded", 0),
                     padded_row(n_sorted - 1, 16) / 16 * 16 + 16);
    emu_end(&c);
}
END_TEST

START_TEST(triton_rows_have_no_gaps)
{
    emu_call c;
    float w;

    run(&c, "layout=triton,num_experts=6,block_size=16", 1);
    for (int i = 0; i < n_sorted; i++) {
        ck_assert_int_eq(at(&c, "gather_src", i), sorted[i]);
        ck_assert_int_eq(at(&c, "gather_dst", sorted[i]), i);
        memcpy(&w, emu_bytes(&c, "gate_scal") + 4 * i, 4);
        ck_assert(w == weights[sorted[i]]);
    }
    ck_assert_int_eq(at(&c, "gather_src", n_sorted), -1);
    ck_assert_int_eq(at(&c, "gather_dst", 7), -1);
    ck_assert_int_eq(at(&c, "token_offs_raw", EXPERTS), n_sorted);
    for (int e = 0, tile = 0; e < EXPERTS; e++) {
        const int n = at(&c, "expt_hist", e);

        ck_assert_int_eq(
            at(&c, "token_offs_raw", e + 1) - at(&c, "token_offs_raw", e), n);
        ck_assert_int_eq(at(&c, "token_offs_pad", e), tile);
        for (int b = 0; 16 * b < n; b++) {
            ck_assert_int_eq(at(&c, "block_pid_map", tile++), b << 16 | e);
        }
    }
    emu_end(&c);
}
END_TEST

START_TEST(deepgemm_rows_name_their_expert)
{
    emu_call c;

    run(&c, "layout=deepgemm,num_experts=6,block_size=128", 0);
    for (int i = 0; i < n_sorted; i++) {
        const int row = padded_row(i, 128);

        ck_assert_int_eq(at(&c, "inv_perm", sorted[i]), row);
        ck_assert_int_eq(at(&c, "expert_ids", row), ids[sorted[i]]);
        ck_assert_int_gt(at(&c, "psum", ids[sorted[i]]), row);
    }
    ck_assert_int_eq(at(&c, "expert_ids", at(&c, "psum", 0)), -1);
    ck_assert_int_eq(at(&c, "psum", 4) % 128, 0);
    emu_end(&c);
}
END_TEST

START_TEST(the_example_of_the_page)
{
    static const int32_t six[] = {2, 0, 2, 3, 2, 0};
    static const int32_t want[] = {2, 0, 3, 6, 4, 1};
    static const int32_t limit[] = {2, 4, 5, 7};
    emu_call c;

    emu_begin(&c, "moe.sort", "layout=trtllm,num_experts=4,block_size=2");
    emu_in(&c, "topk_ids", MXO_I32, six, 2, 3, 2);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_mem_eq(emu_bytes(&c, "expanded_idx_to_permuted_idx"), want,
                     sizeof want);
    ck_assert_mem_eq(emu_bytes(&c, "cta_idx_xy_to_mn_limit"), limit,
                     sizeof limit);
    emu_end(&c);
}
END_TEST

/* Two ranks see every pair once, and their experts from 0 up. */
START_TEST(ranks_share_the_pairs)
{
    int seen[PAIRS] = {0};

    for (int rank = 0; rank < 2; rank++) {
        emu_call c;

        run(&c,
            rank == 0 ? "layout=trtllm,num_experts=6,block_size=8,"
                        "local=range,local_num_experts=2"
                      : "layout=trtllm,num_experts=6,block_size=8,"
                        "local=range,local_num_experts=4,"
                        "local_expert_offset=2",
            0);
        for (int i = 0; i < PAIRS; i++) {
            const int row = at(&c, "expanded_idx_to_permuted_idx", i);

            seen[i] += row >= 0;
            if (row >= 0) {
                ck_assert_int_eq(at(&c, "cta_idx_xy_to_batch_idx", row / 8),
                                 ids[i] - 2 * rank);
            }
        }
        emu_end(&c);
    }
    for (int i = 0; i < PAIRS; i++) {
        ck_assert_int_eq(seen[i], ids[i] >= 0);
    }
}
END_TEST

START_TEST(a_map_renames_and_a_mask_numbers)
{
    static const int32_t map[EXPERTS] = {1, -1, 0, -1, -1, 2};
    static const int32_t mask[EXPERTS] = {1, 0, 1, 0, 0, 1};

    for (int masked = 0; masked < 2; masked++) {
        emu_call c;

        fill();
        emu_begin(&c, "moe.sort",
                  masked ? "layout=deepgemm,num_experts=6,local=mask"
                         : "layout=deepgemm,num_experts=6,local=map");
        emu_in(&c, "topk_ids", MXO_I32, ids, 2, TOKENS, SLOTS);
        emu_in(&c, "expert_map", MXO_I32, masked ? mask : map, 1, EXPERTS);
        ck_assert_int_eq(emu_run(&c), MXO_OK);
        for (int i = 0; i < PAIRS; i++) {
            const int row = at(&c, "inv_perm", i);
            const int32_t numbered[EXPERTS] = {0, -1, 1, -1, -1, 2};
            const int want = ids[i] < 0 ? -1
                             : masked   ? numbered[ids[i]]
                                        : map[ids[i]];

            ck_assert_int_eq(row < 0 ? -1 : at(&c, "expert_ids", row), want);
        }
        emu_end(&c);
    }
}
END_TEST

START_TEST(vllm_blocks_of_masked_experts_say_their_number)
{
    static const int32_t mask[EXPERTS] = {1, 0, 1, 0, 0, 1};
    static const int32_t numbered[EXPERTS] = {0, -1, 1, -1, -1, 2};
    emu_call c;

    fill();
    emu_begin(&c, "moe.sort",
              "layout=vllm,num_experts=6,block_size=4,local=mask");
    emu_in(&c, "topk_ids", MXO_I32, ids, 2, TOKENS, SLOTS);
    emu_in(&c, "expert_map", MXO_I32, mask, 1, EXPERTS);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    for (int i = 0; i < n_sorted; i++) {
        const int row = padded_row(i, 4);

        ck_assert_int_eq(at(&c, "sorted_token_ids", row), sorted[i]);
        ck_assert_int_eq(at(&c, "expert_ids", row / 4),
                         numbered[ids[sorted[i]]]);
    }
    emu_end(&c);
}
END_TEST

static void refuses(const char *params, int tokens, int slots,
                    const int32_t *pairs, mxo_status status, const char *word)
{
    emu_call c;

    emu_begin(&c, "moe.sort", params);
    emu_in(&c, "topk_ids", MXO_I32, pairs, 2, tokens, slots);
    emu_refuses(&c, status, word);
}

START_TEST(bad_sorts_are_refused)
{
    static const int32_t bad[] = {0, 8};
    static const int32_t low[] = {0, -2};
    static const int32_t good[] = {0, 1};

    refuses("num_experts=8", 1, 2, bad, MXO_E_PARAM, "topk_ids[0,1]");
    refuses("num_experts=8", 1, 2, low, MXO_E_PARAM, "topk_ids[0,1]");
    refuses("num_experts=8,block_size=0", 1, 2, good, MXO_E_PARAM,
            "block_size");
    refuses("num_experts=0", 1, 2, good, MXO_E_PARAM, "num_experts");
    refuses("num_experts=8,local=range,local_expert_offset=6,"
            "local_num_experts=3",
            1, 2, good, MXO_E_PARAM, "local experts");
    refuses("num_experts=8,n_rows=1", 1, 2, good, MXO_E_PARAM, "triton");
    refuses("layout=vllm,n_shared=1", 1, 2, good, MXO_E_PARAM, "shared");
    refuses("num_experts=8", 1 << 30, 4, good, MXO_E_SHAPE, "31 bits");
    refuses("layout=vllm,block_size=2000000000", 1, 2, good, MXO_E_SHAPE,
            "31 bits");
}
END_TEST

Suite *suite_moe_sort(void);

Suite *suite_moe_sort(void)
{
    Suite *s = suite_create("moe_sort");
    TCase *layouts = tcase_create("layouts");
    TCase *local = tcase_create("local experts");
    TCase *rest = tcase_create("refusals");

    tcase_add_test(layouts, trtllm_rows_are_those_of_qsort);
    tcase_add_test(layouts, aiter_rows_are_those_of_qsort);
    tcase_add_test(layouts, vllm_rows_are_those_of_qsort);
    tcase_add_test(layouts, triton_rows_have_no_gaps);
    tcase_add_test(layouts, deepgemm_rows_name_their_expert);
    tcase_add_test(layouts, the_example_of_the_page);
    tcase_add_test(local, ranks_share_the_pairs);
    tcase_add_test(local, a_map_renames_and_a_mask_numbers);
    tcase_add_test(local, vllm_blocks_of_masked_experts_say_their_number);
    tcase_add_test(rest, bad_sorts_are_refused);
    suite_add_tcase(s, layouts);
    suite_add_tcase(s, local);
    suite_add_tcase(s, rest);
    return s;
}
