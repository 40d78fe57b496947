/* SPDX-License-Identifier: Apache-2.0 */
/* mxoracle run: judge cases on backends, report, and say so by exit code. */
#include "cli.h"
#include "listing.h"
#include "run_vectors.h"
#include "runopts.h"

#include <mxoracle/mxoracle.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "an unknown compiler"
#endif

enum { MAX_REPORTERS = 3 };

typedef struct session {
    const run_options *o;
    backend_list known;
    backend_list chosen;
    case_list cases;
    crew *crews[BACKEND_MAX];
    backend_info infos[BACKEND_MAX];
    report_run run;
    reporter reporters[MAX_REPORTERS];
    int n_reporters;
    tally counts;
    int current; /* index of the backend at work */
    int show_progress;
} session;

static int open_report(session *s, const reporter *form, const char *path)
{
    reporter *r = &s->reporters[s->n_reporters];

    *r = *form;
    r->out = stdout;
    if (path != NULL) {
        r->out = fopen(path, "w");
        r->close_out = 1;
    }
    if (r->out == NULL) {
        return cli_refuse("%s: %s", path, strerror(errno));
    }
    s->n_reporters++;
    return EXIT_PASS;
}

static int open_reports(session *s)
{
    const run_options *o = s->o;
    int status = open_report(s,
                             o->tap    ? &report_tap
                             : o->json ? &report_json
                                       : &report_text,
                             NULL);

    if (status == EXIT_PASS && o->json_file != NULL) {
        status = open_report(s, &report_json, o->json_file);
    }
    if (status == EXIT_PASS && o->junit_file != NULL) {
        status = open_report(s, &report_junit, o->junit_file);
    }
    return status;
}

/* 0, or the exit status of a harness that cannot write its report. */
static int close_reports(session *s)
{
    int status = EXIT_PASS;

    for (int i = 0; i < s->n_reporters; i++) {
        FILE *out = s->reporters[i].out;
        const int bad = fflush(out) != 0 || ferror(out);
        if ((s->reporters[i].close_out ? fclose(out) : 0) != 0 || bad) {
            fputs("mxoracle: a report cannot be written in full\n", stderr);
            status = EXIT_BROKEN;
        }
    }
    return status;
}

/* A plugin the user named must load: anything else is bad usage. */
static int open_crews(session *s)
{
    for (int i = 0; i < s->chosen.n; i++) {
        const backend_ref *ref = &s->chosen.ref[i];
        backend_info *info = &s->infos[i];

        s->crews[i] = crew_create(ref, &s->o->crew, info);
        if (s->crews[i] == NULL) {
            fputs("mxoracle: out of memory\n", stderr);
            return EXIT_BROKEN;
        }
        for (int k = 0; k < s->o->n_plugins; k++) {
            if (strstr(ref->path, s->o->plugins[k]) != NULL) {
                (void)snprintf(info->plugin, sizeof info->plugin, "%s",
                               s->o->plugins[k]);
            }
        }
        if (info->plugin[0] != '\0' && info->version[0] == '\0' &&
            info->absent == VERDICT_ERROR) {
            return cli_refuse("--plugin=%s: %s", info->plugin, info->why_not);
        }
    }
    return EXIT_PASS;
}

static void plan(session *s)
{
    const run_options *o = s->o;
    report_run *run = &s->run;

    run->version = mxo_version();
    run->compiler = COMPILER;
    run->level = o->n_args == 0 ? o->level : 0;
    run->n_backends = s->chosen.n;
    run->backends = s->infos;
    run->max_fail = o->max_fail;
    run->also = o->also[0] == '\0' ? NULL : o->also;
    run->verbose = o->verbose;
    run->color = run_options_color(o, stdout);
    if (o->repeat > 1) {
        (void)snprintf(run->seeds, sizeof run->seeds, "%" PRIu64 "..%" PRIu64,
                       o->seed, o->seed + o->repeat - 1);
    } else {
        (void)snprintf(run->seeds, sizeof run->seeds, "%" PRIu64, o->seed);
    }
    for (int i = 0; i < s->chosen.n; i++) {
        run->n_planned += s->infos[i].why_not[0] == '\0' ? s->cases.n : 1;
    }
}

/* One line that rewrites itself, only where someone looks. */
static void progress(const session *s, const char *text)
{
    const int width = cli_columns(stderr);

    if (s->show_progress) {
        char line[CASE_TEXT + 128];
        (void)snprintf(line, sizeof line,
                       "%" PRIu64 "/%" PRIu64 " %" PRIu64 " red  %s",
                       tally_total(&s->counts), s->run.n_planned,
                       tally_red(&s->counts), text);
        fprintf(stderr, "\r\033[K%.*s", width - 1, line);
        fflush(stderr);
    }
}

static void write_repro(const session *s, const char *text, uint64_t seed,
                        char *repro, size_t size)
{
    const backend_info *b = &s->infos[s->current];
    size_t used = 0;

    if (b->plugin[0] != '\0') {
        used = (size_t)snprintf(repro, size, "mxoracle run --plugin='%s'",
                                b->plugin);
    } else {
        used = (size_t)snprintf(repro, size, "mxoracle run -b %s",
                                s->chosen.ref[s->current].name);
    }
    if (used < size && s->o->crew.device != 0) {
        used += (size_t)snprintf(repro + used, size - used, " --device=%d",
                                 s->o->crew.device);
    }
    if (used < size) {
        (void)snprintf(repro + used, size - used, " --seed=%" PRIu64 " %s",
                       seed, text);
    }
}

