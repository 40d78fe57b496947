/* SPDX-License-Identifier: Apache-2.0 */
/* See diff_location.h. */
#include "diff_location.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LISTED = 6,
    SMALL_TILE = 16,
    LARGE_TILE = 128,
    EXPERTS = 4096,
    MAP_SLOTS = 8,
    CELLS = 48 /* of a map, down and across */
};

/* The output as a matrix: all axes but the last are rows. */
typedef struct map {
    const evidence *e;
    const host_tensor *want;
    const host_tensor *got;
    uint64_t rows;
    uint64_t cols;
    uint64_t *row; /* owned, as col: wrong elements in each */
    uint64_t *col;
} map;

static int is_wrong(const map *m, uint64_t i)
{
    if (m->e->bound.fails != NULL) {
        return m->e->bound.fails[i];
    }
    return !compare_codes(m->e->rule, m->want->dtype, tensor_load(m->want, i),
                          tensor_load(m->got, i));
}

static int map_make(map *m, const evidence *e)
{
    memset(m, 0, sizeof *m);
    m->e = e;
    m->want = &e->want->t[e->output];
    m->got = &e->got->t[e->output];
    if (m->want->rank < 2 || tensor_elems(m->want) == 0) {
        return -1;
    }
    m->cols = m->want->shape[m->want->rank - 1];
    m->rows = tensor_elems(m->want) / m->cols;
    m->row = calloc(m->rows, sizeof *m->row);
    m->col = calloc(m->cols, sizeof *m->col);
    if (m->row == NULL || m->col == NULL) {
        return -1;
    }
    for (uint64_t i = 0; i < m->rows * m->cols; i++) {
        const int wrong = is_wrong(m, i);
        m->row[i / m->cols] += (uint64_t)wrong;
        m->col[i % m->cols] += (uint64_t)wrong;
    }
    return 0;
}

