/* SPDX-License-Identifier: Apache-2.0 */
/* See html_page.h. */
#include "html_page.h"

#include "baseline.h"
#include "layout/drawing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CAUSES_SHOWN = 100, CELL = 10, LEFT = 44, TOP = 16 };

static const char style[] =
#include "html_style.inc"
    ;

void html_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '&') {
            fputs("&amp;", out);
        } else if (c == '<') {
            fputs("&lt;", out);
        } else if (c == '>') {
            fputs("&gt;", out);
        } else if (c == '"') {
            fputs("&quot;", out);
        } else {
            fputc(c < 0x20 && c != '\n' ? '?' : (int)c, out);
        }
    }
}

/* "12 of 300 cases are red, 2 causes" */
void html_open(FILE *out, const report_run *run, const tally *t)
{
    const uint64_t red = tally_red(t);
    const uint64_t judged = tally_total(t) - tally_left_out(t);
    const char *colour = red > 0                               ? "red"
                         : run->stopped != NULL || judged == 0 ? "amber"
                                                               : "green";
    const char *whole = judged == 0 ? "NOTHING JUDGED:" : "GREEN:";

    fprintf(out,
            "<!doctype html><html lang=en><meta charset=utf-8><meta "
            "name=viewport content=\"width=device-width,initial-scale=1\">"
            "<title>mxoracle: %s</title><style>%s</style><main><h1>mxoracle "
            "%s</h1><p class=\"verdict %s\"><strong>%s</strong> %" PRIu64
            " of %" PRIu64 " judged cases red, %" PRIu64 " not judged, %" PRIu64
            " failing as expected",
            red > 0 ? "red" : "not red", style, run->command, colour,
            red > 0                ? "RED:"
            : run->stopped != NULL ? "NOT WHOLE:"
                                   : whole,
            red, judged, tally_left_out(t), t->n[VERDICT_EXPECTED]);
    if (run->stopped != NULL) {
        fputs("; stopped by ", out);
        html_text(out, run->stopped);
        fprintf(out, " with %" PRIu64 " planned", run->n_planned);
    }
    fputs(".</p>", out);
}

static void say_cell(FILE *out, const report_run *run, const tally *t,
                     const char *backend, const char *op)
{
    const tally_row *row = tally_row_of(t, backend, op);
    const uint64_t red = row == NULL ? 0 : tally_row_red(row);
    const uint64_t judged =
        row == NULL ? 0 : red + row->n[VERDICT_PASS] + row->n[VERDICT_EXPECTED];
    const uint64_t needed = run->expected == NULL
                                ? 0
                                : baseline_required(run->expected, backend, op);

    if (row == NULL) {
        fputs("<td class=dim>&ndash;</td>", out);
    } else if (red > 0) {
        fprintf(out, "<td class=red>&#10007; %" PRIu64 " red of %" PRIu64, red,
                judged);
    } else if (judged > 0) {
        fprintf(out, "<td class=green>&#10003; %" PRIu64, judged);
    } else {
        fprintf(out, "<td class=dim>%s",
                row->n[VERDICT_UNSUPPORTED] > 0 ? "not offered" : "skipped");
    }
    if (needed > 0) {
        fprintf(out, " <span class=dim>/ %" PRIu64 " required</span>", needed);
    }
    fputs("</td>", out);
}

/* Whether an earlier row is of the same operation. */
static int is_seen(const tally *t, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (strcmp(t->row[k].op, t->row[i].op) == 0) {
            return 1;
        }
    }
    return 0;
}

