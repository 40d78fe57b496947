/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines under a FAIL: how much differs and where, the first wrong
 * elements as codes and values with their scale and input, and a window of
 * the bytes.
 */
#include "diagnose.h"

#include "base/codes.h"
#include "base/number.h"
#include "diff_location.h"
#include "layout/pair.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 3 };

/* One differing output, as codes rather than stored elements. */
typedef struct close_up {
    const evidence *e;
    const host_tensor *want;
    const host_tensor *got;
    const tensor_view *view;
    const code_format *format; /* NULL: integers */
    int pack;
    const host_tensor *scale; /* NULL if there is none to show */
    const host_tensor *input;
} close_up;

static uint64_t code_at(const host_tensor *t, int pack, uint64_t i)
{
    const uint64_t stored = tensor_load(t, i / (uint64_t)pack);

    return pack == 2 ? stored >> (4 * (i % 2)) & 0xf : stored;
}

static uint64_t n_codes(const host_tensor *t, int pack)
{
    return tensor_elems(t) * (uint64_t)pack;
}

static const host_tensor *find_any(const evidence *e, const char *name)
{
    const host_tensor *t = tensor_set_find(e->want, name);

    return t != NULL ? t : tensor_set_find(e->call->in, name);
}

/* Whether element b of the scales belongs to block b of the codes. */
static int scales_are_linear(const evidence *e)
{
    const char *layout = case_value(e->c, "sf_layout");
    const char *axis = case_value(e->c, "axis");

    return (layout[0] == '\0' || strcmp(layout, "linear") == 0) &&
           (axis[0] == '\0' || strcmp(axis, "-1") == 0);
}

static close_up look_at(const evidence *e)
{
    const host_tensor *t = &e->want->t[e->output];
    close_up u = {.e = e, .want = t, .got = &e->got->t[e->output]};

    u.view = view_of(e->call->op, t->name);
    u.format = code_format_by_name(view_format(u.view, e->c, t));
    u.pack = view_pack(u.view, e->c, t);
    const uint64_t n = n_codes(t, u.pack);

    if (u.view->block > 0 && scales_are_linear(e)) {
        u.scale = find_any(e, u.view->scale);
        if (u.scale != NULL && tensor_elems(u.scale) * u.view->block != n) {
            u.scale = NULL;
        }
    }
    u.input = strcmp(u.view->input, "*") == 0 && e->call->in->n > 0
                  ? &e->call->in->t[0]
                  : tensor_set_find(e->call->in, u.view->input);
    return u;
}

/* Same rule as compare_tensors, on one code. */
static int code_differs(const close_up *u, uint64_t i)
{
    const uint64_t want = code_at(u->want, u->pack, i);
    const uint64_t got = code_at(u->got, u->pack, i);

    if (u->e->bound.fails != NULL && u->pack == 1) {
        return u->e->bound.fails[i];
    }
    return u->pack == 2 ? want != got
                        : !compare_codes(u->e->rule, u->want->dtype, want, got);
}

/* Logical shape: the last axis counts codes. */
static host_tensor logical(const close_up *u)
{
    host_tensor t = *u->want;

    if (t.rank > 0) {
        t.shape[t.rank - 1] *= (uint64_t)u->pack;
    }
    return t;
}

static void say_rows(const close_up *u, uint64_t first, uint64_t last,
                     strbuf *lines)
{
    const host_tensor t = logical(u);
    const uint64_t cols = t.rank > 1 ? t.shape[t.rank - 1] : 0;

    if (cols > 0 && first / cols == last / cols) {
        strbuf_add(lines, ", all in row %" PRIu64, first / cols);
    } else if (cols > 0) {
        strbuf_add(lines, ", in rows %" PRIu64 "..%" PRIu64, first / cols,
                   last / cols);
    }
}

