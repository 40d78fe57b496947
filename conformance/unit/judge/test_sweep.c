/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers whose sums no order changes have few live weights.  Over the
 * published cases of one call no column may stay dead in an expert that gets
 * a token: a kernel that drops the column would pass.  Told from the filled
 * tensors alone.
 */
#include "case/grid.h"
#include "data/fill.h"
#include "profiles/profile_cases.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char sentence[512];
static const mxo_text why = {sentence, sizeof sentence};

/* Coverage of one weight tensor over the stretches of one call. */
typedef struct cover {
    char call[CASE_TEXT]; /* the case without its stretch */
    uint64_t experts;
    uint64_t cols;
    uint8_t *used; /* per expert */
    uint8_t *live; /* per expert and column */
} cover;

static void call_of(const char *text, char call[CASE_TEXT])
{
    (void)snprintf(call, CASE_TEXT, "%s", text);
    char *at = strstr(call, ",stretch=");

    if (at != NULL) {
        *at = '\0';
    }
}

static void cover_begin(cover *v, const char *call, const host_tensor *w)
{
    (void)snprintf(v->call, sizeof v->call, "%s", call);
    v->experts = w->shape[0];
    v->cols = 2 * w->shape[2];
    v->used = calloc(v->experts + 1, 1);
    v->live = calloc(v->experts * v->cols + 1, 1);
    ck_assert(v->used != NULL && v->live != NULL);
}

/* Number of dead columns of used experts; the cover is empty afterwards. */
static uint64_t cover_end(cover *v)
{
    uint64_t n_dead = 0;

    for (uint64_t i = 0; i < v->experts * v->cols; i++) {
        n_dead += v->used[i / v->cols] && !v->live[i];
    }
    free(v->used);
    free(v->live);
    return n_dead;
}

static void add_live(cover *v, const host_tensor *w)
{
    const uint64_t bytes = v->cols / 2; /* of a row */
    const uint8_t *row = w->data;

    for (uint64_t i = 0; i < v->experts * w->shape[1]; i++, row += bytes) {
        uint8_t *live = v->live + i / w->shape[1] * v->cols;
        for (uint64_t k = 0; k < bytes; k++) {
            live[2 * k] |= (row[k] & 7) != 0;
            live[2 * k + 1] |= (row[k] >> 4 & 7) != 0;
        }
    }
}

/* Without ids a router decides: any expert may be used. */
static void add_used(cover *v, const tensor_set *in)
{
    const host_tensor *ids = tensor_set_find(in, "topk_ids");
    const host_tensor *map = tensor_set_find(in, "expert_map");

    if (ids == NULL) {
        memset(v->used, 1, v->experts);
        return;
    }
    for (uint64_t i = 0; i < tensor_elems(ids); i++) {
        uint64_t id = tensor_load(ids, i);

        if (map != NULL && id < tensor_elems(map)) {
            id = tensor_load(map, id);
        }
        if (id < v->experts) {
            v->used[id] = 1;
        }
    }
}

static int is_of_interest(const test_case *c)
{
    static const char *const kinds[] = {"orderfree", "thirds", "crowd",
                                        "poisoned"};
    int found = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        found |= strcmp(c->data, kinds[i]) == 0;
    }
    return found && strncmp(c->schema->info->name, "moe.", 4) == 0;
}

static void expect_swept(const cover *done, uint64_t n_dead)
{
    ck_assert_msg(n_dead == 0, "%s: %" PRIu64 " dead columns", done->call,
                  n_dead);
}

/* The weights of both halves. */
enum { HALVES = 2 };
static const char *const weights[HALVES] = {"w13", "w2"};

/* Coverage of one half, and its calls so far. */
typedef struct half {
    cover v;
    uint64_t n_calls;
} half;

static void half_end(half *h)
{
    expect_swept(&h->v, h->n_calls == 0 ? 0 : cover_end(&h->v));
}

static void add_case(half *h, const char *call, const host_tensor *w,
                     const tensor_set *in)
{
    if (strcmp(call, h->v.call) != 0) {
        half_end(h);
        h->n_calls++;
        cover_begin(&h->v, call, w);
    }
    add_live(&h->v, w);
    add_used(&h->v, in);
}

/* Cases of one call stand next to each other in l. */
static void sweep(const case_list *l, half halves[HALVES])
{
    for (size_t i = 0; i < l->n; i++) {
        char call[CASE_TEXT];
        test_case c;
        tensor_set in = {0};

        ck_assert_msg(case_parse(&c, l->item[i].text, why) == 0, "%s",
                      sentence);
        if (!is_of_interest(&c)) {
            continue;
        }
        ck_assert_msg(fill_checkpoint(&c, l->item[i].seed, &in, why) == 0, "%s",
                      sentence);
        call_of(l->item[i].text, call);
        for (int k = 0; k < HALVES; k++) {
            const host_tensor *w = tensor_set_find(&in, weights[k]);
            if (w != NULL) {
                add_case(&halves[k], call, w, &in);
            }
        }
        tensor_set_clear(&in);
    }
    for (int k = 0; k < HALVES; k++) {
        half_end(&halves[k]);
    }
}

static void check_list(case_list *l, uint64_t least)
{
    half halves[HALVES] = {{.n_calls = 0}, {.n_calls = 0}};

    sweep(l, halves);
    ck_assert_uint_gt(halves[0].n_calls, least);
    ck_assert_uint_gt(halves[1].n_calls, least);
    case_list_clear(l);
}

START_TEST(published_cases_leave_no_column_dead)
{
    case_list l = {0};

    ck_assert_msg(grid_append(&l, 2, NULL, 0, 1, why) == 0, "%s", sentence);
    check_list(&l, 100);
}
END_TEST

START_TEST(cases_of_a_profile_leave_no_column_dead)
{
    case_list l = {0};

    ck_assert_int_eq(profile_cases_append(&l, "TRITON", 3), 0);
    ck_assert_int_eq(profile_cases_append(&l, "MARLIN", 4), 0);
    check_list(&l, 20);
}
END_TEST

/* Narrow layers, one token: what random starts would rarely complete. */
START_TEST(narrow_layers_leave_no_column_dead)
{
    case_list l = {0};

    ck_assert_int_eq(
        grid_expand(&l,
                    "moe.layer:tokens=2,hidden=32,topk=4,experts=8,inter=512,"
                    "profile=TRITON|MARLIN,data=orderfree",
                    0, 1, why),
        0);
    ck_assert_int_eq(
        grid_expand(&l,
                    "moe.gemm2:tokens=1,hidden=64|33,topk=1,experts=1|3,"
                    "inter=96|226|66,data=orderfree|thirds",
                    0, 2, why),
        0);
    half halves[HALVES] = {{.n_calls = 0}, {.n_calls = 0}};

    sweep(&l, halves);
    ck_assert_uint_gt(halves[1].n_calls, 10);
    case_list_clear(&l);
}
END_TEST

Suite *suite_sweep(void);
Suite *suite_sweep(void)
{
    Suite *s = suite_create("sweep");
    TCase *t = tcase_create("sweep");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, published_cases_leave_no_column_dead);
    tcase_add_test(t, cases_of_a_profile_leave_no_column_dead);
    tcase_add_test(t, narrow_layers_leave_no_column_dead);
    suite_add_tcase(s, t);
    return s;
}
