/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle selftest: judge every mutant until something kills it, every legal
 * variant on many cases, and the published decisions on changed rules.
 */
#include "selftest.h"

#include "cli.h"
#include "number.h"
#include "runopts.h"
#include "select/mutants.h"
#include "selftest_hunt.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct selftest_options {
    const char *backend;
    const char *class_glob;
    const char *id_glob;
    const char *kind; /* NULL: both */
    int level;
    uint64_t seed;
    double timeout_s;
    int quiet;
    selftest_form form;
} selftest_options;

typedef struct selftest_run {
    const selftest_options *o;
    const backend_ref *ref;
    case_list cases; /* of the grids */
    case_pool pool;  /* of those, what device 0 passes */
    size_t n_chosen; /* published decisions of selection */
    selftest_score score;
    int n_reported;
    int n_bad;
} selftest_run;

enum { JOBS = 2 }; /* workers, where many cases are asked */

enum {
    OPT_CLASS = 256,
    OPT_ID,
    OPT_KIND,
    OPT_LEVEL,
    OPT_SEED,
    OPT_TIMEOUT,
    OPT_TAP,
    OPT_JSON
};

static const char help_text[] =
    "usage: mxoracle selftest [OPTION]...\n"
    "\n"
    "Judges a backend that is wrong on purpose: every fault must be caught by\n"
    "a published case, every legal variant accepted.\n"
    "  -b, --backend=NAME   another zoo (default broken)\n"
    "      --class=GLOB     only these classes (Codec, Quantise, ...)\n"
    "      --id=GLOB        only these mutants\n"
    "      --kind=mutants|legal  only faults, or only legal variants\n"
    "      --level=1|2|3    of the grids (default 2)\n"
    "      --seed=N         of data and drawn shapes (default 1)\n"
    "      --timeout=S      processor seconds for a case (default 5)\n"
    "      --tap | --json   another report\n"
    "  -q, --quiet          only what is not as it should be, and the score\n"
    "\n"
    "Exit status: 0 all killed and none rejected, 1 otherwise.\n";

static const struct option long_options[] = {
    {"backend", required_argument, NULL, 'b'},
    {"class", required_argument, NULL, OPT_CLASS},
    {"id", required_argument, NULL, OPT_ID},
    {"kind", required_argument, NULL, OPT_KIND},
    {"level", required_argument, NULL, OPT_LEVEL},
    {"seed", required_argument, NULL, OPT_SEED},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"tap", no_argument, NULL, OPT_TAP},
    {"json", no_argument, NULL, OPT_JSON},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int take_option(selftest_options *o, int code)
{
    uint64_t n = 0;
    int status = -1;

    switch (code) {
    case 'b':
        o->backend = optarg;
        break;
    case OPT_CLASS:
        o->class_glob = optarg;
        break;
    case OPT_ID:
        o->id_glob = optarg;
        break;
    case OPT_KIND:
        o->kind = optarg;
        break;
    case OPT_LEVEL:
        status = number_option("level", optarg, 1, 3, &n);
        o->level = (int)n;
        break;
    case OPT_SEED:
        status = number_option("seed", optarg, 0, RUN_MAX_SEED, &o->seed);
        break;
    case OPT_TIMEOUT:
        status = number_option("timeout", optarg, 1, 3600, &n);
        o->timeout_s = (double)n;
        break;
    case OPT_TAP:
        o->form = SELFTEST_TAP;
        break;
    case OPT_JSON:
        o->form = SELFTEST_JSON;
        break;
    case 'q':
        o->quiet = 1;
        break;
    case 'h':
        (void)fputs(help_text, stdout);
        return EXIT_PASS;
    default:
        return EXIT_USAGE; /* getopt has said why */
    }
    return status;
}

static int parse_options(selftest_options *o, int argc, char **argv)
{
    int code;

    *o =
        (selftest_options){"broken", "*", "*", NULL, 2, 1, 5, 0, SELFTEST_TEXT};
    while ((code = getopt_long(argc, argv, "b:qh", long_options, NULL)) >= 0) {
        const int status = take_option(o, code);
        if (status >= 0) {
            return status;
        }
    }
    if (optind < argc) {
        return cli_refuse("selftest takes no arguments, not %s", argv[optind]);
    }
    if (o->level < 1 || o->timeout_s < 1) {
        return cli_refuse("--level and --timeout start at 1");
    }
    if (o->kind != NULL && strcmp(o->kind, "mutants") != 0 &&
        strcmp(o->kind, "legal") != 0) {
        return cli_refuse("--kind=%s is neither mutants nor legal", o->kind);
    }
    return -1;
}

