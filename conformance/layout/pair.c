/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The right blob is taken apart into the logical tensor, so that known
 * mistakes can be made on it; the first wrong byte is told in memory and in
 * the tensor.
 */
#include "pair.h"

#include "base/cli.h"
#include "base/say.h"
#include "base/tensors.h"
#include "block_mistake.h"
#include "byte_mistake.h"
#include "memory_mistake.h"
#include "mistake.h"
#include "run/backends.h"
#include "steps.h"

#include <mxoracle/mxoracle.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENOUGH_EXPERTS = 2, BIG = 1 << 22 };

/* The oracle for small tensors, the CPU backend for large ones. */
static const mxo_backend *mover_for(uint64_t n_bytes)
{
    const mxo_backend *table = mxo_emulator();
    static backend_list known;
    char text[256];

    if (n_bytes >= BIG) {
        backends_known(&known);
        const backend_ref *cpu = backends_find(&known, "cpu");
        const mxo_backend *found;
        if (cpu != NULL &&
            backend_load(cpu, &found, (mxo_text){text, 256}) == MXO_OK) {
            table = found;
        }
    }
    return table;
}

/* Type in memory: the element's size tells a type that was changed. */
static uint32_t memory_dtype(const pair *p, const uint64_t padded[3])
{
    const uint64_t n = padded[0] * padded[1] * padded[2];
    const uint64_t bytes = n == 0 ? 0 : p->n / n;

    return bytes == dtype_bytes(p->dtype) ? p->dtype
           : bytes == 4                   ? MXO_F32
                                          : MXO_E8M0;
}

int pair_is_whole(const pair *p, mxo_text why)
{
    uint64_t padded[3];
    uint64_t bytes = 1;

    if (p->n == 0) {
        (void)say(MXO_E_SHAPE, why, "%s: nothing to compare: no bytes",
                  p->name);
        return 0;
    }
    if (mxo_layout_padded(p->layout, p->dtype, p->extent, padded, why) !=
        MXO_OK) {
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        if (padded[i] == 0 || bytes > p->n / padded[i]) {
            bytes = 0;
            break;
        }
        bytes *= padded[i];
    }
    if (bytes > 0 && bytes * dtype_bytes(memory_dtype(p, padded)) == p->n) {
        return 1;
    }
    (void)say(MXO_E_SHAPE, why,
              "%s: nothing to compare: %" PRIu64 " bytes are no %s of "
              "%" PRIu64 " x %" PRIu64 " x %" PRIu64,
              p->name, p->n, p->layout, p->extent[0], p->extent[1],
              p->extent[2]);
    return 0;
}

/* The logical tensor that the right bytes hold; NULL and a sentence. */
static uint8_t *logical_of(const pair *p, const layout_evidence *e,
                           mxo_text why)
{
    layout_evidence seen = *e;

    if (mxo_layout_padded(p->layout, p->dtype, p->extent, seen.extent, why) !=
        MXO_OK) {
        return NULL;
    }
    seen.kept[0] = p->extent[1] * p->extent[0] / seen.extent[0];
    seen.kept[1] = p->extent[2];
    layout_moved m = layout_move(&seen, p->layout, "inverse", p->expected,
                                 memory_dtype(p, seen.extent));

    if (m.bytes == NULL || m.dtype != p->dtype) {
        (void)snprintf(why.ptr, why.size, "the bytes are not a whole %s",
                       p->layout);
        layout_moved_clear(&m);
    }
    free(m.mask);
    return m.bytes;
}

/* The finest unit of memory that differs in byte at. */
static uint64_t first_unit(const pair *p, uint64_t at, uint32_t units,
                           uint32_t elem_bytes)
{
    const uint8_t wrong = p->expected[at] ^ p->actual[at];
    uint32_t bit = 0;

    while (bit < 7 && (wrong >> bit & 1) == 0) {
        bit++;
    }
    return at / elem_bytes * units + bit * units / 8 * (units > 1);
}

void layout_place(const pair *p, uint64_t at, strbuf *out)
{
    char text[256];
    const mxo_text why = {text, sizeof text};
    steps s;
    uint64_t logical = 0;
    uint8_t pad = 0;

    if (steps_find(&s, p->layout, why) != 0 ||
        (steps_bind(&s, dtype_bytes(p->dtype), p->extent, why) != 0 &&
         steps_bind(&s, 0, p->extent, why) != 0)) {
        return;
    }
    const explained *last = &s.step[s.n - 1];
    const uint64_t unit = first_unit(p, at, s.units, last->elem_bytes);

    if (unit / s.units * last->l.units >= last->l.n_units) {
        return;
    }
    strbuf_add(out, "  it lies at ");
    explain_digits(last, unit / (s.units / last->l.units), out);
    switch (steps_content_at(&s, unit, &logical, &pad)) {
    case MXO_LAYOUT_LIVE:
        strbuf_add(out, "\n  it should hold ");
        explain_place(&s.step[0], s.units, logical, out);
        break;
    case MXO_LAYOUT_PAD:
        strbuf_add(out, "\n  it is a pad of bytes %02x", pad);
        break;
    default:
        break;
    }
    strbuf_add(out, "\n");
}

