/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a map to a plan: digits become factors of two and what is odd, and
 * what behaves as one digit becomes one again.
 */
#include "layout_plan.h"

#include <stdlib.h>
#include <string.h>

static int is_power(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

static uint32_t log2_of(uint64_t n)
{
    uint32_t log = 0;

    while (n > 1) {
        n >>= 1;
        log++;
    }
    return log;
}

static cpu_atom part_of(const cpu_digit *d, uint32_t shift, uint64_t size)
{
    cpu_atom a = {.size = size,
                  .logical = d->logical << shift,
                  .physical = d->physical << shift};

    for (int w = 0; w < CPU_WALLS; w++) {
        a.coord[w] = d->coord[w] << shift;
    }
    return a;
}

/* Most significant first: the odd factor, then the twos. */
static int split_digit(const cpu_digit *d, cpu_atom *out)
{
    uint32_t twos = 0;
    int n = 0;

    while (d->size >> twos != 0 && (d->size >> twos) % 2 == 0) {
        twos++;
    }
    if (d->size >> twos != 1) {
        out[n++] = part_of(d, twos, d->size >> twos);
    }
    while (twos-- > 0) {
        out[n++] = part_of(d, twos, 2);
    }
    return n;
}

/* The bits of a table's value, least significant first; -1 if a member has
   an odd factor. */
static int bits_of(const cpu_map *map, const cpu_table *t, cpu_atom *bit)
{
    int n = 0;

    for (int i = t->count - 1; i >= 0; i--) {
        const cpu_digit *d = &map->digit[t->first + i];
        if (!is_power(d->size)) {
            return -1;
        }
        for (uint32_t b = 0; b < log2_of(d->size); b++) {
            bit[n++] = part_of(d, b, 2);
        }
    }
    return n;
}

/* A table that only puts the bits of a value into another order. */
static int moves_bits(const cpu_table *t)
{
    for (uint32_t v = 0; v < t->size; v++) {
        uint32_t sum = 0;
        for (uint32_t b = 1; b <= v; b *= 2) {
            sum |= (v & b) != 0 ? t->entry[b] : 0;
        }
        if (t->entry[v] != sum) {
            return 0;
        }
    }
    return 1;
}

static void fill_hops(const cpu_map *map, const cpu_table *t, cpu_hop *hop)
{
    for (uint32_t v = 0; v < t->size; v++) {
        cpu_hop *h = &hop[t->entry[v]];
        uint64_t rest = v;

        memset(h, 0, sizeof *h);
        h->physical =
            t->entry[v] * map->digit[t->first + t->count - 1].physical;
        for (int i = t->count - 1; i >= 0; i--) {
            const cpu_digit *d = &map->digit[t->first + i];
            h->logical += rest % d->size * d->logical;
            for (int w = 0; w < CPU_WALLS; w++) {
                h->coord[w] += rest % d->size * d->coord[w];
            }
            rest /= d->size;
        }
    }
}

/* The digits of table number number; *opened if its bits stand in order and
   the words are to be permuted afterwards. */
static int split_table(cpu_plan *plan, int number, uint32_t word_bits,
                       cpu_atom *out, int *opened)
{
    const cpu_table *t = &plan->map.table[number];
    const uint64_t physical = plan->map.digit[t->first + t->count - 1].physical;
    cpu_atom bit[CPU_ATOMS];
    const int n = bits_of(&plan->map, t, bit);
    const int moves = n >= 0 && moves_bits(t);

    *opened = n >= 0 && !moves && physical * t->size <= word_bits;
    if (!moves && !*opened) {
        fill_hops(&plan->map, t, plan->hop[number]);
        out[0] = (cpu_atom){
            .size = t->size, .physical = physical, .hop = plan->hop[number]};
        return 1;
    }
    for (int b = 0; b < n; b++) {
        const uint32_t to = moves ? log2_of(t->entry[1u << b]) : (uint32_t)b;
        bit[b].physical = physical << to;
        out[n - 1 - (int)to] = bit[b];
    }
    return n;
}

int cpu_plan_atoms(cpu_plan *plan, uint32_t word_bits, cpu_atom *out,
                   int opened[CPU_TABLES])
{
    const cpu_map *map = &plan->map;
    int n = 0;

    memset(opened, 0, CPU_TABLES * sizeof *opened);
    for (int i = 0; i < map->n;) {
        int number = 0;
        while (number < map->n_tables && map->table[number].first != i) {
            number++;
        }
        if (n + 64 > CPU_ATOMS) {
            return -1;
        }
        if (number < map->n_tables) {
            n += split_table(plan, number, word_bits, out + n, &opened[number]);
            i += map->table[number].count;
        } else {
            n += split_digit(&map->digit[i++], out + n);
        }
    }
    return n;
}

static int joins(const cpu_atom *a, const cpu_atom *b)
{
    int same = a->hop == NULL && b->hop == NULL &&
               a->logical == b->logical * b->size &&
               a->physical == b->physical * b->size;

    for (int w = 0; w < CPU_WALLS && same; w++) {
        same = a->coord[w] == b->coord[w] * b->size;
    }
    return same;
}

int cpu_merge_atoms(cpu_atom *atom, int n)
{
    int kept = 0;

    for (int i = 0; i < n; i++) {
        if (kept > 0 && joins(&atom[kept - 1], &atom[i])) {
            atom[i].size *= atom[kept - 1].size;
            kept--;
        }
        atom[kept++] = atom[i];
    }
    return kept;
}

void cpu_plan_outer(cpu_plan *plan, const cpu_atom *atom, int n)
{
    memcpy(plan->outer, atom, (size_t)n * sizeof *atom);
    plan->n_outer = cpu_merge_atoms(plan->outer, n);
    plan->n_outer_steps = 1;
    for (int i = 0; i < plan->n_outer; i++) {
        plan->outer[i].logical /= 8;
        plan->outer[i].physical /= 8;
        plan->n_outer_steps *= plan->outer[i].size;
    }
}

cpu_place cpu_place_of(const cpu_plan *p, uint64_t step)
{
    cpu_place at = {0, 0, {0}};

    for (int i = p->n_outer - 1; i >= 0; i--) {
        const cpu_atom *a = &p->outer[i];
        const uint64_t v = step % a->size;

        step /= a->size;
        at.physical +=
            a->hop == NULL ? v * a->physical : a->hop[v].physical / 8;
        at.logical += a->hop == NULL ? v * a->logical : a->hop[v].logical / 8;
        for (int w = 0; w < p->map.n_walls; w++) {
            at.coord[w] +=
                a->hop == NULL ? v * a->coord[w] : a->hop[v].coord[w];
        }
    }
    return at;
}

/* Long stretches that both sides have.  Shorter ones are faster by the tile,
   but only where no wall cuts tiles. */
static int plan_runs(cpu_plan *plan)
{
    const uint64_t least =
        plan->map.n_walls > 0 ? CPU_RUN_BYTES : CPU_LONG_BYTES;
    cpu_atom atom[CPU_ATOMS];
    int opened[CPU_TABLES];
    int n = cpu_plan_atoms(plan, 0, atom, opened);

    if (n <= 0) {
        return 0;
    }
    n = cpu_merge_atoms(atom, n);
    const cpu_atom *last = &atom[n - 1];
    if (last->hop != NULL || last->logical != 1 || last->physical != 1 ||
        last->size % 8 != 0 || last->size / 8 < least) {
        return 0;
    }
    plan->run_bytes = last->size / 8;
    for (int w = 0; w < plan->map.n_walls; w++) {
        plan->byte_coord[0][w] = last->coord[w];
    }
    plan->kind = CPU_PLAN_RUNS;
    cpu_plan_outer(plan, atom, n - 1);
    return 1;
}

mxo_status cpu_plan_of(cpu_plan **plan, const cpu_map *map, int vectors,
                       mxo_text why)
{
    cpu_plan *p = calloc(1, sizeof *p);
    int done = 0;

    *plan = p;
    if (p == NULL) {
        return MXO_E_NOMEM;
    }
    p->map = *map;
    p->grain = 1;
    if (map->physical_bits != 0 && !plan_runs(p)) {
        done = vectors ? cpu_plan_vectors(p) : 0;
        p->kind = CPU_PLAN_VECTORS;
        if (done == 0) {
            done = cpu_plan_tiles(p);
            p->kind = done > 0 ? CPU_PLAN_TILES : CPU_PLAN_UNITS;
        }
    }
    if (done < 0) {
        cpu_plan_free(p);
        *plan = NULL;
        return cpu_fail(MXO_E_NOMEM, why, "no memory for a layout's plan");
    }
    return MXO_OK;
}

void cpu_plan_stand_still(cpu_plan *plan, uint64_t *reach)
{
    const uint64_t n_blocks = plan->blocks == NULL ? 0 : plan->grain;

    *reach = plan->run_bytes + (uint64_t)plan->n_slots * plan->word_bytes;
    for (int i = 0; i < plan->n_outer; i++) {
        plan->outer[i].logical = 0;
    }
    for (int k = 0; k < CPU_TABLES; k++) {
        for (int v = 0; v < CPU_ENTRIES; v++) {
            plan->hop[k][v].logical = 0;
        }
    }
    for (uint64_t v = 0; v < n_blocks; v++) {
        plan->blocks[v].logical = 0;
    }
    for (uint32_t slot = 0; slot < plan->n_slots; slot++) {
        plan->logical_at[slot] = 0;
    }
    for (uint64_t i = 0; i < plan->n_lines; i++) {
        plan->line_at[i] = 0;
    }
}

void cpu_plan_free(cpu_plan *plan)
{
    if (plan != NULL) {
        free(plan->logical_at);
        free(plan->physical_at);
        free(plan->staged_at);
        free(plan->stretch_at);
        free(plan->slot_coord);
        free(plan->packed_at);
        free(plan->line_at);
        free(plan->blocks);
        free(plan);
    }
}
