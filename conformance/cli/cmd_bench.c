/* SPDX-License-Identifier: Apache-2.0 */
/* mxoracle bench: how fast are backends on cases that pass. */
#include "base/cli.h"
#include "base/number.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/say.h"
#include "bench/bench.h"
#include "bench/gemm.h"
#include "bench/report.h"
#include "case/grid.h"
#include "report/report.h"
#include "run/mutant_device.h"
#include "run/open_judge.h"
#include "runopts.h"
#include "select/speed.h"

#include <mxoracle/mxoracle.h>

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const standard_cases[] = {
#include "bench_cases.inc"
};

static char *const standard_backends[] = {"cpu", "cuda", "hip"};

enum { MAX_THREAD_COUNTS = 8 };

typedef struct session {
    run_options choice; /* backends, operations, plugins, device */
    bench_options o;
    bench_form form;
    int threads[MAX_THREAD_COUNTS]; /* 0: all */
    int n_threads;
    int n_timed;
    int n_red;
    uint64_t n_met; /* cases, of all backends */
    char *against;  /* a backend's name; NULL: no rival */
    progress progress;
} session;

/* The subject that is timed, and a rival in turn with it, if any. */
typedef struct pair {
    opened_judge subject;
    opened_judge rival;
    const backend_ref *subject_ref; /* borrowed */
    const backend_ref *rival_ref;   /* borrowed; NULL: there is no rival */
} pair;

static int usage(void)
{
    cli_say(
        "usage: mxoracle bench [OPTION]... [CASE|@FILE]...\n"
        "Times cases that pass. A case is repeated along its first dimension\n"
        "until its inputs and outputs are large. Without cases, those of\n"
        "bench.cases are timed.\n");
    options_help(OPTIONS_bench, stdout);
    cli_say(
        "\nRates count bytes read plus bytes written. \"of copy\" compares\n"
        "with a plain copy of as many bytes, taken in turn with the samples:\n"
        "memcpy on as many threads, or the device's own copy. Products are\n"
        "held against OpenBLAS's sgemm on as many threads: 2048 cubed, and\n"
        "the shapes of the case, its weights in float32 and apart.");
    return EXIT_PASS;
}

static int take_threads(session *s, const char *text)
{
    uint64_t n[MAX_THREAD_COUNTS];

    s->n_threads = number_list(text, ",", 4096, n, MAX_THREAD_COUNTS);
    for (int i = 0; i < s->n_threads; i++) {
        s->threads[i] = (int)n[i];
    }
    return s->n_threads > 0
               ? EXIT_PASS
               : cli_refuse("--threads=%s is no list of up to %d numbers "
                            "from 0 to 4096",
                            text, MAX_THREAD_COUNTS);
}

/* Options that take a natural number. */
static int take_number(session *s, int code, const char *text)
{
    static const struct {
        int code;
        const char *name;
        uint64_t least, most;
    } rows[] = {{OPT_bench_device, "device", 0, 1023},
                {OPT_bench_tokens, "tokens", 1, 1 << 20},
                {OPT_bench_experts, "experts", 1, 1 << 16},
                {OPT_bench_samples, "samples", 1, BENCH_MAX_SAMPLES},
                {OPT_bench_seed, "seed", 0, RUN_MAX_SEED}};
    uint64_t n = 0;
    size_t i = 0;

    while (rows[i].code != code) {
        i++;
    }
    if (number_option(rows[i].name, text, rows[i].least, rows[i].most, &n) >=
        0) {
        return EXIT_USAGE;
    }
    switch (code) {
    case OPT_bench_device:
        s->choice.pool.device = (int)n;
        break;
    case OPT_bench_tokens:
        s->o.tokens = n;
        break;
    case OPT_bench_experts:
        s->o.experts = n;
        break;
    case OPT_bench_samples:
        s->o.samples = (int)n;
        break;
    default:
        s->o.seed = n;
        break;
    }
    return EXIT_PASS;
}

