/* SPDX-License-Identifier: Apache-2.0 */
/* Coordinates to a place in memory, and back. */
#include "layout.h"

uint64_t lay_size(const lay *l, const lay_term *t)
{
    uint64_t size = 1;

    for (int i = 0; i < t->n; i++) {
        size *= l->digit[t->digit[i]].size;
    }
    return size;
}

static int power_of_two(uint64_t n)
{
    int shift = 0;

    while (shift < 63 && n >> shift != 1) {
        shift++;
    }
    return n == UINT64_C(1) << shift ? shift : -1;
}

void lay_measure(lay *l)
{
    uint64_t weight[LAY_AXES] = {1, 1, 1, 1};
    uint64_t stride = 1;

    for (int i = l->n_digits - 1; i >= 0; i--) {
        lay_digit *d = &l->digit[i];
        const lay_axis *a = &l->axis[d->axis];
        d->size = d->is_free ? a->padded / a->granule : d->size;
        d->weight = weight[d->axis];
        d->shift = power_of_two(d->weight);
        weight[d->axis] *= d->size;
    }
    for (int i = l->n_terms - 1; i >= 0; i--) {
        l->term[i].stride = stride;
        stride *= lay_size(l, &l->term[i]);
    }
    l->n_units = stride;
}

/* Bodies and the size of memory, once terms know their sizes; the text counts
   bytes.  0, or -1 if a body does not fit. */
int lay_measure_records(lay *l, uint64_t units_per_byte, uint64_t elem_bytes)
{
    uint64_t body = 1;
    int term = l->n_terms;

    for (int i = l->n_records - 1; i >= 0; i--) {
        lay_record *r = &l->record[i];
        while (term > r->before) {
            body *= lay_size(l, &l->term[--term]);
        }
        r->body = body;
        r->first = r->first * units_per_byte / elem_bytes;
        r->every = r->every * units_per_byte / elem_bytes;
        if (body == 0 || r->first + body > r->every) {
            return -1;
        }
        l->n_units = l->n_units / body * r->every;
        body = r->every;
    }
    return 0;
}

int lay_is_gap(const lay *l, uint64_t place)
{
    for (int i = 0; i < l->n_records; i++) {
        const lay_record *r = &l->record[i];
        const uint64_t in = place % r->every;
        if (in < r->first || in >= r->first + r->body) {
            return 1;
        }
        place = place / r->every * r->body + in - r->first;
    }
    return 0;
}

/* A digit of a coordinate; most are found without a division. */
static uint64_t digit_of(const lay_digit *d, uint64_t at)
{
    const uint64_t n = d->shift < 0 ? at / d->weight : at >> d->shift;

    return n < d->size ? n : n % d->size;
}

uint64_t lay_place(const lay *l, lay_at from)
{
    uint64_t place = 0;

    for (int i = 0; i < l->n_terms; i++) {
        const lay_term *t = &l->term[i];
        uint64_t value = 0;
        for (int j = 0; j < t->n; j++) {
            const lay_digit *d = &l->digit[t->digit[j]];
            value = value * d->size + digit_of(d, from.at[d->axis]);
        }
        place += (t->n_entries > 0 ? t->entry[value] : value) * t->stride;
    }
    for (int i = l->n_records - 1; i >= 0; i--) {
        const lay_record *r = &l->record[i];
        place = place / r->body * r->every + r->first + place % r->body;
    }
    return place;
}

static uint64_t stored_as(const lay_term *t, uint64_t entry)
{
    uint64_t value = 0;

    while (t->entry[value] != entry) {
        value++;
    }
    return value;
}

lay_at lay_source(const lay *l, uint64_t place)
{
    lay_at from = {{0}};

    for (int i = 0; i < l->n_records; i++) {
        const lay_record *r = &l->record[i];
        place = place / r->every * r->body + place % r->every - r->first;
    }
    for (int i = 0; i < l->n_terms; i++) {
        const lay_term *t = &l->term[i];
        uint64_t value = place / t->stride % lay_size(l, t);
        value = t->n_entries > 0 ? stored_as(t, value) : value;
        for (int j = t->n - 1; j >= 0; j--) {
            const lay_digit *d = &l->digit[t->digit[j]];
            from.at[d->axis] += value % d->size * d->weight;
            value /= d->size;
        }
    }
    return from;
}
