/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of "mxoracle run"; list, show and shrink take some of them, by
 * groups of their own in base/options.def.
 * getopt_long (glibc) reads them: abbreviations, "--" and "=value" behave as
 * everywhere else.
 */
#ifndef MXO_RUNOPTS_H
#define MXO_RUNOPTS_H

#include "base/options.h"
#include "report/baseline.h"
#include "report/report_set.h"
#include "run/worker_pool.h"

/* Room for --repeat behind it. */
#define RUN_MAX_SEED (INT64_MAX / 2)

enum { RUN_MAX_GLOBS = 64, RUN_MAX_PLUGINS = 32 };

typedef struct run_options {
    char *backends[RUN_MAX_GLOBS]; /* borrowed from argv, as all strings */
    char *ops[RUN_MAX_GLOBS];
    char *plugins[RUN_MAX_PLUGINS];
    int n_backends;
    int n_ops;
    int n_plugins;
    char *commands[RUN_MAX_PLUGINS]; /* --exec */
    int n_commands;
    int global_symbols; /* of plugins */
    int level;
    uint64_t seed;
    uint64_t repeat;
    uint64_t max_fail;
    worker_pool_options pool;
    int canonical;
    int strict;
    int allow_declines; /* undeclared, of subjects that are given */
    int verbose;        /* -1 quiet, 0, 1 */
    int color;          /* 0 auto, 1 always, -1 never */
    report_options reports;
    char *excludes[RUN_MAX_GLOBS];
    int n_excludes;
    uint64_t shard;      /* from 1 */
    uint64_t n_shards;   /* 0: the run is whole */
    const char *journal; /* --resume */
    const char *baseline;
    double budget_s;      /* 0: no limit */
    char soak_option[24]; /* " --soak=N" as it was given; "": it was not */
    char beside_option[OP_WORD + 16]; /* " --beside=OPERATION", the same */
    int fail_fast;
    int has_seed; /* --seed was given, or */
    int has_repeat;
    int has_seeds;
    char *profiles[RUN_MAX_GLOBS]; /* --profile, each with its entries */
    int n_profiles;
    char also[256];   /* --also-rule names, with commas; "" for none */
    const char *list; /* "ops", "backends", "devices", "cases" */
    int vectors;      /* arguments are vector files and folders */
    const char *save; /* shrink: file the case line is appended to */
    char **args;      /* cases, @files or paths */
    int n_args;
} run_options;

/* Every option at its default. */
void run_options_begin(run_options *o);
/* One option of the group run; as run_options_parse(). */
int run_options_take(run_options *o, int code, char *text);
/* Fill o from argv by the group of a command; prints help, which begins with
   usage, or one sentence. Returns -1 to go on, else the exit status. */
int run_options_parse(run_options *o, option_group group, const char *usage,
                      int argc, char **argv);

/* Every known backend and every --plugin. */
int run_options_backends(const run_options *o, backend_list *known);
/* Those the patterns choose; without patterns the default set and plugins.
   Returns EXIT_PASS or EXIT_USAGE after a sentence. */
int run_options_choose(const run_options *o, const backend_list *known,
                       backend_list *chosen);
/* The cases the arguments, or else the grids, name for every seed. Returns
   EXIT_PASS, EXIT_USAGE or EXIT_BROKEN after a sentence. */
int run_options_cases(const run_options *o, case_list *cases);

/* Do the patterns for backends and operations leave these in? */
int run_options_wants(const run_options *o, const char *backend,
                      const char *op);
/* Does every entry name a backend (o NULL: any), an operation and a case that
   there are? EXIT_PASS, or EXIT_USAGE after a sentence. */
int run_options_check_baseline(const run_options *o, const backend_list *known,
                               const baseline *b);

/* Colour on this stream? TERM, NO_COLOR and --color decide. */
int run_options_color(const run_options *o, FILE *stream);

#endif
