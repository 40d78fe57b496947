/* SPDX-License-Identifier: Apache-2.0 */
/* Holding the bound layouts against closed formulas; see closed_form.h. */
#include "closed_form.h"

#include <mxoracle/layout.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Granules, and what lies off them where the axis is padded. */
static const struct {
    uint64_t experts, rows, rows_off, cols, cols_off;
} shapes[] = {
    {1, 1, 0, 1, 0}, {1, 2, 0, 1, 0}, {1, 1, 5, 1, 3},
    {3, 0, 1, 0, 1}, {2, 1, 0, 2, 0},
};

typedef struct trial {
    const closed_form *form;
    mxo_layout l;
    uint64_t stacked;   /* experts that are one */
    uint64_t extent[3]; /* of the stack */
    uint64_t padded[3];
    char name[160];
} trial;

uint64_t closed_up(uint64_t x, uint64_t unit)
{
    const uint64_t rest = x % unit;

    return rest == 0 ? x : x + (unit - rest);
}

static int bind(trial *t, char *why, size_t n)
{
    const mxo_layout_row *row = mxo_layout_find(t->form->layout);
    const mxo_text text = {why, n};
    const uint64_t extent[3] = {t->extent[0] * t->stacked,
                                t->extent[1] / t->stacked, t->extent[2]};

    ck_assert_msg(row != NULL, "%s: no such row", t->form->layout);
    (void)snprintf(t->name, sizeof t->name, "%s [%u,%u,%u]", t->form->layout,
                   (unsigned)extent[0], (unsigned)extent[1],
                   (unsigned)extent[2]);
    return mxo_layout_bind(&t->l, row, t->form->layout, t->form->elem_bytes,
                           extent, text) == MXO_OK;
}

/* Content of the place of element (r, c) of the padded tensor. */
static mxo_layout_content content_of(const trial *t, uint64_t r, uint64_t c,
                                     uint8_t *byte)
{
    const int row_over = r >= t->extent[1];
    const int col_over = c >= t->extent[2];

    if (!row_over && !col_over) {
        return MXO_LAYOUT_LIVE;
    }
    if ((row_over && t->form->row_pad == CLOSED_UNDEFINED) ||
        (col_over && t->form->col_pad == CLOSED_UNDEFINED)) {
        return MXO_LAYOUT_UNDEFINED;
    }
    *byte = (uint8_t)(row_over ? t->form->row_pad : t->form->col_pad);
    return MXO_LAYOUT_PAD;
}

static void check_content(const trial *t, uint64_t dst, uint64_t logical,
                          uint64_t r, uint64_t c)
{
    uint8_t want_byte = 0;
    uint8_t byte = 0;
    uint64_t src = logical;
    const mxo_layout_content want = content_of(t, r, c, &want_byte);
    const mxo_layout_content got =
        mxo_layout_content_at(&t->l, dst, &src, &byte);

    if (got != want || (got == MXO_LAYOUT_PAD && byte != want_byte)) {
        ck_abort_msg("%s: place %u holds content %d, byte %02x; want %d, %02x",
                     t->name, (unsigned)dst, (int)got, byte, (int)want,
                     want_byte);
    }
    if (src != logical) {
        ck_abort_msg("%s: place %u holds unit %u, want %u", t->name,
                     (unsigned)dst, (unsigned)src, (unsigned)logical);
    }
    if (want == MXO_LAYOUT_LIVE &&
        mxo_layout_forward(&t->l, mxo_layout_padded_index(&t->l, src)) != dst) {
        ck_abort_msg("%s: unit %u does not go to %u", t->name, (unsigned)src,
                     (unsigned)dst);
    }
}

