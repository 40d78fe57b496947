/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.*, the plain form: every thread finds the source of one byte by the
 * arithmetic of all digits.  It takes any layout and any shape; tiles are
 * there for those that are to be fast.
 */
#ifndef GPU_LAYOUT_WALK_H
#define GPU_LAYOUT_WALK_H

#include "port/device.h"

enum { WALK_GROUPS = 32, WALK_TABLE = 256, WALK_RECORDS = 2 };

typedef struct walk_digit {
    uint64_t n;
    uint64_t stride; /* along its axis; below the byte: in bits */
    uint32_t axis;
} walk_digit;

/* Neighbours in memory, least significant first; table: number of a value. */
typedef struct walk_group {
    uint64_t n;
    uint64_t stride; /* in memory, in units */
    uint32_t first;  /* of its digits, most significant first */
    uint32_t count;
    int table;
} walk_group;

/* Bytes of memory: a body, and what another tensor has around it. */
typedef struct walk_record {
    uint64_t first;
    uint64_t body;
    uint64_t every;
} walk_record;

typedef struct walk_args {
    const uint8_t *src;
    uint8_t *dst;
    uint64_t n;         /* bytes to write, without gaps */
    uint64_t extent[3]; /* of the logical tensor, really there */
    uint32_t elem_bytes;
    uint32_t unit_bits;
    uint32_t n_groups;
    uint32_t n_records;
    walk_record record[WALK_RECORDS]; /* innermost first */
    uint8_t pad[3];
    uint8_t undefined[3];
    walk_group group[WALK_GROUPS];
    walk_digit digit[WALK_GROUPS];
    uint16_t number[WALK_TABLE];
    uint16_t value[WALK_TABLE]; /* the inverse */
} walk_args;

/* Expert, row, column, bit. */
typedef struct walk_place {
    uint64_t at[4];
} walk_place;

/* Where a byte of memory without gaps lies among records. */
GPU_FN uint64_t walk_spread(const walk_args *a, uint64_t at)
{
    for (uint32_t i = 0; i < a->n_records; i++) {
        const walk_record *const r = &a->record[i];
        at += at / r->body * (r->every - r->body) + r->first;
    }
    return at;
}

/* The way back; UINT64_MAX: a gap. */
GPU_FN uint64_t walk_close(const walk_args *a, uint64_t at)
{
    for (uint32_t i = a->n_records; i-- > 0;) {
        const walk_record *const r = &a->record[i];
        const uint64_t in = at % r->every - r->first; /* wraps before it */

        if (in >= r->body) {
            return UINT64_MAX;
        }
        at = at / r->every * r->body + in;
    }
    return at;
}

GPU_FN walk_place walk_from_memory(const walk_args *a, uint64_t unit)
{
    walk_place p = {{0, 0, 0, 0}};

    for (uint32_t g = 0; g < a->n_groups; g++) {
        const walk_group *const group = &a->group[g];
        uint64_t value = unit / group->stride % group->n;

        if (group->table >= 0) {
            value = a->value[(uint32_t)group->table + (uint32_t)value];
        }
        for (uint32_t i = group->count; i-- > 0;) {
            const walk_digit *const d = &a->digit[group->first + i];
            p.at[d->axis] += value % d->n * d->stride;
            value /= d->n;
        }
    }
    return p;
}

GPU_FN uint64_t walk_to_memory(const walk_args *a, const walk_place *p)
{
    uint64_t unit = 0;

    for (uint32_t g = 0; g < a->n_groups; g++) {
        const walk_group *const group = &a->group[g];
        uint64_t value = 0;

        for (uint32_t i = 0; i < group->count; i++) {
            const walk_digit *const d = &a->digit[group->first + i];
            value = value * d->n + p->at[d->axis] / d->stride % d->n;
        }
        if (group->table >= 0) {
            value = a->number[(uint32_t)group->table + (uint32_t)value];
        }
        unit += value * group->stride;
    }
    return unit;
}

