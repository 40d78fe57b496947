/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving a tensor along a plan.  Threads take ranges of the outer digits in
 * the order of memory; a tile that meets a wall is moved byte by byte.
 */
#include "layout_move.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, PIECE = 65536 };

/* Copies n runs; each usual width has a loop in which memcpy is one move. */
#define BY_WIDTH(COPY)      \
    switch (bytes) {        \
    case 1:                 \
        COPY(1)             \
        break;              \
    case 2:                 \
        COPY(2)             \
        break;              \
    case 4:                 \
        COPY(4)             \
        break;              \
    case 8:                 \
        COPY(8)             \
        break;              \
    case 16:                \
        COPY(16)            \
        break;              \
    case 32:                \
        COPY(32)            \
        break;              \
    case 64:                \
        COPY(64)            \
        break;              \
    default:                \
        COPY((size_t)bytes) \
    }
#define GATHER(size)                                        \
    for (uint64_t i = 0; i < n; i++) {                      \
        memcpy(dst + i * (size), src + at[i * step], size); \
    }
#define SCATTER(size)                                       \
    for (uint64_t i = 0; i < n; i++) {                      \
        memcpy(dst + at[i * step], src + i * (size), size); \
    }

void cpu_gather(uint8_t *dst, const uint8_t *src, const uint64_t *at,
                uint64_t step, uint64_t n, uint64_t bytes)
{
    BY_WIDTH(GATHER)
}

void cpu_scatter(uint8_t *dst, const uint8_t *src, const uint64_t *at,
                 uint64_t step, uint64_t n, uint64_t bytes)
{
    BY_WIDTH(SCATTER)
}

/* The same inside a buffer. */
static void stage(uint8_t *dst, const uint8_t *src, const uint32_t *at,
                  uint64_t step, uint64_t n, uint64_t bytes)
{
    BY_WIDTH(SCATTER)
}

static void load(const cpu_plan *p, uint8_t *buffer, const uint8_t *src,
                 const uint64_t *at, uint32_t run)
{
    if (p->pitch == p->word_bytes) {
        cpu_gather(buffer, src, at, run, p->n_slots / run,
                   (uint64_t)run * p->word_bytes);
        return;
    }
    memset(buffer, 0, (size_t)p->n_slots * p->pitch);
    for (uint32_t slot = 0; slot < p->n_slots; slot++) {
        memcpy(buffer + (size_t)slot * p->pitch, src + at[slot], p->word_bytes);
    }
}

static void store(const cpu_plan *p, uint8_t *dst, const uint8_t *buffer,
                  const uint64_t *at, uint32_t run)
{
    if (p->pitch == p->word_bytes) {
        cpu_scatter(dst, buffer, at, run, p->n_slots / run,
                    (uint64_t)run * p->word_bytes);
        return;
    }
    for (uint32_t slot = 0; slot < p->n_slots; slot++) {
        memcpy(dst + at[slot], buffer + (size_t)slot * p->pitch, p->word_bytes);
    }
}

/* Words are numbers here: their bytes follow the machine. */
static void turn_words(const cpu_plan *p, uint8_t *buffer)
{
    const uint16_t probe = 1;

    if (*(const uint8_t *)&probe == 1 || p->n_swaps + p->mix.n == 0) {
        return;
    }
    for (uint32_t slot = 0; slot < p->n_slots; slot++) {
        uint8_t *word = buffer + (size_t)slot * p->pitch;
        for (uint32_t b = 0; b < p->pitch / 2; b++) {
            const uint8_t byte = word[b];
            word[b] = word[p->pitch - 1 - b];
            word[p->pitch - 1 - b] = byte;
        }
    }
}

static void swap_pairs(const cpu_mover *m, const cpu_swap *s, uint8_t *buffer)
{
    const cpu_plan *p = m->plan;
    const uint64_t total = (uint64_t)p->n_slots * p->pitch;
    const uint64_t one = total >> p->n_reg;
    const uint64_t block = one << s->reg;

    for (uint64_t i = 0; i < total; i += 2 * block) {
        m->lane->swap_bits(buffer + i, buffer + i + block, block, s->bit);
    }
}

static void exchange(const cpu_mover *m, uint8_t *buffer)
{
    const cpu_plan *p = m->plan;
    const uint64_t total = ((uint64_t)p->n_slots * p->pitch + 7) / 8 * 8;

    turn_words(p, buffer);
    if (!m->forward && p->unmix.n > 0) {
        m->lane->mix_bits(buffer, total, p->unmix.n, p->unmix.shift,
                          p->unmix.mask);
    }
    for (int i = 0; i < p->n_swaps; i++) {
        swap_pairs(m, &p->swap[m->forward ? i : p->n_swaps - 1 - i], buffer);
    }
    if (m->forward && p->mix.n > 0) {
        m->lane->mix_bits(buffer, total, p->mix.n, p->mix.shift, p->mix.mask);
    }
    turn_words(p, buffer);
}

