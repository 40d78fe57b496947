/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two steps of a chain as one.  Where the first only deals out the halves of
 * the columns, its rows are pairs of half rows: seen so, the tensor is twice
 * as high and half as wide, the last binary digit of a column has become that
 * of a row, and the second map does it all.
 */
#ifndef GPU_LAYOUT_FOLD_H
#define GPU_LAYOUT_FOLD_H

#include "layout_plan/layout_map.h"
#include "layout_plan/layout_text.h"
#include "port/runtime.h"

/* E R (h:2 C) -> E R (C h), and nothing else. */
static int map_deals_halves(const layout_map *m)
{
    static const uint64_t axis[4] = {LAYOUT_E, LAYOUT_R, LAYOUT_C, LAYOUT_C};
    static const uint32_t order[4] = {0, 1, 3, 2};

    if (m->n_digits != 4 || m->n_groups != 4 || m->digit[2].n != 2 ||
        m->unit_bits != 8 * m->elem_bytes || map_has_pads(m)) {
        return 0;
    }
    for (uint32_t i = 0; i < 4; i++) {
        const layout_group *const g = &m->group[i];

        if (m->digit[i].axis != (int)axis[i] || g->n_members != 1 ||
            g->member[0] != order[i] || g->table >= 0) {
            return 0;
        }
    }
    return 1;
}

/* The column digit of stride 1, or -1. */
static int map_last_column(const layout_map *m)
{
    for (uint32_t i = 0; i < m->n_digits; i++) {
        const layout_digit *const d = &m->digit[i];

        if (d->axis == LAYOUT_C && d->stride == 1 && d->n > 1) {
            return (int)i;
        }
    }
    return -1;
}

/* Its last binary digit becomes digit `low`, behind it wherever it is. */
static int fold_digit(layout_map *m, uint32_t last)
{
    const uint32_t low = m->n_digits;

    if (m->digit[last].n % 2 != 0 || low == LAYOUT_DIGITS) {
        return 0;
    }
    for (uint32_t i = 0; i < m->n_groups; i++) {
        layout_group *const g = &m->group[i];

        for (uint32_t k = 0; k < g->n_members; k++) {
            if (g->member[k] != last) {
                continue;
            }
            if (g->n_members == LAYOUT_MEMBERS) {
                return 0;
            }
            memmove(&g->member[k + 2], &g->member[k + 1],
                    (g->n_members - k - 1) * sizeof g->member[0]);
            g->member[k + 1] = low;
            g->n_members++;
            break;
        }
    }
    m->digit[low] = m->digit[last];
    m->digit[low].n = 2;
    m->digit[last].n /= 2;
    m->digit[last].stride = 2;
    m->n_digits++;
    return 1;
}

/* *second as a map of what the first step reads; 0: it stays as it is. */
static int map_fold(const layout_map *first, layout_map *second)
{
    const int last = map_last_column(second);
    layout_map m = *second;

    if (!map_deals_halves(first) || first->elem_bytes != second->elem_bytes ||
        last < 0 || m.axis[LAYOUT_C].padded % 2 != 0 ||
        !fold_digit(&m, (uint32_t)last)) {
        return 0;
    }
    for (uint32_t i = 0; i < m.n_digits; i++) {
        layout_digit *const d = &m.digit[i];

        if (d->axis == LAYOUT_R) {
            d->stride *= 2;
        } else if (d->axis == LAYOUT_C && i + 1 == m.n_digits) {
            d->axis = LAYOUT_R;
        } else if (d->axis == LAYOUT_C && d->n > 1) {
            if (d->stride % 2 != 0) {
                return 0;
            }
            d->stride /= 2;
        }
    }
    m.axis[LAYOUT_R].extent *= 2;
    m.axis[LAYOUT_R].padded *= 2;
    m.axis[LAYOUT_C].extent /= 2;
    m.axis[LAYOUT_C].padded /= 2;
    *second = m;
    return 1;
}

#endif