static void say_first(const pair *p, uint64_t at, uint64_t n_wrong, strbuf *out)
{
    strbuf_add(out,
               "%s: %" PRIu64 " of %" PRIu64
               " bytes differ, first byte %" PRIu64 " (%02x, not %02x)\n",
               p->name, n_wrong, p->n, at, p->actual[at], p->expected[at]);
    layout_place(p, at, out);
}

/* A few experts from the first wrong one on say as much as all, unless the
   layout wants all of them together. */
static void narrow(pair *p, uint64_t first)
{
    const uint64_t each = p->extent[0] == 0 ? 0 : p->n / p->extent[0];
    const uint64_t some[3] = {ENOUGH_EXPERTS, p->extent[1], p->extent[2]};
    uint64_t padded[3];
    char text[256];

    if (p->extent[0] <= ENOUGH_EXPERTS || each == 0 ||
        mxo_layout_padded(p->layout, p->dtype, some, padded,
                          (mxo_text){text, sizeof text}) != MXO_OK ||
        padded[0] != ENOUGH_EXPERTS) {
        return;
    }
    const uint64_t last = p->extent[0] - ENOUGH_EXPERTS;
    uint64_t from = first / each;

    /* Counted from expert 0, a wrong distance shows from the second on. */
    from = from <= 1 ? 0 : from < last ? from : last;
    p->expected += from * each;
    p->actual += from * each;
    p->n = each * ENOUGH_EXPERTS;
    p->extent[0] = ENOUGH_EXPERTS;
}

/* Bytes that differ although the vendor defines them; the first one. A mask
   of a few experts is that of all. */
static uint64_t count_wrong(const pair *p, const layout_moved *right,
                            uint64_t *first)
{
    const uint64_t each =
        right->n == p->n || p->extent[0] == 0 ? p->n + 1 : p->n / p->extent[0];
    uint64_t n_wrong = 0;

    for (uint64_t i = p->n; i-- > 0;) {
        if (p->expected[i] != p->actual[i] &&
            layout_moved_defines(right, i % each)) {
            n_wrong++;
            *first = i;
        }
    }
    return n_wrong;
}

/* Open a mover and take the right bytes apart; NULL and a sentence. */
static uint8_t *take_apart(const pair *p, layout_evidence *e, mxo_text why)
{
    *e = (layout_evidence){.table = mover_for(p->n),
                           .layout = p->layout,
                           .dtype = p->dtype,
                           .extent = {p->extent[0], p->extent[1], p->extent[2]},
                           .actual = p->actual,
                           .expected = p->expected,
                           .n_actual = p->n,
                           .progress = p->progress};
    return e->table->open(&e->ctx, 0, why) != MXO_OK ? NULL
                                                     : logical_of(p, e, why);
}

/* Whether element (row, col) of an expert is in the pad of rounded sizes. */
static int is_pad(const pair *p, uint64_t row, uint64_t col)
{
    return row % p->period >= p->live[0] || col >= p->live[1];
}

/* The memory of the tensor with its pad inverted: only what comes from a pad
   differs from the right one. */
static layout_moved with_other_pad(const pair *p, const layout_evidence *e)
{
    const uint64_t rows = p->extent[1];
    const uint64_t cols = p->extent[2];
    const uint64_t n = p->extent[0] * rows * cols;
    const uint32_t width = dtype_bytes(p->dtype);
    uint8_t *other = malloc((size_t)(n * width) + 1);
    layout_moved m = {0};

    for (uint64_t i = 0; other != NULL && i < n * width; i++) {
        const uint64_t at = i / width;
        other[i] = e->logical[i];
        if (is_pad(p, at / cols % rows, at % cols)) {
            other[i] = (uint8_t)~other[i];
        }
    }
    if (other != NULL) {
        m = layout_move(e, p->layout, "forward", other, p->dtype);
    }
    free(other);
    return m;
}

