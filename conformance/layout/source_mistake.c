/* SPDX-License-Identifier: Apache-2.0 */
/* See source_mistake.h. */
#include "source_mistake.h"

#include "base/tensors.h"
#include "byte_mistake.h"
#include "places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FARTHEST = 128 };

/* Index i of n takes which index, with a distance of k? */
static uint64_t before_round(uint64_t i, uint64_t n, uint64_t k)
{
    return (i + n - k) % n;
}

static uint64_t after_round(uint64_t i, uint64_t n, uint64_t k)
{
    return (i + k) % n;
}

static uint64_t before_repeated(uint64_t i, uint64_t n, uint64_t k)
{
    (void)n;
    return i < k ? 0 : i - k;
}

static uint64_t after_repeated(uint64_t i, uint64_t n, uint64_t k)
{
    return i + k < n ? i + k : n - 1;
}

static uint64_t exchanged(uint64_t i, uint64_t n, uint64_t k)
{
    return (i ^ k) < n ? i ^ k : i;
}

static uint64_t one_of_each(uint64_t i, uint64_t n, uint64_t k)
{
    (void)n;
    return i / k * k;
}

static const struct {
    uint64_t (*from)(uint64_t i, uint64_t n, uint64_t k);
    uint64_t least;
    const char *words; /* of "row" or "column", and the distance */
} moves[] = {
    {before_round, 1, "every %s holds the one %" PRIu64 " before it, modulo"},
    {after_round, 1, "every %s holds the one %" PRIu64 " after it, modulo"},
    {before_repeated, 1,
     "every %s holds the one %" PRIu64 " before it, the first is repeated"},
    {after_repeated, 1,
     "every %s holds the one %" PRIu64 " after it, the last is repeated"},
    {exchanged, 2, "%ss i and i ^ %" PRIu64 " are exchanged"},
    {one_of_each, 2, "one %s stands in place of every %" PRIu64},
};
enum { N_MOVES = sizeof moves / sizeof moves[0] };

/* Axis 1 or 2 of the tensor goes through a move. */
static uint64_t moved_from(const layout_source *how, uint64_t i)
{
    const uint64_t rows = how->e->extent[1];
    const uint64_t cols = how->e->extent[2];
    uint64_t r = i / cols % rows;
    uint64_t c = i % cols;

    if (how->axis == 1) {
        r = moves[how->move].from(r, rows, how->distance);
    } else {
        c = moves[how->move].from(c, cols, how->distance);
    }
    return (i / (rows * cols) * rows + r) * cols + c;
}

/* Every expert was read as columns x rows. */
static uint64_t transposed_from(const layout_source *how, uint64_t i)
{
    const uint64_t rows = how->e->extent[1];
    const uint64_t cols = how->e->extent[2];
    const uint64_t in = i % (rows * cols);

    return i - in + in % cols * rows + in / cols;
}

/* Does the tensor give the actual memory if its elements come from there? */
static int gives_from(const layout_evidence *e, const layout_source *how,
                      uint8_t *room)
{
    const uint64_t n = e->extent[0] * e->extent[1] * e->extent[2];
    const uint32_t width = dtype_bytes(e->dtype);

    if (!places_fit(e, e->layout, e->logical, how)) {
        return 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        memcpy(room + i * width, e->logical + how->at(how, i) * width, width);
    }
    return layout_gives(e, e->layout, room);
}

/* Half of the rows is a gate: layouts that exchange the two say it better. */
static int is_half(const layout_evidence *e, int axis, uint64_t k)
{
    return axis == 1 && 2 * k == e->extent[1];
}

static int is_moved(const layout_evidence *e, uint8_t *room, char *text,
                    size_t size)
{
    layout_source how = {.at = moved_from, .e = e};

    for (how.axis = 1; how.axis <= 2; how.axis++) {
        for (how.move = 0; how.move < N_MOVES; how.move++) {
            for (how.distance = moves[how.move].least;
                 how.distance <= FARTHEST && how.distance < e->extent[how.axis];
                 how.distance *= 2) {
                if (!is_half(e, how.axis, how.distance) &&
                    gives_from(e, &how, room)) {
                    (void)snprintf(text, size, moves[how.move].words,
                                   how.axis == 1 ? "row" : "column",
                                   how.distance);
                    return 1;
                }
            }
        }
    }
    return 0;
}

/* The bytes of an expert are taken for columns x rows. */
static int is_read_transposed(const layout_evidence *e, uint8_t *room,
                              char *text, size_t size)
{
    const layout_source how = {.at = transposed_from, .e = e};

    if (!gives_from(e, &how, room)) {
        return 0;
    }
    (void)snprintf(text, size,
                   "rows and columns (N and K) are exchanged: the tensor was "
                   "read as %" PRIu64 " x %" PRIu64,
                   e->extent[2], e->extent[1]);
    return 1;
}

static int is_changed(const layout_evidence *e, uint64_t n, uint8_t *room,
                      char *text, size_t size)
{
    for (size_t k = 0; dtype_bytes(e->dtype) == 1 && k < n_byte_changes; k++) {
        for (uint64_t i = 0; i < n; i++) {
            room[i] = byte_changes[k].of(e->logical[i]);
        }
        if (layout_gives(e, e->layout, room)) {
            (void)snprintf(text, size, "every byte of the tensor is %s",
                           byte_changes[k].words);
            return 1;
        }
    }
    return 0;
}

int source_mistake(const layout_evidence *e, char *text, size_t size)
{
    const uint64_t n =
        e->extent[0] * e->extent[1] * e->extent[2] * dtype_bytes(e->dtype);
    uint8_t *room = malloc((size_t)n + 1);
    const int found =
        room != NULL && (is_moved(e, room, text, size) ||
                         is_read_transposed(e, room, text, size) ||
                         is_changed(e, n, room, text, size));

    free(room);
    return found;
}