/* "rows 1 3 4", "rows 16..31", "all rows". */
static void say_line(const char *what, const uint64_t *count, uint64_t n,
                     strbuf *lines)
{
    uint64_t wrong = 0;
    uint64_t first = 0;
    uint64_t last = 0;

    for (uint64_t i = 0; i < n; i++) {
        if (count[i] != 0) {
            first = wrong++ == 0 ? i : first;
            last = i;
        }
    }
    if (wrong == n) {
        strbuf_add(lines, "all %s", what);
    } else if (wrong == 1) {
        strbuf_add(lines, "%.*s %" PRIu64 " only", (int)strlen(what) - 1, what,
                   first);
    } else if (wrong == last - first + 1) {
        strbuf_add(lines, "%s %" PRIu64 "..%" PRIu64, what, first, last);
    } else {
        strbuf_add(lines, "%" PRIu64 " of %" PRIu64 " %s", wrong, n, what);
        for (uint64_t i = 0, shown = 0; wrong <= n / 2 && i < n; i++) {
            if (count[i] != 0 && shown < LISTED) {
                strbuf_add(lines, "%s %" PRIu64, shown == 0 ? ":" : "", i);
                shown++;
            }
        }
        strbuf_add(lines, "%s", wrong > LISTED && wrong <= n / 2 ? " ..." : "");
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Has a tile a wrong element? */
static int tile_is_wrong(const map *m, uint64_t r0, uint64_t c0, uint64_t size)
{
    const uint64_t r1 = least(r0 + size, m->rows);
    const uint64_t c1 = least(c0 + size, m->cols);

    for (uint64_t r = r0; r < r1; r++) {
        for (uint64_t c = c0; m->row[r] != 0 && c < c1; c++) {
            if (m->col[c] != 0 && is_wrong(m, r * m->cols + c)) {
                return 1;
            }
        }
    }
    return 0;
}

/* Tiles of one size, unless there is only one or all are wrong. */
static void say_tiles(const map *m, uint64_t size, strbuf *lines)
{
    const uint64_t down = (m->rows + size - 1) / size;
    const uint64_t across = (m->cols + size - 1) / size;
    uint64_t at[LISTED];
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < down * across; i++) {
        if (tile_is_wrong(m, i / across * size, i % across * size, size)) {
            at[wrong < LISTED ? wrong : LISTED - 1] = i;
            wrong++;
        }
    }
    if (down * across < 2 || wrong == down * across) {
        return;
    }
    strbuf_add(lines,
               "; %" PRIu64 " of %" PRIu64 " tiles of %" PRIu64 " x %" PRIu64,
               wrong, down * across, size, size);
    for (uint64_t i = 0; wrong < LISTED && i < wrong; i++) {
        strbuf_add(lines, " [%" PRIu64 ",%" PRIu64 "]", at[i] / across,
                   at[i] % across);
    }
}

/* How often an expert is in wrong rows and in right ones. */
typedef struct share {
    uint64_t wrong;
    uint64_t right;
} share;

/* Rows are tokens, or pairs of token and slot. */
static uint64_t count_experts(const map *m, const host_tensor *ids, share *s)
{
    const uint64_t n = tensor_elems(ids);
    const uint64_t per_row = n / m->rows;
    uint64_t wrong = 0;

    for (uint64_t r = 0; r < m->rows; r++) {
        for (uint64_t j = 0; j < per_row; j++) {
            const uint64_t id = tensor_load(ids, r * per_row + j);
            if (id < EXPERTS) {
                s[id].wrong += m->row[r] != 0;
                s[id].right += m->row[r] == 0;
            }
        }
        wrong += m->row[r] != 0;
    }
    return wrong;
}

/* The expert that all wrong rows have and no right one. */
static void say_experts(const map *m, strbuf *lines)
{
    const host_tensor *ids = tensor_set_find(m->e->call->in, "topk_ids");
    share *s;

    if (ids == NULL || tensor_elems(ids) == 0 ||
        tensor_elems(ids) % m->rows != 0 ||
        (s = calloc(EXPERTS, sizeof *s)) == NULL) {
        return;
    }
    const uint64_t wrong = count_experts(m, ids, s);
    int named = 0;

    for (int id = 0; id < EXPERTS && wrong < m->rows; id++) {
        if (s[id].wrong >= wrong && s[id].right == 0 && !named) {
            strbuf_add(lines, "expert %d: its rows are wrong, and no others\n",
                       id);
            named = 1;
        }
    }
    free(s);
}

void diff_location_say(const evidence *e, strbuf *lines)
{
    map m;

    if (map_make(&m, e) == 0) {
        strbuf_add(lines, "wrong: ");
        say_line("rows", m.row, m.rows, lines);
        strbuf_add(lines, "; ");
        say_line("columns", m.col, m.cols, lines);
        say_tiles(&m, LARGE_TILE, lines);
        say_tiles(&m, SMALL_TILE, lines);
        strbuf_add(lines, "\n");
        say_experts(&m, lines);
    }
    free(m.row);
    free(m.col);
}

/* Wrong elements of the cell that holds rows r0.. and columns c0.., as a
   share. */
static double share_wrong(const map *m, const uint64_t from[2],
                          const uint64_t to[2])
{
    uint64_t wrong = 0;

    for (uint64_t r = from[0]; r < to[0]; r++) {
        for (uint64_t c = from[1]; m->row[r] != 0 && c < to[1]; c++) {
            wrong += (uint64_t)(m->col[c] != 0 && is_wrong(m, r * m->cols + c));
        }
    }
    return (double)wrong / (double)((to[0] - from[0]) * (to[1] - from[1]));
}

/* Where cell i of n begins among count lines. */
static uint64_t edge(uint64_t i, uint64_t n, uint64_t count)
{
    return i * count / n;
}

static json_t *map_cells(const map *m, uint64_t down, uint64_t across)
{
    json_t *list = json_array();

    for (uint64_t i = 0; i < down * across; i++) {
        const uint64_t y = i / across;
        const uint64_t x = i % across;
        const uint64_t from[2] = {edge(y, down, m->rows),
                                  edge(x, across, m->cols)};
        const uint64_t to[2] = {edge(y + 1, down, m->rows),
                                edge(x + 1, across, m->cols)};
        json_array_append_new(list, json_real(share_wrong(m, from, to)));
    }
    return list;
}

/* The experts of a row: one of each slot, the first few. */
static json_t *row_experts(const host_tensor *ids, uint64_t row, uint64_t slots)
{
    json_t *list = json_array();

    for (uint64_t i = 0; i < least(slots, MAP_SLOTS); i++) {
        const uint64_t id = tensor_load(ids, row * slots + i);
        if (id < EXPERTS) {
            json_array_append_new(list, json_integer((json_int_t)id));
        }
    }
    return list;
}

/* Of each row of cells, by its first row. */
static json_t *map_experts(const map *m, uint64_t down)
{
    const host_tensor *ids = tensor_set_find(m->e->call->in, "topk_ids");
    json_t *list = json_array();
    const uint64_t n = ids == NULL ? 0 : tensor_elems(ids);

    for (uint64_t y = 0; n > 0 && n % m->rows == 0 && y < down; y++) {
        json_array_append_new(
            list, row_experts(ids, edge(y, down, m->rows), n / m->rows));
    }
    return list;
}

char *diff_location_map(const evidence *e, json_t *layout)
{
    char *text = NULL;
    map m;

    if (map_make(&m, e) == 0) {
        const uint64_t down = least(m.rows, CELLS);
        const uint64_t across = least(m.cols, CELLS);
        json_t *o =
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:i, s:o, s:o, s:O*}",
                      "tensor", m.want->name, "rows", (json_int_t)m.rows,
                      "cols", (json_int_t)m.cols, "down", (json_int_t)down,
                      "across", (json_int_t)across, "tile",
                      m.cols > LARGE_TILE || m.rows > LARGE_TILE ? LARGE_TILE
                                                                 : SMALL_TILE,
                      "experts", map_experts(&m, down), "wrong",
                      map_cells(&m, down, across), "layout", layout);
        text = o == NULL ? NULL
                         : json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(3));
        json_decref(o);
    }
    json_decref(layout);
    free(m.row);
    free(m.col);
    return text;
}
