/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of an expert's rows is settled as by the plainest rule there is,
 * which looks for each row among all of its expert's: right answers whose rows
 * are shuffled, and then wrong in a word or two.
 */
#include "case/case_text.h"
#include "data/fill.h"
#include "judge/row_order.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <string.h>

enum { MOST_ROWS = 512 };

typedef struct scene {
    judge j;
    test_case c;
    mxo_param params[OP_MAX_PARAMS];
    tensor_set in;
    tensor_set want;
    tensor_set got;   /* as it is settled */
    tensor_set plain; /* as the plain rule settles it */
    op_call call;
    const host_tensor *ids;
    const char *rows;
    const char *inverse;
    const char *moved;
    int has_slots;
} scene;

static void begin(scene *s, const char *text, uint64_t seed)
{
    char why[SUBJECT_TEXT] = "";
    const mxo_text say = {why, sizeof why};
    run_checks d;

    memset(s, 0, sizeof *s);
    ck_assert_int_eq(judge_open(&s->j, mxo_emulator(), 0, say), MXO_OK);
    ck_assert_msg(case_parse(&s->c, text, say) == 0, "%s", why);
    ck_assert_msg(fill_inputs(&s->c, seed, &s->in, say) == 0, "%s", why);
    case_params(&s->c, s->params);
    s->call = (op_call){s->c.schema->info->name, s->params,
                        (uint32_t)s->c.schema->n_params, &s->in};
    tensor_set *const sets[] = {&s->want, &s->got, &s->plain};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(subject_infer(&s->j.oracle, &s->call, sets[i], say),
                         MXO_OK);
        ck_assert_int_eq(subject_run(&s->j.oracle, &s->call, sets[i], &d, say),
                         MXO_OK);
    }
#define MXO_ROW_ORDER(op, layout, rows_of, inverse_of, moved_of, ids_of, \
                      slots)                                             \
    if (strcmp(case_value(&s->c, "layout"), layout) == 0) {              \
        s->rows = rows_of;                                               \
        s->inverse = inverse_of;                                         \
        s->moved = moved_of;                                             \
        s->ids = tensor_set_find(&s->in, ids_of);                        \
        s->has_slots = slots;                                            \
    }
#include "judge/row_order.def"
#undef MXO_ROW_ORDER
    ck_assert_ptr_nonnull(s->ids);
    ck_assert_uint_le(tensor_elems(tensor_set_find(&s->want, s->rows)),
                      MOST_ROWS);
}

static void end(scene *s)
{
    judge_close(&s->j);
    tensor_set_clear(&s->in);
    tensor_set_clear(&s->want);
    tensor_set_clear(&s->got);
    tensor_set_clear(&s->plain);
}

/* UINT64_MAX: a pad. */
static uint64_t pair_of(const scene *s, uint64_t word)
{
    const uint64_t slots = s->ids->shape[1];
    const uint64_t slot = s->has_slots ? word >> 24 : 0;
    const uint64_t pair =
        s->has_slots ? (word & 0xffffff) * slots + slot : word;

    return slot >= slots || pair >= tensor_elems(s->ids) ? UINT64_MAX : pair;
}

static uint64_t expert_of(const scene *s, uint64_t word)
{
    const uint64_t pair = pair_of(s, word);

    return pair == UINT64_MAX ? UINT64_MAX : tensor_load(s->ids, pair);
}

static uint64_t run_end(const scene *s, const host_tensor *want, uint64_t a)
{
    const uint64_t expert = expert_of(s, tensor_load(want, a));
    uint64_t b = a;

    while (expert != UINT64_MAX && b < tensor_elems(want) &&
           expert_of(s, tensor_load(want, b)) == expert) {
        b++;
    }
    return b;
}

/* Row a .. b - 1 that has the word; b: none. */
static uint64_t find(const host_tensor *t, uint64_t a, uint64_t b,
                     uint64_t word)
{
    while (a < b && tensor_load(t, a) != word) {
        a++;
    }
    return a;
}

/* The rule itself, in as many steps as it takes. */
static uint64_t settle_plainly(scene *s)
{
    const host_tensor *want = tensor_set_find(&s->want, s->rows);
    host_tensor *got = tensor_set_find(&s->plain, s->rows);
    host_tensor *inverse = tensor_set_find(&s->plain, s->inverse);
    host_tensor *moved = tensor_set_find(&s->plain, s->moved);
    const uint64_t rows = tensor_elems(want);
    uint64_t from[MOST_ROWS];
    uint64_t kept[MOST_ROWS];
    uint64_t n = 0;

    for (uint64_t a = 0, b; a<rows; a = b> a ? b : a + 1) {
        int good = 1;

        b = run_end(s, want, a);
        for (uint64_t i = a; i < b && good; i++) {
            const uint64_t word = tensor_load(want, i);
            from[i] = find(got, a, b, word);
            good = from[i] < b &&
                   (inverse == NULL ||
                    tensor_load(inverse, pair_of(s, word)) == from[i]);
            kept[i] = good && moved != NULL ? tensor_load(moved, from[i]) : 0;
        }
        for (uint64_t i = a; i < b && good; i++) {
            const uint64_t word = tensor_load(want, i);
            n += from[i] != i;
            tensor_store(got, i, word);
            if (inverse != NULL) {
                tensor_store(inverse, pair_of(s, word), i);
            }
            if (moved != NULL) {
                tensor_store(moved, i, kept[i]);
            }
        }
    }
    return n;
}

