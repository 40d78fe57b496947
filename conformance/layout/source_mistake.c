/* SPDX-License-Identifier: Apache-2.0 */
/* See source_mistake.h. */
#include "source_mistake.h"

#include "base/tensors.h"
#include "byte_mistake.h"

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

/* Axis 1 or 2 of the tensor goes through a move. */
static void make_move(const layout_evidence *e, int axis, size_t m, uint64_t k,
                      uint8_t *to)
{
    const uint64_t rows = e->extent[1];
    const uint64_t cols = e->extent[2];
    const uint32_t width = dtype_bytes(e->dtype);

    for (uint64_t i = 0; i < e->extent[0] * rows * cols; i++) {
        uint64_t r = i / cols % rows;
        uint64_t c = i % cols;
        if (axis == 1) {
            r = moves[m].from(r, rows, k);
        } else {
            c = moves[m].from(c, cols, k);
        }
        const uint64_t from = (i / (rows * cols) * rows + r) * cols + c;
        memcpy(to + i * width, e->logical + from * width, width);
    }
}

/* Half of the rows is a gate: layouts that exchange the two say it better. */
static int is_half(const layout_evidence *e, int axis, uint64_t k)
{
    return axis == 1 && 2 * k == e->extent[1];
}

static int is_moved(const layout_evidence *e, uint8_t *room, char *text,
                    size_t size)
{
    for (int axis = 1; axis <= 2; axis++) {
        for (size_t m = 0; m < sizeof moves / sizeof moves[0]; m++) {
            for (uint64_t k = moves[m].least;
                 k <= FARTHEST && k < e->extent[axis]; k *= 2) {
                make_move(e, axis, m, k, room);
                if (!is_half(e, axis, k) && layout_gives(e, e->layout, room)) {
                    (void)snprintf(text, size, moves[m].words,
                                   axis == 1 ? "row" : "column", k);
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
    const uint64_t rows = e->extent[1];
    const uint64_t cols = e->extent[2];
    const uint32_t width = dtype_bytes(e->dtype);

    for (uint64_t i = 0; i < e->extent[0] * rows * cols; i++) {
        const uint64_t in = i % (rows * cols);
        const uint64_t from = i - in + in % cols * rows + in / cols;
        memcpy(room + i * width, e->logical + from * width, width);
    }
    if (!layout_gives(e, e->layout, room)) {
        return 0;
    }
    (void)snprintf(text, size,
                   "rows and columns (N and K) are exchanged: the tensor was "
                   "read as %" PRIu64 " x %" PRIu64,
                   cols, rows);
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
