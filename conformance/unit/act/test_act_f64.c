/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary64 steps against sums and products of small integers scaled by powers
 * of two (whose rounding is done here on 64-bit integers), and against the
 * special values of IEEE 754.
 */
#include "act/f64.h"

#include <check.h>

#define INF UINT64_C(0x7ff0000000000000)
#define NAN_CODE UINT64_C(0x7ff8000000000000)
#define ONE UINT64_C(0x3ff0000000000000)
#define MINUS UINT64_C(0x8000000000000000)
#define MAX UINT64_C(0x7fefffffffffffff)

typedef struct claim {
    uint64_t a;
    uint64_t b;
    uint64_t y;
} claim;

static const claim sums[] = {
    {ONE, ONE, 0x4000000000000000},
    {ONE, MINUS | ONE, 0},
    {MINUS, MINUS, MINUS},
    {MINUS, 0, 0},
    {0, ONE, ONE},
    {ONE, MINUS, ONE},
    {INF, MINUS | INF, NAN_CODE},
    {INF, ONE, INF},
    {ONE, MINUS | INF, MINUS | INF},
    {INF | 1, ONE, NAN_CODE},
    {MAX, MAX, INF},
    /* 1 + 2^-53: a tie, to even; with 2^-105 more, up */
    {ONE, 0x3ca0000000000000, ONE},
    {ONE, 0x3ca0000000000001, ONE + 1},
    {ONE + 1, 0x3ca0000000000000, ONE + 2},
    /* 1 - 2^-54: a tie below one, to even; a bit more: down; less: up */
    {ONE, 0xbc90000000000000, ONE},
    {ONE, 0xbc90000000000001, ONE - 1},
    {ONE, 0xbc8fffffffffffff, ONE},
    {ONE, 1, ONE},
    {ONE, MINUS | 1, ONE},
    {3, MINUS | 1, 2},
    {0x0010000000000000, MINUS | 1, 0x000fffffffffffff},
};

static const claim products[] = {
    {ONE, ONE, ONE},
    {0x4008000000000000, 0xc014000000000000, 0xc02e000000000000}, /* 3 * -5 */
    {0, INF, NAN_CODE},
    {MINUS, ONE, MINUS},
    {MINUS | INF, ONE, MINUS | INF},
    {NAN_CODE, 0, NAN_CODE},
    {MAX, 0x4000000000000000, INF},
    /* (1 + 2^-52)^2 = 1 + 2^-51 + 2^-104 */
    {ONE + 1, ONE + 1, ONE + 2},
    /* (1 + 2^-52)(1 + 2^-1) = 1.5 + 1.5 * 2^-52: tie between +1 and +2 */
    {ONE + 1, 0x3ff8000000000000, 0x3ff8000000000002},
    {1, 0x3fe0000000000000, 0}, /* half the smallest: tie to even */
    {3, 0x3fe0000000000000, 2},
    {1, 0x3fe0000000000001, 1},
};

static const claim quotients[] = {
    {ONE, 0x4008000000000000, 0x3fd5555555555555},                /* 1/3 */
    {0x4000000000000000, 0x4008000000000000, 0x3fe5555555555555}, /* 2/3 */
    {ONE, ONE, ONE},
    {ONE, MINUS, MINUS | INF},
    {0, 0, NAN_CODE},
    {INF, INF, NAN_CODE},
    {INF, ONE, INF},
    {ONE, MINUS | INF, MINUS},
    {0, ONE, 0},
    {NAN_CODE, ONE, NAN_CODE},
    /* 1/(1 + 2^-52) = 1 - 2^-52 + 2^-104 */
    {ONE, ONE + 1, ONE - 2},
    /* 1/(1 - 2^-53) = 1 + 2^-53 + 2^-106: just above a tie */
    {ONE, ONE - 1, ONE + 1},
    {1, 0x4000000000000000, 0},
    {3, 0x4000000000000000, 2},
    {MAX, 0x3fe0000000000000, INF},
};

static void check_claim(const claim *c, uint64_t (*op)(uint64_t, uint64_t))
{
    const uint64_t y = op(c->a, c->b);

    ck_assert_msg(y == c->y, "%016llx, %016llx: got %016llx want %016llx",
                  (unsigned long long)c->a, (unsigned long long)c->b,
                  (unsigned long long)y, (unsigned long long)c->y);
}

START_TEST(sum)
{
    const claim swapped = {sums[_i].b, sums[_i].a, sums[_i].y};

    check_claim(&sums[_i], mxo_f64_add);
    check_claim(&swapped, mxo_f64_add);
}
END_TEST

START_TEST(product)
{
    const claim swapped = {products[_i].b, products[_i].a, products[_i].y};

    check_claim(&products[_i], mxo_f64_mul);
    check_claim(&swapped, mxo_f64_mul);
}
END_TEST

START_TEST(quotient)
{
    check_claim(&quotients[_i], mxo_f64_div);
}
END_TEST

Suite *suite_act_f64(void);
Suite *suite_act_f64(void)
{
    Suite *s = suite_create("act_f64");
    TCase *t = tcase_create("steps");

    tcase_add_loop_test(t, sum, 0, (int)(sizeof sums / sizeof sums[0]));
    tcase_add_loop_test(t, product, 0,
                        (int)(sizeof products / sizeof products[0]));
    tcase_add_loop_test(t, quotient, 0,
                        (int)(sizeof quotients / sizeof quotients[0]));
    suite_add_tcase(s, t);
    return s;
}
