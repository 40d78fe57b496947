/* SPDX-License-Identifier: Apache-2.0 */
/* See report.h. Every line is flushed: a row takes seconds. */
#include "report.h"

#include "base/cli.h"
#include "gemm.h"

#include <mxoracle/mxoracle.h>

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints and frees the object; a line is lost without memory. */
static void print_json(json_t *object)
{
    char *line = object == NULL ? NULL : json_dumps(object, JSON_COMPACT);

    if (line != NULL) {
        printf("%s\n", line);
    }
    free(line);
    json_decref(object);
    (void)fflush(stdout);
}

void bench_report_machine(bench_form form, const char *compiler, int processors,
                          double gemm_one, double gemm_all)
{
    if (form == BENCH_JSON) {
        print_json(json_pack("{s:s, s:s, s:s, s:i, s:s, s:f, s:f}", "kind",
                             "header", "version", mxo_version(), "compiler",
                             compiler, "processors", processors,
                             "openblas_core", gemm_core(), "sgemm_gflops_1",
                             gemm_one, "sgemm_gflops_all", gemm_all));
        return;
    }
    printf("# mxoracle bench %s, %s, %d processors\n", mxo_version(), compiler,
           processors);
    if (gemm_one > 0) {
        printf("# machine: sgemm 2048 (OpenBLAS, %s) %.1f GFLOP/s on 1 "
               "thread, %.1f on %d\n",
               gemm_core(), gemm_one, gemm_all, processors);
    }
    if (form == BENCH_CSV) {
        printf(
            "backend,case,status,threads,repeats,bytes,samples,seconds,"
            "mad,gb_per_s,copy_gb_per_s,of_copy,of_emulator,"
            "melements_per_s,kernel,against,against_seconds,of_against,why\n");
    }
    (void)fflush(stdout);
}

void bench_report_selection(bench_form form, double per_second)
{
    if (form == BENCH_JSON) {
        print_json(json_pack("{s:s, s:f}", "kind", "select", "decisions_per_s",
                             per_second));
        return;
    }
    printf("# select: %.2f million decisions/s on one core\n",
           per_second / 1e6);
    (void)fflush(stdout);
}

void bench_report_backend(bench_form form, const mxo_backend *table,
                          const subject *s)
{
    if (form == BENCH_JSON) {
        print_json(json_pack("{s:s, s:s, s:s, s:s, s:s}", "kind", "backend",
                             "name", table->name, "version", table->version,
                             "device", s->device, "driver", s->driver));
        return;
    }
    printf("# %s %s, %s, %s\n", table->name, table->version, s->device,
           s->driver);
    (void)fflush(stdout);
}

/* Between columns: narrow terminals get a new line there. */
static const char *gap(int blanks)
{
    return cli_is_narrow(stdout) ? "\n    " : blanks == 1 ? " " : "  ";
}

void bench_report_heading(bench_form form)
{
    if (form == BENCH_TEXT) {
        printf("%-7s %3s %8s %5s %8s%s%8s %8s %9s%s%s,%s%s\n", "backend", "thr",
               "GB/s", "+-%", "copy", gap(1), "of copy", "x emu", "Melem/s",
               gap(2), "kernel", gap(1), "case");
    }
    (void)fflush(stdout);
}

void bench_report_absent(bench_form form, const char *name, const char *why)
{
    if (form == BENCH_JSON) {
        print_json(json_pack("{s:s, s:s, s:s}", "kind", "absent", "name", name,
                             "why", why));
        return;
    }
    printf("# %s skipped: %s\n", name, why);
    (void)fflush(stdout);
}

static double rate(uint64_t amount, double seconds)
{
    return seconds > 0 ? (double)amount / seconds : 0;
}

/* A field; in quotes where a comma or a quote would end it, or always. */
static void print_field(const char *text, int is_quoted)
{
    if (!is_quoted && strpbrk(text, ",\"") == NULL) {
        (void)fputs(text, stdout);
        return;
    }
    (void)putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            (void)putchar('"');
        }
        (void)putchar(*text);
    }
    (void)putchar('"');
}

static void print_csv(const char *backend, const char *text,
                      const bench_row *row)
{
    printf("%s,\"%s\",pass,%d,%" PRIu64 ",%" PRIu64
           ",%d,%.6g,%.3g,%.3f,%.3f,%.3f,%.1f,%.1f,",
           backend, text, row->threads, row->repeats, row->bytes,
           row->n_samples, row->seconds, row->spread,
           rate(row->bytes, row->seconds) / 1e9,
           rate(row->bytes, row->copy) / 1e9, row->ratio,
           row->emu / row->seconds, rate(row->elements, row->seconds) / 1e6);
    print_field(row->kernel, 0);
    printf(",%s,%.6g,%.3f,\n", row->rival_name == NULL ? "" : row->rival_name,
           row->rival, row->of_rival);
}

/* The time that reading the active weights takes at the copy's speed. */
static double of_stream(const bench_row *row)
{
    return row->streamed == 0 ? 0
                              : (double)row->streamed /
                                    rate(row->bytes, row->copy) / row->seconds;
}