void html_matrix(FILE *out, const report_run *run, const tally *t)
{
    fputs("<h2>Operations by backends</h2><div class=scroll tabindex=0 "
          "role=region aria-label=\"operations by backends\"><table><thead>"
          "<tr><th scope=col>operation</th>",
          out);
    for (int b = 0; b < run->n_backends; b++) {
        fputs("<th scope=col>", out);
        html_text(out, run->backends[b].name);
        fputs("</th>", out);
    }
    fputs("</tr></thead><tbody>", out);
    for (size_t i = 0; i < t->n_rows; i++) {
        if (is_seen(t, i)) {
            continue;
        }
        fputs("<tr><th scope=row>", out);
        html_text(out, strcmp(t->row[i].op, "*") == 0 ? "(every operation)"
                                                      : t->row[i].op);
        fputs("</th>", out);
        for (int b = 0; b < run->n_backends; b++) {
            say_cell(out, run, t, run->backends[b].name, t->row[i].op);
        }
        fputs("</tr>", out);
    }
    fputs("</tbody></table></div>", out);
}

/* One square for each cell that is wrong, darker the more of it is. */
static void draw_cells(FILE *out, const json_t *map, int down, int across)
{
    const json_t *wrong = json_object_get(map, "wrong");

    for (int i = 0; i < down * across; i++) {
        const double share =
            json_number_value(json_array_get(wrong, (size_t)i));
        if (share > 0) {
            fprintf(out,
                    "<rect class=hot x=%d y=%d width=%d height=%d "
                    "opacity=%.2f><title>%.0f %%</title></rect>",
                    LEFT + i % across * CELL, TOP + i / across * CELL, CELL,
                    CELL, 0.3 + 0.7 * share, share * 100);
        }
    }
}

/* Edges of tiles, where they are wider than a cell. */
static void draw_tiles(FILE *out, uint64_t size, uint64_t n, int cells,
                       int other, int is_across)
{
    const uint64_t n_tiles = size > 0 ? n / size : 0;

    for (uint64_t at = size; at > 0 && n_tiles <= (uint64_t)cells && at < n;
         at += size) {
        const double p = (double)at * cells / (double)n * CELL;
        if (is_across) {
            fprintf(out, "<path class=tile d=\"M%.1f %dv%d\"/>", LEFT + p, TOP,
                    other * CELL);
        } else {
            fprintf(out, "<path class=tile d=\"M%d %.1fh%d\"/>", LEFT, TOP + p,
                    other * CELL);
        }
    }
}

static void draw_ids(FILE *out, const json_t *ids)
{
    const size_t n = json_array_size(ids);

    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%s%" JSON_INTEGER_FORMAT,
                i > 0    ? ", "
                : n == 1 ? "expert "
                         : "experts ",
                json_integer_value(json_array_get(ids, i)));
    }
}

/* The experts of each row of cells, said where they change. */
static void draw_experts(FILE *out, const json_t *map, int down, int across)
{
    const json_t *experts = json_object_get(map, "experts");
    const json_t *last = NULL;

    for (int y = 0; y < down && json_array_size(experts) > 0; y++) {
        const json_t *ids = json_array_get(experts, (size_t)y);
        if (json_array_size(ids) > 0 && !json_equal(ids, last)) {
            fprintf(out, "<text x=%d y=%d>", LEFT + across * CELL + 4,
                    TOP + y * CELL + CELL);
            draw_ids(out, ids);
            fputs("</text>", out);
        }
        last = ids;
    }
}

/* Room for their longest line. */
static int width_of_experts(const json_t *map)
{
    size_t most = 0;
    size_t i;
    const json_t *ids;

    json_array_foreach(json_object_get(map, "experts"), i, ids)
    {
        const size_t n = json_array_size(ids);
        most = n > most ? n : most;
    }
    return 64 + 24 * (int)most;
}

/* Picture of the layout on this shape, beside the actual result. */
static void draw_layout(FILE *out, const json_t *layout)
{
    const char *name = json_string_value(json_object_get(layout, "name"));
    const json_t *shape = json_object_get(layout, "shape");
    strbuf drawing = {0};
    uint64_t extent[3];

    for (size_t i = 0; i < 3; i++) {
        extent[i] = (uint64_t)json_integer_value(json_array_get(shape, i));
    }
    if (name != NULL && drawing_add(name,
                                    (uint32_t)json_integer_value(
                                        json_object_get(layout, "elem_bytes")),
                                    extent, &drawing) == 0) {
        fputs("<p>What the layout asks for:</p><div class=scroll tabindex=0 "
              "role=region aria-label=\"layout\">",
              out);
        fputs(drawing.text, out);
        fputs("</div>", out);
    }
    strbuf_clear(&drawing);
}