/* Do the options ask for legal variants alone? */
static int asks_legal(const selftest_options *o)
{
    return o->kind != NULL && strcmp(o->kind, "legal") == 0;
}

/* Do the options ask for it? */
static int is_wanted(const selftest_options *o, const mutant *m)
{
    return cli_matches(o->class_glob, m->class_name) &&
           cli_matches(o->id_glob, m->id) &&
           (o->kind == NULL || asks_legal(o) == m->legal);
}

static void announce(selftest_run *s, const mutant *m, const hunt *h)
{
    const mutant_fate fate = {
        .m = m,
        .red = h->red,
        .n_cases = h->n,
        .case_text = h->killer.text == NULL ? "(no case)" : h->killer.text,
        .seed = h->killer.seed,
        .v = &h->first};
    const int good = score_add(&s->score, &fate) && fate_is_good(&fate);

    s->n_bad += !good;
    s->n_reported++;
    if (!good || !s->o->quiet) {
        selftest_report(s->o->form, &fate, s->n_reported);
    }
}

/* 0, or -1 if the harness failed. */
static int judge_device(selftest_run *s, crew *c, const mutant *m, int device,
                        hunt *h)
{
    if (device == 0) {
        return hunt_faultless(&s->pool, c, &s->cases, h);
    }
    return m->legal ? hunt_legal(&s->pool, c, m, h)
                    : hunt_mutant(&s->pool, c, m, h);
}

/*
 * What a device says is wrong with it; asked in this process, where opening
 * and describing are safe.  EXIT_PASS, EXIT_SKIP if there is no such device.
 */
static int identify(const selftest_run *s, int device, mutant *m)
{
    char text[2][256] = {"", ""};
    const mxo_text why = {text[0], sizeof text[0]};
    const mxo_text driver = {text[1], sizeof text[1]};
    const mxo_backend *table = NULL;
    void *ctx = NULL;
    mxo_status status = backend_load(s->ref, &table, why);

    if (status == MXO_OK) {
        status = table->open(&ctx, device, why);
    }
    if (status == MXO_E_DEVICE && device > 0) {
        return EXIT_SKIP;
    }
    if (status != MXO_OK) {
        return cli_refuse("%s, device %d: %s", s->ref->name, device, text[0]);
    }
    table->describe(ctx, why, driver);
    table->close(ctx);
    if (mutant_parse(m, text[1]) != 0) {
        return cli_refuse("%s, device %d does not say what is wrong: \"%s\"",
                          s->ref->name, device, text[1]);
    }
    return EXIT_PASS;
}

/* EXIT_PASS, EXIT_SKIP if there is no such device, or what went wrong. */
static int try_device(selftest_run *s, int device)
{
    const crew_options how = {ISOLATE_BATCH, JOBS, device, s->o->timeout_s};
    hunt h = {.n = 0};
    backend_info info;
    mutant m = {.legal = 0};
    int status = identify(s, device, &m);

    if (status != EXIT_PASS) {
        return status;
    }
    const int wanted = is_wanted(s->o, &m);

    if (!wanted && device > 0) {
        return EXIT_PASS;
    }
    crew *c = crew_create(s->ref, &how, &info);

    if (c == NULL) {
        return EXIT_BROKEN;
    }
    if (info.why_not[0] != '\0') { /* the judge would not even begin */
        h.red = 1;
        h.first.status = VERDICT_ERROR;
        (void)snprintf(h.first.kind, sizeof h.first.kind, "open");
        (void)snprintf(h.first.reason, sizeof h.first.reason, "%.500s",
                       info.why_not);
    } else if (judge_device(s, c, &m, device, &h) != 0) {
        status = EXIT_BROKEN;
    }
    if (wanted && status == EXIT_PASS) {
        announce(s, &m, &h);
    }
    crew_destroy(&c);
    return status;
}

/* The grids' cases of the operations that the backend has. */
static int plan(selftest_run *s)
{
    char text[512];
    const mxo_text why = {text, sizeof text};
    const mxo_backend *table;
    size_t n = 0;

    if (backend_load(s->ref, &table, why) != MXO_OK) {
        return cli_refuse("%s: %s", s->o->backend, text);
    }
    while (table->ops[n] != NULL) {
        n++;
    }
    if (grid_append(&s->cases, s->o->level, (char *const *)table->ops, n,
                    s->o->seed, why) != 0) {
        return cli_refuse("%s", text);
    }
    return EXIT_PASS;
}