static json_t *row_object(const char *backend, const char *text,
                          const bench_row *row)
{
    json_t *const o = json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:I, s:I, s:i, s:f, s:f, s:f, s:f, s:f, "
        "s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:f, s:f, s:s}",
        "kind", "row", "backend", backend, "case", text, "status", "pass",
        "threads", row->threads, "repeats", (json_int_t)row->repeats, "bytes",
        (json_int_t)row->bytes, "samples", row->n_samples, "seconds",
        row->seconds, "mad", row->spread, "gb_per_s",
        rate(row->bytes, row->seconds) / 1e9, "copy_gb_per_s",
        rate(row->bytes, row->copy) / 1e9, "of_copy", row->ratio, "of_emulator",
        row->emu / row->seconds, "melements_per_s",
        rate(row->elements, row->seconds) / 1e6, "gflops",
        2 * rate(row->macs, row->seconds) / 1e9, "sgemm_gflops", row->square,
        "sgemm_same_shape_gflops", row->same_shapes, "emulator_macs_per_s",
        rate(row->macs, row->emu), "tokens", (json_int_t)row->tokens, "experts",
        (json_int_t)row->experts, "streamed_bytes", (json_int_t)row->streamed,
        "of_stream", of_stream(row), "library_gflops", row->gemm, "kernel",
        row->kernel);

    if (row->rival_name != NULL && o != NULL) {
        (void)json_object_set_new(
            o, "against",
            json_pack("{s:s, s:f, s:f, s:f, s:s}", "backend", row->rival_name,
                      "seconds", row->rival, "mad", row->rival_spread, "ratio",
                      row->of_rival, "kernel", row->rival_kernel));
    }
    return o;
}

/* Rates of a matrix product. */
static void print_macs(const bench_row *row)
{
    const double speed = 2 * rate(row->macs, row->seconds) / 1e9;

    if (row->macs == 0) {
        return;
    }
    printf("        %.1f GFLOP/s", speed);
    if (row->square > 0) {
        printf(", %.2f of square sgemm's %.1f", speed / row->square,
               row->square);
    }
    if (row->same_shapes > 0) {
        printf(", %.2f of same-shape sgemm's %.1f", speed / row->same_shapes,
               row->same_shapes);
    }
    printf("; emulator %.0f million products/s on one core\n",
           rate(row->macs, row->emu) / 1e6);
}

static void print_layer(const bench_row *row)
{
    const double speed = 2 * rate(row->macs, row->seconds) / 1e9;

    if (row->streamed == 0) {
        return;
    }
    printf("        %" PRIu64 " tokens, %" PRIu64 " experts, %.1f us: %.2f of "
           "the time to read %.0f MB of weights as a copy does",
           row->tokens, row->experts, row->seconds * 1e6, of_stream(row),
           (double)row->streamed / 1e6);
    if (row->gemm > 0) {
        printf("; %.2f of the library's BF16 GEMM, %.0f GFLOP/s",
               speed / row->gemm, row->gemm);
    }
    printf("\n");
}

static void print_rival(const bench_row *row)
{
    if (row->rival_name == NULL) {
        return;
    }
    printf("        %.1f us +-%.1f%%, %.3f of the time of %s, %.1f us +-%.1f%% "
           "(%s)\n",
           row->seconds * 1e6, 100 * row->spread / row->seconds, row->of_rival,
           row->rival_name, row->rival * 1e6,
           100 * row->rival_spread / row->rival, row->rival_kernel);
}

void bench_report_row(bench_form form, const char *backend, const char *text,
                      const bench_row *row)
{
    if (form == BENCH_JSON) {
        print_json(row_object(backend, text, row));
        return;
    }
    if (form == BENCH_CSV) {
        print_csv(backend, text, row);
    } else {
        printf("%-7s %3d %8.2f %5.1f %8.2f%s%8.2f %8.1f %9.1f%s%s,%s%s\n",
               backend, row->threads, rate(row->bytes, row->seconds) / 1e9,
               100 * row->spread / row->seconds,
               rate(row->bytes, row->copy) / 1e9, gap(1), row->ratio,
               row->emu / row->seconds, rate(row->elements, row->seconds) / 1e6,
               gap(2), row->kernel, gap(1), text);
        print_macs(row);
        print_layer(row);
        print_rival(row);
    }
    (void)fflush(stdout);
}

void bench_report_refusal(bench_form form, const char *backend,
                          const char *text, const char *status, const char *why)
{
    why = why[0] == '\0' ? "it fails (without a word)" : why;
    if (form == BENCH_JSON) {
        print_json(json_pack("{s:s, s:s, s:s, s:s, s:s}", "kind", "row",
                             "backend", backend, "case", text, "status", status,
                             "why", why));
        return;
    }
    if (form == BENCH_CSV) {
        printf("%s,\"%s\",%s,,,,,,,,,,,,,,,,", backend, text, status);
        print_field(why, 1);
        (void)putchar('\n');
    } else {
        printf("%-7s not timed (%s): %s; %s\n", backend, status, text, why);
    }
    (void)fflush(stdout);
}

void bench_report_repro(bench_form form, const char *options, uint64_t seed,
                        const char *text)
{
    if (form == BENCH_TEXT) {
        printf("  repro: mxoracle run %s --seed=%" PRIu64 " %s\n", options,
               seed, text);
        (void)fflush(stdout);
    }
}

void bench_report_end(bench_form form, const char *backend, const char *status,
                      const char *why)
{
    if (form == BENCH_TEXT) {
        printf("%-7s %s: %s\n", backend, status, why);
        (void)fflush(stdout);
    } else {
        bench_report_refusal(form, backend, "(end)", status, why);
    }
}