/* Around the caches, if the stretches are whole lines. */
static void store_stream(const cpu_mover *m, uint8_t *dst,
                         const uint8_t *buffer, uint8_t *staged)
{
    const cpu_plan *p = m->plan;

    if (!p->in_order) {
        stage(staged, buffer, p->staged_at, p->physical_run,
              p->n_slots / p->physical_run,
              (uint64_t)p->physical_run * p->word_bytes);
        buffer = staged;
    }
    for (uint32_t s = 0; s < p->n_stretches; s++) {
        m->lane->stream(dst + p->stretch_at[s], buffer + s * p->stretch,
                        p->stretch);
    }
}

/* Ask for what the next tile reads: its runs are too short for hardware to
   see a pattern. */
static void fetch_tile(const cpu_mover *m, uint64_t step)
{
    const cpu_plan *p = m->plan;
    const cpu_place at = cpu_place_of(p, step);
    const uint64_t *runs = m->forward ? p->logical_at : p->physical_at;
    const uint32_t run = m->forward ? p->logical_run : p->physical_run;
    const uint8_t *src = m->src + (m->forward ? at.logical : at.physical);

    if (p->map.n_walls > 0 && cpu_beyond(p, at.coord, p->tile_most) >= 0) {
        return;
    }
    for (uint32_t slot = 0; slot < p->n_slots; slot += run) {
        for (uint32_t b = 0; b < run * p->word_bytes; b += LINE) {
            CPU_FETCH_L2(src + runs[slot] + b);
        }
    }
}

static void move_tile(const cpu_mover *m, uint64_t step, uint8_t *buffer)
{
    const cpu_plan *p = m->plan;
    const cpu_place at = cpu_place_of(p, step);
    const int edge = cpu_beyond(p, at.coord, p->tile_most) >= 0;
    uint8_t *dst = m->dst + (m->forward ? at.physical : at.logical);

    if (!m->forward) {
        load(p, buffer, m->src + at.physical, p->physical_at, p->physical_run);
    } else if (edge) {
        cpu_load_edge(p, buffer, m->src, &at);
    } else {
        load(p, buffer, m->src + at.logical, p->logical_at, p->logical_run);
    }
    exchange(m, buffer);
    if (m->forward && m->stream && (uintptr_t)dst % 64 == 0) {
        store_stream(m, dst, buffer, buffer + CPU_BUFFER_BYTES);
    } else if (m->forward) {
        store(p, dst, buffer, p->physical_at, p->physical_run);
    } else if (edge) {
        cpu_store_edge(p, m->dst, buffer, &at);
    } else {
        store(p, dst, buffer, p->logical_at, p->logical_run);
    }
}

static void move_tiles(void *job, uint64_t begin, uint64_t end)
{
    cpu_mover *m = job;
    uint8_t *buffer = aligned_alloc(64, CPU_BUFFER_BYTES + CPU_TILE_BYTES);

    const uint32_t run =
        m->forward ? m->plan->logical_run : m->plan->physical_run;
    const int fetch = run * m->plan->word_bytes >= 32;

    if (buffer == NULL) {
        m->out_of_memory = 1;
        return;
    }
    for (uint64_t step = begin; step < end; step++) {
        if (fetch && step + 1 < end) {
            fetch_tile(m, step + 1);
        }
        move_tile(m, step, buffer);
    }
    if (m->stream) {
        m->lane->fence();
    }
    free(buffer);
}

/* Memory in order, whole lines around the caches. */
typedef struct writer {
    const cpu_mover *m;
    uint8_t *to;
    uint32_t n; /* bytes in line */
    _Alignas(LINE) uint8_t line[LINE];
} writer;

static void put(writer *w, const uint8_t *src, uint64_t bytes)
{
    if (!w->m->stream || (w->n == 0 && (uintptr_t)w->to % LINE != 0)) {
        uint64_t head = (LINE - (uintptr_t)w->to % LINE) % LINE;
        head = !w->m->stream || head > bytes ? bytes : head;
        memcpy(w->to, src, (size_t)head);
        w->to += head;
        src += head;
        bytes -= head;
    }
    if (w->n > 0) {
        const uint32_t room = LINE - w->n;
        const uint32_t part = bytes < room ? (uint32_t)bytes : room;
        memcpy(w->line + w->n, src, part);
        w->n += part;
        src += part;
        bytes -= part;
        if (w->n == LINE) {
            w->m->lane->stream(w->to, w->line, LINE);
            w->to += LINE;
            w->n = 0;
        }
    }
    if (bytes >= LINE) {
        w->m->lane->stream(w->to, src, bytes / LINE * LINE);
        w->to += bytes / LINE * LINE;
        src += bytes / LINE * LINE;
        bytes %= LINE;
    }
    memcpy(w->line + w->n, src, (size_t)bytes);
    w->n += (uint32_t)bytes;
}

static void put_pad(writer *w, uint8_t byte, uint64_t bytes)
{
    uint8_t pad[256];

    memset(pad, byte, sizeof pad);
    for (; bytes > sizeof pad; bytes -= sizeof pad) {
        put(w, pad, sizeof pad);
    }
    put(w, pad, bytes);
}

