/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs for diagnose_faults.test: the right bytes of six layouts, and 24 single
 * faults in each.  It shares no code with the program that is to name them: the
 * layouts are written out as index formulas, the faults as loops over bytes.
 *
 * plant_layout_faults DIR writes DIR/LAYOUT.right, DIR/LAYOUT.NN, and on
 * standard output lines "LAYOUT shape NN expression fault"; the expression is
 * what a sentence that names the fault must match.
 */
#include "planted_layouts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { E = 3, MOST = 1 << 16 };

static uint8_t logical[MOST];
static uint8_t source[MOST];
static uint8_t right[MOST];
static uint8_t wrong[MOST];
static uint64_t state = 1;

static uint8_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(state >> 56);
}

static int padded_rows(const layout *l)
{
    return up(l->rows, l->row_granule);
}

static int padded_cols(const layout *l)
{
    return up(l->cols, l->col_granule);
}

static int each(const layout *l) /* bytes of an expert in memory */
{
    return padded_rows(l) * padded_cols(l);
}

static int n_live(const layout *l)
{
    return E * l->rows * l->cols;
}

static uint8_t *cell(const layout *l, uint8_t *t, int e, int r, int c)
{
    return &t[(e * l->rows + r) * l->cols + c];
}

static void put(const layout *l, uint8_t *memory, int apart, const uint8_t *t,
                int (*at)(int, int, int, int, int), uint8_t pad)
{
    memset(memory, pad, (size_t)(E * each(l)));
    for (int i = 0; i < n_live(l) * (1 + l->nibbles); i++) {
        const int byte = i / (1 + l->nibbles);
        const int f = i % (1 + l->nibbles);
        const int e = byte / (l->rows * l->cols);
        const int in = byte % (l->rows * l->cols);
        const int to = at(in / l->cols, in % l->cols, f, l->rows, l->cols);
        if (l->nibbles) {
            uint8_t *b = &memory[e * apart + to / 2];
            const int shift = to % 2 * 4;
            *b = (uint8_t)((*b & ~(15 << shift)) | (t[byte] >> (4 * f) & 15)
                                                       << shift);
        } else {
            memory[e * apart + to] = t[byte];
        }
    }
}

/* Row r of every expert takes row from(r) of the same expert. */
static int wrap(int i, int n)
{
    return (i % n + n) % n;
}

