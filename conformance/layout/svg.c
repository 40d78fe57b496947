/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of a layout: on the left the tensor, each cell with its place
 * in memory; on the right memory, each cell with the row and column it holds.
 * A colour stands for one run of memory, so that tiles are seen at once; an
 * arrow follows memory through the tensor.
 */
#include "explain.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    MOST_COLS = 16,
    CELL_W = 44,
    CELL_H = 14,
    MEMORY_COLS = 8,
    TOP = 44,
    GAP = 56,
    N_COLOURS = 12
};

static const char *const colours[N_COLOURS] = {
    "#cfe8ff", "#ffe3c2", "#d6f5d6", "#f6d5e5", "#e4dcf7", "#fff3b0",
    "#c9f0ee", "#f9d0c4", "#dfe7b8", "#d9d9e8", "#ffd6f0", "#cde0c9",
};

typedef struct frame {
    const explained *e;
    strbuf *out;
    uint64_t per_row; /* units */
    uint64_t rows;    /* shown */
    uint64_t cols;
    uint64_t run; /* units of memory of one colour */
    uint64_t memory_rows;
} frame;

/* Colour number of a memory unit. */
static uint64_t colour_of(const frame *f, uint64_t dst)
{
    return dst / f->run % N_COLOURS;
}

/* Neighbours of one colour are one rectangle: the file stays small. */
static void band(const frame *f, int x, int y, const uint64_t *dst, uint64_t n)
{
    uint64_t first = 0;

    for (uint64_t i = 1; i <= n; i++) {
        if (i < n && colour_of(f, dst[i]) == colour_of(f, dst[first])) {
            continue;
        }
        strbuf_add(f->out,
                   "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                   "fill=\"%s\"/>\n",
                   x + (int)first * CELL_W, y, (int)(i - first) * CELL_W,
                   CELL_H, colours[colour_of(f, dst[first])]);
        first = i;
    }
}

static void tensor_panel(const frame *f)
{
    const mxo_layout *l = &f->e->l;

    for (uint64_t r = 0; r < f->rows; r++) {
        const int y = TOP + (int)r * CELL_H;
        uint64_t dst[MOST_COLS];
        for (uint64_t c = 0; c < f->cols; c++) {
            dst[c] = mxo_layout_forward(
                l, mxo_layout_padded_index(l, r * f->per_row + c));
        }
        band(f, 8, y, dst, f->cols);
        strbuf_add(f->out, "<text y=\"%d\">", y + 10);
        for (uint64_t c = 0; c < f->cols; c++) {
            strbuf_add(f->out, "<tspan x=\"%d\">%" PRIu64 "</tspan>",
                       8 + (int)c * CELL_W + CELL_W / 2, dst[c]);
        }
        strbuf_add(f->out, "</text>\n");
    }
}

/* "row,column" of what memory unit i holds. */
static void held(const frame *f, uint64_t i, char text[48])
{
    const mxo_layout *l = &f->e->l;
    uint64_t src = 0;
    uint8_t byte = 0;

    if (mxo_layout_content_at(l, i, &src, &byte) != MXO_LAYOUT_LIVE) {
        (void)snprintf(text, 48, "pad");
        return;
    }
    (void)snprintf(text, 48, "%" PRIu64 ",%" PRIu64,
                   src / f->per_row % l->extent[1], src % f->per_row);
}

static void memory_panel(const frame *f, int left)
{
    for (uint64_t r = 0; r < f->memory_rows; r++) {
        const uint64_t first = r * MEMORY_COLS;
        const uint64_t rest = f->e->l.n_units - first;
        const uint64_t n = rest < MEMORY_COLS ? rest : MEMORY_COLS;
        const int y = TOP + (int)r * CELL_H;
        uint64_t dst[MEMORY_COLS];
        for (uint64_t i = 0; i < n; i++) {
            dst[i] = first + i;
        }
        band(f, left, y, dst, n);
        strbuf_add(f->out, "<text y=\"%d\">", y + 10);
        for (uint64_t i = 0; i < n; i++) {
            char text[48];
            held(f, first + i, text);
            strbuf_add(f->out, "<tspan x=\"%d\">%s</tspan>",
                       left + (int)i * CELL_W + CELL_W / 2, text);
        }
        strbuf_add(f->out, "</text>\n");
    }
}