/* Bytes of a run before wall number i. */
static uint64_t before_wall(const cpu_plan *p, const cpu_place *at, int i)
{
    const uint64_t end = p->map.wall[i].end;
    const uint64_t left = at->coord[i] < end ? end - at->coord[i] : 0;

    if (p->byte_coord[0][i] == 0) {
        return left > 0 ? p->run_bytes : 0;
    }
    return left / 8 < p->run_bytes ? left / 8 : p->run_bytes;
}

static uint64_t live_of(const cpu_plan *p, const cpu_place *at)
{
    uint64_t live = p->run_bytes;

    for (int i = 0; i < p->map.n_walls; i++) {
        const uint64_t n = before_wall(p, at, i);
        live = n < live ? n : live;
    }
    return live;
}

/* Bytes [done, end) of a run. */
static void put_run(writer *w, const cpu_mover *m, const cpu_place *at,
                    uint64_t done, uint64_t end)
{
    const cpu_plan *p = m->plan;
    const uint64_t run = live_of(p, at);
    const uint64_t live = run < end ? run : end;

    if (done < live) {
        put(w, m->src + at->logical + done, live - done);
        done = live;
    }
    while (done < end) {
        uint64_t next = end;
        uint8_t byte = 0;
        for (int i = p->map.n_walls - 1; i >= 0; i--) {
            const uint64_t wall = before_wall(p, at, i);
            byte = wall <= done ? p->map.wall[i].byte : byte;
            next = wall > done && wall < next ? wall : next;
        }
        put_pad(w, byte, next - done);
        done = next;
    }
}

/* Long runs are cut, so that there is work for every thread. */
static uint64_t pieces_of(const cpu_plan *p)
{
    return (p->run_bytes + PIECE - 1) / PIECE;
}

static uint64_t piece_at(const cpu_plan *p, uint64_t step)
{
    return step / pieces_of(p) * p->run_bytes + step % pieces_of(p) * PIECE;
}

static void move_runs(void *job, uint64_t begin, uint64_t end)
{
    const cpu_mover *m = job;
    const cpu_plan *p = m->plan;
    const uint64_t pieces = pieces_of(p);
    writer w = {.m = m, .to = m->dst + piece_at(p, begin)};

    for (uint64_t step = begin; step < end; step++) {
        const cpu_place at = cpu_place_of(p, step / pieces);
        const uint64_t first = step % pieces * PIECE;
        const uint64_t past =
            first + PIECE < p->run_bytes ? first + PIECE : p->run_bytes;

        if (m->forward) {
            put_run(&w, m, &at, first, past);
            continue;
        }
        const uint64_t run = live_of(p, &at);
        const uint64_t live = run < past ? run : past;
        if (first < live) {
            memcpy(m->dst + at.logical + first, m->src + at.physical + first,
                   (size_t)(live - first));
        }
    }
    if (m->forward) {
        memcpy(w.to, w.line, w.n);
    }
    if (m->stream) {
        m->lane->fence();
    }
}

static uint64_t out_bytes(const cpu_plan *p)
{
    return p->whole_bytes > 0 ? p->whole_bytes : p->map.physical_bits / 8;
}

mxo_status cpu_move(cpu_context *ctx, const cpu_plan *plan, int forward,
                    uint8_t *dst, const uint8_t *src, mxo_text why)
{
    const cpu_isa_ops *lane = ctx->lane;
    cpu_mover m = {.plan = plan,
                   .lane = lane,
                   .forward = forward,
                   .stream = (forward || plan->kind == CPU_PLAN_VECTORS) &&
                             lane->stream != NULL &&
                             out_bytes(plan) >= CPU_STREAM_BYTES,
                   .dst = dst,
                   .src = src};

    const uint64_t steps = plan->n_outer_steps *
                           (plan->kind == CPU_PLAN_RUNS ? pieces_of(plan) : 1);
    char what[32] = "layout_runs";

    switch (plan->kind) {
    case CPU_PLAN_RUNS:
        cpu_split(ctx, steps, 1, move_runs, &m);
        break;
    case CPU_PLAN_TILES:
        (void)snprintf(what, sizeof what, "layout_tiles%u",
                       8 * plan->word_bytes);
        m.stream = m.stream && plan->stretch % LINE == 0 &&
                   plan->pitch == plan->word_bytes;
        cpu_split(ctx, steps, 1, move_tiles, &m);
        break;
    case CPU_PLAN_VECTORS:
        (void)snprintf(what, sizeof what, "layout_vectors%u",
                       8 * plan->word_bytes);
        cpu_split(ctx, steps, plan->grain, cpu_move_vectors, &m);
        break;
    case CPU_PLAN_UNITS:
        (void)snprintf(what, sizeof what, "layout_units");
        cpu_move_units(plan, forward, dst, src);
        break;
    default:
        break;
    }
    cpu_name_kernel(ctx, what,
                    plan->kind == CPU_PLAN_UNITS
                        ? 1
                        : cpu_threads(ctx, steps, plan->grain));
    return m.out_of_memory
               ? cpu_fail(MXO_E_NOMEM, why, "no memory for a layout's tile")
               : MXO_OK;
}
