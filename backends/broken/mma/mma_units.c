/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix units, one row for each type of operands. */
#include "mma.h"

#include <string.h>

static const broken_mma units[] = {
    {"hopper_wgmma", "bf16", MMA_FUSED, 16, 25, 23, -126},
    {"hopper_wgmma", "f16", MMA_FUSED, 16, 25, 23, -14},
    {"hopper_wgmma", "tf32", MMA_FUSED, 8, 25, 23, -126},
    {"hopper_wgmma", "e4m3fn", MMA_FUSED, 32, 13, 13, -6},
    {"hopper_wgmma", "e5m2", MMA_FUSED, 32, 13, 13, -14},
    {"hopper_mma_sync", "bf16", MMA_FUSED, 16, 25, 23, -126},
    {"hopper_mma_sync", "f16", MMA_FUSED, 16, 25, 23, -14},
    {"hopper_mma_sync", "tf32", MMA_FUSED, 8, 25, 23, -126},
    {"hopper_mma_sync", "e4m3fn", MMA_HALVES, 32, 25, 23, -14}, /* in f16 */
    {"hopper_mma_sync", "e5m2", MMA_HALVES, 32, 25, 23, -14},
    {"volta", "f16", MMA_FUSED, 4, 23, 23, -14},
    {"turing", "f16", MMA_FUSED, 8, 24, 23, -14},
    {"ampere", "bf16", MMA_FUSED, 8, 24, 23, -126},
    {"ampere", "f16", MMA_FUSED, 8, 24, 23, -14},
    {"ampere", "tf32", MMA_FUSED, 4, 24, 23, -126},
    {"ada", "bf16", MMA_FUSED, 8, 24, 23, -126},
    {"ada", "f16", MMA_FUSED, 8, 24, 23, -14},
    {"ada", "tf32", MMA_FUSED, 4, 24, 23, -126},
    {"ada", "e4m3fn", MMA_FUSED, 16, 13, 13, -6},
    {"ada", "e5m2", MMA_FUSED, 16, 13, 13, -14},
    {"blackwell", "bf16", MMA_FUSED, 16, 25, 23, -126},
    {"blackwell", "f16", MMA_FUSED, 16, 25, 23, -14},
    {"blackwell", "e4m3fn", MMA_FUSED, 32, 25, 23, -6},
    {"blackwell", "e5m2", MMA_FUSED, 32, 25, 23, -14},
    {"blackwell", "e2m3", MMA_FUSED, 32, 25, 23, 0},
    {"blackwell", "e3m2", MMA_FUSED, 32, 25, 23, -2},
    {"blackwell", "e2m1", MMA_FUSED, 32, 25, 23, 0},
    {"blackwell_mx", "e4m3fn", MMA_FUSED, 32, 25, 23, -6},
    {"blackwell_mx", "e5m2", MMA_FUSED, 32, 25, 23, -14},
    {"blackwell_mx", "e2m1", MMA_FUSED, 32, 25, 23, 0},
    {"blackwell_fp4", "e2m1", MMA_GROUPS, 64, 35, 23, 0},
    {"cdna1", "f16", MMA_TREE, 4, 0, 23, -14},
    {"cdna1", "bf16", MMA_TREE, 2, 0, 23, -126},
    {"cdna2", "f16", MMA_TREE_FLUSHED, 4, 0, 23, -14},
    {"cdna2", "bf16", MMA_TREE_FLUSHED, 4, 0, 23, -126},
    {"cdna3", "f16", MMA_FLOORED, 8, 24, 23, -14},
    {"cdna3", "bf16", MMA_FLOORED, 8, 24, 23, -126},
    {"cdna3", "tf32", MMA_FLOORED, 4, 24, 23, -126},
    {"cdna3", "e4m3fnuz", MMA_PARITY, 16, 24, 23, -7},
    {"cdna3", "e5m2fnuz", MMA_PARITY, 16, 24, 23, -15},
};

broken_mma broken_mma_of(const broken *b, const broken_mma *row)
{
    broken_mma u = *row;

#define BROKEN_UNIT
#include "../values.def"
#undef BROKEN_UNIT
    return u;
}

const broken_mma *broken_mma_find(const char *unit, const char *type)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].unit, unit) == 0 &&
            strcmp(units[i].type, type) == 0) {
            return &units[i];
        }
    }
    return NULL;
}
