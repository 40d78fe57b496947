/* SPDX-License-Identifier: Apache-2.0 */
/* See granule.h. */
#include "granule.h"

#include <mxoracle/layout.h>

#include <stddef.h>

static void add(granules *g, uint64_t size)
{
    int at = 0;

    while (at < g->n && g->size[at] < size) {
        at++;
    }
    if (size < 2 || size > 4096 || g->n == GRANULE_MOST ||
        (at < g->n && g->size[at] == size)) {
        return;
    }
    for (int i = g->n++; i > at; i--) {
        g->size[i] = g->size[i - 1];
    }
    g->size[at] = size;
}

static void add_common(granules *g)
{
    static const uint64_t common[] = {2, 16, 32, 64, 128, 256};

    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
        add(g, common[i]);
    }
}

/* A digit lies on the axis whose elements its stride counts. */
static void add_digit(const mxo_layout *l, const mxo_layout_digit *d,
                      granules axis[3])
{
    const uint64_t col = l->units;
    const uint64_t row = col * l->padded[2];
    const uint64_t expert = row * l->padded[1];
    const uint64_t unit[3] = {expert, row, col};
    const int on = d->src >= expert ? 0 : d->src >= row ? 1 : 2;

    if (unit[on] > 0) {
        add(&axis[on], d->src / unit[on]);
        add(&axis[on], d->src * d->size / unit[on]);
    }
}

/* Bound to the first of these shapes that it takes; 0 if it takes none. */
static int bind_any(mxo_layout *l, const mxo_layout_row *row, const char *name,
                    uint32_t elem_bytes)
{
    static const uint64_t shapes[][3] = {
        {2, 1024, 512}, {2, 2048, 2048}, {2, 1024, 4},   {2, 1024, 1},
        {1, 1, 1024},   {128, 1024, 2},  {2, 768, 3072}, {2, 1, 1}};

    for (size_t i = 0; row != NULL && i < sizeof shapes / sizeof shapes[0];
         i++) {
        char why[256];
        if (mxo_layout_bind(l, row, name, elem_bytes, shapes[i],
                            (mxo_text){why, sizeof why}) == MXO_OK) {
            return 1;
        }
    }
    return 0;
}

void granules_of(const char *layout, uint32_t elem_bytes, granules axis[3])
{
    mxo_layout l;

    for (int a = 0; a < 3; a++) {
        axis[a].n = 0;
    }
    if (!bind_any(&l, mxo_layout_find(layout), layout, elem_bytes)) {
        add_common(&axis[1]);
        add_common(&axis[2]);
        return;
    }
    for (int i = 0; i < l.n_digits; i++) {
        add_digit(&l, &l.digit[i], axis);
    }
    /* The pad of a shape of one element is the granule itself. */
    for (int a = 1; a < 3; a++) {
        uint64_t extent[3] = {1, 1, 1};
        char why[256];
        mxo_layout small;
        extent[3 - a] = l.extent[3 - a];
        if (mxo_layout_bind(&small, l.row, layout, elem_bytes, extent,
                            (mxo_text){why, sizeof why}) == MXO_OK) {
            add(&axis[a], small.padded[a]);
        }
    }
}