/* Unit i of the padded tensor. */
static void check_unit(const trial *t, uint64_t i, uint8_t *seen)
{
    const uint32_t units = t->form->units;
    const uint64_t u = i % units;
    const uint64_t c = i / units % t->padded[2];
    const uint64_t r = i / units / t->padded[2] % t->padded[1];
    const uint64_t e = i / units / t->padded[2] / t->padded[1];
    const uint64_t dst = t->form->at(t->padded, e, r, c, u);
    const uint64_t got = mxo_layout_forward(&t->l, i);

    if (dst >= t->l.n_units || seen[dst]) {
        ck_abort_msg("%s: the form puts unit %u at %u, which is %s", t->name,
                     (unsigned)i, (unsigned)dst,
                     dst < t->l.n_units ? "taken" : "beyond the end");
    }
    seen[dst] = 1;
    if (got != dst || mxo_layout_inverse(&t->l, dst) != i) {
        ck_abort_msg("%s: (%u,%u,%u) unit %u goes to %u, want %u; back to %u",
                     t->name, (unsigned)e, (unsigned)r, (unsigned)c,
                     (unsigned)u, (unsigned)got, (unsigned)dst,
                     (unsigned)mxo_layout_inverse(&t->l, dst));
    }
    check_content(
        t, dst, ((e * t->extent[1] + r) * t->extent[2] + c) * units + u, r, c);
}

static void check_shape(trial *t)
{
    char why[256] = "";
    const uint64_t n =
        t->padded[0] * t->padded[1] * t->padded[2] * t->form->units;
    uint8_t *seen;

    ck_assert_msg(bind(t, why, sizeof why), "%s: %s", t->name, why);
    ck_assert_msg(t->l.n_dense == n, "%s: %u units, want %u", t->name,
                  (unsigned)t->l.n_dense, (unsigned)n);
    seen = calloc(1, t->l.n_units);
    ck_assert_ptr_nonnull(seen);
    for (uint64_t i = 0; i < n; i++) {
        check_unit(t, i, seen);
    }
    free(seen);
}

static void check_refused(trial *t, int axis)
{
    char why[256] = "";

    t->extent[axis]++;
    ck_assert_msg(!bind(t, why, sizeof why), "%s: is not refused", t->name);
    ck_assert_msg(why[0] != '\0', "%s: refused without a word", t->name);
    t->extent[axis]--;
}

/* A multiple of the unit, and past it where that is padded. */
static uint64_t extent_of(uint64_t multiple, uint64_t off, uint64_t unit,
                          int rule)
{
    uint64_t n = multiple * unit;

    if (rule == CLOSED_PADDED) {
        n += off;
    } else if (rule == CLOSED_EVEN) {
        n += off + off % 2;
    }
    return n == 0 ? unit : n;
}

static void check_refusals(trial *t)
{
    if ((t->form->rows == CLOSED_REFUSED && t->form->row_unit > 1) ||
        (t->form->rows == CLOSED_EVEN && t->extent[1] % 2 == 0)) {
        check_refused(t, 1);
    }
    if (t->form->cols == CLOSED_REFUSED && t->form->col_unit > 1) {
        check_refused(t, 2);
    }
}

/* Is the map that of all experts' rows, one below the other? */
static int is_stack(const char *layout)
{
    const mxo_layout_row *row = mxo_layout_find(layout);

    return row != NULL && row->map[0] == '*';
}

void closed_form_holds(const closed_form *form)
{
    trial t = {form, {0}, 1, {0}, {0}, ""};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        t.extent[0] = shapes[i].experts;
        t.extent[1] = extent_of(shapes[i].rows, shapes[i].rows_off,
                                form->row_unit, form->rows);
        t.extent[2] = extent_of(shapes[i].cols, shapes[i].cols_off,
                                form->col_unit, form->cols);
        if (is_stack(form->layout)) {
            t.stacked = t.extent[0];
            t.extent[1] *= t.stacked;
            t.extent[0] = 1;
        }
        t.padded[0] = t.extent[0];
        t.padded[1] = closed_up(t.extent[1], form->row_unit);
        t.padded[2] = closed_up(t.extent[2], form->col_unit);
        check_shape(&t);
        check_refusals(&t);
    }
}

static int has_form(const closed_form *forms, int n, const char *id)
{
    const size_t len = strlen(id);
    int found = 0;

    for (int i = 0; i < n; i++) {
        const char *name = forms[i].layout;
        found |= strncmp(name, id, len) == 0 &&
                 (name[len] == '\0' || name[len] == '/');
    }
    return found;
}

void closed_forms_cover(const closed_form *forms, int n, const char *prefix)
{
    const mxo_layout_row *row;

    for (uint32_t i = 0; (row = mxo_layout_at(i)) != NULL; i++) {
        ck_assert_msg(strncmp(row->id, prefix, strlen(prefix)) != 0 ||
                          has_form(forms, n, row->id),
                      "%s has no closed form", row->id);
    }
}