static void swap(host_tensor *t, uint64_t i, uint64_t k)
{
    const uint64_t word = tensor_load(t, i);

    tensor_store(t, i, tensor_load(t, k));
    tensor_store(t, k, word);
}

/* Rows of each expert in another order, with all that belongs to them. */
static void shuffle(scene *s, prng *rng)
{
    const host_tensor *want = tensor_set_find(&s->want, s->rows);
    host_tensor *got = tensor_set_find(&s->got, s->rows);
    host_tensor *inverse = tensor_set_find(&s->got, s->inverse);
    host_tensor *moved = tensor_set_find(&s->got, s->moved);

    for (uint64_t a = 0, b; a<tensor_elems(want); a = b> a ? b : a + 1) {
        b = run_end(s, want, a);
        for (uint64_t i = a; i < b; i++) {
            const uint64_t k = a + prng_below(rng, b - a);
            swap(got, i, k);
            if (moved != NULL) {
                swap(moved, i, k);
            }
        }
        for (uint64_t i = a; i < b && inverse != NULL; i++) {
            tensor_store(inverse, pair_of(s, tensor_load(got, i)), i);
        }
    }
}

/* In one of the three a word of another row, of none, or any, or two words that
   change places. */
static void spoil(scene *s, prng *rng)
{
    const char *const names[] = {s->rows, s->inverse, s->moved};
    host_tensor *t = tensor_set_find(&s->got, names[prng_below(rng, 3)]);
    const uint64_t n = t == NULL ? 0 : tensor_elems(t);

    if (n == 0) {
        return;
    }
    const uint64_t at = prng_below(rng, n);
    const uint64_t other = prng_below(rng, n);

    switch (prng_below(rng, 5)) {
    case 0:
        tensor_store(t, at, tensor_load(t, other));
        break;
    case 1:
        tensor_store(t, at, UINT64_MAX);
        break;
    case 2:
        tensor_store(t, at, 2 * other);
        break;
    case 3:
        tensor_store(t, at, tensor_load(t, at) + 1);
        break;
    default:
        swap(t, at, other);
        break;
    }
}

static void expect_alike(const tensor_set *a, const tensor_set *b,
                         const char *text, uint64_t seed)
{
    for (uint32_t i = 0; i < a->n; i++) {
        ck_assert_msg(
            memcmp(a->t[i].data, b->t[i].data, (size_t)a->t[i].n_bytes) == 0,
            "%s, seed %d: %s", text, (int)seed, a->t[i].name);
    }
}

static void copy(tensor_set *to, const tensor_set *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        memcpy(to->t[i].data, from->t[i].data, (size_t)from->t[i].n_bytes);
    }
}

/* n_spoilt words are wrong. */
static void expect_same_rule(const char *text, uint64_t seed, int n_spoilt)
{
    static scene s;
    prng rng;

    begin(&s, text, seed);
    prng_seed(&rng, seed);
    shuffle(&s, &rng);
    for (int i = 0; i < n_spoilt; i++) {
        spoil(&s, &rng);
    }
    copy(&s.plain, &s.got);
    const uint64_t n = settle_plainly(&s);

    ck_assert_msg(row_order_settle(&s.c, &s.call, &s.want, &s.got) == n,
                  "%s, seed %d", text, (int)seed);
    expect_alike(&s.got, &s.plain, text, seed);
    if (n_spoilt == 0) {
        ck_assert_msg(n > 0, "%s, seed %d: nothing moved", text, (int)seed);
        expect_alike(&s.got, &s.want, text, seed);
    }
    end(&s);
}

static const char *const cases[] = {
    "moe.sort:layout=trtllm,tokens=40,top_k=2",
    "moe.sort:layout=trtllm,tokens=90,top_k=1,data=single",
    "moe.sort:layout=aiter,tokens=40,top_k=3",
    "moe.sort:layout=aiter,tokens=30,top_k=2,data=crowded",
    "moe.sort:layout=vllm,tokens=40,top_k=2,data=holes",
    "moe.sort:layout=triton,tokens=40,top_k=2",
    "moe.sort:layout=triton,tokens=33,top_k=4,data=single",
};

START_TEST(shuffled_rows_are_the_oracles)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        expect_same_rule(cases[_i], seed, 0);
    }
}
END_TEST

START_TEST(spoilt_rows_are_settled_as_by_the_plain_rule)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        expect_same_rule(cases[_i], seed, 1 + (int)(seed % 3));
    }
}
END_TEST

Suite *suite_row_order(void);
Suite *suite_row_order(void)
{
    Suite *s = suite_create("row_order");
    TCase *t = tcase_create("row_order");
    const int n = (int)(sizeof cases / sizeof cases[0]);

    tcase_add_loop_test(t, shuffled_rows_are_the_oracles, 0, n);
    tcase_add_loop_test(t, spoilt_rows_are_settled_as_by_the_plain_rule, 0, n);
    suite_add_tcase(s, t);
    return s;
}
