/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of activations on their way into a GEMM: widened, or quantised and
   read back.  See layer.h. */
#include "layer.h"

#include <string.h>

static void widen(const layer_rows *r, const uint8_t *src, size_t n, double *x)
{
    float run[CPU_RUN];

    r->lane->widen(r->from, src, (uint32_t)n, run);
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)run[i];
    }
}

void cpu_layer_rows_parts(const layer_rows *r, size_t row,
                          const layer_parts *to)
{
    const size_t blocks = cpu_blocks_of(r->k);
    const size_t size = cpu_dtype_bytes(r->from);

    if (r->from == MXO_U8) {
        cpu_layer_decode(cpu_element_of("e2m1"), r->data + row * (r->k / 2),
                         r->scale + row * blocks, r->k, to);
        return;
    }
    for (size_t b = 0; to->scale != NULL && b < blocks; b++) {
        to->scale[b] = 1;
    }
    for (size_t at = 0; at < r->k; at += CPU_RUN) {
        const size_t n = r->k - at < CPU_RUN ? r->k - at : CPU_RUN;
        const uint8_t *src = r->data + (row * r->k + at) * size;
        const layer_parts part = {
            to->x + at, to->scale == NULL ? NULL : to->scale + at / CPU_MX};

        if (r->quant != NULL) {
            cpu_layer_quantise(r->quant, r->lane, src, n, &part);
        } else {
            widen(r, src, n, part.x);
        }
    }
}

void cpu_layer_rows_read(const void *self, size_t row, double *x)
{
    const layer_parts to = {x, NULL};

    cpu_layer_rows_parts(self, row, &to);
}