static int clamp(int i, int n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

typedef struct place {
    int e, r, c;
} place;

static place rows_late(const layout *l, place p)
{
    return (place){p.e, wrap(p.r - 1, l->rows), p.c};
}

static place rows_early(const layout *l, place p)
{
    return (place){p.e, clamp(p.r + 1, l->rows), p.c};
}

static place cols_late(const layout *l, place p)
{
    return (place){p.e, p.r, wrap(p.c - 1, l->cols)};
}

static place cols_early(const layout *l, place p)
{
    return (place){p.e, p.r, clamp(p.c + 1, l->cols)};
}

static place experts_exchanged(const layout *l, place p)
{
    (void)l;
    return (place){p.e < 2 ? 1 - p.e : p.e, p.r, p.c};
}

static place expert_0(const layout *l, place p)
{
    (void)l;
    return (place){0, p.r, p.c};
}

static place halves(const layout *l, place p)
{
    return (place){p.e, wrap(p.r + l->rows / 2, l->rows), p.c};
}

static place pairs(const layout *l, place p)
{
    (void)l;
    return (place){p.e, p.r % 2 == 0 ? p.r + 1 : p.r - 1, p.c};
}

static place one_expert_late(const layout *l, place p)
{
    return p.e == 1 ? rows_late(l, p) : p;
}

static place one_column_for_four(const layout *l, place p)
{
    (void)l;
    return (place){p.e, p.r, p.c - p.c % 4};
}

static place read_as_transposed(const layout *l, place p)
{
    const int at = p.c * l->rows + p.r;

    return (place){p.e, at / l->cols, at % l->cols};
}

static const struct moved {
    place (*from)(const layout *l, place p);
    const char *expression;
    const char *fault;
} moves[] = {
    {rows_late, "row.*before it", "rows one late"},
    {rows_early, "row.*after it.*repeated", "rows one early, the last twice"},
    {cols_late, "column.*before it", "columns one late"},
    {cols_early, "column.*after it.*repeated", "columns one early"},
    {experts_exchanged, "another order: 1 0", "experts 0 and 1 exchanged"},
    {expert_0, "every expert.*expert 0", "expert 0 everywhere"},
    {halves, "halves of the rows (gate, up)", "gate and up halves exchanged"},
    {pairs, "rows 2r and 2r+1 (gate, up)\\|trtllm.shuffle_matrix_sf_a",
     "gate and up pairs exchanged"},
    {one_expert_late, "expert 1 alone.*row.*before it",
     "rows of one expert late"},
    {one_column_for_four, "one column .*of every 4", "one column for four"},
    {read_as_transposed, "rows and columns (N and K)",
     "read as columns x rows"},
};

static void make_moved(const layout *l, const struct moved *m)
{
    for (int i = 0; i < n_live(l); i++) {
        const place to = {i / (l->rows * l->cols), i / l->cols % l->rows,
                          i % l->cols};
        const place from = m->from(l, to);
        source[i] = *cell(l, logical, from.e, from.r, from.c);
    }
    put(l, wrong, each(l), source, l->at, 0);
}

static uint8_t one_up(const layout *l, uint8_t b)
{
    return (uint8_t)(l->nibbles ? ((b + 16) & 0xf0) | ((b + 1) & 15) : b + 1);
}

static uint8_t one_down(const layout *l, uint8_t b)
{
    return (uint8_t)(l->nibbles ? ((b - 16) & 0xf0) | ((b - 1) & 15) : b - 1);
}

static uint8_t swap(const layout *l, uint8_t b)
{
    (void)l;
    return (uint8_t)(b << 4 | b >> 4);
}

/* Codes: minus zero becomes zero.  Scales: the bias is taken off. */
static uint8_t unsign(const layout *l, uint8_t b)
{
    if (!l->nibbles) {
        return (uint8_t)(b - 127);
    }
    return (uint8_t)((b >> 4 == 8 ? 0 : b & 0xf0) |
                     ((b & 15) == 8 ? 0 : b & 15));
}

static const struct changed {
    uint8_t (*to)(const layout *l, uint8_t b);
    const char *expression;
    const char *fault;
} changes[] = {
    {one_up, "one too high", "one too high"},
    {one_down, "one too low", "one too low"},
    {swap, "nibbles of every byte\\|nibbles are swapped", "nibbles swapped"},
    {unsign, "minus zero is lost\\|127 too low", "zero or bias unsigned"},
};

static void make_changed(const layout *l, const struct changed *m)
{
    for (int i = 0; i < n_live(l); i++) {
        source[i] = m->to(l, logical[i]);
    }
    put(l, wrong, each(l), source, l->at, 0);
}

static void words_reversed(const layout *l)
{
    for (int i = 0; i < E * each(l); i++) {
        wrong[i] = right[i ^ 3];
    }
}

static void half_words_reversed(const layout *l)
{
    for (int i = 0; i < E * each(l); i++) {
        wrong[i] = right[i ^ 1];
    }
}

static void tile_repeated(const layout *l)
{
    memcpy(wrong, right, (size_t)(E * each(l)));
    memcpy(wrong + l->tile, right, (size_t)l->tile);
}

/* Tiles of an expert, column by column of their grid. */
static void tiles_by_column(const layout *l)
{
    const int n = each(l) / l->tile;
    int down = 2;

    while (n % down != 0) {
        down++;
    }
    const int across = n / down;
    for (int i = 0; i < E * n; i++) {
        const int k = i % n;
        const int from = i - k + k % down * across + k / down;
        memcpy(wrong + i * l->tile, right + from * l->tile, (size_t)l->tile);
    }
}

static void tiles_transposed(const layout *l)
{
    const int down = l->inner;
    const int across = l->tile / down;

    for (int i = 0; i < E * each(l); i++) {
        const int k = i % l->tile;
        wrong[i] = right[i - k + k % down * across + k / down];
    }
}

static void other_granule(const layout *l)
{
    put(l, wrong, each(l), logical, l->at_other, 0);
}

static void not_applied(const layout *l)
{
    memset(wrong, 0, (size_t)(E * each(l)));
    memcpy(wrong, logical, (size_t)n_live(l));
}

static int has_pad(const layout *l)
{
    return each(l) != l->rows * l->cols;
}

/* The stride forgets the pad, or has one where there is none. */
static void other_stride(const layout *l)
{
    const int apart = has_pad(l) ? l->rows * l->cols : each(l) + 64;

    memset(wrong, 0, (size_t)(E * each(l)));
    for (int i = 0; i < E * each(l); i++) {
        const int to = i / each(l) * apart + i % each(l);
        if (to < E * each(l)) {
            wrong[to] = right[i];
        }
    }
}

/* Other bytes in the pad, or the second half of the blob not written. */
static void other_pad(const layout *l)
{
    if (has_pad(l)) {
        put(l, wrong, each(l), logical, l->at, 0x7f);
    } else {
        memcpy(wrong, right, (size_t)(E * each(l)));
        memset(wrong + E * each(l) / 2, 0, (size_t)(E * each(l) / 2));
    }
}

/* The memory of a whole tensor is taken for a tensor once more. */
static void applied_twice(const layout *l)
{
    layout whole = *l;

    whole.rows = padded_rows(l);
    whole.cols = padded_cols(l);
    put(&whole, wrong, each(l), right, l->at, 0);
}

static const struct in_memory {
    void (*make)(const layout *l);
    const char *expression; /* NULL: the layout's own */
    const char *fault;
} memories[] = {
    {words_reversed, "bytes of every word of 4", "32-bit words reversed"},
    {half_words_reversed, "bytes of every word of 2", "16-bit words reversed"},
    {tile_repeated, "bytes .* hold what belongs", "a tile repeated"},
    {tiles_by_column, "column by column", "tiles in order of columns"},
    {tiles_transposed, "column by column", "every tile transposed"},
    {other_granule, NULL, "another granule or layout"},
    {not_applied, "no layout was applied", "layout not applied"},
    {other_stride, "the pad\\|needless", "missing or needless padding"},
    {other_pad, "pad of the layout: it is 7f\\|the tail is missing",
     "other pad, or no tail"},
    {applied_twice, "applied twice", "layout applied twice"},
};

static void save(const char *dir, const layout *l, const char *what,
                 const uint8_t *bytes)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.%s", dir, l->name, what);
    FILE *f = fopen(path, "wb");

    if (f == NULL ||
        fwrite(bytes, 1, (size_t)(E * each(l)), f) != (size_t)(E * each(l)) ||
        fclose(f) != 0) {
        perror(path);
        exit(99);
    }
}