static void draw_map(FILE *out, const char *text)
{
    json_t *map = text == NULL ? NULL : json_loads(text, 0, NULL);
    const int down = (int)json_integer_value(json_object_get(map, "down"));
    const int across = (int)json_integer_value(json_object_get(map, "across"));
    const uint64_t rows =
        (uint64_t)json_integer_value(json_object_get(map, "rows"));
    const uint64_t cols =
        (uint64_t)json_integer_value(json_object_get(map, "cols"));
    const uint64_t tile =
        (uint64_t)json_integer_value(json_object_get(map, "tile"));

    if (down > 0 && across > 0) {
        const int width = LEFT + across * CELL + width_of_experts(map);
        const int height = TOP + down * CELL + 6;
        fprintf(out,
                "<p>Where it is wrong: %" PRIu64 " rows down, %" PRIu64
                " columns across; dashed lines every %" PRIu64
                ".</p><svg role=img aria-label=\"heat map of wrong elements\" "
                "width=%d height=%d viewBox=\"0 0 %d %d\"><text x=%d "
                "y=11>column 0 to %" PRIu64 "</text><text x=0 y=%d>row 0"
                "</text><text x=0 y=%d>%" PRIu64 "</text><rect class=cell0 "
                "x=%d y=%d width=%d height=%d />",
                rows, cols, tile, width, height, width, height, LEFT, cols - 1,
                TOP + 9, TOP + down * CELL, rows - 1, LEFT, TOP, across * CELL,
                down * CELL);
        draw_cells(out, map, down, across);
        draw_tiles(out, tile, cols, across, down, 1);
        draw_tiles(out, tile, rows, down, across, 0);
        draw_experts(out, map, down, across);
        fprintf(out, "<rect class=frame x=%d y=%d width=%d height=%d /></svg>",
                LEFT, TOP, across * CELL, down * CELL);
        draw_layout(out, json_object_get(map, "layout"));
    }
    json_decref(map);
}

static void say_cause(FILE *out, const cause *c, int is_open)
{
    fprintf(out,
            "<details%s><summary><strong class=red>%" PRIu64 " %s</strong> ",
            is_open ? " open" : "", c->n, verdict_name(c->status));
    html_text(out, c->backend);
    fputs(" <code>", out);
    html_text(out, c->op);
    fprintf(out, "</code>, %s: ", cause_class(c));
    html_text(out, c->reason == NULL ? "" : c->reason);
    fputs("</summary><p>First case:</p><pre tabindex=0>", out);
    html_text(out, c->repro == NULL ? "" : c->repro);
    fputs("</pre>", out);
    draw_map(out, c->map);
    if (c->detail != NULL) {
        fputs("<pre tabindex=0>", out);
        html_text(out, c->detail);
        fputs("</pre>", out);
    }
    fputs("</details>", out);
}

void html_causes(FILE *out, const cause_list *causes)
{
    uint64_t n = 0;

    for (size_t i = 0; i < causes->n; i++) {
        n += causes->cause[i].n;
    }
    if (n == 0) {
        return;
    }
    fprintf(out, "<h2>%" PRIu64 " red, %zu cause%s</h2>", n, causes->n,
            causes->n == 1 ? "" : "s");
    for (size_t i = 0; i < causes->n && i < CAUSES_SHOWN; i++) {
        say_cause(out, &causes->cause[i], i == 0);
    }
    if (causes->n > CAUSES_SHOWN) {
        fprintf(out, "<p>and %zu more causes</p>", causes->n - CAUSES_SHOWN);
    }
}

