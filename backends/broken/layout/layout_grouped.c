/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.groups and layout.grouped, row by row: for each row of the buffer the
 * groups are gone through from the start.  The faults are about where a group
 * begins, how many rows it has, and what lies between two.
 */
#include "broken.h"

#include <stdlib.h>
#include <string.h>

typedef struct list {
    const broken *b;
    const mxo_tensor *sizes;
    int64_t align;
    int64_t gran;
    int64_t ends_align;
    int in_place;
} list;

/* A group: its first row on either side, and how many. */
typedef struct rows {
    int64_t src;
    int64_t dst;
    int64_t n;
} rows;

static int64_t up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* Where group i starts in the list's own units. */
static int64_t listed_start(const list *l, int64_t i)
{
    const broken *b = l->b;

    if (i == 0 || l->ends_align == 0) {
        return 0;
    }
    const int64_t end = broken_load_i32(l->sizes, (uint64_t)(i - 1));
    return IS(L49) ? end : up(end, l->ends_align);
}

static rows group_after(const list *l, int64_t i, rows before)
{
    const broken *b = l->b;
    const int64_t start = listed_start(l, i);
    const int64_t n = broken_load_i32(l->sizes, (uint64_t)i) - start;
    rows r = {before.src + before.n, before.dst + before.n, 0};

    r.n = IS(L47) ? n / l->gran : (n + l->gran - 1) / l->gran;
    if (!IS(L46)) {
        r.dst = up(r.dst, l->align);
    }
    if (IS(L48) && i > 0 && before.n == 0) {
        r.dst += l->align; /* an empty group has a tile, too */
    }
    if (l->in_place) {
        r.src = start;
        r.dst = start;
    }
    return r;
}

/* Input row of row r of the buffer; -1 if there is none. */
static int64_t source_of(const list *l, int64_t r)
{
    const broken *b = l->b;
    rows g = {0, 0, 0};

    for (uint64_t i = 0; i < broken_elems(l->sizes); i++) {
        g = group_after(l, (int64_t)i, g);
        if (r >= g.dst && r < g.dst + g.n) {
            return g.src + (r - g.dst);
        }
        if (IS(L50) && r >= g.dst + g.n && r < up(g.dst + g.n, l->align)) {
            return g.src + (r - g.dst); /* the input's following row */
        }
    }
    return -1;
}

static void store_i32(const mxo_tensor *t, int64_t i, int64_t value)
{
    const int32_t narrow = (int32_t)value;

    if (i >= 0 && (uint64_t)i < broken_elems(t)) {
        memcpy(tensor_address(t) + 4 * i, &narrow, 4);
    }
}

static int has_negative(const mxo_tensor *t)
{
    int found = 0;

    for (uint64_t i = 0; i < broken_elems(t); i++) {
        found |= broken_load_i32(t, i) < 0;
    }
    return found;
}

/* Does a group that has rows end beyond the input or the buffer? */
static int ends_beyond(const list *l, int64_t rows_there, int64_t to_rows)
{
    rows g = {0, 0, 0};
    int found = 0;

    for (uint64_t i = 0; i < broken_elems(l->sizes); i++) {
        g = group_after(l, (int64_t)i, g);
        found |= g.n > 0 && (g.src + g.n > rows_there || g.dst + g.n > to_rows);
    }
    return found;
}

