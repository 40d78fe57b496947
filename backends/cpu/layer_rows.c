/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of activations on their way into a GEMM: widened, or quantised and
   read back.  See layer.h. */
#include "layer.h"

#include <math.h>
#include <string.h>

enum { RUN_BLOCKS = CPU_RUN / CPU_MX };

static void widen(const layer_rows *r, const uint8_t *src, size_t n, double *x)
{
    float run[CPU_RUN];

    r->lane->widen(r->from, src, (uint32_t)n, run);
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)run[i];
    }
}

/* Codes under E8M0 bytes. */
static void decode(const cpu_element *e, const uint8_t *codes,
                   const uint8_t *scale, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t s = scale[i / CPU_MX];
        const uint8_t byte = codes[e->bits == 4 ? i / 2 : i];
        const uint8_t code =
            (uint8_t)(e->bits == 4 ? byte >> (i % 2 * 4) & 15 : byte);
        const double unit = s == 255 ? (double)NAN : cpu_pow2(s - 127);

        x[i] = (double)cpu_element_value(e, code) * unit;
    }
}

/* Up to CPU_RUN elements, the last block perhaps short. */
static void quantise(const layer_rows *r, const uint8_t *src, size_t n,
                     double *x)
{
    const cpu_quant *quant = r->quant;
    const size_t whole = n / CPU_MX;
    const size_t size = cpu_dtype_bytes(r->from);
    const int is_packed = quant->element->bits == 4;
    uint8_t q[CPU_RUN];
    uint8_t scale[RUN_BLOCKS];
    uint8_t code[CPU_MX];
    const cpu_quant_span span = {quant, src, q, scale, whole};

    if (quant->lane_may) {
        r->lane->quant(&span);
    } else {
        cpu_quant_portable(&span);
    }
    decode(quant->element, q, scale, whole * CPU_MX, x);
    if (n % CPU_MX == 0) {
        return;
    }
    scale[0] = cpu_quant_block(quant, code, src + whole * CPU_MX * size,
                               (int)(n % CPU_MX));
    for (size_t i = 0; i < n % CPU_MX; i++) {
        q[i] = is_packed && i % 2 == 0 && i + 1 < n % CPU_MX
                   ? (uint8_t)(code[i] | code[i + 1] << 4)
                   : code[i];
    }
    for (size_t i = 0; is_packed && i < n % CPU_MX; i += 2) {
        q[i / 2] = q[i];
    }
    decode(quant->element, q, scale, n % CPU_MX, x + whole * CPU_MX);
}

void cpu_layer_rows_read(const void *self, size_t row, double *x)
{
    const layer_rows *r = self;
    const size_t blocks = r->k / CPU_MX + (r->k % CPU_MX != 0);

    if (r->from == MXO_U8) {
        decode(cpu_element_of("e2m1"), r->data + row * (r->k / 2),
               r->scale + row * blocks, r->k, x);
        return;
    }
    const size_t size = cpu_dtype_bytes(r->from);
    for (size_t at = 0; at < r->k; at += CPU_RUN) {
        const size_t n = r->k - at < CPU_RUN ? r->k - at : CPU_RUN;
        const uint8_t *src = r->data + (row * r->k + at) * size;

        if (r->quant != NULL) {
            quantise(r, src, n, x + at);
        } else {
            widen(r, src, n, x + at);
        }
    }
}