static void say_counts(const close_up *u, strbuf *lines)
{
    const host_tensor t = logical(u);
    const uint64_t n = n_codes(u->want, u->pack);
    uint64_t n_diff = 0;
    uint64_t first = 0;
    uint64_t last = 0;
    char shape[128];
    char index[96];

    for (uint64_t i = 0; i < n; i++) {
        if (code_differs(u, i)) {
            first = n_diff++ == 0 ? i : first;
            last = i;
        }
    }
    view_shape(&t, shape, sizeof shape);
    view_index(&t, first, index, sizeof index);
    strbuf_add(lines, "%s %s%s: %" PRIu64 " of %" PRIu64 " differ", t.name,
               u->pack == 2 ? "e2m1" : dtype_name(t.dtype), strchr(shape, '['),
               n_diff, n);
    say_rows(u, first, last, lines);
    strbuf_add(lines, ", first at %s", index);
    if (u->pack == 2) {
        strbuf_add(lines, " (byte %" PRIu64 ", %s nibble)", first / 2,
                   first % 2 == 0 ? "low" : "high");
    }
    strbuf_add(lines, "\n");
}

static void say_value(double value, strbuf *lines)
{
    if (isnan(value)) {
        strbuf_add(lines, "NaN");
    } else {
        strbuf_add(lines, "%+.9g", value);
    }
}

static void say_code(const close_up *u, const char *word, uint64_t code,
                     strbuf *lines)
{
    const int digits = u->format == NULL ? 2 * (int)dtype_bytes(u->want->dtype)
                                         : (u->format->bits + 3) / 4;

    strbuf_add(lines, "%s %0*" PRIx64 " = ", word, digits, code);
    say_value(u->format == NULL ? dtype_value(u->want->dtype, code)
                                : code_value(u->format, code),
              lines);
}

static double scale_of(const close_up *u, uint64_t i)
{
    return u->scale == NULL
               ? 1
               : dtype_value(u->scale->dtype,
                             tensor_load(u->scale, i / u->view->block));
}

static void say_scale(const close_up *u, uint64_t i, strbuf *lines)
{
    const uint64_t block = i / u->view->block;
    const uint64_t code = tensor_load(u->scale, block);

    strbuf_add(lines, "; block %" PRIu64 ", scale %02" PRIx64 " = ", block,
               code);
    if (u->scale->dtype == MXO_E8M0 && code != 0xff) {
        strbuf_add(lines, "2^%d", (int)code - 127);
    } else {
        say_value(dtype_value(u->scale->dtype, code), lines);
    }
}

/* Whether x is halfway between two neighbouring codes of the format. */
static int is_tie(const code_format *f, double x)
{
    const uint64_t code = code_nearest(f, fabs(x));
    const double at = code_value(f, code);
    const uint64_t other = fabs(x) > at ? code + 1 : code - 1;

    return isfinite(x) && fabs(x) != at && other <= code_last_finite(f) &&
           fabs(x) == at / 2 + code_value(f, other) / 2;
}

static void say_input(const close_up *u, uint64_t i, strbuf *lines)
{
    const tensor_view *v = view_of(u->e->call->op, u->input->name);
    const int pack = view_pack(v, u->e->c, u->input);
    const code_format *f =
        code_format_by_name(view_format(v, u->e->c, u->input));

    if (n_codes(u->input, pack) != n_codes(u->want, u->pack)) {
        return;
    }
    const uint64_t code = code_at(u->input, pack, i);
    const double x =
        f == NULL ? dtype_value(u->input->dtype, code) : code_value(f, code);

    strbuf_add(lines, "   %s %s %0*" PRIx64 " = ", u->input->name,
               f == NULL ? dtype_name(u->input->dtype) : f->name,
               pack == 2 ? 1 : 2 * (int)dtype_bytes(u->input->dtype), code);
    say_value(x, lines);
    if (u->format == NULL || u->format->bits > 8 || u->format->special == 'e') {
        return;
    }
    const double units = x / scale_of(u, i);

    if (u->scale != NULL) {
        strbuf_add(lines, " -> %.9g in block units", units);
    }
    if (u->format->special != '8' && is_tie(u->format, units)) {
        strbuf_add(lines, ", a tie%s",
                   code_at(u->want, u->pack, i) % 2 == 0
                       ? ": the even code wins"
                       : "");
    }
}