/* Are all wrong bytes in pads that rounded sizes leave? */
static int wrong_pad(const pair *p, const layout_evidence *e,
                     const layout_moved *right, char *text, size_t size)
{
    layout_moved other = {0};
    uint64_t first = p->n;
    int fits = p->period > 0 && right->bytes != NULL && right->n == p->n;

    if (fits) {
        other = with_other_pad(p, e);
        fits = other.bytes != NULL && other.n == p->n;
    }
    for (uint64_t i = 0; fits && i < p->n; i++) {
        if (p->expected[i] != p->actual[i] && layout_moved_defines(right, i)) {
            fits = other.bytes[i] != right->bytes[i];
            first = first == p->n ? i : first;
        }
    }
    layout_moved_clear(&other);
    if (fits && first < p->n) {
        (void)snprintf(text, size,
                       "all is right but the pad of the rounded sizes: it is "
                       "%02x, not %02x",
                       p->actual[first], p->expected[first]);
    }
    return fits && first < p->n;
}

/* The mistake of a pair whose logical tensor is known. */
static int name_mistake(const pair *p, const pair *some,
                        const layout_evidence *e, const layout_moved *right,
                        char *text, size_t size)
{
    return wrong_pad(some, e, right, text, size) ||
           memory_mistake(p, text, size) || byte_mistake(p, text, size) ||
           layout_mistake(e, text, size) || block_mistake(p, text, size);
}

/* The one expert that is wrong, on its own; 0: others are wrong as well. */
static int narrow_to_one(pair *p)
{
    const uint64_t each = p->extent[0] == 0 ? 0 : p->n / p->extent[0];
    uint64_t first = 0;
    uint64_t end = p->n;

    while (first < end && p->expected[first] == p->actual[first]) {
        first++;
    }
    while (end > first && p->expected[end - 1] == p->actual[end - 1]) {
        end--;
    }
    if (p->extent[0] < 2 || each == 0 || first == end ||
        first / each != (end - 1) / each) {
        return 0;
    }
    p->expected += first / each * each;
    p->actual += first / each * each;
    p->n = each;
    p->extent[0] = 1;
    return 1;
}

/* A mistake that was made with one expert only. */
static int name_in_one_expert(const pair *p, char *text, size_t size)
{
    pair one = *p;
    layout_evidence e = {0};
    char said[320] = "";
    const mxo_text why = {said, sizeof said};
    uint8_t *logical = NULL;
    layout_moved right = {0};
    int found = 0;

    if (narrow_to_one(&one) && pair_is_whole(&one, why)) {
        logical = take_apart(&one, &e, why);
        e.logical = logical;
    }
    if (logical != NULL) {
        right = layout_move(&e, one.layout, "forward", logical, one.dtype);
        found = name_mistake(&one, &one, &e, &right, said, sizeof said);
        (void)snprintf(text, size, "expert %" PRIu64 " alone: %s",
                       (uint64_t)(one.actual - p->actual) / one.n, said);
    }
    layout_moved_clear(&right);
    free(logical);
    if (e.ctx != NULL) {
        e.table->close(e.ctx);
    }
    return found;
}

int pair_compare(const pair *p, strbuf *out, char *mistake, size_t size)
{
    char text[400] = "";
    const mxo_text why = {text, sizeof text};
    layout_evidence e = {0};
    layout_moved right = {0};
    uint64_t first = 0;

    if (memcmp(p->expected, p->actual, (size_t)p->n) == 0) {
        return 0;
    }
    (void)count_wrong(p, &right, &first);
    pair some = *p;

    narrow(&some, first);
    uint8_t *logical = take_apart(&some, &e, why);

    e.logical = logical;
    if (logical != NULL) {
        right = layout_move(&e, some.layout, "forward", logical, some.dtype);
    }
    const uint64_t n_wrong = count_wrong(p, &right, &first);

    if (n_wrong > 0) {
        say_first(p, first, n_wrong, out);
        if (logical != NULL &&
            !name_mistake(p, &some, &e, &right, text, sizeof text) &&
            !name_in_one_expert(p, text, sizeof text)) {
            (void)snprintf(text, sizeof text,
                           "no known mistake gives these bytes");
        }
        strbuf_add(out, "  %s\n", text);
    }
    (void)snprintf(mistake, size, "%s", text);
    layout_moved_clear(&right);
    free(logical);
    if (e.ctx != NULL) {
        e.table->close(e.ctx);
    }
    return n_wrong > 0;
}

int diagnose_pair(const pair *p)
{
    strbuf said = {0};
    char mistake[400];
    progress tried;
    pair shown = *p;

    progress_begin(&tried, 0, 1);
    tried.unit = " tried";
    shown.progress = &tried;
    progress_tick(&tried);
    const int differs = pair_compare(&shown, &said, mistake, sizeof mistake);

    progress_end(&tried);
    cli_lines(stdout, 4, strbuf_text(&said));
    strbuf_clear(&said);
    return differs;
}

int pair_is_laid_out_as(const pair *p, const char *layout)
{
    pair some = *p;

    narrow(&some, 0);
    return strcmp(p->layout, layout) == 0 ||
           steps_agree(p->layout, layout, dtype_bytes(p->dtype), some.extent);
}
