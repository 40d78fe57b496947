/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu of binary64 where products are ties and a sign decides, which no
 * data of a grid meets.  What is wanted was computed apart, in 9000 bits, and
 * rounded once.  TAP on standard output.
 */
#include "../common/glu/glu_wide.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct glu_tie {
    uint32_t bits; /* of the result */
    double g, v, alpha, beta;
    uint64_t want;
    const char *what;
} glu_tie;

static const glu_tie ties[] = {
    {64, 0x1.0000002000000p+27, 0x1.000000c000000p+26, 0x0.0p+0, 0x0.0p+0,
     0x433000000e000002u, "a tie, the neighbour is odd"},
    {64, 0x1.0000002000000p+27, 0x1.000000c000000p+26, 0x1.0000000000000p-330,
     0x0.0p+0, 0x433000000e000002u, "t above zero"},
    {64, 0x1.0000002000000p+27, 0x1.000000c000000p+26, -0x1.0000000000000p-330,
     0x0.0p+0, 0x433000000e000001u, "t below zero"},
    {64, 0x1.0000002000000p+27, 0x1.000000c000000p+26, 0x1.0000000000000p-18,
     0x0.0p+0, 0x434000000e000001u, "t far above"},
    {64, 0x1.0000002000000p+27, 0x1.000000c000000p+26, 0x0.0p+0,
     0x1.0000000000000p-200, 0x433000000e000002u, "beta far below"},
    {64, 0x1.0000002000000p+27, 0x1.000000c000000p+26, 0x0.0p+0,
     -0x1.0000000000000p-200, 0x433000000e000001u, "and of another sign"},
    {64, 0x1.0000002000000p+27, 0x1.0000014000000p+26, 0x0.0p+0, 0x0.0p+0,
     0x4330000016000002u, "a tie, the neighbour is even"},
    {64, 0x1.0000002000000p+27, 0x1.0000014000000p+26, 0x1.0000000000000p-330,
     0x0.0p+0, 0x4330000016000003u, "t above zero"},
    {64, 0x1.0000002000000p+27, 0x1.0000014000000p+26, -0x1.0000000000000p-330,
     0x0.0p+0, 0x4330000016000002u, "t below zero"},
    {64, 0x1.0000002000000p+27, 0x1.0000014000000p+26, 0x1.0000000000000p-18,
     0x0.0p+0, 0x4340000016000002u, "t far above"},
    {64, 0x1.0000002000000p+27, 0x1.0000014000000p+26, 0x0.0p+0,
     0x1.0000000000000p-200, 0x4330000016000003u, "beta far below"},
    {64, 0x1.0000002000000p+27, 0x1.0000014000000p+26, 0x0.0p+0,
     -0x1.0000000000000p-200, 0x4330000016000002u, "and of another sign"},
    {32, 0x1.0030000000000p+12, 0x1.0010000000000p+12, 0x1.0000000000000p-300,
     -0x1.0040030000000p-277, 0x4b002001u,
     "beta and t cancel: the square is left"},
    {32, 0x1.0030000000000p+12, 0x1.0010000000000p+12, 0x1.0000000000000p-300,
     -0x1.004002fffeffcp-277, 0x4b002002u, "beta a little less"},
    {32, -0x1.0030000000000p+12, 0x1.0010000000000p+12, 0x1.0000000000000p-300,
     0x1.0040030000000p-277, 0xcb002001u, "the same below zero"},
    {32, 0x1.0030000000000p+12, 0x1.0010000000000p+12, 0x1.8fb50e0d5d7e8p-5,
     0x1.6077873868301p-277, 0x4b802002u, "beta above what e^-t takes"},
    {32, 0x1.0030000000000p+12, 0x1.0010000000000p+12, 0x1.8fb50e0d5d7e8p-5,
     0x1.60778738656f3p-277, 0x4b802001u, "beta below"},
    {64, 0x1.0030000000000p-525, 0x1.0010000000000p-525, 0x1.0000000000000p-100,
     0x0.0p+0, 0x802002u, "t above zero, subnormal"},
    {64, 0x1.0030000000000p-525, 0x1.0010000000000p-525,
     -0x1.0000000000000p-100, 0x0.0p+0, 0x802001u, "t below zero, subnormal"},
    {64, -0x1.62c0000000000p+9, 0x1.8000000000000p+1, 0x1.0000000000000p+0,
     0x1.0000000000000p-2, 0x80a7e685330bc3d8u, "a sigmoid next to nothing"},
    {64, 0x1.8000000000000p-1, 0x1.1ccf385ebc8a0p+1023, 0x1.8000000000000p+0,
     0x1.1ccf385ebc8a0p+1023, 0x7fe4282a8c4e9c0bu,
     "a sum beyond the largest number"},
    {64, 0x1.3333333333333p-2, 0x1.0000000000000p+0, 0x1.0000000000000p-200,
     0x1.70ef54646d497p-57, 0x3fc3333333333333u, "nothing near"},
};

enum { TIES = sizeof ties / sizeof ties[0] };

static uint64_t code_of(const glu_tie *t, int turned)
{
    const double g = turned ? -t->g : t->g;
    glu_wide_unit u = {.in_bytes = 8, .limit = __builtin_huge_val()};
    uint64_t gate;
    uint64_t up;

    (void)codes_format_of("f64", &u.from);
    (void)codes_format_of("f64", &u.f64);
    (void)codes_format_of(t->bits == 64 ? "f64" : "f32", &u.to);
    u.alpha = turned ? -t->alpha : t->alpha;
    u.beta = t->beta;
    memcpy(&gate, &g, 8);
    memcpy(&up, &t->v, 8);
    return glu_wide_code(&u, gate, up);
}

int main(void)
{
    int n_failed = 0;

    printf("1..%d\n", (int)TIES);
    for (int i = 0; i < TIES; i++) {
        const uint64_t sign = (uint64_t)1 << (ties[i].bits - 1);
        const int holds = code_of(&ties[i], 0) == ties[i].want &&
                          code_of(&ties[i], 1) == (ties[i].want ^ sign);

        n_failed += !holds;
        printf("%sok %d - %s\n", holds ? "" : "not ", i + 1, ties[i].what);
    }
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
