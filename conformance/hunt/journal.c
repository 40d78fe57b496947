/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of a hunt; see state.h. */
#include "state.h"

#include "base/input.h"
#include "base/say.h"
#include "report/record.h"
#include "system/system.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const char *path, mxo_text why, const char *sentence)
{
    (void)say(MXO_E_PARAM, why, "--journal=%.300s: %s", path, sentence);
    return -1;
}

static json_t *header(const hunt_options *o, const backend_info *info)
{
    report_run run;
    char digest[40];
    json_t *wanted = json_array();

    report_run_begin(&run, "fuzz");
    (void)snprintf(digest, sizeof digest, "%016" PRIx64 "%s",
                   backend_digest(o->ref), info->code);
    for (size_t i = 0; i < o->n_wanted; i++) {
        (void)json_array_append_new(wanted, json_string(o->wanted[i]));
    }
    return json_pack(
        "{s:s, s:s, s:s, s:i, s:I, s:s, s:s, s:s, s:i, s:s, s:o}", "type",
        "fuzz", "version", run.version, "build", report_run_build(&run), "draw",
        (int)DRAW_VERSION, "seed", (json_int_t)o->seed, "subject", info->name,
        "subject_version", info->version, "subject_digest", digest, "device",
        o->pool.device, "device_name", info->device, "wanted", wanted);
}

static const char *difference(const json_t *there, const json_t *own)
{
    static const char *const keys[][2] = {
        {"type", "it is no journal of fuzz"},
        {"version", "it is a journal from another version"},
        {"build", "it is a journal from another build"},
        {"draw", "it is a journal of another draw"},
        {"seed", "it is a journal of another seed"},
        {"subject", "it is a journal of another subject"},
        {"subject_version", "it is a journal of another subject's version"},
        {"subject_digest", "it is a journal of another file of the subject"},
        {"device", "it is a journal of another device"},
        {"device_name", "it is a journal of another device"},
        {"wanted", "it is a journal of other operations"}};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (!json_equal(json_object_get(there, keys[i][0]),
                        json_object_get(own, keys[i][0]))) {
            return keys[i][1];
        }
    }
    return NULL;
}

