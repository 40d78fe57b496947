/* SPDX-License-Identifier: Apache-2.0 */
/* See output_mistakes.h. */
#include "output_mistakes.h"

#include <stddef.h>

uint64_t mistake_swapped_nibbles(const host_tensor *t, uint64_t i)
{
    const uint64_t code = tensor_load(t, i);

    return dtype_bytes(t->dtype) == 1 ? (code >> 4 | code << 4) & 0xff : code;
}

uint64_t mistake_swapped_rows(const host_tensor *t, uint64_t i)
{
    const uint64_t cols = t->rank > 1 ? t->shape[t->rank - 1] : 1;
    const uint64_t other = (i / cols ^ 1) * cols + i % cols;

    return tensor_load(t, other < tensor_elems(t) ? other : i);
}

static uint64_t swapped_halves(const host_tensor *t, uint64_t i)
{
    const uint64_t n = tensor_elems(t);

    return tensor_load(t, (i + n / 2) % n);
}

uint64_t mistake_previous_element(const host_tensor *t, uint64_t i)
{
    return tensor_load(t, i == 0 ? 0 : i - 1);
}

uint64_t mistake_next_element(const host_tensor *t, uint64_t i)
{
    return tensor_load(t, i + 1 < tensor_elems(t) ? i + 1 : i);
}

static uint64_t nothing(const host_tensor *t, uint64_t i)
{
    (void)t;
    (void)i;
    return 0;
}

static uint64_t mask_of(const host_tensor *t)
{
    return UINT64_MAX >> (64 - 8 * dtype_bytes(t->dtype));
}

uint64_t mistake_one_up(const host_tensor *t, uint64_t i)
{
    return (tensor_load(t, i) + 1) & mask_of(t);
}

uint64_t mistake_one_down(const host_tensor *t, uint64_t i)
{
    return (tensor_load(t, i) - 1) & mask_of(t);
}

uint64_t mistake_sign(const host_tensor *t)
{
    return (mask_of(t) >> 1) + 1;
}

uint64_t mistake_without_sign(const host_tensor *t, uint64_t i)
{
    return tensor_load(t, i) & ~mistake_sign(t);
}

static uint64_t other_sign(const host_tensor *t, uint64_t i)
{
    return tensor_load(t, i) ^ mistake_sign(t);
}

/* E2M1 pairs lose both signs. */
static uint64_t without_nibble_signs(const host_tensor *t, uint64_t i)
{
    return dtype_bytes(t->dtype) == 1 ? tensor_load(t, i) & 0x77
                                      : tensor_load(t, i);
}

static uint64_t former_row(const host_tensor *t, uint64_t i)
{
    const uint64_t cols = t->rank > 1 ? t->shape[t->rank - 1] : 1;

    return tensor_load(t, i < cols ? i : i - cols);
}

static uint64_t next_row(const host_tensor *t, uint64_t i)
{
    const uint64_t cols = t->rank > 1 ? t->shape[t->rank - 1] : 1;

    return tensor_load(t, i + cols < tensor_elems(t) ? i + cols : i);
}

/* The first of so many neighbours. */
static uint64_t one_for(const host_tensor *t, uint64_t i, uint64_t n)
{
    return tensor_load(t, i - i % t->shape[t->rank - 1] % n);
}

static uint64_t one_for_two(const host_tensor *t, uint64_t i)
{
    return one_for(t, i, 2);
}

static uint64_t one_for_four(const host_tensor *t, uint64_t i)
{
    return one_for(t, i, 4);
}

static uint64_t one_for_sixteen(const host_tensor *t, uint64_t i)
{
    return one_for(t, i, 16);
}

const mistake output_mistakes[] = {
    {"nibbles are swapped", mistake_swapped_nibbles, 1},
    {"rows 2r and 2r+1 are swapped", mistake_swapped_rows, 1},
    {"its halves are swapped", swapped_halves, 1},
    {"every row but the first is the row before", former_row, 1},
    {"every row but the last is the next row", next_row, 1},
    {"one element stands for two", one_for_two, 1},
    {"one element stands for four", one_for_four, 1},
    {"one element stands for sixteen", one_for_sixteen, 1},
    {"every element is its left neighbour's", mistake_previous_element, 1},
    {"every element is its right neighbour's", mistake_next_element, 1},
    {"the sign is lost", mistake_without_sign, 1},
    {"the sign is lost", without_nibble_signs, 1},
    {"the sign is inverted", other_sign, 1},
    {"every wrong element is zero", nothing, 0},
    {"every wrong element lacks its sign", mistake_without_sign, 0},
    {"every wrong element has the other sign", other_sign, 0},
    {"every wrong code is one too high", mistake_one_up, 0},
    {"every wrong code is one too low", mistake_one_down, 0},
    {NULL, NULL, 0},
};
