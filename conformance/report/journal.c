/* SPDX-License-Identifier: Apache-2.0 */
/* See journal.h. */
#include "journal.h"

#include "base/input.h"
#include "base/say.h"
#include "system/system.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refuse(const journal *j, mxo_text why, const char *sentence)
{
    (void)say(MXO_E_PARAM, why, "--resume=%.300s: %.300s", j->path, sentence);
    return -1;
}

/* Name and version of each backend: another one answers otherwise. */
static int same_backends(const json_t *a, const json_t *b)
{
    const json_t *x = json_object_get(a, "backends");
    const json_t *y = json_object_get(b, "backends");
    int same = json_array_size(x) == json_array_size(y);

    for (size_t i = 0; same && i < json_array_size(x); i++) {
        const json_t *p = json_array_get(x, i);
        const json_t *q = json_array_get(y, i);
        same =
            strcmp(record_text(p, "name"), record_text(q, "name")) == 0 &&
            strcmp(record_text(p, "version"), record_text(q, "version")) == 0;
    }
    return same;
}

static int is_same(const char *key, const json_t *a, const json_t *b)
{
    return strcmp(key, "backends") == 0
               ? same_backends(a, b)
               : json_equal(json_object_get(a, key), json_object_get(b, key));
}

static json_t *make_header(const report_run *run)
{
    json_t *o = record_header(run);

    (void)json_object_set_new(o, "options", json_string(run->options));
    (void)json_object_set_new(o, "subjects", json_string(run->subjects));
    return o;
}

static int check_header(const journal *j, const json_t *there,
                        const report_run *run, mxo_text why)
{
    static const struct {
        const char *key;
        const char *what;
    } keys[] = {{"command", "the journal of another command"},
                {"version", "a journal from another version"},
                {"build", "a journal from another build"},
                {"seed", "a journal of other seeds"},
                {"backends", "a journal of other backends"},
                {"options", "a journal of other options"},
                {"subjects", "a journal of a subject that has changed"},
                {"plan", "a journal of other cases"},
                {"shard", "the journal of another shard"}};
    json_t *own = make_header(run);
    const char *wrong = NULL;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (wrong == NULL && !is_same(keys[i].key, there, own)) {
            wrong = keys[i].what;
        }
    }
    json_decref(own);
    if (wrong != NULL) {
        char text[128];
        (void)snprintf(text, sizeof text, "it is %s", wrong);
        return refuse(j, why, text);
    }
    return 0;
}

/* Baselines come behind it: a line's status is as it was judged. */
static int take_case(journal *j, const json_t *o, const char *line,
                     mxo_text why)
{
    report_result r;
    verdict v;

    if (record_read(o, &r, &v) != 0) {
        return refuse(j, why, "it holds a line that is no case");
    }
    char fault[160] = "holds a case whose status cannot be, as it was judged";
    char text[200];
    const int bad_case =
        v.status != r.judged ||
        record_check_case(&r, NULL, (mxo_text){fault, sizeof fault}) != 0;

    verdict_clear(&v);
    if (bad_case) {
        (void)snprintf(text, sizeof text, "it %s", fault);
        return refuse(j, why, text);
    }
    char *key = record_key(record_text(o, "backend"), r.seed, r.case_text);
    const int is_twice = json_object_get(j->done, key) != NULL;
    const int bad = json_object_set_new(j->done, key, json_string(line));

    free(key);
    if (is_twice) {
        return refuse(j, why, "it holds one case twice");
    }
    return bad != 0 ? refuse(j, why, "it is too large for the memory") : 0;
}

static int take_line(journal *j, const char *line, unsigned number,
                     const report_run *run, mxo_text why)
{
    char fault[160] = "";
    char text[240];
    json_t *o = record_parse(line, (mxo_text){fault, sizeof fault});

    if (o == NULL) {
        (void)snprintf(text, sizeof text, "line %u %s", number, fault);
        return refuse(j, why, text);
    }
    const int bad =
        number == 1 ? check_header(j, o, run, why) : take_case(j, o, line, why);

    json_decref(o);
    return bad;
}

/* All whole lines; *end is where they end. */
static int read_lines(journal *j, FILE *f, const report_run *run, off_t *end,
                      mxo_text why)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n = 0;
    unsigned number = 0;
    int bad = 0;

    while (!bad && (n = record_next_line(f, &line, &size)) > 0 &&
           line[n - 1] == '\n') {
        bad = take_line(j, line, ++number, run, why);
        *end += (off_t)n;
    }
    free(line);
    return n < 0 ? refuse(j, why, "it has a line that is too long") : bad;
}

/* A file without a whole line: is it empty, or a header that was cut off? */
static int is_begun(const journal *j)
{
    static const char start[] = "{\"type\":\"header\"";
    char text[sizeof start];
    const ssize_t n = pread(j->fd, text, sizeof start - 1, 0);

    return n >= 0 && memcmp(text, start, (size_t)n) == 0;
}

static int read_all(journal *j, const report_run *run, mxo_text why)
{
    FILE *f = input_open(j->path);
    off_t end = 0;

    if (f == NULL) {
        return refuse(j, why, input_error());
    }
    const int bad = read_lines(j, f, run, &end, why);

    (void)fclose(f);
    if (bad) {
        return -1;
    }
    if (end == 0 && !is_begun(j)) {
        return refuse(j, why, "it is no journal");
    }
    if (ftruncate(j->fd, end) != 0 ||
        (end == 0 && record_append(j->fd, make_header(run)) != 0)) {
        return refuse(j, why, strerror(errno));
    }
    return 0;
}

int journal_open(journal *j, const char *path, const report_run *run,
                 mxo_text why)
{
    *j = (journal){.path = path, .fd = -1, .done = json_object()};
    const int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (fd < 0) {
        return refuse(j, why, strerror(errno));
    }
    j->fd = fd;
    if (system_lock(fd) != 0) {
        return refuse(j, why, "another run writes to it");
    }
    return read_all(j, run, why);
}

/* A case's line; NULL: it was not judged. */
static const char *line_of(const journal *j, const char *backend, uint64_t seed,
                           const char *case_text)
{
    char *key = j->fd < 0 ? NULL : record_key(backend, seed, case_text);
    const char *line =
        key == NULL ? NULL : json_string_value(json_object_get(j->done, key));

    free(key);
    return line;
}

json_t *journal_find(const journal *j, const char *backend, uint64_t seed,
                     const char *case_text)
{
    return record_again(line_of(j, backend, seed, case_text));
}

int journal_has(const journal *j, const char *backend, uint64_t seed,
                const char *case_text)
{
    return line_of(j, backend, seed, case_text) != NULL;
}

int journal_add(journal *j, const report_result *r)
{
    return j->fd < 0 ? 0 : record_append(j->fd, record_case(r));
}

void journal_close(journal *j)
{
    if (j->fd >= 0) {
        (void)close(j->fd);
        j->fd = -1;
    }
    json_decref(j->done);
    j->done = NULL;
}
