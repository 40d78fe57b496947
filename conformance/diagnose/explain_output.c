/* SPDX-License-Identifier: Apache-2.0 */
/* See explain_output.h. */
#include "explain_output.h"

#include "output_mistakes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The output that is explained. */
typedef struct both {
    const compare_rule *rule;
    const host_tensor *want;
    const host_tensor *got;
} both;

static int is_code(const both *b, uint64_t i, uint64_t code)
{
    return compare_codes(b->rule, b->want->dtype, code, tensor_load(b->got, i));
}

static int is_right(const both *b, uint64_t i)
{
    return is_code(b, i, tensor_load(b->want, i));
}

/* Fewer elements may be by chance what a mistake makes of them. */
enum { ENOUGH = 8 };

/* Does a mistake give each element, or each that is wrong? */
static int accounts(const both *b, const mistake *m)
{
    const uint64_t n = tensor_elems(b->want);
    uint64_t n_changed = 0;

    for (uint64_t i = 0; i < n; i++) {
        const int is_asked = m->everywhere || !is_right(b, i);
        const uint64_t code = m->apply(b->want, i);
        if (is_asked && !is_code(b, i, code)) {
            return 0;
        }
        n_changed += code != tensor_load(b->want, i);
    }
    return !m->everywhere || n_changed >= ENOUGH;
}

static uint64_t columns(const host_tensor *t)
{
    return t->rank > 1 ? t->shape[t->rank - 1] : 1;
}

/* The first row with a wrong element. */
static uint64_t first_wrong(const both *b)
{
    const uint64_t n = tensor_elems(b->want);
    uint64_t i = 0;

    while (i < n && is_right(b, i)) {
        i++;
    }
    return i / columns(b->want);
}

/* What rows from the first wrong one on are: a shift of rows, or zero. */
typedef enum rows_are {
    ROWS_ZERO,
    ROWS_AGAIN,
    ROWS_FORMER,
    N_ROWS_ARE
} rows_are;

static uint64_t row_code(const both *b, rows_are how, uint64_t first,
                         uint64_t i)
{
    const uint64_t cols = columns(b->want);

    return how == ROWS_ZERO    ? 0
           : how == ROWS_AGAIN ? tensor_load(b->want, i - first * cols)
                               : tensor_load(b->want, i - cols);
}

/* The largest number of rows, of tiles that kernels have, that is whole up to
   this row; 0: none, or another tile would fit behind it. */
static unsigned tile_before(uint64_t first, uint64_t rows)
{
    for (unsigned tile = 128; tile >= 16; tile /= 2) {
        if (rows / tile * tile == first) {
            return tile;
        }
    }
    return 0;
}

static int explain_rows(const both *b, char *text, size_t size)
{
    static const char *const says[N_ROWS_ARE] = {
        "zero", "the rows from the start on", "each the row before"};
    const uint64_t n = tensor_elems(b->want);
    const uint64_t cols = columns(b->want);
    const uint64_t first = first_wrong(b);
    const unsigned tile = tile_before(first, n / cols);
    char behind[48] = "";

    if (tile > 0) {
        (void)snprintf(behind, sizeof behind, " (behind the last whole %u)",
                       tile);
    }
    for (rows_are how = ROWS_ZERO; first > 0 && how < N_ROWS_ARE; how++) {
        uint64_t i = first * cols;
        if (how != ROWS_ZERO && n - i < ENOUGH) {
            break;
        }
        while (i < n && is_code(b, i, row_code(b, how, first, i))) {
            i++;
        }
        if (i == n) {
            (void)snprintf(text, size, "%s from %" PRIu64 " on%s are %s",
                           b->want->rank > 1 ? "rows" : "elements", first,
                           behind, says[how]);
            return 1;
        }
    }
    return 0;
}

/* What holds of every element first. */
static int explain_elements(const both *b, int everywhere, char *text,
                            size_t size)
{
    for (const mistake *m = output_mistakes; m->apply != NULL; m++) {
        if (m->everywhere == everywhere && accounts(b, m)) {
            (void)snprintf(text, size, "%s", m->says);
            return 1;
        }
    }
    return 0;
}

static int explain_one(const both *b, char *text, size_t size)
{
    return explain_elements(b, 1, text, size) || explain_rows(b, text, size) ||
           explain_elements(b, 0, text, size);
}

int explain_nothing(const evidence *e, char *text, size_t size)
{
    const host_tensor *got = &e->got->t[e->output];
    const uint64_t n = tensor_elems(got);
    uint64_t i = 0;

    while (i < n && tensor_load(got, i) == 0) {
        i++;
    }
    (void)snprintf(text, size, "%s", i == n ? "it is all zero" : "");
    return i == n;
}

/* The scales of numbers that differ may tell more than they do. */
int explain_output(const evidence *e, char *text, size_t size)
{
    char says[192];

    for (uint32_t o = e->want->n; o-- > 0;) {
        const host_tensor *want = &e->want->t[o];
        const both b = {
            compare_rule_for(e->call, e->j->subject.table->name, want->name),
            want, &e->got->t[o]};
        const int is_alike = want->dtype == b.got->dtype &&
                             want->n_bytes == b.got->n_bytes &&
                             b.rule->kind != RULE_MASK;

        if (is_alike && compare_tensors(b.rule, want, b.got, NULL).n_diff > 0 &&
            explain_one(&b, says, sizeof says)) {
            (void)snprintf(text, size, "%s%s%s",
                           o == e->output ? "" : want->name,
                           o == e->output ? "" : ": ", says);
            return 1;
        }
    }
    return 0;
}
