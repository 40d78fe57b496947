/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving a tensor through a chain, unit by unit, plainly.  Values that a
 * change refuses are found before the first byte is written.
 */
#include "walk.h"

#include <string.h>

/* Where unit i lies in a tensor whose bytes hold 2 or 8: no divisions, as
   there are many. */
typedef struct unit_place {
    uint64_t byte;
    uint32_t shift;
    uint8_t mask;
} unit_place;

static unit_place place_of(uint32_t units, uint64_t i)
{
    const unit_place nibble = {i >> 1, (uint32_t)(i & 1) * 4, 0xf};
    const unit_place bit = {i >> 3, (uint32_t)(i & 7), 1};

    return units == 2 ? nibble : bit;
}

/* Unit i of a tensor: an element, or part of a byte. */
static uint64_t load_unit(const mxo_tensor *t, uint32_t units, uint64_t i)
{
    const uint8_t *bytes = mxo_tensor_data(t);

    if (units == 1) {
        return mxo_load(t, i);
    }
    const unit_place at = place_of(units, i);

    return bytes[at.byte] >> at.shift & at.mask;
}

static void store_unit(const mxo_tensor *t, uint32_t units, uint64_t i,
                       uint64_t code)
{
    uint8_t *bytes = mxo_tensor_data(t);

    if (units == 1) {
        mxo_store(t, i, code);
        return;
    }
    const unit_place at = place_of(units, i);

    const uint64_t rest = bytes[at.byte] & ~((uint64_t)at.mask << at.shift);

    bytes[at.byte] = (uint8_t)(rest | (code & at.mask) << at.shift);
}

/* The pad byte in every byte of an element, or its part of one byte. */
static uint64_t pad_unit(const layout_chain *c, uint64_t dst, uint8_t byte)
{
    const uint32_t bits = 8 / c->units;
    uint64_t code = 0;

    if (c->units > 1) {
        return byte >> (dst % c->units * bits) & ((1u << bits) - 1);
    }
    for (uint32_t i = 0; i < mxo_dtype_bytes(chain_last(c)->to); i++) {
        code = code << 8 | byte;
    }
    return code;
}

static int values_there(const layout_chain *c, uint64_t *code)
{
    for (int i = 0; i < c->n; i++) {
        if (!c->step[i].values->there(code)) {
            return 0;
        }
    }
    return 1;
}

static int values_back(const layout_chain *c, uint64_t *code)
{
    for (int i = c->n - 1; i >= 0; i--) {
        if (!c->step[i].values->back(code)) {
            return 0;
        }
    }
    return 1;
}

static int has_values(const layout_chain *c)
{
    int changed = 0;

    for (int i = 0; i < c->n; i++) {
        changed = changed || strcmp(c->step[i].values->name, "keep") != 0;
    }
    return changed;
}

static mxo_status refuse_value(const layout_chain *c, uint64_t i, mxo_text why)
{
    return mxo_fail(MXO_E_PARAM, why,
                    "layout %s: element %llu has no value there",
                    c->step[0].map.row->id, (unsigned long long)i);
}

static mxo_status check_values(const layout_chain *c, const mxo_tensor *x,
                               mxo_text why)
{
    for (uint64_t i = 0; has_values(c) && i < mxo_tensor_elems(x); i++) {
        uint64_t code = mxo_load(x, i);
        if (!values_there(c, &code)) {
            return refuse_value(c, i, why);
        }
    }
    return MXO_OK;
}

/* A tensor on its way: memory is y there, x back. */
typedef struct moving {
    const layout_chain *c;
    const mxo_tensor *x;
    const mxo_tensor *y;
    const mxo_tensor *valid; /* NULL: not wanted */
} moving;

static int put_spot(void *state, const layout_spot *s)
{
    const moving *m = state;
    const uint32_t units = m->c->units;

    for (uint32_t u = 0; u < units; u++) {
        const uint64_t dst = s->base + s->at[u];
        uint64_t code;
        if (s->content == MXO_LAYOUT_LIVE) {
            code = load_unit(m->x, units, s->element * units + u);
            (void)values_there(m->c, &code);
        } else {
            code = pad_unit(m->c, dst, s->byte);
        }
        if (s->content == MXO_LAYOUT_UNDEFINED && m->valid != NULL) {
            mxo_store(m->valid, dst / units, 0);
        }
        store_unit(m->y, units, dst, code);
    }
    return 1;
}

