/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPFR's exponential: the second opinion on ours, used by the unit
 * tests and by the exhaustive run.  Nothing here is part of the emulator.
 */
#ifndef MXO_REFERENCE_H
#define MXO_REFERENCE_H

#include <stdint.h>

typedef enum reference_fn {
    REFERENCE_EXP,
    REFERENCE_SIGMOID,
    REFERENCE_SILU,
    N_REFERENCE_FNS
} reference_fn;

/* How the answer was found. */
typedef struct reference_effort {
    uint32_t bits;  /* MPFR's precision that decided; 0: no MPFR needed */
    int lg_nearest; /* floor(log2) of the relative distance from the nearest
                       rounding boundary; 0 unless bits > 64 */
} reference_effort;

const char *reference_name(reference_fn fn);

/*
 * fn(x) rounded to binary32, patterns in and out.  Evaluated with 64 bits,
 * and accepted if a relative change of +-2^-60 does not change the rounded
 * code; else with 160 bits and +-2^-150, and so on, doubling.
 */
uint32_t reference_f32(reference_fn fn, uint32_t x, reference_effort *effort);

#endif