/* Options that take a real number. */
static int take_real(session *s, int code, const char *text)
{
    const char *name = code == OPT_bench_mib ? "mib" : "box";
    const double most = code == OPT_bench_mib ? 1 << 20 : 86400;
    double x = 0;

    if (!number_real(text, 0, most, &x)) {
        return cli_refuse("--%s=%s is not a number from 0 to %.0f", name, text,
                          most);
    }
    if (code == OPT_bench_mib) {
        s->o.host_bytes = s->o.device_bytes = (uint64_t)(x * 1048576);
    } else {
        s->o.box_s = x;
    }
    return EXIT_PASS;
}

static int take_word(char **list, int *n, int room, char *text)
{
    if (*n == room) {
        return cli_refuse("more than %d of one option", room);
    }
    list[(*n)++] = text;
    return EXIT_PASS;
}

static int take(session *s, int code, char *text)
{
    run_options *c = &s->choice;

    switch (code) {
    case OPT_bench_backend:
        return take_word(c->backends, &c->n_backends, RUN_MAX_GLOBS, text);
    case OPT_bench_op:
        return take_word(c->ops, &c->n_ops, RUN_MAX_GLOBS, text);
    case OPT_bench_plugin:
        return take_word(c->plugins, &c->n_plugins, RUN_MAX_PLUGINS, text);
    case OPT_bench_exec:
        return take_word(c->commands, &c->n_commands, RUN_MAX_PLUGINS, text);
    case OPT_bench_against:
        s->against = text;
        return EXIT_PASS;
    case OPT_bench_threads:
        return take_threads(s, text);
    case OPT_bench_no_gemm:
        s->o.no_gemm = 1;
        return EXIT_PASS;
    case OPT_bench_csv:
        s->form = BENCH_CSV;
        return EXIT_PASS;
    case OPT_bench_json:
        s->form = BENCH_JSON;
        return EXIT_PASS;
    case '?':
        return EXIT_USAGE;
    case OPT_bench_mib:
    case OPT_bench_box:
        return take_real(s, code, text);
    default:
        return take_number(s, code, text);
    }
}

/* -1 to go on, else the exit status. */
static int parse(session *s, int argc, char **argv)
{
    char *value;
    int code;

    options_start();
    while ((code = options_next(OPTIONS_bench, argc, argv, &value)) != -1) {
        if (code == OPT_bench_help) {
            return usage();
        }
        const int status = take(s, code, value);
        if (status != EXIT_PASS) {
            return status;
        }
    }
    s->choice.args = argv + optind;
    s->choice.n_args = argc - optind;
    if (s->choice.n_backends + s->choice.n_plugins + s->choice.n_commands ==
        0) {
        memcpy(s->choice.backends, standard_backends, sizeof standard_backends);
        s->choice.n_backends = 3;
    }
    return -1;
}

/* Whether -o chooses the operation of a case. */
static int is_chosen(const session *s, const char *text)
{
    char op[CASE_TEXT];

    (void)snprintf(op, sizeof op, "%.*s", (int)strcspn(text, ":"), text);
    for (int i = 0; i < s->choice.n_ops; i++) {
        if (cli_matches(s->choice.ops[i], op)) {
            return 1;
        }
    }
    return s->choice.n_ops == 0;
}

static int collect(session *s, case_list *cases)
{
    const size_t n = sizeof standard_cases / sizeof standard_cases[0];

    s->choice.level = 2;
    s->choice.repeat = 1;
    s->choice.seed = s->o.seed;
    if (s->choice.n_args > 0) {
        return run_options_cases(&s->choice, cases);
    }
    for (size_t i = 0; i < n; i++) {
        if (is_chosen(s, standard_cases[i])) {
            case_list_add(cases, standard_cases[i], s->o.seed);
        }
    }
    return cases->n > 0 ? EXIT_PASS : cli_refuse("no case matches");
}

static int thread_count(const session *s, int i)
{
    return s->threads[i] > 0 ? s->threads[i] : bench_processors();
}

