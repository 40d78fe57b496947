/* SPDX-License-Identifier: Apache-2.0 */
/* See placement.h. */
#include "placement.h"

#include <string.h>

static uint64_t n_rows(const host_tensor *h)
{
    uint64_t n = 1;

    for (uint32_t a = 0; a + 1 < h->rank; a++) {
        n *= h->shape[a];
    }
    return n;
}

placement placement_dense(const host_tensor *h)
{
    return (placement){{0}, h->n_bytes};
}

int placement_is_dense(const placement *p)
{
    return p->stride[0] == 0;
}

static uint64_t round_up(uint64_t n, uint64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

int placement_part(placement *p, const host_tensor *h, uint64_t unit,
                   uint64_t most)
{
    *p = placement_dense(h);
    /* A call that must be refused has tensors whose shape says other bytes. */
    if (h->rank < 2 || h->rank > MXO_MAX_RANK || h->n_bytes == 0 ||
        h->n_bytes > most ||
        h->n_bytes != tensor_dense_bytes(h->dtype, h->rank, h->shape) ||
        n_rows(h) < 2) {
        return 0;
    }
    placement parted = {{0}, h->n_bytes / n_rows(h)};
    uint64_t below = parted.n_bytes;

    parted.stride[h->rank - 1] = dtype_bytes(h->dtype);
    for (uint32_t a = h->rank - 1; a-- > 0;) {
        const uint64_t gap = unit * (2 * (uint64_t)(h->rank - a) - 1);

        parted.stride[a] = round_up(below, unit) + gap;
        parted.n_bytes += (h->shape[a] - 1) * parted.stride[a];
        below = h->shape[a] * parted.stride[a];
    }
    if (parted.n_bytes > most) {
        return 0;
    }
    *p = parted;
    return 1;
}

static uint64_t row_at(const placement *p, const host_tensor *h, uint64_t row)
{
    uint64_t at = 0;

    for (uint32_t a = h->rank - 1; a-- > 0;) {
        at += row % h->shape[a] * p->stride[a];
        row /= h->shape[a];
    }
    return at;
}

void placement_scatter(const placement *p, const host_tensor *h,
                       const uint8_t *dense, uint8_t *image)
{
    const uint64_t rows = n_rows(h);
    const uint64_t row_bytes = h->n_bytes / rows;

    for (uint64_t r = 0; r < rows; r++) {
        memcpy(image + row_at(p, h, r), dense + r * row_bytes, row_bytes);
    }
}

void placement_gather(const placement *p, const host_tensor *h,
                      const uint8_t *image, uint8_t *dense)
{
    const uint64_t rows = n_rows(h);
    const uint64_t row_bytes = h->n_bytes / rows;

    for (uint64_t r = 0; r < rows; r++) {
        memcpy(dense + r * row_bytes, image + row_at(p, h, r), row_bytes);
    }
}

uint64_t placement_gap_differs(const placement *p, const host_tensor *h,
                               const uint8_t *a, const uint8_t *b)
{
    const uint64_t rows = n_rows(h);
    const uint64_t row_bytes = h->n_bytes / rows;

    for (uint64_t r = 0; r + 1 < rows; r++) {
        const uint64_t end = row_at(p, h, r + 1);
        for (uint64_t i = row_at(p, h, r) + row_bytes; i < end; i++) {
            if (a[i] != b[i]) {
                return i;
            }
        }
    }
    return p->n_bytes;
}
