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

int placement_is_listed(const char *list, const char *name)
{
    const size_t n = strlen(name);

    while (list != NULL && *list != '\0') {
        const size_t word = strcspn(list, " ");
        if ((word == 1 && *list == '*') ||
            (word == n && strncmp(list, name, n) == 0)) {
            return 1;
        }
        list += word + (list[word] == ' ');
    }
    return 0;
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

/* Whether strides are odd, aligned to so many bytes, or twice what they need.
 */
typedef enum gap_kind { GAP_ODD, GAP_16, GAP_256, GAP_TWICE } gap_kind;

/* Where gaps are: a tensor can be a part of a wider one along any axis. */
typedef enum gap_place {
    BETWEEN_ALL,
    BETWEEN_ROWS,    /* of the last two axes alone */
    BETWEEN_EXPERTS, /* none of these: where there are three axes */
    NOWHERE          /* the strides say what is so without them */
} gap_place;

static uint64_t draw(const host_tensor *h, uint64_t call)
{
    uint64_t drawn = call ^ h->n_bytes;

    for (const char *at = h->name; *at != '\0'; at++) {
        drawn = (drawn ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    }
    return drawn * UINT64_C(0x9e3779b97f4a7c15);
}

static gap_kind draw_gap(uint64_t drawn)
{
    static const gap_kind kinds[] = {GAP_ODD, GAP_ODD, GAP_ODD, GAP_16,
                                     GAP_16,  GAP_16,  GAP_256, GAP_TWICE};

    return kinds[drawn >> 61];
}

/* In one of sixteen tensors nowhere; of those with experts, in one of four
   between these alone, in one of four between rows alone. */
static gap_place draw_place(const host_tensor *h, uint64_t drawn)
{
    const uint64_t place = drawn >> 57 & 15;

    if (place == 0) {
        return NOWHERE;
    }
    if (h->rank < 3 || place >= 9) {
        return BETWEEN_ALL;
    }
    return place % 2 == 0 ? BETWEEN_ROWS : BETWEEN_EXPERTS;
}

static int has_gap(gap_place place, const host_tensor *h, uint32_t a)
{
    const int is_row = a + 2 == h->rank;

    return place == BETWEEN_ALL || (place == BETWEEN_ROWS && is_row) ||
           (place == BETWEEN_EXPERTS && !is_row);
}

/* Units in an odd gap between rows: a part of any vector, or a whole one. */
static uint64_t draw_units(uint64_t drawn)
{
    static const uint8_t units[] = {1, 1, 2, 2, 3, 4, 4, 8};

    return units[drawn >> 54 & 7];
}

/* With a gap, from one of axis a's to the next, each of them `below` bytes; of
   odd ones each axis has two units more than the next. */
static uint64_t stride_of(uint64_t drawn, const host_tensor *h, uint32_t a,
                          uint64_t below, uint64_t unit)
{
    const gap_kind kind = draw_gap(drawn);
    const uint64_t align = kind == GAP_16 ? 16 : 256;

    return kind == GAP_ODD ? round_up(below, unit) +
                                 unit * (draw_units(drawn) +
                                         2 * (uint64_t)(h->rank - 2 - a))
           : kind == GAP_TWICE
               ? 2 * round_up(below, unit)
               : round_up(below + 1, align > unit ? align : unit);
}

uint64_t placement_align(const host_tensor *h, uint64_t call, uint64_t least,
                         uint64_t most)
{
    const uint64_t drawn = draw(h, call);
    uint64_t n = 1; /* powers of two from least to most */

    while (least << n <= most) {
        n++;
    }
    return (drawn >> 39 & 1) != 0 ? least : least << (drawn >> 40 & 0xfff) % n;
}

int placement_part(placement *p, const host_tensor *h, uint64_t call,
                   uint64_t unit, uint64_t most)
{
    const uint64_t drawn = draw(h, call);

    *p = placement_dense(h);
    /* A call that must be refused has tensors whose shape says other bytes. */
    if (h->rank < 2 || h->rank > MXO_MAX_RANK || h->n_bytes == 0 ||
        h->n_bytes > most ||
        h->n_bytes != tensor_dense_bytes(h->dtype, h->rank, h->shape) ||
        (n_rows(h) < 2 && (drawn >> 53 & 1) != 0)) {
        return 0;
    }
    placement parted = {{0}, h->n_bytes / n_rows(h)};
    const gap_place place = draw_place(h, drawn);
    uint64_t below = parted.n_bytes;

    parted.stride[h->rank - 1] = dtype_bytes(h->dtype);
    for (uint32_t a = h->rank - 1; a-- > 0;) {
        parted.stride[a] = has_gap(place, h, a)
                               ? stride_of(drawn, h, a, below, unit)
                               : round_up(below, unit);
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