static void time_job(session *s, bench_job *job, bench_job *rival,
                     const mxo_backend *table, const char *text)
{
    const int n = table->set_threads == NULL ? 1 : s->n_threads;
    char why[512] = "";
    bench_row row;

    for (int i = 0; i < n; i++) {
        if (i > 0 && thread_count(s, i) == thread_count(s, i - 1)) {
            continue;
        }
        if (bench_time(job, rival,
                       table->set_threads == NULL ? 1 : thread_count(s, i),
                       &s->o, &row, (mxo_text){why, sizeof why}) != 0) {
            s->n_red++;
            progress_wipe(&s->progress);
            bench_report_refusal(s->form, table->name, text, "error", why);
            continue;
        }
        s->n_timed++;
        progress_wipe(&s->progress);
        bench_report_row(s->form, table->name, text, &row);
    }
}

/* What run is to be asked for, to see all of it. */
static void say_repro(const session *s, const backend_ref *ref,
                      const char *text)
{
    char option[2 * BACKEND_COMMAND];

    device_option(ref, s->choice.pool.device, option, sizeof option);
    bench_report_repro(s->form, option, s->o.seed, text);
}

/* A job of a backend; NULL, said and counted, if the case does not pass. */
static bench_job *open_job(session *s, const backend_ref *ref, judge *j,
                           const test_case *c, const char *text)
{
    char why[1024] = "";
    int is_large = 0;
    bench_job *job;
    const verdict_status v =
        bench_open(&job, j, c, &s->o, &is_large, (mxo_text){why, sizeof why});

    if (v != VERDICT_PASS) {
        s->n_red += verdict_is_red(v);
        progress_wipe(&s->progress);
        bench_report_refusal(s->form, j->subject.table->name, text,
                             verdict_name(v), why);
        if (verdict_is_red(v) && !is_large) {
            say_repro(s, ref, text);
        }
        return NULL;
    }
    return job;
}

static int time_case(session *s, pair *p, const char *text)
{
    char why[1024] = "";
    bench_job *rival = NULL;
    test_case c;

    if (case_parse(&c, text, (mxo_text){why, sizeof why}) != 0) {
        return cli_refuse("%s", why);
    }
    bench_job *job = open_job(s, p->subject_ref, &p->subject.j, &c, text);

    if (job != NULL && p->rival_ref != NULL) {
        rival = open_job(s, p->rival_ref, &p->rival.j, &c, text);
    }
    if (job != NULL) {
        time_job(s, job, rival, p->subject.j.subject.table, text);
    }
    bench_close(&rival);
    bench_close(&job);
    return EXIT_PASS;
}

static int time_pair(session *s, pair *p, const case_list *cases)
{
    int status = EXIT_PASS;

    bench_report_backend(s->form, p->subject.j.subject.table,
                         &p->subject.j.subject);
    if (p->rival_ref != NULL) {
        bench_report_backend(s->form, p->rival.j.subject.table,
                             &p->rival.j.subject);
    }
    bench_report_heading(s->form);
    for (size_t i = 0; status == EXIT_PASS && i < cases->n; i++) {
        const char *text = cases->item[i].text;
        progress_show(&s->progress, s->n_met++, (uint64_t)s->n_red, text);
        status = time_case(s, p, text);
    }
    return status;
}

/* Its process ends, as nothing more is asked. */
static void finish(session *s, opened_judge *o)
{
    char name[BACKEND_NAME];
    verdict v;

    say_copy(name, sizeof name, o->j.subject.table->name);
    opened_judge_finish(o, &v);
    if (verdict_is_red(v.status)) {
        s->n_red++;
        progress_wipe(&s->progress);
        bench_report_end(s->form, name, verdict_name(v.status), v.reason);
    }
    verdict_clear(&v);
}

/* A second backend of a name gets a number, as in run. */
static void name_apart(opened_judge *o, backend_list *chosen, int i)
{
    const backend_ref *ref = &chosen->ref[i];

    backends_show(chosen, i,
                  ref->shown[0] == '\0' ? o->j.subject.table->name
                                        : ref->shown);
    if (o->proxy != NULL) {
        proxy_name(o->proxy, ref->shown);
    }
}

