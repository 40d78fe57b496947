/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving tiles of vectors.  Where chunks are whole vectors, a tile goes from
 * one side to the other through registers alone; else its logical side is
 * gathered into (or scattered from) a buffer.
 */
#include "layout_move.h"

#include <stdlib.h>

typedef struct carrier {
    const cpu_mover *m;
    const cpu_plan *p;
    uint8_t *buffer;
} carrier;

/* Give tile number step to the mover of the one before it, as a prefetch. */
static void ask_ahead(const carrier *c, uint64_t step, cpu_transpose *w)
{
    const cpu_plan *p = c->p;
    const cpu_place at = cpu_place_of(p, step);

    if (p->map.n_walls > 0 && cpu_beyond(p, at.coord, p->tile_most) >= 0) {
        return;
    }
    w->next = c->m->src + (c->m->forward ? at.logical : at.physical);
    w->next_at = c->m->forward ? p->line_at : p->physical_at;
    w->n_next = c->m->forward ? p->n_lines : p->n_vectors;
}

static int is_aligned(const void *address)
{
    return (uintptr_t)address % CPU_VECTOR == 0;
}

static void move_in(const carrier *c, const cpu_place *at, int edge,
                    cpu_transpose *w)
{
    const cpu_plan *p = c->p;

    w->inner = &p->inner;
    w->dst = c->m->dst + at->physical;
    w->dst_at = p->physical_at;
    w->stream = c->m->stream && p->memory_lines && is_aligned(w->dst);
    w->src = c->buffer;
    w->src_at = p->packed_at;
    if (edge) {
        cpu_load_edge(p, c->buffer, c->m->src, at);
    } else if (p->word_bytes == CPU_VECTOR) {
        w->src = c->m->src + at->logical;
        w->src_at = p->logical_at;
    } else {
        cpu_gather(c->buffer, c->m->src + at->logical, p->logical_at,
                   p->logical_run, p->n_slots / p->logical_run,
                   (uint64_t)p->logical_run * p->word_bytes);
    }
    c->m->lane->transpose(w);
}

static void move_out(const carrier *c, const cpu_place *at, int edge,
                     cpu_transpose *w)
{
    const cpu_plan *p = c->p;
    uint8_t *dst = c->m->dst + at->logical;
    const int direct = !edge && p->word_bytes == CPU_VECTOR;

    w->inner = &p->outward;
    w->backward = 1;
    w->src = c->m->src + at->physical;
    w->src_at = p->physical_at;
    w->dst = direct ? dst : c->buffer;
    w->dst_at = direct ? p->logical_at : p->packed_at;
    w->stream = direct && c->m->stream && p->whole_lines && is_aligned(dst);
    c->m->lane->transpose(w);
    if (edge) {
        cpu_store_edge(p, c->m->dst, c->buffer, at);
    } else if (!direct) {
        cpu_scatter(dst, c->buffer, p->logical_at, p->logical_run,
                    p->n_slots / p->logical_run,
                    (uint64_t)p->logical_run * p->word_bytes);
    }
}

void cpu_move_vectors(void *job, uint64_t begin, uint64_t end)
{
    cpu_mover *m = job;
    carrier c = {m, m->plan, NULL};

    c.buffer = aligned_alloc(CPU_VECTOR, (size_t)c.p->n_vectors * CPU_VECTOR);
    if (c.buffer == NULL) {
        m->out_of_memory = 1;
        return;
    }
    for (uint64_t step = begin; step < end; step++) {
        const cpu_place at = cpu_place_of(c.p, step);
        const int edge = cpu_beyond(c.p, at.coord, c.p->tile_most) >= 0;
        cpu_transpose w = {.n_reg = c.p->n_reg,
                           .n = c.p->n_vectors >> c.p->n_reg};

        for (int r = 0; r < c.p->n_reg; r++) {
            w.bit[r] = c.p->bit[r];
        }
        if (step + 1 < end) {
            ask_ahead(&c, step + 1, &w);
        }
        if (m->forward) {
            move_in(&c, &at, edge, &w);
        } else {
            move_out(&c, &at, edge, &w);
        }
    }
    m->lane->fence();
    free(c.buffer);
}
