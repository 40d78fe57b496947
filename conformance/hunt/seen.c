/* SPDX-License-Identifier: Apache-2.0 */
/* See seen.h. */
#include "seen.h"

#include "draw/granule.h"

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
    granules axis[3];
    const uint32_t dtype = dtype_by_name(case_value(c, "dtype"));

    g->is_layout = -1;
    if (strcmp(c->schema->info->name, "layout.apply") != 0) {
        return;
    }
    granules_of(case_value(c, "layout"),
                dtype < MXO_N_DTYPES ? dtype_bytes(dtype) : 1, axis);
    for (int a = 0; a < 3; a++) {
        if (axis[a].n > 0) {
            g->axis[a].granule = axis[a].size[axis[a].n - 1];
            g->axis[a].rest = calloc((size_t)g->axis[a].granule, 1);
            g->is_layout = 1;
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

void seen_case(seen *s, uint32_t group, const test_case *c)
{
    seen_group *g = &s->group[group];

    g->n++;
    if (g->is_layout == 0) {
        open_axes(g, c);
    }
    for (int a = 0; g->is_layout > 0 && c->flaw[0] == '\0' && a < 3; a++) {
        seen_axis *x = &g->axis[a];
        const uint64_t n = logical(c, a);
        if (x->rest != NULL) {
            x->rest[n % x->granule] = 1;
            x->longest = n > x->longest ? n : x->longest;
        }
    }
}

void seen_verdict(seen *s, uint32_t group, verdict_status status)
{
    seen_group *g = &s->group[group];

    g->n_red += (uint64_t)verdict_is_red(status);
    g->n_judged += verdict_is_red(status) || status == VERDICT_PASS;
    g->n_declined += status == VERDICT_UNSUPPORTED;
}

/* ", rows: 113 of 128 pad lengths, up to 65537" */
static void print_axis(const seen_axis *x, const char *name, FILE *out)
{
    uint64_t met = 0;

    if (x->rest == NULL) {
        return;
    }
    for (uint64_t i = 0; i < x->granule; i++) {
        met += x->rest[i];
    }
    (void)fprintf(
        out,
        "; %s up to %" PRIu64 ", %" PRIu64 " of %" PRIu64 " lengths of pad%s",
        name, x->longest, met, x->granule,
        x->longest >= x->granule ? ", every value of its digits" : "");
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
            free(s->group[i].axis[a].rest);
        }
    }
    free(s->group);
    memset(s, 0, sizeof *s);
}
