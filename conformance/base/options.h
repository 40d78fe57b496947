/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options by the table base/options.def: read with getopt_long, so that
 * abbreviations, "--" and "=value" behave as everywhere else, and listed in
 * --help, man page and completions.
 */
#ifndef MXO_OPTIONS_H
#define MXO_OPTIONS_H

#include <stdio.h>

typedef enum option_group {
    OPTIONS_run,
    OPTIONS_list,
    OPTIONS_show,
    OPTIONS_shrink,
    OPTIONS_verify,
    OPTIONS_selftest,
    OPTIONS_report,
    OPTIONS_baseline,
    OPTIONS_fuzz,
    OPTIONS_fuzz_converter,
    OPTIONS_audit,
    OPTIONS_convert,
    OPTIONS_explain,
    OPTIONS_diagnose,
    OPTIONS_gen,
    OPTIONS_bench,
    OPTIONS_profiles,
    OPTIONS_select,
    N_OPTION_GROUPS
} option_group;

typedef enum option_value {
    OPTION_NONE,
    OPTION_NEEDS,
    OPTION_MAY
} option_value;

enum option_code {
    OPT_BEFORE_FIRST = 255,
#define MXO_OPTION(group, id, letter, value, name, completes, help) \
    OPT_##group##_##id,
#include "base/options.def"
#undef MXO_OPTION
    OPT_END
};

typedef struct option_row {
    option_group group;
    int code;
    char name[32];
    char letter; /* or 0 */
    option_value value;
    const char *value_name;
    const char *completes; /* "@backend", "@file", words or "" */
    const char *help;
} option_row;

/* The next option of argv: its code and *value, -1 behind the last, or '?'
   after a sentence. optind is the first argument then. */
int options_next(option_group group, int argc, char **argv, char **value);
/* Start over, before the first options_next(). */
void options_start(void);

/* Row number i of the group; 0 behind the last. */
int options_row(option_group group, int i, option_row *row);
/* The identifier in the table of what options_next() returned. */
const char *options_id(int code);
/* The code of the group's row with the same identifier; 0: it has none. */
int options_same(option_group group, int code);
/* A line for each, wrapped at 79 columns. */
void options_help(option_group group, FILE *out);

#endif