static int time_backend(session *s, backend_list *chosen, int i,
                        const backend_ref *rival, const case_list *cases)
{
    const backend_ref *ref = &chosen->ref[i];
    const open_options how = {.device = s->choice.pool.device,
                              .timeout_s = s->choice.pool.timeout_s};
    char why[512] = "";
    int status = EXIT_PASS;
    pair p = {.subject_ref = ref, .rival_ref = rival};

    if (opened_judge_open(&p.subject, ref, &how, (mxo_text){why, sizeof why}) !=
        MXO_OK) {
        bench_report_absent(s->form, ref->name, why);
        return EXIT_PASS;
    }
    name_apart(&p.subject, chosen, i);
    if (rival != NULL &&
        opened_judge_open(&p.rival, rival, &how, (mxo_text){why, sizeof why}) !=
            MXO_OK) {
        status = cli_refuse("--against=%s: %s", s->against, why);
    } else {
        status = time_pair(s, &p, cases);
    }
    if (p.rival.is_open) {
        finish(s, &p.rival);
    }
    finish(s, &p.subject);
    return status;
}

/* The rival among all backends; NULL: none is wanted, or *status says. */
static const backend_ref *find_rival(const session *s,
                                     const backend_list *known, int *status)
{
    for (int i = 0; s->against != NULL && i < known->n; i++) {
        if (strcmp(known->ref[i].name, s->against) == 0 ||
            strcmp(known->ref[i].shown, s->against) == 0) {
            return &known->ref[i];
        }
    }
    if (s->against != NULL) {
        *status = cli_refuse("--against=%s is no backend", s->against);
    }
    return NULL;
}

static void rate_machine(session *s)
{
    const int all = bench_processors();
    progress p;

    progress_begin(&p, 0, 1);
    progress_tick(&p);
    progress_show(&p, 0, 0, "rates of this machine");
    const double one = s->o.no_gemm ? 0 : gemm_rate(&gemm_square, 1, 1);
    const double every =
        one > 0 && all > 1 ? gemm_rate(&gemm_square, 1, all) : one;
    progress_wipe(&p);
    bench_report_machine(s->form, report_compiler(), all, one, every);
    if (s->choice.n_ops == 0 && s->choice.n_args == 0) {
        const double rate = selection_rate(s->o.samples);
        progress_wipe(&p);
        bench_report_selection(s->form, rate);
    }
    progress_end(&p);
}

int cmd_bench(int argc, char **argv)
{
    static session s;
    static backend_list known;
    static backend_list chosen;
    case_list cases = {0};

    s.o = (bench_options){.seed = 1,
                          .host_bytes = UINT64_C(256) << 20,
                          .device_bytes = UINT64_C(1024) << 20,
                          .samples = 30,
                          .experts = 128,
                          .box_s = 10};
    s.choice.pool.timeout_s = 600;
    s.threads[0] = 1;
    s.threads[1] = 0;
    s.n_threads = 2;
    int status = parse(&s, argc, argv);
    if (status >= 0) {
        return status;
    }
    status = run_options_backends(&s.choice, &known);
    status = status == EXIT_PASS
                 ? run_options_choose(&s.choice, &known, &chosen)
                 : status;
    status = status == EXIT_PASS ? collect(&s, &cases) : status;
    const backend_ref *const rival =
        status == EXIT_PASS ? find_rival(&s, &known, &status) : NULL;
    if (status == EXIT_PASS) {
        rate_machine(&s);
        progress_begin(&s.progress, cases.n * (uint64_t)chosen.n, 1);
    }
    for (int i = 0; status == EXIT_PASS && i < chosen.n; i++) {
        status = time_backend(&s, &chosen, i, rival, &cases);
    }
    progress_end(&s.progress);
    case_list_clear(&cases);
    if (status != EXIT_PASS || s.n_red > 0) {
        return status != EXIT_PASS ? status : EXIT_RED;
    }
    return s.n_timed > 0 ? EXIT_PASS : EXIT_SKIP;
}
