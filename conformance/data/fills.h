/* SPDX-License-Identifier: Apache-2.0 */
/* The fill functions that more than one family uses. */
#ifndef MXO_FILLS_H
#define MXO_FILLS_H

#include "base/codes.h"
#include "fill.h"

/* -1 of int32: an expert or a row that is nowhere. */
#define ABSENT UINT64_C(0xffffffff)

/* 0, 1, 2, ... over all codes of the parameter format or of the dtype. */
void fill_counting(const test_case *c, host_tensor *t, prng *rng);
/* Zeros, ones, extremes, subnormals, infinities, NaNs of either sign. */
void fill_corners(const test_case *c, host_tensor *t, prng *rng);
/* Both, but only every third stretch of 128 elements is wild. */
void fill_random_patches(const test_case *c, host_tensor *t, prng *rng);
void fill_corner_patches(const test_case *c, host_tensor *t, prng *rng);
/* Bell-shaped around zero; each 32 elements have a scale of their own. */
void fill_ordinary(const test_case *c, host_tensor *t, prng *rng);
/* Between 1/16 and 16, distinct mantissas. */
void fill_positive(const test_case *c, host_tensor *t, prng *rng);
/* 1/3, 0.2, 0.7 and the like, one after the other: no short mantissa, so that
   a rounding too many or too few shows. */
void fill_thirds(const test_case *c, host_tensor *t, prng *rng);
/* Next to ties of the output's type, too close for binary32 or a double to
   tell: weights and rows of a combination, w2; operands, codes and scales of
   gemm.mx. */
void fill_tie_weights(const test_case *c, host_tensor *t, prng *rng);
void fill_tie_rows(const test_case *c, host_tensor *t, prng *rng);
void fill_tie_live(const test_case *c, host_tensor *t, prng *rng);
void fill_tie_operands(const test_case *c, host_tensor *t, prng *rng);
void fill_tie_codes(const test_case *c, host_tensor *t, prng *rng);
void fill_tie_scales(const test_case *c, host_tensor *t, prng *rng);
/* Sums that their bias decides: activations, codes, scales and biases. */
void fill_nudged(const test_case *c, host_tensor *t, prng *rng);
void fill_nudged_codes(const test_case *c, host_tensor *t, prng *rng);
void fill_nudged_scales(const test_case *c, host_tensor *t, prng *rng);
void fill_nudges(const test_case *c, host_tensor *t, prng *rng);
/* Midpoints of the element format and their neighbours, at scales that differ
   from one stretch of 128 elements to the next; every 16th element is the
   format's largest value at that scale. */
void fill_ties(const test_case *c, host_tensor *t, prng *rng);
/* Groups of 16 whose largest element is 2^k * m, m in fine steps, k over the
   whole range; now and then a zero group. */
void fill_amax(const test_case *c, host_tensor *t, prng *rng);
/* Scale bytes: coded by position, neighbours differ by more than one. */
void fill_index_coded(const test_case *c, host_tensor *t, prng *rng);
/* Scale bytes: 0, 1, 7f, fe, ff and their neighbours. */
void fill_scale_corners(const test_case *c, host_tensor *t, prng *rng);
/* As in a checkpoint: eight scale bytes, and one bell for a whole row. */
void fill_scale_typical(const test_case *c, host_tensor *t, prng *rng);
void fill_normal(const test_case *c, host_tensor *t, prng *rng);
/* A tie of binary32 that a much smaller number decides, then blocks that
   cancel whatever their size, as weights and scales of every second block are
   those of the block before: only an exact sum gets it right. */
void fill_cancelling(const test_case *c, host_tensor *t, prng *rng);
void fill_twins(const test_case *c, host_tensor *t, prng *rng);
/* Of a row, 15 powers of two apart, in every third row 40. */
void fill_scale_twins(const test_case *c, host_tensor *t, prng *rng);
/* Scale bytes: 2^-8 to 2^7. */
void fill_scale_ordinary(const test_case *c, host_tensor *t, prng *rng);

/* Ordinary, but at the end of each row, and eight times in the last one, NaN,
   infinities, zeros, subnormal and largest numbers, whatever the seed is; of
   codes in bytes, those of the format that a case names. */
void fill_tail(const test_case *c, host_tensor *t, prng *rng);
void fill_tail_codes(const test_case *c, host_tensor *t, prng *rng);

/* Special numbers where others are: weights of tokens, biases of experts,
   scales of activations, constants of experts. */
void fill_signed_weights(const test_case *c, host_tensor *t, prng *rng);
void fill_expert_biases(const test_case *c, host_tensor *t, prng *rng);
void fill_end_scales(const test_case *c, host_tensor *t, prng *rng);
void fill_rare_constants(const test_case *c, host_tensor *t, prng *rng);

/* Number format a case's elements are in: parameter element, format or to. */
const code_format *fill_element(const test_case *c);
/* Store one of what fill_corners draws from. */
void fill_corner(host_tensor *t, uint64_t i, prng *rng);
/* Store the code nearest to x, which is no NaN, in a float tensor, infinities
   as the last finite; in bytes of packed codes, both of E2M1. */
void fill_put(host_tensor *t, uint64_t i, double x);
/* Uniform in [0, 1), 24 bits: products with short numbers stay exact. */
double fill_uniform(prng *rng);

/* Is an odd number of the bits of i set, from the seventh on?  What alternates
   from place to place does not repeat with a power of two, where that turns it
   round. */
int fill_is_turned(uint64_t i);

/* Experts of tokens: distinct ones; all tokens to one expert and its
   neighbours; as the first, with an expert that no token chooses; nearly all to
   the even experts. */
void fill_distinct_ids(const test_case *c, host_tensor *t, prng *rng);
void fill_one_expert(const test_case *c, host_tensor *t, prng *rng);
void fill_idle_ids(const test_case *c, host_tensor *t, prng *rng);
void fill_thin_ids(const test_case *c, host_tensor *t, prng *rng);

#endif