static void plant(const char *dir, const layout *l, const char *expression,
                  const char *fault)
{
    static int n;
    char number[16];

    (void)snprintf(number, sizeof number, "%03d", n++);
    if (memcmp(right, wrong, (size_t)(E * each(l))) == 0) {
        fprintf(stderr, "%s, %s: no fault\n", l->name, fault);
        exit(99);
    }
    save(dir, l, number, wrong);
    printf("%s\t%d,%d,%d\t%s\t%s\t%s\n", l->name, E, l->rows, l->cols, number,
           expression, fault);
}

static void plant_all(const char *dir, const layout *l)
{
    for (int i = 0; i < n_live(l); i++) {
        logical[i] = draw();
    }
    put(l, right, each(l), logical, l->at, 0);
    save(dir, l, "right", right);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        make_changed(l, &changes[i]);
        plant(dir, l, changes[i].expression, changes[i].fault);
    }
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        make_moved(l, &moves[i]);
        plant(dir, l, moves[i].expression, moves[i].fault);
    }
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
        memories[i].make(l);
        plant(dir, l,
              memories[i].expression == NULL ? l->other
                                             : memories[i].expression,
              memories[i].fault);
    }
}

int main(int argc, char **argv)
{
    for (int i = 0; argc == 2 && i < N_LAYOUTS; i++) {
        plant_all(argv[1], &layouts[i]);
    }
    return argc == 2 ? 0 : 2;
}
