/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map, unit by unit: what remains when a layout has no words, and the
 * arithmetic of layout.index.
 */
#include "layout_plan.h"

#include <string.h>

/* Value of a group of digits before its table. */
static uint64_t before(const cpu_table *t, uint64_t stored)
{
    for (uint32_t v = 0; v < t->size; v++) {
        if (t->entry[v] == stored) {
            return v;
        }
    }
    return 0;
}

/* Values of all digits but the unit for a physical unit. */
static void digits_at(const cpu_map *m, uint64_t unit, uint64_t *value)
{
    for (int i = m->n - 2; i >= 0; i--) {
        value[i] = unit % m->digit[i].size;
        unit /= m->digit[i].size;
    }
    for (int k = 0; k < m->n_tables; k++) {
        const cpu_table *t = &m->table[k];
        uint64_t v = 0;
        for (int i = t->first; i < t->first + t->count; i++) {
            v = v * m->digit[i].size + value[i];
        }
        v = before(t, v);
        for (int i = t->first + t->count - 1; i >= t->first; i--) {
            value[i] = v % m->digit[i].size;
            v /= m->digit[i].size;
        }
    }
}

int cpu_unit_source(const cpu_map *m, uint64_t unit, uint64_t *bit)
{
    uint64_t value[CPU_DIGITS];
    uint64_t coord[CPU_WALLS] = {0};

    *bit = 0;
    digits_at(m, unit, value);
    for (int i = 0; i < m->n - 1; i++) {
        *bit += value[i] * m->digit[i].logical;
        for (int w = 0; w < m->n_walls; w++) {
            coord[w] += value[i] * m->digit[i].coord[w];
        }
    }
    for (int w = 0; w < m->n_walls; w++) {
        if (coord[w] >= m->wall[w].end) {
            return w;
        }
    }
    return -1;
}

static void move_unit(uint8_t *dst, uint64_t dst_bit, const uint8_t *src,
                      uint64_t src_bit, uint64_t bits)
{
    if (bits >= 8) {
        memcpy(dst + dst_bit / 8, src + src_bit / 8, (size_t)(bits / 8));
        return;
    }
    const unsigned mask = (1u << bits) - 1;
    const unsigned code = src[src_bit / 8] >> src_bit % 8 & mask;
    dst[dst_bit / 8] = (uint8_t)((dst[dst_bit / 8] & ~(mask << dst_bit % 8)) |
                                 code << dst_bit % 8);
}

void cpu_move_units(const cpu_plan *plan, int forward, uint8_t *dst,
                    const uint8_t *src)
{
    const cpu_map *m = &plan->map;
    const uint64_t bits = m->digit[m->n - 1].size;
    const uint64_t units = m->physical_bits / bits;

    for (uint64_t u = 0; u < units; u++) {
        uint64_t bit = 0;
        const int wall = cpu_unit_source(m, u, &bit);

        if (forward && wall < 0) {
            move_unit(dst, u * bits, src, bit, bits);
        } else if (forward) {
            uint8_t pad[8];
            memset(pad, m->wall[wall].byte, sizeof pad);
            move_unit(dst, u * bits, pad, bit % 8, bits);
        } else if (wall < 0) {
            move_unit(dst, bit, src, u * bits, bits);
        }
    }
}
