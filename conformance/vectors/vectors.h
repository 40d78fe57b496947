/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging golden vectors: recompute the outputs of a file from its inputs
 * with the emulator or another backend and compare every byte of every out.*
 * tensor.  Nothing in a file goes unread: an operation, a parameter or a
 * tensor the table does not know makes the file "unknown".
 */
#ifndef MXO_VECTORS_H
#define MXO_VECTORS_H

#include "files/safetensors.h"
#include "report/report_set.h"
#include "run/open_judge.h"

#include <stddef.h>
#include <stdint.h>

typedef enum vector_verdict {
    VECTOR_PASSED,
    VECTOR_FAILED,     /* an element differs, or the file is no vector */
    VECTOR_UNKNOWN,    /* operation, parameter or tensor not in the table */
    VECTOR_UNSUPPORTED /* known, but the subject does not do it */
} vector_verdict;

enum { VECTOR_TEXT = 4096, VECTOR_OP = 96, VECTOR_MAP = 24576 };

typedef struct vector_result {
    vector_verdict verdict;
    uint32_t n_outputs;      /* compared */
    uint32_t n_by_rule;      /* of these, by a rule looser than bits */
    uint64_t n_elements;     /* compared */
    uint64_t n_differ;       /* of these */
    double ms;               /* of the subject, all its calls */
    char op[VECTOR_OP];      /* as in the file */
    char rule[64];           /* the last such rule */
    char cases[VECTOR_TEXT]; /* cases called, separated by blanks */
    char text[VECTOR_TEXT];  /* one line per finding */
    char tensor[64];         /* of the first difference; "" if there is none */
    char index[96];          /* as in a verdict, what follows too */
    char want[64];
    char got[64];
    char map[VECTOR_MAP]; /* "" if it has no rows */
} vector_result;

/* The subject of j computes; its oracle knows all shapes. */
void vector_judge(const char *path, judge *j, vector_result *result);
/* The same for a file that has been read; its tensors may grow. */
void vector_judge_parsed(const char *path, safetensors *file, judge *j,
                         vector_result *result);

/* Options of a run over paths. */
typedef struct vector_options {
    const char *command;           /* "verify" or "run" */
    const report_options *reports; /* checked */
    int strict;                    /* unknown and unsupported are red */
    int verbose;                   /* one line per file */
    int quiet;                     /* failures and the closing line only */
    int jobs;                      /* processes that judge; below 2: none */
} vector_options;

/* The subject that computes. */
typedef struct vector_subject {
    const char *name; /* borrowed */
    backend_ref ref;
    open_options how;
    int required; /* if it is no backend, that is bad usage */
} vector_subject;

/* Did the subject open, and what is it? */
typedef struct vector_greeting {
    mxo_status status;
    char why[256];
    char version[128];
    char device[SUBJECT_TEXT];
} vector_greeting;

/*
 * Judge files and folders (recursively, sorted) on each subject and report.
 * Returns the exit status: 0 something passed and nothing is red, 1 red, 2 no
 * such path or no vector in it, 77 nothing was judged, or that of a stop.
 */
int vectors_run(const vector_subject *subjects, int n, char *const paths[],
                int n_paths, const vector_options *options);

#endif
