/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of a bound layout, both ways. */
#include <mxoracle/layout.h>

/* The value of a term: its members' digits of src as one number. */
static uint64_t gather(const mxo_layout *l, const mxo_layout_term *t,
                       uint64_t src)
{
    uint64_t value = 0;

    for (uint8_t i = 0; i < t->n; i++) {
        const mxo_layout_digit *d = &l->digit[t->first + i];
        value = value * d->size + src / d->src % d->size;
    }
    return value;
}

static uint64_t scatter(const mxo_layout *l, const mxo_layout_term *t,
                        uint64_t value)
{
    uint64_t src = 0;

    for (int i = t->n - 1; i >= 0; i--) {
        const mxo_layout_digit *d = &l->digit[t->first + i];
        src += value % d->size * d->src;
        value /= d->size;
    }
    return src;
}

/* The dense index with the gaps of records in between, and without. */
static uint64_t spread(const mxo_layout *l, uint64_t dst)
{
    for (uint8_t i = 0; i < l->n_records; i++) {
        const mxo_layout_record *r = &l->record[i];
        dst = dst / r->body * r->every + r->first + dst % r->body;
    }
    return dst;
}

static uint64_t close_up(const mxo_layout *l, uint64_t dst)
{
    for (int i = l->n_records - 1; i >= 0; i--) {
        const mxo_layout_record *r = &l->record[i];
        dst = dst / r->every * r->body + (dst % r->every - r->first);
    }
    return dst;
}

/* Does a unit of memory lie between two bodies? */
static int is_gap(const mxo_layout *l, uint64_t dst)
{
    for (int i = l->n_records - 1; i >= 0; i--) {
        const mxo_layout_record *r = &l->record[i];
        const uint64_t at = dst % r->every;
        if (at < r->first || at - r->first >= r->body) {
            return 1;
        }
        dst = dst / r->every * r->body + (at - r->first);
    }
    return 0;
}

uint64_t mxo_layout_forward(const mxo_layout *l, uint64_t src)
{
    uint64_t dst = 0;

    for (uint8_t i = 0; i < l->n_terms; i++) {
        const mxo_layout_term *t = &l->term[i];
        const uint64_t value = gather(l, t, src);
        dst += (t->mapped ? l->to[t->table + value] : value) * t->dst;
    }
    return spread(l, dst);
}

uint64_t mxo_layout_inverse(const mxo_layout *l, uint64_t dst)
{
    uint64_t src = 0;

    dst = close_up(l, dst);
    for (uint8_t i = 0; i < l->n_terms; i++) {
        const mxo_layout_term *t = &l->term[i];
        const uint64_t value = dst / t->dst % t->size;
        src += scatter(l, t, t->mapped ? l->from[t->table + value] : value);
    }
    return src;
}

mxo_layout_content mxo_layout_content_of(const mxo_layout *l,
                                         const uint64_t index[3], uint8_t *byte)
{
    int beyond = -1;

    for (int axis = 2; axis >= 0; axis--) {
        if (index[axis] >= l->extent[axis]) {
            if (l->pad[axis].undefined) {
                return MXO_LAYOUT_UNDEFINED;
            }
            beyond = axis;
        }
    }
    if (beyond >= 0) {
        *byte = l->pad[beyond].byte;
        return MXO_LAYOUT_PAD;
    }
    return MXO_LAYOUT_LIVE;
}

mxo_layout_content mxo_layout_content_at(const mxo_layout *l, uint64_t dst,
                                         uint64_t *src, uint8_t *byte)
{
    if (is_gap(l, dst)) {
        return MXO_LAYOUT_UNDEFINED;
    }
    const uint64_t at = mxo_layout_inverse(l, dst);
    const uint64_t element = at / l->units;
    const uint64_t index[3] = {element / l->padded[2] / l->padded[1],
                               element / l->padded[2] % l->padded[1],
                               element % l->padded[2]};
    const mxo_layout_content content = mxo_layout_content_of(l, index, byte);

    if (content != MXO_LAYOUT_LIVE) {
        return content;
    }
    *src = ((index[0] * l->extent[1] + index[1]) * l->extent[2] + index[2]) *
               l->units +
           at % l->units;
    return MXO_LAYOUT_LIVE;
}

uint64_t mxo_layout_padded_index(const mxo_layout *l, uint64_t src)
{
    const uint64_t element = src / l->units;
    const uint64_t col = element % l->extent[2];
    const uint64_t row = element / l->extent[2] % l->extent[1];
    const uint64_t expert = element / l->extent[2] / l->extent[1];

    return ((expert * l->padded[1] + row) * l->padded[2] + col) * l->units +
           src % l->units;
}
