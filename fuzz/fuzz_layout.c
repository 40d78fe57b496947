/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of layouts, from true to hostile, at any small shape and both ways:
 * the cpu backend, which parses rows and names with code of its own, moves
 * what the emulator moves and refuses what the emulator refuses.
 */
#include "input.h"
#include "judge/judge.h"
#include "run/backends.h"
#include "run/case_run.h"
#include "target.h"

#include <mxoracle/layout.h>
#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 200, MOST_ELEMENTS = 1 << 15, MOST_OUTPUTS = 16 };

/* The judge of the cpu backend, opened on first use and then kept. */
static judge *the_judge(void)
{
    static backend_list known;
    static judge j;
    char why[256] = "";
    const mxo_backend *table = NULL;

    if (j.subject.table != NULL) {
        return &j;
    }
    backends_known(&known);
    const backend_ref *ref = backends_find(&known, "cpu");

    if (ref == NULL ||
        backend_load(ref, &table, (mxo_text){why, sizeof why}) != MXO_OK ||
        judge_open(&j, table, 0, (mxo_text){why, sizeof why}) != MXO_OK) {
        (void)fprintf(stderr, "cpu does not open: %s\n", why);
        abort();
    }
    return &j;
}

static const mxo_layout_row *draw_row(fuzz_input *in)
{
    uint32_t n = 0;

    while (mxo_layout_at(n) != NULL) {
        n++;
    }
    return mxo_layout_at(input_below(in, n));
}

/* A row's id, often with parameters, sometimes with letters changed. */
static void draw_name(fuzz_input *in, const mxo_layout_row *row, char *name)
{
    static const char letters[] = "/=0189azAZ_.+-$:% \n\xff";
    size_t n = (size_t)snprintf(name, LONGEST / 2, "%s", row->id);

    for (const char *p = row->params; *p != '\0' && input_below(in, 2) == 0;) {
        const size_t word = strcspn(p, "=");
        n += (size_t)snprintf(name + n, LONGEST - n, "/%.*s=%u", (int)word, p,
                              1u << input_below(in, 8));
        p += strcspn(p, " ");
        p += strspn(p, " ");
        n = n < LONGEST / 2 ? n : LONGEST / 2;
    }
    for (uint32_t i = input_below(in, 16); i >= 13; i--) {
        name[input_below(in, (uint32_t)n)] =
            letters[input_below(in, sizeof letters - 1)];
    }
    if (input_below(in, 32) == 0) {
        (void)snprintf(name + n, LONGEST - n, "/%.*s=99999999999999999999",
                       (int)input_below(in, 40), row->params);
    }
}

static uint64_t draw_extent(fuzz_input *in)
{
    const uint64_t near = 1u << input_below(in, 10);

    return input_below(in, 3) == 0 ? 1 + input_below(in, 80) : near;
}

static const char *draw_dtype(fuzz_input *in, const mxo_layout_row *row)
{
    static const char *const dtypes[] = {"u8", "e8m0", "bf16", "f32", "i32"};

    return strcmp(row->values, "keep") == 0 && strcmp(row->bits, "8") == 0
               ? "u8"
               : dtypes[input_below(in, 5)];
}

static void check_case(const char *text)
{
    char why[512] = "";
    test_case c;
    verdict v;

    if (case_parse(&c, text, (mxo_text){why, sizeof why}) != 0) {
        return;
    }
    case_run(the_judge(), &c, 1, &v);
    if (v.status == VERDICT_FAIL || v.status == VERDICT_ERROR) {
        (void)fprintf(stderr, "%s\nrepro: mxoracle run -b cpu '%s'\n", v.reason,
                      text);
        abort();
    }
    verdict_clear(&v);
}

/* Any text at all, past the parser of cases: no crash, and no yes where the
   emulator says no. */
static void check_text(const char *name)
{
    const judge *j = the_judge();
    const mxo_param params[] = {{"layout", name, 0},
                                {"dtype", "u8", 0},
                                {"dir", "forward", 0},
                                {"keep_rows", "0", 0},
                                {"keep_cols", "0", 0}};
    uint8_t bytes[4096] = {0};
    uint8_t image[2 * sizeof bytes];
    char why[512] = "";
    char refusal[512] = "";
    const mxo_text text = {why, sizeof why};
    uint32_t n_out = MOST_OUTPUTS;
    const mxo_tensor x = {.name = "x",
                          .dtype = MXO_U8,
                          .rank = 3,
                          .shape = {1, 64, 64},
                          .n_bytes = sizeof bytes,
                          .buffer = bytes};
    mxo_tensor out[MOST_OUTPUTS];
    mxo_call call = {sizeof call, 5, 1, 0, "layout.apply", params, &x, out};
    const mxo_backend *emu = j->oracle.table;
    const mxo_status want = emu->infer(j->oracle.ctx, &call, out, &n_out,
                                       (mxo_text){refusal, sizeof refusal});

    for (uint32_t i = 0; i < 2; i++) {
        const char *const names[] = {"y", "valid"};
        out[i].name = names[i];
        out[i].buffer = image + i * sizeof bytes;
        out[i].offset = 0;
        if (want != MXO_OK || out[i].n_bytes != sizeof bytes) {
            out[i] = (mxo_tensor){.name = names[i],
                                  .dtype = MXO_U8,
                                  .rank = 1,
                                  .shape = {sizeof bytes},
                                  .n_bytes = sizeof bytes,
                                  .buffer = image + i * sizeof bytes};
        }
    }
    call.n_out = 2;
    const mxo_status got = j->subject.table->run(j->subject.ctx, &call, text);
    if (want != MXO_OK && got == MXO_OK) {
        (void)fprintf(stderr, "cpu takes the layout \"%s\"; the emulator: %s\n",
                      name, refusal);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char name[LONGEST] = "";
    char text[2 * LONGEST];
    fuzz_input in;

    if (n > 0 && bytes[0] == 0) {
        const size_t length = n - 1 < LONGEST - 1 ? n - 1 : LONGEST - 1;
        memcpy(name, bytes + 1, length);
        check_text(name);
        return 0;
    }
    input_start(&in, bytes, n);
    const mxo_layout_row *row = draw_row(&in);
    const uint64_t experts = 1 + input_below(&in, 3);
    const uint64_t rows = draw_extent(&in);
    const uint64_t cols = draw_extent(&in);
    const int back = input_below(&in, 3) == 0;

    draw_name(&in, row, name);
    check_text(name);
    if (experts * rows * cols > MOST_ELEMENTS) {
        return 0;
    }
    int used = snprintf(text, sizeof text,
                        "layout.apply:layout=%s,dtype=%s,experts=%u,rows=%u,"
                        "cols=%u",
                        name, draw_dtype(&in, row), (unsigned)experts,
                        (unsigned)rows, (unsigned)cols);
    if (back) {
        (void)snprintf(text + used, sizeof text - (size_t)used,
                       ",dir=inverse,keep_rows=%u,keep_cols=%u",
                       input_below(&in, (uint32_t)rows),
                       input_below(&in, (uint32_t)cols));
    }
    check_case(text);
    return 0;
}
