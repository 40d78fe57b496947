/* SPDX-License-Identifier: Apache-2.0 */
/* Options of mxoracle convert. */
#ifndef MXO_CONVERT_OPTIONS_H
#define MXO_CONVERT_OPTIONS_H

#include "job.h"
#include "report/report_set.h"

typedef struct convert_options {
    const char *to;
    const char *from;
    const char *machine;
    char chosen[JOB_NAME];  /* conversion for the machine */
    char spelled[JOB_NAME]; /* the conversion, as files record it */
    const char *backend;
    const char *paths[2];
    shard part;
    row_order rows;          /* ROWS_UNTOLD: not asked for */
    uint32_t input_scale[2]; /* binary32; 0: not said */
    report_options reports;  /* of check */
    int check;
    int force;
    int quiet;
} convert_options;

/* Status of bad usage or help; -1: go on. */
int convert_options_read(convert_options *o, int argc, char **argv);
int convert_is_gguf(const convert_options *o);

#endif
