/* SPDX-License-Identifier: Apache-2.0 */
/* See granule.h. */
#include "granule.h"

#include <mxoracle/layout.h>

#include <stddef.h>
#include <string.h>

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

/* A digit lies on the axis whose elements its stride counts: which, and its
   stride there; 0 if it is finer than an element. */
static uint64_t stride_of(const mxo_layout *l, const mxo_layout_digit *d,
                          int *axis)
{
    const uint64_t col = l->units;
    const uint64_t row = col * l->padded[2];
    const uint64_t expert = row * l->padded[1];
    const uint64_t unit[3] = {expert, row, col};

    *axis = d->src >= expert ? 0 : d->src >= row ? 1 : 2;
    return unit[*axis] > 0 ? d->src / unit[*axis] : 0;
}

static void add_digit(const mxo_layout *l, const mxo_layout_digit *d,
                      granules axis[3])
{
    int on;
    const uint64_t stride = stride_of(l, d, &on);

    add(&axis[on], stride);
    /* The outermost one ends where the axis does: no granule. */
    if (stride * d->size < l->padded[on]) {
        add(&axis[on], stride * d->size);
    }
}

static const uint64_t shapes[][3] = {
    {2, 1024, 512}, {2, 2048, 2048}, {2, 1024, 4},   {2, 1024, 1},
    {1, 1, 1024},   {128, 1024, 2},  {2, 768, 3072}, {2, 1, 1}};

enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

static int bind_shape(mxo_layout *l, const char *name, uint32_t elem_bytes,
                      int shape)
{
    const mxo_layout_row *row = mxo_layout_find(name);
    char why[256];

    return row != NULL &&
           mxo_layout_bind(l, row, name, elem_bytes, shapes[shape],
                           (mxo_text){why, sizeof why}) == MXO_OK;
}

/* Bound to the first shape that it takes; 0 if it takes none. */
static int bind_any(mxo_layout *l, const char *name, uint32_t elem_bytes)
{
    int i = 0;

    while (i < N_SHAPES && !bind_shape(l, name, elem_bytes, i)) {
        i++;
    }
    return i < N_SHAPES;
}

void granules_of(const char *layout, uint32_t elem_bytes, granules axis[3])
{
    mxo_layout l;

    for (int a = 0; a < 3; a++) {
        axis[a].n = 0;
    }
    if (!bind_any(&l, layout, elem_bytes)) {
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

/* Digits of a bound layout but for the last of each axis, which ends where the
   axis does. */
static void inner_digits(const mxo_layout *l, axis_digits axis[3])
{
    for (int i = 0; i < l->n_digits; i++) {
        int a;
        const uint64_t stride = stride_of(l, &l->digit[i], &a);
        const uint64_t size = l->digit[i].size;
        axis_digits *x = &axis[a];
        if (stride > 0 && size > 1 && stride * size < l->padded[a] &&
            x->n < GRANULE_MOST) {
            x->stride[x->n] = stride;
            x->size[x->n++] = size;
        }
    }
}

static int has_digit(const axis_digits *x, uint64_t stride, uint64_t size)
{
    int i = 0;

    while (i < x->n && (x->stride[i] != stride || x->size[i] != size)) {
        i++;
    }
    return i < x->n;
}

/* Those that the other has, too. */
static void keep_common(axis_digits *x, const axis_digits *other)
{
    int n = 0;

    for (int i = 0; i < x->n; i++) {
        if (has_digit(other, x->stride[i], x->size[i])) {
            x->stride[n] = x->stride[i];
            x->size[n++] = x->size[i];
        }
    }
    x->n = n;
}

void digits_of(const char *layout, uint32_t elem_bytes, axis_digits axis[3])
{
    int n_bound = 0;

    memset(axis, 0, 3 * sizeof axis[0]);
    /* Of shapes that are long enough to have every digit. */
    for (int i = 0; i < N_SHAPES; i++) {
        axis_digits other[3];
        mxo_layout l;
        if (shapes[i][1] < 512 || shapes[i][2] < 512 ||
            !bind_shape(&l, layout, elem_bytes, i)) {
            continue;
        }
        memset(other, 0, sizeof other);
        inner_digits(&l, n_bound == 0 ? axis : other);
        for (int a = 0; n_bound > 0 && a < 3; a++) {
            keep_common(&axis[a], &other[a]);
        }
        n_bound++;
    }
}
