/* SPDX-License-Identifier: Apache-2.0 */
/* See report_set.h. */
#include "report_set.h"

#include "base/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* as the system follows */

static const struct {
    const char *option;
    const reporter *form;
} forms[N_REPORT_FORMS] = {
    [REPORT_JSON] = {"json", &report_json},
    [REPORT_TAP] = {"tap", &report_tap},
    [REPORT_JUNIT] = {"junit", &report_junit},
    [REPORT_HTML] = {"html", &report_html},
};

int report_option(report_options *o, report_form form, const char *path)
{
    if (o->on_stdout[form] || o->file[form] != NULL) {
        return cli_refuse("--%s is given twice", forms[form].option);
    }
    o->on_stdout[form] = path == NULL || strcmp(path, "-") == 0;
    o->file[form] = o->on_stdout[form] ? NULL : path;
    return -1;
}

int report_options_stdout(const report_options *o)
{
    int n = 0;

    for (int i = 0; i < N_REPORT_FORMS; i++) {
        n += o->on_stdout[i];
    }
    return n;
}

/* Where a link leads that leads to nothing yet, or the path itself. */
static void follow(const char *path, char *end, size_t size)
{
    char target[REPORT_PATH];
    char from[REPORT_PATH];
    ssize_t n = 0;

    (void)snprintf(end, size, "%s", path);
    for (int i = 0; i < MOST_LINKS && n >= 0; i++) {
        n = readlink(end, target, sizeof target - 1);
        if (n >= 0) {
            target[n] = '\0';
            const char *slash = strrchr(end, '/');
            const int folder =
                slash == NULL || target[0] == '/' ? 0 : (int)(slash - end) + 1;
            (void)snprintf(from, sizeof from, "%s", end);
            (void)snprintf(end, size, "%.*s%.4000s", folder, from, target);
        }
    }
}

/* The folder's real name and the last part, so that a/../x is x. */
static void place_of(const char *name, char *place, size_t size)
{
    char path[REPORT_PATH];

    follow(name, path, sizeof path);
    const char *slash = strrchr(path, '/');
    const int n = slash == NULL ? 1 : (int)(slash - path) + 1;
    char folder[REPORT_PATH];

    (void)snprintf(folder, sizeof folder, "%.*s", n,
                   slash == NULL ? "." : path);
    char *real = realpath(folder, NULL);

    (void)snprintf(place, size, "%s/%s", real == NULL ? folder : real,
                   slash == NULL ? path : slash + 1);
    free(real);
}

/* A terminal or /dev/null takes what any number of writers have. */
static int is_same_file(const struct stat *a, const struct stat *b)
{
    return !S_ISCHR(a->st_mode) && a->st_dev == b->st_dev &&
           a->st_ino == b->st_ino;
}

int report_same_place(const char *a, const char *b)
{
    struct stat x;
    struct stat y;
    char places[2][2 * REPORT_PATH];

    if (stat(a, &x) == 0 && stat(b, &y) == 0) {
        return is_same_file(&x, &y);
    }
    place_of(a, places[0], sizeof places[0]);
    place_of(b, places[1], sizeof places[1]);
    return strcmp(places[0], places[1]) == 0;
}

static int is_stdout(const char *path)
{
    struct stat x;
    struct stat y;

    return stat(path, &x) == 0 && fstat(STDOUT_FILENO, &y) == 0 &&
           is_same_file(&x, &y);
}

int report_options_check(const report_options *o)
{
    for (int i = 0; i < N_REPORT_FORMS; i++) {
        if (o->file[i] != NULL && is_stdout(o->file[i])) {
            return cli_refuse("%s is standard output: --%s=- writes there "
                              "without other text",
                              o->file[i], forms[i].option);
        }
        for (int k = 0; k < i; k++) {
            if (o->on_stdout[k] && o->on_stdout[i]) {
                return cli_refuse("--%s and --%s both want standard output",
                                  forms[k].option, forms[i].option);
            }
            if (o->file[i] != NULL && o->file[k] != NULL &&
                report_same_place(o->file[i], o->file[k])) {
                return cli_refuse("--%s and --%s both want %s", forms[k].option,
                                  forms[i].option, o->file[i]);
            }
        }
    }
    return EXIT_PASS;
}

int report_options_spare(const report_options *o, const char *path)
{
    for (int i = 0; i < N_REPORT_FORMS; i++) {
        if (path != NULL && o->file[i] != NULL &&
            report_same_place(o->file[i], path)) {
            return cli_refuse("%s cannot be read and written in one run", path);
        }
    }
    return EXIT_PASS;
}

static void add_stdout(report_set *s, const reporter *form)
{
    s->r[s->n] = *form;
    s->r[s->n].out = stdout;
    s->n++;
}

static int add_file(report_set *s, const reporter *form, const char *path)
{
    char why[REPORT_PATH + 128];

    if (report_file_open(&s->file[s->n], path, (mxo_text){why, sizeof why}) !=
        0) {
        return cli_refuse("%s", why);
    }
    s->r[s->n] = *form;
    s->r[s->n].out = s->file[s->n].out;
    s->n++;
    return EXIT_PASS;
}

int report_set_open(report_set *s, const report_options *o,
                    const reporter *text)
{
    int status = report_options_check(o);

    memset(s, 0, sizeof *s);
    for (int i = 0; i < N_REPORT_FORMS; i++) {
        text = o->on_stdout[i] ? forms[i].form : text;
    }
    if (status == EXIT_PASS && text != NULL) {
        add_stdout(s, text);
    }
    for (int i = 0; status == EXIT_PASS && i < N_REPORT_FORMS; i++) {
        if (o->file[i] != NULL) {
            status = add_file(s, forms[i].form, o->file[i]);
        }
    }
    if (status != EXIT_PASS) {
        report_set_abandon(s);
    }
    return status;
}

void report_set_begin(report_set *s, const report_run *run)
{
    for (int i = 0; i < s->n; i++) {
        s->r[i].run = run;
        s->r[i].begin(&s->r[i], run);
    }
}

void report_set_result(report_set *s, const report_result *r)
{
    for (int i = 0; i < s->n; i++) {
        s->r[i].result(&s->r[i], r);
    }
}

void report_set_end(report_set *s, const tally *t)
{
    for (int i = 0; i < s->n; i++) {
        s->r[i].end(&s->r[i], t);
    }
}

int report_set_close(report_set *s)
{
    char why[REPORT_PATH + 128];
    int status = EXIT_PASS;

    for (int i = 0; i < s->n; i++) {
        if (s->file[i].out == NULL) {
            continue;
        }
        if (report_file_commit(&s->file[i], (mxo_text){why, sizeof why}) != 0) {
            (void)cli_refuse("%s", why);
            status = EXIT_BROKEN;
        }
    }
    s->n = 0;
    return status;
}

void report_set_abandon(report_set *s)
{
    for (int i = 0; i <= N_REPORT_FORMS; i++) {
        report_file_abandon(&s->file[i]);
    }
    s->n = 0;
}
