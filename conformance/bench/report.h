/* SPDX-License-Identifier: Apache-2.0 */
/* Output of bench: a table for people, CSV, or JSON lines. */
#ifndef MXO_BENCH_REPORT_H
#define MXO_BENCH_REPORT_H

#include "bench.h"

typedef enum bench_form { BENCH_TEXT, BENCH_CSV, BENCH_JSON } bench_form;

/* Once; GFLOP/s on one thread and on all, 0 if unknown. */
void bench_report_machine(bench_form form, const char *compiler, int processors,
                          double gemm_one, double gemm_all);
/* Decisions of backend selection per second, on one core. */
void bench_report_selection(bench_form form, double per_second);
void bench_report_backend(bench_form form, const mxo_backend *table,
                          const subject *s);
/* Behind the backends that the rows are of. */
void bench_report_heading(bench_form form);
void bench_report_absent(bench_form form, const char *name, const char *why);
void bench_report_row(bench_form form, const char *backend, const char *text,
                      const bench_row *row);
/* A case that is not timed: status as in verdicts, and why. */
void bench_report_refusal(bench_form form, const char *backend,
                          const char *text, const char *status,
                          const char *why);
/* The command that shows again what was not timed; in text alone. */
void bench_report_repro(bench_form form, const char *options, uint64_t seed,
                        const char *text);
/* A subject whose process ends badly. */
void bench_report_end(bench_form form, const char *backend, const char *status,
                      const char *why);

#endif
