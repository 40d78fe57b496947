/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_mac and cpu_scales in plain C: the definitions that the lanes repeat. */
#include "isa/isa_ops.h"
#include "number.h"

const int8_t cpu_code_int[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                 0, -1, -2, -3, -4, -6, -8, -12};

/* The codes of block b, [i][column]. */
static void decode(const cpu_mac *job, size_t b, int32_t w[][CPU_MAC_COLS])
{
    for (size_t c = 0; c < CPU_MAC_COLS; c++) {
        const uint8_t *byte = job->col[c] + 16 * b;
        for (size_t i = 0; i < CPU_MX; i += 2) {
            w[i][c] = cpu_code_int[byte[i / 2] & 15];
            w[i + 1][c] = cpu_code_int[byte[i / 2] >> 4];
        }
    }
}

void cpu_mac_portable(const cpu_mac *job)
{
    int32_t w[CPU_MX][CPU_MAC_COLS];

    for (size_t b = 0; b < job->blocks; b++) {
        const double *factor = job->factor + b * CPU_MAC_COLS;

        if (job->start[b] != job->start[b + 1]) {
            decode(job, b, w);
        }
        for (uint32_t i = job->start[b]; i < job->start[b + 1]; i++) {
            const cpu_mac_item *item = &job->item[i];
            double *y = job->y + (size_t)item->sum * CPU_MAC_COLS;
            int32_t sum[CPU_MAC_COLS] = {0};

            for (size_t n = 0; n < CPU_MX; n++) {
                const int32_t x = item->slice->q[n];
                for (size_t c = 0; c < CPU_MAC_COLS; c++) {
                    sum[c] += x * w[n][c];
                }
            }
            for (size_t c = 0; c < CPU_MAC_COLS; c++) {
                y[c] += (double)sum[c] * (factor[c] * item->unit);
            }
        }
    }
}

void cpu_scales_portable(cpu_scales *job)
{
    for (size_t c = 0; c < CPU_MAC_COLS; c++) {
        job->least[c] = 255;
        job->most[c] = 0;
        for (size_t b = 0; b < job->blocks; b++) {
            const uint8_t s = job->col[c][b];
            job->least[c] = s < job->least[c] ? s : job->least[c];
            job->most[c] = s > job->most[c] ? s : job->most[c];
            job->factor[b * CPU_MAC_COLS + c] = cpu_pow2(s - 128);
        }
    }
}