/* The first axis that a place exceeds, or 3. */
GPU_FN uint32_t walk_exceeds(const walk_args *a, const walk_place *p)
{
    for (uint32_t i = 0; i < 3; i++) {
        if (p->at[i] >= a->extent[i]) {
            return i;
        }
    }
    return 3;
}

GPU_FN uint32_t walk_fetch(const walk_args *a, const walk_place *p,
                           uint32_t byte)
{
    const uint32_t axis = walk_exceeds(a, p);

    if (axis < 3) {
        return a->pad[axis];
    }
    const uint64_t element =
        (p->at[0] * a->extent[1] + p->at[1]) * a->extent[2] + p->at[2];
    return a->src[element * a->elem_bytes + byte];
}

/* Byte i of memory without gaps. */
GPU_FN uint32_t walk_there(const walk_args *a, uint64_t i)
{
    uint32_t y = 0;

    if (a->unit_bits >= 8) {
        const walk_place p = walk_from_memory(a, i / a->elem_bytes);
        return walk_fetch(a, &p, (uint32_t)(i % a->elem_bytes));
    }
    for (uint32_t bit = 0; bit < 8; bit += a->unit_bits) {
        const walk_place p = walk_from_memory(a, (8 * i + bit) / a->unit_bits);
        const uint32_t unit = walk_fetch(a, &p, 0) >> p.at[3];
        y |= (unit & ((1u << a->unit_bits) - 1)) << bit;
    }
    return y;
}

/* Byte i of the logical tensor. */
GPU_FN uint32_t walk_back(const walk_args *a, uint64_t i)
{
    uint64_t element = i / a->elem_bytes;
    walk_place p = {{0, 0, 0, 0}};
    uint32_t y = 0;

    p.at[2] = element % a->extent[2];
    element /= a->extent[2];
    p.at[1] = element % a->extent[1];
    p.at[0] = element / a->extent[1];
    if (a->unit_bits >= 8) {
        return a->src[walk_spread(a, walk_to_memory(a, &p) * a->elem_bytes +
                                         i % a->elem_bytes)];
    }
    for (uint32_t bit = 0; bit < 8; bit += a->unit_bits) {
        p.at[3] = bit;
        const uint64_t at = walk_to_memory(a, &p) * a->unit_bits;
        const uint32_t unit =
            (uint32_t)a->src[walk_spread(a, at / 8)] >> at % 8;
        y |= (unit & ((1u << a->unit_bits) - 1)) << bit;
    }
    return y;
}

/* Whether element i of memory without gaps is defined. */
GPU_FN uint32_t walk_defined(const walk_args *a, uint64_t i)
{
    const uint32_t units = a->unit_bits >= 8 ? 1 : 8 / a->unit_bits;
    uint32_t defined = 1;

    for (uint32_t k = 0; k < units; k++) {
        const walk_place p = walk_from_memory(a, i * units + k);
        for (uint32_t axis = 0; axis < 3; axis++) {
            defined &= p.at[axis] < a->extent[axis] || !a->undefined[axis];
        }
    }
    return defined;
}

enum { WALK_THERE, WALK_BACK, WALK_DEFINED };

GPU_FN void walk_body(const walk_args *a, int what)
{
    const uint64_t i = (uint64_t)gpu_block() * GPU_BLOCK + gpu_thread();

    if (i >= a->n) {
        return;
    }
    if (what == WALK_BACK) {
        a->dst[i] = (uint8_t)walk_back(a, i);
    } else if (what == WALK_THERE) {
        a->dst[walk_spread(a, i)] = (uint8_t)walk_there(a, i);
    } else {
        a->dst[walk_spread(a, i * a->elem_bytes) / a->elem_bytes] =
            (uint8_t)walk_defined(a, i);
    }
}

GPU_ENTRY(layout_walk, walk_args, walk_body(a, WALK_THERE))
GPU_ENTRY(layout_walk_back, walk_args, walk_body(a, WALK_BACK))
GPU_ENTRY(layout_defined, walk_args, walk_body(a, WALK_DEFINED))

#endif