mxo_status broken_layout_groups(const broken *b, const mxo_call *call,
                                mxo_text why)
{
    const mxo_tensor *index = call_out(call, "index");
    const mxo_tensor *ends = call_out(call, "ends");
    const list l = {.b = b,
                    .sizes = call_in(call, "sizes"),
                    .align = (int64_t)call_number(call, "align"),
                    .gran = 1};
    rows g = {0, 0, 0};

    if (l.sizes == NULL || index == NULL || ends == NULL || l.align < 1) {
        return broken_fail(MXO_E_SHAPE, why, "tensors are missing");
    }
    if (has_negative(l.sizes)) {
        return broken_fail(MXO_E_PARAM, why, "a group has less than none");
    }
    if (ends_beyond(&l, INT64_MAX, (int64_t)broken_elems(index))) {
        return broken_fail(MXO_E_PARAM, why, "a group ends beyond the rows");
    }
    for (uint64_t i = 0; i < broken_elems(index); i++) {
        store_i32(index, (int64_t)i, IS(L51) ? 0 : -1);
    }
    for (uint64_t i = 0; i < broken_elems(l.sizes); i++) {
        g = group_after(&l, (int64_t)i, g);
        for (int64_t k = 0; k < g.n; k++) {
            store_i32(index, g.dst + k, (int64_t)i);
        }
        store_i32(ends, (int64_t)i,
                  IS(L52) ? up(g.dst + g.n, l.align) : g.dst + g.n);
    }
    return MXO_OK;
}

/* Rows of a buffer whose size nobody stated. */
static int64_t rows_for(const list *l, const mxo_tensor *x, int repeat)
{
    const int64_t have = (int64_t)x->shape[1];
    const int64_t n = repeat ? 0 : (int64_t)broken_elems(l->sizes);

    if (repeat || l->in_place) {
        return have * (repeat ? l->gran : 1);
    }
    return have <= n
               ? have * l->align
               : (up(have - n + 1, l->align) / l->align + n - 1) * l->align;
}

mxo_status broken_layout_grouped(const broken *b, const mxo_call *call,
                                 mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    const int repeat = call_is(call, "rule", "repeat");
    const list l = {b,
                    call_in(call, "groups"),
                    (int64_t)call_number(call, "align"),
                    (int64_t)call_number(call, "gran"),
                    (int64_t)call_number(call, "ends_align"),
                    call_is(call, "rule", "in_place")};

    if (x == NULL || x->rank != 3 || (l.sizes == NULL && !repeat)) {
        return broken_fail(MXO_E_SHAPE, why, "tensors are missing");
    }
    if (!repeat && has_negative(l.sizes)) {
        return broken_fail(MXO_E_PARAM, why, "a group has less than none");
    }
    const int64_t blocks = (int64_t)call_number(call, "blocks");
    const int64_t to_rows =
        blocks > 0 ? blocks * l.align : rows_for(&l, x, repeat);
    if (!repeat && ends_beyond(&l, (int64_t)x->shape[1], to_rows)) {
        return broken_fail(MXO_E_PARAM, why, "a group ends beyond the rows");
    }
    const uint64_t n_elems = x->shape[0] * x->shape[1] * x->shape[2];
    const uint64_t width = n_elems == 0 ? 1 : x->n_bytes / n_elems;
    const uint64_t row_bytes = x->shape[2] * width;
    mxo_tensor held = *x;
    held.shape[1] = (uint64_t)to_rows;
    held.n_bytes = x->shape[0] * (uint64_t)to_rows * row_bytes;
    held.offset = 0;
    held.buffer = calloc(1, (size_t)held.n_bytes + 1);
    if (held.buffer == NULL) {
        return broken_fail(MXO_E_NOMEM, why, "no memory");
    }
    for (uint64_t i = 0; i < x->shape[0] * (uint64_t)to_rows; i++) {
        const int64_t r = (int64_t)(i % (uint64_t)to_rows);
        const int64_t from = repeat ? r / l.gran : source_of(&l, r);
        if (from >= 0 && (uint64_t)from < x->shape[1]) {
            const uint64_t row =
                i / (uint64_t)to_rows * x->shape[1] + (uint64_t)from;
            memcpy(tensor_address(&held) + i * row_bytes,
                   tensor_address(x) + row * row_bytes, (size_t)row_bytes);
        }
    }
    const broken_step step = {&held, call_out(call, "y"),
                              call_out(call, "valid"), 0, 0};
    const mxo_status status =
        broken_move(b, call_text(call, "layout"), &step, why);
    free(held.buffer);
    return status;
}