/* Bars by the logarithm: one element beside a million must be seen. */
static void draw_use(FILE *out, const verdict_use *use)
{
    static const char *const upto[VERDICT_BINS] = {
        "none", "1/64", "1/16", "1/4", "1/2", "all", "beyond"};

    fputs("<svg role=img aria-label=\"elements by the share of their bound\" "
          "width=340 height=96 viewBox=\"0 0 340 96\">",
          out);
    for (int k = 0; k < VERDICT_BINS; k++) {
        int height = 0;
        for (uint64_t n = use->n[k]; n > 0; n /= 4) {
            height += 4;
        }
        height = height > 66 ? 66 : height;
        fprintf(out,
                "<rect class=bar x=%d y=%d width=36 height=%d />"
                "<text x=%d y=%d>%" PRIu64 "</text><text x=%d y=94>%s</text>",
                4 + k * 48, 82 - height, height, 4 + k * 48,
                height + 14 > 82 ? 10 : 78 - height, use->n[k], 4 + k * 48,
                upto[k]);
    }
    fputs("</svg>", out);
}

void html_bounds(FILE *out, const tally *t)
{
    int has_title = 0;

    for (size_t i = 0; i < t->n_rows; i++) {
        const tally_row *row = &t->row[i];
        uint64_t n = 0;
        for (int k = 0; k < VERDICT_BINS; k++) {
            n += row->use.n[k];
        }
        if (n > 0 && !has_title) {
            fputs("<h2>Share of the bounds that was needed</h2>", out);
            has_title = 1;
        }
        if (n > 0) {
            fputs("<p>", out);
            html_text(out, row->backend);
            fputs(" <code>", out);
            html_text(out, row->op);
            fprintf(out, "</code>, elements; most %.3g</p>", row->use.most);
            draw_use(out, &row->use);
        }
    }
}

void html_left_out(FILE *out, const tally *t)
{
    if (t->n_reasons == 0) {
        return;
    }
    fputs("<h2>Not judged</h2><div class=scroll tabindex=0 role=region "
          "aria-label=\"not judged\"><table class=words><thead><tr><th "
          "scope=col>cases"
          "</th><th scope=col>backend</th><th scope=col>reason</th></tr>"
          "</thead><tbody>",
          out);
    for (size_t i = 0; i < t->n_reasons; i++) {
        const tally_reason *r = &t->reason[i];
        fprintf(out, "<tr><td>%" PRIu64 "</td><th scope=row>", r->n);
        html_text(out, r->backend);
        fprintf(out, "</th><td>%s: ", verdict_name(r->status));
        html_text(out, r->reason);
        fputs("</td></tr>", out);
    }
    fputs("</tbody></table></div>", out);
}

void html_environment(FILE *out, const report_run *run)
{
    fputs("<h2>Environment</h2><p>mxoracle ", out);
    html_text(out, run->version);
    fprintf(out, ", build %s, ", report_run_build(run));
    html_text(out, run->compiler);
    fprintf(out, ", seed %s", run->seeds);
    if (run->level > 0) {
        fprintf(out, ", level %d", run->level);
    }
    fprintf(out, ", begun %s", run->started);
    fputs(", on ", out);
    html_text(out, run->machine);
    fputs(", ", out);
    html_text(out, run->os);
    if (run->baseline != NULL) {
        fputs(", held against ", out);
        html_text(out, run->baseline);
    }
    fputs("</p><div class=scroll tabindex=0 role=region "
          "aria-label=backends><table class=words><thead><tr><th "
          "scope=col>backend</th>"
          "<th scope=col>version</th><th scope=col>device</th><th scope=col>"
          "driver</th></tr></thead><tbody>",
          out);
    for (int i = 0; i < run->n_backends; i++) {
        const backend_info *b = &run->backends[i];
        fputs("<tr><th scope=row>", out);
        html_text(out, b->name);
        fputs("</th><td>", out);
        html_text(out, b->why_not[0] == '\0' ? b->version : b->why_not);
        fputs("</td><td>", out);
        html_text(out, b->device);
        fputs("</td><td>", out);
        html_text(out, b->driver);
        fputs("</td></tr>", out);
    }
    fputs("</tbody></table></div>", out);
}