/* EXIT_PASS if a device is asked for, EXIT_SKIP if none is, or what went
   wrong. */
static int find_wanted(const selftest_run *s)
{
    int status = EXIT_PASS;
    mutant m = {.legal = 0};

    for (int device = 0; status == EXIT_PASS; device++) {
        status = identify(s, device, &m);
        if (status == EXIT_PASS && is_wanted(s->o, &m)) {
            return EXIT_PASS;
        }
    }
    return status;
}

static void progress(const selftest_run *s, int device)
{
    if (isatty(STDERR_FILENO) && !s->o->quiet) {
        (void)fprintf(stderr,
                      "\r\033[Kdevice %d, %d reported, %d not as they should "
                      "be\r",
                      device, s->n_reported, s->n_bad);
    }
}

static size_t n_passed(const selftest_run *s)
{
    return s->pool.small.n + s->pool.large.n;
}

/* One changed rule of selection; in text only what survives is a line. */
static void announce_rule(void *ctx, const selection_fate *f)
{
    selftest_run *s = ctx;
    verdict v = {.status = VERDICT_FAIL};
    mutant m = {.class_name = "Selection", .op = "select"};
    const mutant_fate fate = {.m = &m,
                              .red = f->killed,
                              .n_cases = f->n_cases,
                              .case_text = f->case_id,
                              .v = &v};

    (void)snprintf(m.id, sizeof m.id, "S%03d", f->number);
    (void)snprintf(m.what, sizeof m.what, "%.159s", f->what);
    (void)snprintf(v.reason, sizeof v.reason, "%.300s", f->how);
    if (!is_wanted(s->o, &m)) {
        return;
    }
    const int good = score_add(&s->score, &fate) && fate_is_good(&fate);

    s->n_bad += !good;
    s->n_reported++;
    if (!good || (!s->o->quiet && s->o->form != SELFTEST_TEXT)) {
        selftest_report(s->o->form, &fate, s->n_reported);
    }
}

/* The rules of selection, by the published decisions. */
static int judge_selection(selftest_run *s)
{
    selection_cases files[SELECTION_FILES];
    char why[1024] = "";
    const mxo_text text = {why, sizeof why};
    int status = EXIT_PASS;

    if (asks_legal(s->o) || !cli_matches(s->o->class_glob, "Selection") ||
        strcmp(s->o->backend, "broken") != 0) {
        return EXIT_PASS;
    }
    if (selection_files_open(files, text) != 0) {
        (void)fprintf(stderr, "mxoracle: selection is left out: %s\n", why);
        return EXIT_PASS;
    }
    if (selection_mutants(files, announce_rule, s, &s->n_chosen, text) != 0) {
        status = cli_refuse("selection fails a published case: %s", why);
    }
    selection_files_close(files);
    return status;
}

static int judge_zoo(selftest_run *s)
{
    int status = plan(s);

    status = status == EXIT_PASS ? find_wanted(s) : status;
    for (int device = 0; status == EXIT_PASS; device++) {
        progress(s, device);
        status = try_device(s, device);
        if (device == 0 && status == EXIT_PASS && n_passed(s) == 0) {
            return cli_refuse("%s passes no case: nothing can be concluded",
                              s->ref->name);
        }
    }
    if (status != EXIT_SKIP) {
        return status;
    }
    status = judge_selection(s);
    if (status != EXIT_PASS) {
        return status;
    }
    if (s->n_reported == 0) {
        return cli_refuse("no %s has class %s and id %s",
                          asks_legal(s->o) ? "legal variant" : "mutant",
                          s->o->class_glob, s->o->id_glob);
    }
    selftest_summary(s->o->form, &s->score,
                     n_passed(s) > 0 ? n_passed(s) : s->n_chosen);
    return s->n_bad == 0 ? EXIT_PASS : EXIT_RED;
}

int cmd_selftest(int argc, char **argv)
{
    selftest_options options;
    selftest_run s = {.o = &options};
    backend_list *known;
    int status = parse_options(&options, argc, argv);

    if (status >= 0) {
        return status;
    }
    known = calloc(1, sizeof *known);
    if (known == NULL) {
        (void)fputs("mxoracle: out of memory\n", stderr);
        return EXIT_BROKEN;
    }
    backends_known(known);
    s.ref = backends_find(known, options.backend);
    status = s.ref == NULL
                 ? cli_refuse("there is no backend %s", options.backend)
                 : judge_zoo(&s);
    case_list_clear(&s.cases);
    case_pool_clear(&s.pool);
    free(known);
    return status;
}
