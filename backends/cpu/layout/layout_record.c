/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records: what a map puts side by side lies in pieces, and between them the
 * bytes of another tensor.  The map is followed as if there were no gaps; the
 * pieces are moved apart, or together, by copies.
 */
#include "layout.h"

#include <string.h>

/* One record around a body of so many bits. */
static int fits(const cpu_map *m, cpu_record *r, uint64_t body)
{
    r->body = body / 8;
    return body % 8 == 0 && body > 0 && r->every <= 1 << 20 &&
           r->first + r->body <= r->every && r->first * 8 % m->elem_bits == 0 &&
           r->every * 8 % m->elem_bits == 0;
}

mxo_status cpu_record_sizes(cpu_map *map, const int *inside, mxo_text why)
{
    const cpu_record outer = map->record[0];

    if (map->n_records > 0) { /* they are the last dimension */
        map->shape[map->rank - 1] = 8 * outer.every / map->elem_bits;
    }
    uint64_t body = map->elem_bits / map->parts;
    int digit = map->n - 1;

    for (int i = map->n_records - 1; i >= 0; i--) {
        while (digit > inside[i]) {
            body = cpu_times(body, map->digit[--digit].size);
        }
        if (!fits(map, &map->record[i], body)) {
            return cpu_fail(MXO_E_SHAPE, why,
                            "records do not hold such elements");
        }
        body = 8 * map->record[i].every;
    }
    if (map->n_records == 2) { /* the text has the outer one first */
        const uint64_t held = map->record[0].body;
        map->record[0] = map->record[1];
        map->record[1] = outer;
        map->record[1].body = held;
    }
    return MXO_OK;
}

uint64_t cpu_memory_bytes(const cpu_map *map)
{
    uint64_t bytes = map->physical_bits / 8;

    for (int i = 0; i < map->n_records; i++) {
        bytes = bytes / map->record[i].body * map->record[i].every;
    }
    return bytes;
}

uint64_t cpu_record_spread(const cpu_map *map, uint64_t at)
{
    for (int i = 0; i < map->n_records; i++) {
        const cpu_record *r = &map->record[i];
        at += at / r->body * (r->every - r->body) + r->first;
    }
    return at;
}

uint64_t cpu_record_close(const cpu_map *map, uint64_t at)
{
    for (int i = map->n_records; i-- > 0;) {
        const cpu_record *r = &map->record[i];
        const uint64_t in = at % r->every - r->first; /* wraps before first */

        if (in >= r->body) {
            return UINT64_MAX;
        }
        at = at / r->every * r->body + in;
    }
    return at;
}

void cpu_record_put(const cpu_map *map, uint8_t *memory, const uint8_t *dense)
{
    const uint64_t n = map->physical_bits / 8;
    const uint64_t piece = map->record[0].body;

    for (uint64_t i = 0; i < n; i += piece) {
        memcpy(memory + cpu_record_spread(map, i), dense + i, (size_t)piece);
    }
}

void cpu_record_take(const cpu_map *map, uint8_t *dense, const uint8_t *memory)
{
    const uint64_t n = map->physical_bits / 8;
    const uint64_t piece = map->record[0].body;

    for (uint64_t i = 0; i < n; i += piece) {
        memcpy(dense + i, memory + cpu_record_spread(map, i), (size_t)piece);
    }
}
