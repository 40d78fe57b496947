/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two maps in a row as one: each digit of the second is cut where the digits
 * of the first end, so that no tensor need stand in between.
 */
#include "layout_chain.h"

#include <string.h>

/* Digit of the tensor in between that a distance falls into; -1 if it falls
   between the multiples of one, or into a table. */
static int digit_at(const cpu_map *first, uint64_t distance)
{
    for (int i = 0; i < first->n; i++) {
        const cpu_digit *d = &first->digit[i];
        if (d->size > 1 && d->physical <= distance) {
            int in_table = 0;
            for (int k = 0; k < first->n_tables; k++) {
                const cpu_table *t = &first->table[k];
                in_table |= i >= t->first && i < t->first + t->count;
            }
            return in_table || distance % d->physical != 0 ? -1 : i;
        }
    }
    return -1;
}

typedef struct composer {
    const cpu_map *first;
    const cpu_map *second;
    int n;
    cpu_digit out[CPU_DIGITS];
} composer;

static cpu_digit piece_of(const composer *c, const cpu_digit *whole,
                          uint64_t below, uint64_t size, const cpu_digit *in,
                          uint64_t times)
{
    cpu_digit d = {.size = size,
                   .logical = in->logical * times,
                   .physical = whole->physical * below};

    for (int w = 0; w < c->second->n_walls; w++) {
        d.coord[w] = whole->coord[w] * below;
    }
    for (int w = 0; w < c->first->n_walls; w++) {
        d.coord[c->second->n_walls + w] = in->coord[w] * times;
    }
    return d;
}

/* The most significant digit of a padded axis may run past the end of what
   the first map leaves: a wall stands there. */
static int runs_past(const composer *c, const cpu_digit *d, const cpu_digit *in)
{
    const cpu_map *m = c->second;
    uint64_t span = m->elem_bits;

    if (d->axis > 2 || m->padded[d->axis] == m->extent[d->axis] ||
        d->step * d->size != m->padded[d->axis]) {
        return 0;
    }
    for (int a = 2; a >= d->axis; a--) {
        span = cpu_times(span, m->extent[a]);
    }
    return in->physical * in->size == span;
}

/* How much of a digit lies in one digit of the first map; 0 if it does not
   fit. */
static uint64_t part_in(const composer *c, const cpu_digit *d, uint64_t rest,
                        const cpu_digit *in, uint64_t times)
{
    const uint64_t room = in->size % times == 0 ? in->size / times : 0;

    if (room > 0 && room % rest == 0) {
        return rest;
    }
    if (runs_past(c, d, in)) {
        return rest;
    }
    return room > 1 && rest % room == 0 ? room : 0;
}

/* The pieces of one digit of the second map, most significant first. */
static int cut_digit(composer *c, const cpu_digit *d)
{
    cpu_digit piece[CPU_DIGITS];
    uint64_t rest = d->size;
    uint64_t below = 1;
    int n = 0;

    while (rest > 1) {
        const uint64_t distance = d->logical * below;
        const int i = digit_at(c->first, distance);
        if (i < 0 || c->n + n == CPU_DIGITS - 1) {
            return -1;
        }
        const cpu_digit *in = &c->first->digit[i];
        const uint64_t times = distance / in->physical;
        const uint64_t size = part_in(c, d, rest, in, times);
        if (size == 0) {
            return -1;
        }
        piece[n++] = piece_of(c, d, below, size, in, times);
        below *= size;
        rest /= size;
    }
    while (n > 0) {
        c->out[c->n++] = piece[--n];
    }
    return 0;
}

/* Move the begins, or the ends, of the second map's tables at digit i. */
static void move_tables(const composer *c, cpu_map *out, int i, int begins)
{
    for (int k = 0; k < c->second->n_tables; k++) {
        const cpu_table *t = &c->second->table[k];
        if (begins && t->first == i) {
            out->table[k].first = c->n;
        } else if (!begins && t->first + t->count - 1 == i) {
            out->table[k].count = c->n - out->table[k].first;
        }
    }
}

int cpu_compose(cpu_map *out, const cpu_map *first, const cpu_map *second)
{
    composer c = {.first = first, .second = second};

    if (first->physical_bits != second->logical_bits ||
        first->n_walls + second->n_walls > CPU_WALLS ||
        first->physical_bits == 0) {
        return -1;
    }
    *out = *second;
    for (int i = 0; i < second->n; i++) {
        move_tables(&c, out, i, 1);
        if (cut_digit(&c, &second->digit[i]) != 0) {
            return -1;
        }
        move_tables(&c, out, i, 0);
    }
    if (c.n == 0 || c.out[c.n - 1].physical != 1) {
        c.out[c.n++] = (cpu_digit){.size = 1, .logical = 1, .physical = 1};
    }
    if (c.out[c.n - 1].logical != 1) {
        return -1;
    }
    memcpy(out->digit, c.out, sizeof out->digit);
    for (int w = 0; w < first->n_walls; w++) {
        out->wall[out->n_walls++] = first->wall[w];
    }
    out->n = c.n;
    out->parts = out->elem_bits / c.out[c.n - 1].size;
    out->logical_bits = first->logical_bits;
    memcpy(out->extent, first->extent, sizeof out->extent);
    return 0;
}
