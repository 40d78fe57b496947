/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report in a file appears whole or not at all: it takes its place once the
 * disk has it.  Until then, and whatever fails, what stood there before stays.
 * Pipes and devices are written directly.
 */
#ifndef MXO_REPORT_FILE_H
#define MXO_REPORT_FILE_H

#include "system/new_file.h"

#include <mxoracle/abi.h>

#include <stdio.h>

enum { REPORT_PATH = 4096 };

typedef struct report_file {
    FILE *out;              /* NULL: not open */
    char path[REPORT_PATH]; /* where it will be, links followed */
    new_file file;          /* zeroes if written directly */
} report_file;

/* 0, or -1 and a sentence. */
int report_file_open(report_file *f, const char *path, mxo_text why);
/* Flush, sync, move into place. 0, or -1 and a sentence. */
int report_file_commit(report_file *f, mxo_text why);
/* Leave no trace. */
void report_file_abandon(report_file *f);

#endif