static void say_elements(const close_up *u, strbuf *lines)
{
    const host_tensor t = logical(u);
    const uint64_t n = n_codes(u->want, u->pack);
    char index[96];
    int shown = 0;

    for (uint64_t i = 0; i < n && shown < SHOWN; i++) {
        if (!code_differs(u, i)) {
            continue;
        }
        shown++;
        view_index(&t, i, index, sizeof index);
        strbuf_add(lines, "%-8s ", index);
        say_code(u, "want", code_at(u->want, u->pack, i), lines);
        say_code(u, "   got", code_at(u->got, u->pack, i), lines);
        if (u->input != NULL) {
            say_input(u, i, lines);
        }
        if (u->scale != NULL) {
            say_scale(u, i, lines);
        }
        strbuf_add(lines, "\n");
    }
}

static void say_bytes(const uint8_t *bytes, uint64_t from, uint64_t n,
                      uint64_t limit, strbuf *lines)
{
    for (uint64_t i = from; i < from + n; i++) {
        if (i < limit) {
            strbuf_add(lines, " %02x", bytes[i]);
        } else {
            strbuf_add(lines, "   ");
        }
    }
    strbuf_add(lines, " |");
}

/* Narrow terminals get half as many bytes on a line. */
static uint64_t bytes_per_line(void)
{
    const char *given = getenv("COLUMNS");
    uint64_t columns;

    return given != NULL && number_natural(given, 1, 75, &columns) ? 4 : 8;
}

static void say_window(const close_up *u, strbuf *lines)
{
    const uint64_t width = bytes_per_line();
    const uint64_t end = u->want->n_bytes;
    const uint64_t byte = u->e->diff.first * dtype_bytes(u->want->dtype);
    const uint64_t start = byte / width * width;
    const uint64_t first = start >= width ? start - width : 0;

    for (uint64_t at = first; at <= start + width && at < end; at += width) {
        strbuf_add(lines, "  byte %6" PRIu64 " |", at);
        say_bytes(u->want->data, at, width, end, lines);
        say_bytes(u->got->data, at, width, end, lines);
        strbuf_add(lines, " ");
        for (uint64_t i = at; i < at + width && i < end; i++) {
            strbuf_add(lines, "%c",
                       u->want->data[i] == u->got->data[i] ? '.' : 'x');
        }
        strbuf_add(lines, "\n");
    }
}

/* A layout's output: where the first wrong element lies, in memory and in the
   tensor. */
static void say_moved(const close_up *u, strbuf *lines)
{
    char layout[160];
    const host_tensor *x = explain_moved(u->e, u->got, layout);

    if (x == NULL || x->rank < 2 || u->got->n_bytes != u->want->n_bytes) {
        return;
    }
    const pair p = {
        .layout = layout,
        .dtype = x->dtype,
        .extent = {x->shape[0], x->shape[1], x->rank < 3 ? 1 : x->shape[2]},
        .expected = u->want->data,
        .actual = u->got->data,
        .n = u->want->n_bytes,
    };

    layout_place(&p, u->e->diff.first * dtype_bytes(u->want->dtype), lines);
}

void diagnose(const evidence *e, strbuf *lines)
{
    const close_up u = look_at(e);

    say_counts(&u, lines);
    if (u.pack == 1) {
        diff_location_say(e, lines);
    }
    say_elements(&u, lines);
    say_moved(&u, lines);
    say_window(&u, lines);
}

/* The layout that made the output: for a drawing beside the map. */
static json_t *layout_of(const close_up *u)
{
    char layout[160];
    const host_tensor *x = explain_moved(u->e, u->got, layout);

    return x == NULL || x->rank < 2
               ? NULL
               : json_pack("{s:s, s:i, s:[I,I,I]}", "name", layout,
                           "elem_bytes", (int)dtype_bytes(x->dtype), "shape",
                           (json_int_t)x->shape[0], (json_int_t)x->shape[1],
                           (json_int_t)(x->rank < 3 ? 1 : x->shape[2]));
}

char *diagnose_map(const evidence *e)
{
    const close_up u = look_at(e);

    return u.pack == 1 ? diff_location_map(e, layout_of(&u)) : NULL;
}