/* Lines between the cells of a panel. */
static void lines(const frame *f, int left, uint64_t rows, uint64_t cols)
{
    const int width = (int)cols * CELL_W;
    const int height = (int)rows * CELL_H;

    strbuf_add(f->out, "<path d=\"");
    for (int r = 0; r <= (int)rows; r++) {
        strbuf_add(f->out, "M%d %dh%d", left, TOP + r * CELL_H, width);
    }
    for (int c = 0; c <= (int)cols; c++) {
        strbuf_add(f->out, "M%d %dv%d", left + c * CELL_W, TOP, height);
    }
    strbuf_add(f->out, "\" stroke=\"#999\" stroke-width=\".5\"/>\n");
}

/* A line through the cells that the first units of memory come from. */
static void arrow(const frame *f)
{
    const mxo_layout *l = &f->e->l;
    uint64_t n = 0;

    strbuf_add(f->out, "<polyline marker-end=\"url(#tip)\" points=\"");
    for (uint64_t i = 0; i < l->n_units && n < 16; i++) {
        uint64_t src = 0;
        uint8_t byte = 0;
        if (mxo_layout_content_at(l, i, &src, &byte) != MXO_LAYOUT_LIVE) {
            continue;
        }
        const uint64_t row = src / f->per_row;
        const uint64_t col = src % f->per_row;
        n++;
        if (row < f->rows && col < f->cols) {
            strbuf_add(f->out, "%d,%d ", 8 + (int)col * CELL_W + CELL_W - 6,
                       TOP + (int)row * CELL_H + CELL_H / 2);
        }
    }
    strbuf_add(f->out, "\"/>\n");
}

/* Largest power-of-two run that still gives several colours. */
static uint64_t run_of(uint64_t n_units)
{
    uint64_t run = MEMORY_COLS;

    while (run * 4 * N_COLOURS < n_units) {
        run *= 2;
    }
    return run;
}

static void heading(const frame *f, int left, int width, int height)
{

    strbuf_add(f->out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" "
               "viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
               "role=\"img\">\n<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
               "<title>%s</title>\n"
               "<style>text{font:9px monospace;text-anchor:middle;fill:#111}"
               "text.h{font:12px sans-serif;text-anchor:start}"
               "polyline{fill:none;stroke:#c00;stroke-width:1.5;stroke-opacity:"
               ".5}</style>\n"
               "<defs><marker id=\"tip\" viewBox=\"0 0 6 6\" refX=\"5\" "
               "refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" "
               "orient=\"auto\"><path d=\"M0 0 6 3 0 6z\" fill=\"#c00\"/>"
               "</marker></defs>\n"
               "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
               width, height, width, height, f->e->name, width, height);
    strbuf_add(f->out,
               "<text class=\"h\" x=\"8\" y=\"16\">%s</text>\n"
               "<text class=\"h\" x=\"8\" y=\"34\">tensor: place in "
               "memory</text>\n<text class=\"h\" x=\"%d\" y=\"34\">memory: "
               "row,column</text>\n",
               f->e->name, left);
}

void explain_svg(const explained *e, strbuf *out)
{
    const mxo_layout *l = &e->l;
    const uint64_t per_row = l->extent[2] * l->units;
    const uint64_t cols = per_row < MOST_COLS ? per_row : MOST_COLS;
    const uint64_t most = cols <= 4 ? 128 : 32;
    const uint64_t rows = l->extent[1] < most ? l->extent[1] : most;
    const uint64_t all = (l->n_units + MEMORY_COLS - 1) / MEMORY_COLS;
    const uint64_t tall = rows < 16 ? 16 : rows;
    const frame f = {e,
                     out,
                     per_row,
                     rows,
                     cols,
                     run_of(l->n_units),
                     all < tall ? all : tall};
    const int left = 8 + (int)cols * CELL_W + GAP;
    const uint64_t tallest = rows > f.memory_rows ? rows : f.memory_rows;

    heading(&f, left, left + MEMORY_COLS * CELL_W + 8,
            TOP + (int)tallest * CELL_H + 8);
    tensor_panel(&f);
    lines(&f, 8, rows, cols);
    memory_panel(&f, left);
    lines(&f, left, f.memory_rows, MEMORY_COLS);
    arrow(&f);
    strbuf_add(out, "</svg>\n");
}
