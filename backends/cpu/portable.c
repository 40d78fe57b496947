/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lane every machine has: plain C, the definition the others repeat.
 */
#include "lane.h"

#include <string.h>

static void dequant4_16(const cpu_dequant4 *job)
{
    for (uint64_t b = 0; b < job->blocks; b++) {
        const uint16_t *row = job->table->u.row16[job->scale[b]];
        uint16_t y[32];

        for (int i = 0; i < 16; i++) {
            const uint8_t pair = job->q[16 * b + (unsigned)i];

            y[2 * i] = row[pair & 15];
            y[2 * i + 1] = row[pair >> 4];
        }
        memcpy(job->y + 64 * b, y, sizeof y);
    }
}

static void dequant4_32(const cpu_dequant4 *job)
{
    for (uint64_t b = 0; b < job->blocks; b++) {
        const uint32_t *row = job->table->u.row32[job->scale[b]];
        uint32_t y[32];

        for (int i = 0; i < 16; i++) {
            const uint8_t pair = job->q[16 * b + (unsigned)i];

            y[2 * i] = row[pair & 15];
            y[2 * i + 1] = row[pair >> 4];
        }
        memcpy(job->y + 128 * b, y, sizeof y);
    }
}

const cpu_lane cpu_lane_portable = {
    .isa = "portable",
    .dequant4_16 = dequant4_16,
    .dequant4_32 = dequant4_32,
    .quant = cpu_quant_portable,
};
