/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing cases that pass.  A case is judged as written; what is timed is the
 * same case repeated along its first dimension until it is large, and the
 * large outputs must be the judged ones, repeated.  Every sample of the
 * backend is followed by one sample of a plain copy of the same bytes, so
 * that both see the same machine.
 */
#ifndef MXO_BENCH_H
#define MXO_BENCH_H

#include "judge/judge.h"

#include <stdint.h>

enum { BENCH_MAX_SAMPLES = 1000 };

typedef struct bench_options {
    uint64_t seed;
    uint64_t host_bytes;   /* in + out, at least, where time() is missing */
    uint64_t device_bytes; /* the same where the backend times itself */
    int samples;
    uint64_t tokens;  /* of a layer on a device, at least */
    uint64_t experts; /* and these */
    double box_s; /* stop a row after this time, though not before 3 samples */
    int no_gemm;  /* leave out the GEMMs that rate machine and row */
} bench_options;

typedef struct bench_row {
    int threads; /* 0: the backend has no threads to set */
    uint64_t repeats;
    uint64_t bytes;
    uint64_t elements;
    int n_samples;
    double seconds;         /* median */
    double spread;          /* median absolute deviation, of seconds */
    double copy;            /* median seconds of the copy */
    const char *rival_name; /* another backend on the same case; NULL: none */
    double rival;           /* its median seconds */
    double rival_spread;    /* and their median absolute deviation */
    double of_rival;        /* median over samples of seconds / rival's */
    char rival_kernel[128];
    double ratio;  /* median over samples of copy / seconds */
    double emu;    /* seconds the emulator needs for as much, one thread */
    uint64_t macs; /* products added; 0: no matrix product */
    /* GFLOP/s of OpenBLAS's sgemm beside it (gemm.h); 0: unknown: */
    double square;      /* 2048 cubed */
    double same_shapes; /* on the products of the case */
    /* Of a layer on a device: */
    uint64_t tokens, experts;
    uint64_t streamed; /* bytes of the weights it must read */
    double gemm;       /* GFLOP/s of the device's library, BF16, same shapes */
    char kernel[128];
} bench_row;

/* A case that is ready to be timed. */
typedef struct bench_job bench_job;

/*
 * Judge the case, then set up its large form. Returns the verdict's status;
 * only with VERDICT_PASS is there a job, to be closed. why says what is wrong,
 * *is_large whether only with the large form, which run does not make.
 */
verdict_status bench_open(bench_job **job, judge *j, const test_case *c,
                          const bench_options *o, int *is_large, mxo_text why);
void bench_close(bench_job **job);

/*
 * Time it with a number of threads, sample by sample in turn with a rival:
 * another backend's job of the same case, or NULL. 0, or -1 and a sentence.
 */
int bench_time(bench_job *job, bench_job *rival, int threads,
               const bench_options *o, bench_row *row, mxo_text why);

/* The rival's part of the row, from n samples of both; its array gets
   sorted. */
void bench_compare(bench_row *row, const double *op, double *rival, int n);
/* Medians of n samples into the row; the arrays get sorted. */
void bench_summarise(bench_row *row, double *op, double *copy, int n);

/* Outputs of a case, and the products behind them; 0: it is no product. */
uint64_t bench_elements(const test_case *c);
uint64_t bench_macs(const test_case *c);

double bench_now(void);
/* Seconds that copying n bytes takes, on a number of threads. */
double bench_copy(void *dst, const void *src, uint64_t n, int threads);
/* Processors this process may use. */
int bench_processors(void);

#endif