/* Unit by unit of memory, through all maps of the chain. */
static void put_units(const layout_chain *c, const mxo_tensor *x,
                      const mxo_tensor *y, const mxo_tensor *valid)
{
    const uint64_t n = mxo_tensor_elems(y) * c->units;

    for (uint64_t dst = 0; dst < n; dst++) {
        uint64_t src = 0;
        uint8_t byte = 0;
        const mxo_layout_content content =
            chain_content_at(c, dst, &src, &byte);
        uint64_t code = pad_unit(c, dst, byte);

        if (content == MXO_LAYOUT_LIVE) {
            code = load_unit(x, c->units, src);
            (void)values_there(c, &code);
        } else if (content == MXO_LAYOUT_UNDEFINED && valid != NULL) {
            mxo_store(valid, dst / c->units, 0);
        }
        store_unit(y, c->units, dst, code);
    }
}

mxo_status chain_forward(const layout_chain *c, const mxo_tensor *x,
                         const mxo_tensor *y, const mxo_tensor *valid,
                         mxo_text why)
{
    moving m = {c, x, y, valid};
    const mxo_status status = check_values(c, x, why);

    if (status != MXO_OK) {
        return status;
    }
    if (valid != NULL) {
        memset(mxo_tensor_data(valid), 1, (size_t)valid->n_bytes);
    }
    if (layout_can_walk(c)) {
        (void)layout_walk(c, put_spot, &m);
    } else {
        put_units(c, x, y, valid);
    }
    return MXO_OK;
}

/* On the way back: what is kept of rows and columns. */
typedef struct returning {
    moving m;
    const uint64_t *kept;
    int writing;
    uint64_t refused; /* the element whose value is */
} returning;

/* Element i of what is kept, the units of which lie where at says; 0 if a value
   is refused. */
static int take_element(returning *r, uint64_t i, uint64_t base,
                        const uint64_t *at)
{
    const uint32_t units = r->m.c->units;

    for (uint32_t u = 0; u < units; u++) {
        uint64_t code = load_unit(r->m.x, units, base + at[u]);
        if (!values_back(r->m.c, &code)) {
            r->refused = i;
            return 0;
        }
        if (r->writing) {
            store_unit(r->m.y, units, i * units + u, code);
        }
    }
    return 1;
}

static int take_spot(void *state, const layout_spot *s)
{
    returning *r = state;
    const uint64_t *extent = r->m.c->step[0].map.extent;
    const uint64_t row = s->element / extent[2];
    const uint64_t col = s->element % extent[2];

    return s->content != MXO_LAYOUT_LIVE || row % extent[1] >= r->kept[1] ||
           col >= r->kept[2] ||
           take_element(r,
                        (row / extent[1] * r->kept[1] + row % extent[1]) *
                                r->kept[2] +
                            col,
                        s->base, s->at);
}

/* Element by element of what is kept, through all maps of the chain. */
static int take_elements(returning *r)
{
    const layout_chain *c = r->m.c;
    const uint64_t *extent = c->step[0].map.extent;
    const uint64_t n = mxo_tensor_elems(r->m.y);
    uint64_t at[8];
    int good = 1;

    for (uint64_t i = 0; i < n && good; i++) {
        const uint64_t row = i / r->kept[2];
        const uint64_t element =
            (row / r->kept[1] * extent[1] + row % r->kept[1]) * extent[2] +
            i % r->kept[2];
        for (uint32_t u = 0; u < c->units; u++) {
            at[u] = chain_forward_index(c, element * c->units + u);
        }
        good = take_element(r, i, 0, at);
    }
    return good;
}

mxo_status chain_back(const layout_chain *c, const mxo_tensor *x,
                      const mxo_tensor *y, const uint64_t kept[3],
                      mxo_text why)
{
    returning r = {{c, x, y, NULL}, kept, !has_values(c), 0};

    for (; r.writing < 2; r.writing++) {
        if (!(layout_can_walk(c) ? layout_walk(c, take_spot, &r)
                                 : take_elements(&r))) {
            return refuse_value(c, r.refused, why);
        }
    }
    return MXO_OK;
}
