/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving a tensor through a chain, unit by unit, plainly.  Values that a
 * change refuses are found before the first byte is written.
 */
#include "chain.h"

#include <string.h>

/* Unit i of a tensor whose elements hold several: part of a byte. */
static uint64_t load_unit(const mxo_tensor *t, uint32_t units, uint64_t i)
{
    const uint32_t bits = 8 / units;

    return units == 1 ? mxo_load(t, i)
                      : mxo_load(t, i / units) >> (i % units * bits) &
                            ((1u << bits) - 1);
}

static void store_unit(const mxo_tensor *t, uint32_t units, uint64_t i,
                       uint64_t code)
{
    const uint32_t bits = 8 / units;
    const uint32_t shift = (uint32_t)(i % units) * bits;
    const uint64_t mask = (uint64_t)((1u << bits) - 1) << shift;

    if (units == 1) {
        mxo_store(t, i, code);
    } else {
        const uint64_t byte = mxo_load(t, i / units);
        mxo_store(t, i / units, (byte & ~mask) | (code << shift & mask));
    }
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

mxo_status chain_forward(const layout_chain *c, const mxo_tensor *x,
                         const mxo_tensor *y, const mxo_tensor *valid,
                         mxo_text why)
{
    const uint64_t n = mxo_tensor_elems(y) * c->units;
    const mxo_status status = check_values(c, x, why);

    if (status != MXO_OK) {
        return status;
    }
    if (valid != NULL) {
        memset(mxo_tensor_data(valid), 1, (size_t)valid->n_bytes);
    }
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
    return MXO_OK;
}

/* Element i of the kept tensor, from memory; 0 if a value is refused. */
static int back_element(const layout_chain *c, const mxo_tensor *x,
                        const mxo_tensor *y, const uint64_t kept[3],
                        uint64_t i, int writing)
{
    const uint64_t *extent = c->step[0].map.extent;
    const uint64_t row = i / kept[2];
    const uint64_t element =
        (row / kept[1] * extent[1] + row % kept[1]) * extent[2] + i % kept[2];

    for (uint32_t unit = 0; unit < c->units; unit++) {
        const uint64_t src = element * c->units + unit;
        uint64_t code = load_unit(x, c->units, chain_forward_index(c, src));
        if (!values_back(c, &code)) {
            return 0;
        }
        if (writing) {
            store_unit(y, c->units, i * c->units + unit, code);
        }
    }
    return 1;
}

mxo_status chain_back(const layout_chain *c, const mxo_tensor *x,
                      const mxo_tensor *y, const uint64_t kept[3],
                      mxo_text why)
{
    const uint64_t n = mxo_tensor_elems(y);

    for (int writing = has_values(c) ? 0 : 1; writing < 2; writing++) {
        for (uint64_t i = 0; i < n; i++) {
            if (!back_element(c, x, y, kept, i, writing)) {
                return refuse_value(c, i, why);
            }
        }
    }
    return MXO_OK;
}
