/* SPDX-License-Identifier: Apache-2.0 */
/* See seen.h. */
#include "seen.h"

#include "draw/value.h"

#include "base/tensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int seen_begin(seen *s, const draw_plan *p)
{
    s->n = p->n;
    s->group = calloc(p->n, sizeof *s->group);
    return s->group == NULL ? -1 : 0;
}

/* The axes of a layout, when its first case is met. */
static void open_axes(seen_group *g, const test_case *c)
{
    axis_digits digits[3];
    const uint32_t dtype = dtype_by_name(case_value(c, "dtype"));
    const uint32_t bytes = dtype < MXO_N_DTYPES ? dtype_bytes(dtype) : 1;

    g->is_layout = -1;
    if (strcmp(c->schema->info->name, "layout.apply") != 0) {
        return;
    }
    g->is_layout = 1;
    digits_of(case_value(c, "layout"), bytes, digits);
    for (int a = 0; a < 3; a++) {
        seen_axis *x = &g->axis[a];
        x->pad = calloc(SEEN_PADS, 1);
        x->digits = digits[a];
        for (int i = 0; i < digits[a].n; i++) {
            x->value[i] = calloc((size_t)digits[a].size[i], 1);
        }
    }
}

/* Values that the indices below n have: v first at v * stride. */
static void see_values(seen_axis *x, uint64_t n)
{
    for (int i = 0; i < x->digits.n; i++) {
        for (uint64_t v = 0; x->value[i] != NULL && v < x->digits.size[i] &&
                             v * x->digits.stride[i] < n;
             v++) {
            x->value[i][v] = 1;
        }
    }
}

static uint64_t logical(const test_case *c, int axis)
{
    static const char *const names[] = {"experts", "rows", "cols"};
    static const char *const keeps[] = {"", "keep_rows", "keep_cols"};
    const uint64_t keep = case_count(c, keeps[axis], 0);

    return keep > 0 ? keep : case_dim(c, names[axis]);
}

static void see_pad(seen_axis *x, uint64_t n)
{
    if (x->pad != NULL) {
        x->pad[n < SEEN_PADS ? n : SEEN_PADS - 1] = 1;
        x->longest_pad = n > x->longest_pad ? n : x->longest_pad;
    }
}

void seen_case(seen *s, uint32_t group, const test_case *c)
{
    seen_group *g = &s->group[group];
    uint64_t extent[3];
    uint64_t padded[3];

    g->n++;
    if (g->is_layout == 0) {
        open_axes(g, c);
    }
    if (g->is_layout < 0 || c->flaw[0] != '\0') {
        return;
    }
    for (int a = 0; a < 3; a++) {
        extent[a] = logical(c, a);
    }
    const int is_padded = value_padded(c, extent, padded) == 0;

    for (int a = 0; a < 3; a++) {
        seen_axis *x = &g->axis[a];
        x->longest = extent[a] > x->longest ? extent[a] : x->longest;
        see_values(x, extent[a]);
        if (is_padded) {
            see_pad(x, padded[a] - extent[a]);
        }
    }
}

void seen_verdict(seen *s, uint32_t group, const verdict *v)
{
    const verdict_status status = v->status;
    seen_group *g = &s->group[group];

    g->n_red += (uint64_t)verdict_is_red(status);
    g->n_judged += verdict_is_red(status) || status == VERDICT_PASS;
    g->n_declined += status == VERDICT_UNSUPPORTED;
    g->is_absent |=
        status == VERDICT_UNSUPPORTED && strcmp(v->kind, "operation") == 0;
}

static uint64_t count(const uint8_t *met, uint64_t n)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; met != NULL && i < n; i++) {
        sum += met[i];
    }
    return sum;
}

/* "; rows up to 65537, 113 lengths of pad up to 127, values of digits 32/32
   4/4" */
static void print_axis(const seen_axis *x, const char *name, FILE *out)
{
    if (x->longest == 0) {
        return;
    }
    (void)fprintf(out, "; %s up to %" PRIu64, name, x->longest);
    if (x->longest_pad > 0) {
        (void)fprintf(out, ", %" PRIu64 " lengths of pad up to %" PRIu64,
                      count(x->pad, SEEN_PADS), x->longest_pad);
    }
    for (int i = 0; i < x->digits.n; i++) {
        (void)fprintf(out, "%s%" PRIu64 "/%" PRIu64,
                      i == 0 ? ", values of digits " : " ",
                      count(x->value[i], x->digits.size[i]), x->digits.size[i]);
    }
}

void seen_print(const seen *s, const draw_plan *p, FILE *out)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const seen_group *g = &s->group[i];
        if (g->n_judged == 0) {
            continue;
        }
        (void)fprintf(out, "  %s: %" PRIu64 " cases, %" PRIu64 " red",
                      p->group[i].name, g->n_judged, g->n_red);
        print_axis(&g->axis[1], "rows", out);
        print_axis(&g->axis[2], "cols", out);
        (void)fputc('\n', out);
    }
}

void seen_clear(seen *s)
{
    for (uint32_t i = 0; i < s->n && s->group != NULL; i++) {
        for (int a = 0; a < 3; a++) {
            seen_axis *x = &s->group[i].axis[a];
            free(x->pad);
            for (int k = 0; k < x->digits.n; k++) {
                free(x->value[k]);
            }
        }
    }
    free(s->group);
    memset(s, 0, sizeof *s);
}