static void report(session *s, const char *text, uint64_t n_cases,
                   uint64_t seed, const verdict *v)
{
    report_result r = {.backend = &s->infos[s->current],
                       .case_text = text,
                       .n_cases = n_cases,
                       .seed = seed,
                       .v = v};

    write_repro(s, text, seed, r.repro, sizeof r.repro);
    progress(s, "");
    for (int i = 0; i < s->n_reporters; i++) {
        s->reporters[i].result(&s->reporters[i], &r);
    }
    tally_add(&s->counts, &r);
    progress(s, text);
}

static void judged(void *state, size_t index, const verdict *v)
{
    session *s = state;
    const case_item *item = &s->cases.item[index];
    verdict seen = *v;
    char text[CASE_TEXT];
    test_case c;
    mxo_text none = {text, sizeof text};

    if (s->o->strict && v->status == VERDICT_UNSUPPORTED) {
        seen.status = VERDICT_ERROR;
        (void)snprintf(seen.reason, sizeof seen.reason,
                       "unsupported, and --strict: %.400s", v->reason);
    }
    if (s->o->canonical && case_parse(&c, item->text, none) == 0) {
        case_print(&c, 1, text);
        report(s, text, 1, item->seed, &seen);
    } else {
        report(s, item->text, 1, item->seed, &seen);
    }
}

/* All cases of a backend that is not there, in one line. */
static void report_absent(session *s)
{
    const backend_info *b = &s->infos[s->current];
    verdict v = {.status = b->absent};

    (void)snprintf(v.reason, sizeof v.reason, "%s", b->why_not);
    report(s, "*", s->cases.n, s->o->seed, &v);
}

static int judge_all(session *s)
{
    int status = 0;

    for (int i = 0; i < s->n_reporters; i++) {
        s->reporters[i].begin(&s->reporters[i], &s->run);
    }
    for (int i = 0; i < s->chosen.n && status == 0; i++) {
        s->current = i;
        if (s->infos[i].why_not[0] != '\0') {
            report_absent(s);
        } else {
            status = crew_run(s->crews[i], &s->cases, judged, s);
        }
        crew_destroy(&s->crews[i]);
    }
    if (s->show_progress) {
        fputs("\r\033[K", stderr);
    }
    for (int i = 0; i < s->n_reporters; i++) {
        s->reporters[i].end(&s->reporters[i], &s->counts);
    }
    return status == 0 ? EXIT_PASS : EXIT_BROKEN;
}

/* Has a backend that was asked for by name declined everything? */
static int is_declined(const session *s)
{
    int found = 0;

    for (int i = 0; i < s->chosen.n; i++) {
        found |= (s->o->n_backends > 0 || s->infos[i].plugin[0] != '\0') &&
                 tally_is_declined(&s->counts, s->infos[i].name);
    }
    return found;
}

static int exit_status(const session *s)
{
    const tally *t = &s->counts;

    if (tally_red(t) > 0) {
        return EXIT_RED;
    }
    if (is_declined(s)) {
        return EXIT_SKIP;
    }
    return t->n[VERDICT_PASS] + t->n[VERDICT_EXPECTED] > 0 ? EXIT_PASS
                                                           : EXIT_SKIP;
}

/* Workers write to a pipe: they learn the width of our terminal from here. */
static void publish_width(void)
{
    char width[16];

    if (isatty(STDOUT_FILENO)) {
        (void)snprintf(width, sizeof width, "%d", cli_columns(stdout));
        (void)setenv("COLUMNS", width, 0);
    }
}

static int run_session(session *s)
{
    int status = run_options_backends(s->o, &s->known);

    if (status == EXIT_PASS) {
        status = run_options_choose(s->o, &s->known, &s->chosen);
    }
    if (status == EXIT_PASS) {
        status = run_options_cases(s->o, &s->cases);
    }
    if (status == EXIT_PASS) {
        status = open_crews(s);
    }
    if (status == EXIT_PASS) {
        status = open_reports(s);
    }
    if (status == EXIT_PASS) {
        plan(s);
        s->show_progress = isatty(STDERR_FILENO) && s->o->verbose >= 0;
        status = judge_all(s);
    }
    const int closed = close_reports(s);

    if (status != EXIT_PASS || closed != EXIT_PASS) {
        return status != EXIT_PASS ? status : closed;
    }
    return exit_status(s);
}

int cmd_run(int argc, char **argv)
{
    run_options options;
    int status = run_options_parse(&options, argc, argv);

    if (status >= 0) {
        return status;
    }
    if (options.list != NULL) {
        return list_things(&options, options.list);
    }
    if (options.vectors) {
        return run_vectors(&options);
    }
    session *s = calloc(1, sizeof *s);

    if (s == NULL) {
        fputs("mxoracle: out of memory\n", stderr);
        return EXIT_BROKEN;
    }
    s->o = &options;
    publish_width();
    status = run_session(s);
    for (int i = 0; i < BACKEND_MAX; i++) {
        crew_destroy(&s->crews[i]);
    }
    tally_clear(&s->counts);
    case_list_clear(&s->cases);
    free(s);
    return status;
}