static void take_record(hunt_state *s, const char *hex)
{
    draw_record r;

    memset(&r, 0, sizeof r);
    for (size_t i = 0; hex != NULL && i < sizeof r.byte && hex[2 * i] != '\0' &&
                       hex[2 * i + 1] != '\0';
         i++) {
        const char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        r.byte[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    hunt_state_keep(s, &r);
}

static void take_batch(const json_t *line, draw_plan *p, hunt_state *s)
{
    const json_t *weights = json_object_get(line, "weights");
    const json_t *pool = json_object_get(line, "pool");

    s->batch = record_count(line, "batch") + 1;
    s->n_cases = record_count(line, "cases");
    for (size_t i = 0; i < json_array_size(weights) && i < p->n; i++) {
        p->group[i].weight =
            (uint32_t)json_integer_value(json_array_get(weights, i));
    }
    s->n_pool = 0;
    for (size_t i = 0; i < json_array_size(pool); i++) {
        take_record(s, json_string_value(json_array_get(pool, i)));
    }
}

static int take_line(const char *path, const json_t *line, draw_plan *p,
                     hunt_state *s, mxo_text why)
{
    report_result r;
    verdict v;

    if (strcmp(record_text(line, "type"), "batch") == 0) {
        take_batch(line, p, s);
        return 0;
    }
    if (record_read(line, &r, &v) != 0) {
        return refuse(path, why, "it holds a line that is nobody's");
    }
    backend_info info = {.name = ""};

    (void)snprintf(info.name, sizeof info.name, "%s",
                   record_text(line, "backend"));
    r.backend = &info;
    (void)hunt_state_is_new(s, &r);
    verdict_clear(&v);
    return 0;
}

/* All whole lines; *end is where they end. */
static int read_lines(FILE *f, const char *path, const json_t *own,
                      draw_plan *p, hunt_state *s, off_t *end, mxo_text why)
{
    char *text = NULL;
    size_t size = 0;
    ssize_t n = 0;
    int bad = 0;

    while (!bad && (n = record_next_line(f, &text, &size)) > 0 &&
           text[n - 1] == '\n') {
        json_t *line = json_loads(text, 0, NULL);
        record_clean(line);
        const char *other = *end == 0 ? difference(line, own) : NULL;
        if (line == NULL || other != NULL) {
            bad = refuse(path, why,
                         other != NULL ? other : "it is no journal of fuzz");
        } else if (*end > 0) {
            bad = take_line(path, line, p, s, why);
        }
        json_decref(line);
        *end += (off_t)n;
    }
    free(text);
    return n < 0 ? refuse(path, why, "it has a line that is too long") : bad;
}

static int take_up(hunt_journal *j, json_t *own, draw_plan *p, hunt_state *s,
                   mxo_text why)
{
    FILE *f = input_open(j->path);
    off_t end = 0;

    if (f == NULL) {
        json_decref(own);
        return refuse(j->path, why, input_error());
    }
    const int bad = read_lines(f, j->path, own, p, s, &end, why);
    const int has_text = fseeko(f, 0, SEEK_END) == 0 && ftello(f) > 0;

    (void)fclose(f);
    if (bad || (end == 0 && has_text)) {
        json_decref(own);
        return bad ? -1 : refuse(j->path, why, "it is no journal of fuzz");
    }
    if (end > 0) {
        json_decref(own);
        return ftruncate(j->fd, end) == 0
                   ? 0
                   : refuse(j->path, why, strerror(errno));
    }
    return record_append(j->fd, own) == 0
               ? 0
               : refuse(j->path, why, strerror(errno));
}

int hunt_journal_open(hunt_journal *j, const hunt_options *o,
                      const backend_info *info, draw_plan *p, hunt_state *s,
                      mxo_text why)
{
    *j = (hunt_journal){.path = o->journal, .fd = -1};
    if (o->journal == NULL) {
        return 0;
    }
    j->fd = open(o->journal, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (j->fd < 0) {
        return refuse(j->path, why, strerror(errno));
    }
    struct stat there;

    if (fstat(j->fd, &there) != 0 || !S_ISREG(there.st_mode)) {
        return refuse(j->path, why, "it is no file");
    }
    if (system_lock(j->fd) != 0) {
        return refuse(j->path, why, "another run writes to it");
    }
    return take_up(j, header(o, info), p, s, why);
}

int hunt_journal_batch(const hunt_journal *j, const hunt_state *s,
                       const draw_plan *p)
{
    if (j->fd < 0) {
        return 0;
    }
    json_t *weights = json_array();
    json_t *pool = json_array();
    const uint32_t first = s->n_pool < HUNT_POOL ? 0 : s->n_pool - HUNT_POOL;

    for (uint32_t i = 0; i < p->n; i++) {
        (void)json_array_append_new(weights, json_integer(p->group[i].weight));
    }
    for (uint32_t i = first; i < s->n_pool; i++) {
        char hex[2 * DRAW_BYTES + 1];
        for (size_t k = 0; k < DRAW_BYTES; k++) {
            (void)snprintf(hex + 2 * k, 3, "%02x",
                           s->pool[i % HUNT_POOL].byte[k]);
        }
        (void)json_array_append_new(pool, json_string(hex));
    }
    return record_append(
        j->fd, json_pack("{s:s, s:I, s:I, s:o, s:o}", "type", "batch", "batch",
                         (json_int_t)s->batch, "cases", (json_int_t)s->n_cases,
                         "weights", weights, "pool", pool));
}

int hunt_journal_finding(const hunt_journal *j, const report_result *r)
{
    return j->fd < 0 ? 0 : record_append(j->fd, record_case(r));
}

void hunt_journal_close(hunt_journal *j)
{
    if (j->fd >= 0) {
        (void)close(j->fd);
    }
    j->fd = -1;
}
