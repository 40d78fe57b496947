/* SPDX-License-Identifier: Apache-2.0 */
/* See lanes.h.  The processes are the judge's workers (run/worker.h). */
#include "lanes.h"

#include "run/process_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* So many files of each process are asked for the largest first: then no
   process ends with a large one alone, and lines still come as they are due. */
enum { WINDOW = 32 };

/* One lanes_run. */
typedef struct race {
    const vector_subject *who;
    const path_list *list;
    const lane_sink *sink;
    json_t *hello; /* owned; of the first process; NULL: none yet */
} race;

/* A subject that does not open: every file is told so. */
enum { ABSENT = 1 };

json_t *vector_result_json(const vector_result *r)
{
    json_t *o = json_pack(
        "{s:i, s:i, s:i, s:I, s:f, s:o, s:o, s:o, s:o}", "verdict",
        (int)r->verdict, "outputs", (int)r->n_outputs, "by_rule",
        (int)r->n_by_rule, "elements", (json_int_t)r->n_elements, "ms", r->ms,
        "op", verdict_text_json(r->op), "rule", verdict_text_json(r->rule),
        "cases", verdict_text_json(r->cases), "text",
        verdict_text_json(r->text));

    if (r->n_differ > 0) {
        json_object_set_new(o, "differ", json_integer((json_int_t)r->n_differ));
        json_object_set_new(o, "tensor", verdict_text_json(r->tensor));
        json_object_set_new(o, "index", verdict_text_json(r->index));
        json_object_set_new(o, "want", verdict_text_json(r->want));
        json_object_set_new(o, "got", verdict_text_json(r->got));
        json_object_set_new(o, "map", verdict_text_json(r->map));
    }
    return o;
}

int lanes_can(const path_list *list)
{
    int can = 1;

    for (size_t i = 0; can && i < list->n; i++) {
        json_t *text = json_string(list->path[i]);
        can = text != NULL;
        json_decref(text);
    }
    return can;
}

static uint64_t number_field(const json_t *o, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(o, key));
}

static void read_result(const json_t *o, vector_result *r)
{
    memset(r, 0, sizeof *r);
    r->verdict = (vector_verdict)number_field(o, "verdict");
    r->n_outputs = (uint32_t)number_field(o, "outputs");
    r->n_by_rule = (uint32_t)number_field(o, "by_rule");
    r->n_elements = number_field(o, "elements");
    r->ms = json_real_value(json_object_get(o, "ms"));
    worker_field(r->op, sizeof r->op, o, "op");
    worker_field(r->rule, sizeof r->rule, o, "rule");
    worker_field(r->cases, sizeof r->cases, o, "cases");
    worker_field(r->text, sizeof r->text, o, "text");
    r->n_differ = number_field(o, "differ");
    worker_field(r->tensor, sizeof r->tensor, o, "tensor");
    worker_field(r->index, sizeof r->index, o, "index");
    worker_field(r->want, sizeof r->want, o, "want");
    worker_field(r->got, sizeof r->got, o, "got");
    worker_field(r->map, sizeof r->map, o, "map");
    if (!json_is_integer(json_object_get(o, "verdict"))) {
        r->verdict = VECTOR_FAILED;
        (void)snprintf(r->text, sizeof r->text,
                       "the judge's process gave no result");
    }
}

static int start(void *state, worker *w)
{
    const race *r = state;

    return worker_start(w, &r->who->ref, &r->who->how);
}

static void fail(void *state, const char *why)
{
    (void)state;
    fprintf(stderr, "mxoracle: no process to judge in: %s\n", why);
}

/* The hello of a further process. */
static int greet_again(const race *r, const json_t *o, const vector_greeting *g)
{
    const char *const sentence =
        g->status != MXO_OK ? g->why : worker_hello_difference(r->hello, o);

    if (sentence == NULL) {
        return 0;
    }
    fail(NULL, sentence);
    return PROCESS_POOL_FAILED;
}

static int greet(void *state, const json_t *o)
{
    race *r = state;
    vector_greeting g = {
        .status = (mxo_status)json_integer_value(json_object_get(o, "status"))};

    worker_field(g.why, sizeof g.why, o, "why");
    if (r->hello != NULL) {
        return greet_again(r, o, &g);
    }
    r->hello = json_deep_copy(o);
    worker_field(g.version, sizeof g.version, o, "version");
    worker_field(g.device, sizeof g.device, o, "device");
    const int status = r->sink->greeted(r->sink->state, &g);

    return status == 0 && g.status != MXO_OK ? ABSENT : status;
}

static json_t *ask(void *state, size_t file)
{
    const race *r = state;

    return json_pack("{s:s}", "file", r->list->path[file]);
}

static int settle(void *state, size_t file, const json_t *answer, void **result)
{
    vector_result *r = calloc(1, sizeof *r);

    (void)state;
    (void)file;
    if (r == NULL) {
        return PROCESS_POOL_FAILED;
    }
    read_result(answer, r);
    *result = r;
    return 0;
}

static int lose(void *state, size_t file, const char *how, void **result)
{
    vector_result *r = calloc(1, sizeof *r);

    (void)state;
    (void)file;
    if (r == NULL) {
        return PROCESS_POOL_FAILED;
    }
    r->verdict = VECTOR_FAILED;
    (void)snprintf(r->text, sizeof r->text, "the process that judged it was %s",
                   how);
    *result = r;
    return 0;
}

static int tell(void *state, size_t file, const void *result)
{
    const race *r = state;

    return r->sink->judged(r->sink->state, file, result);
}

static void tell_end(void *state, verdict *v)
{
    const race *r = state;

    r->sink->ended(r->sink->state, v);
}

typedef struct sized_file {
    off_t size;
    size_t file;
} sized_file;

static int by_size(const void *a, const void *b)
{
    const sized_file *x = a;
    const sized_file *y = b;

    if (x->size != y->size) {
        return x->size > y->size ? -1 : 1;
    }
    return x->file < y->file ? -1 : 1;
}

/* Files of the list from there on, sorted. */
static void sort_window(const path_list *list, size_t from, size_t n,
                        sized_file *files)
{
    for (size_t i = 0; i < n; i++) {
        struct stat st = {0};
        (void)stat(list->path[from + i], &st);
        files[i] = (sized_file){st.st_size, from + i};
    }
    qsort(files, n, sizeof *files, by_size);
}

/* The files as they are given. NULL without memory: in their order. */
static size_t *largest_first(const path_list *list, int jobs)
{
    const size_t window = WINDOW * (size_t)jobs;
    sized_file *files = calloc(window, sizeof *files);
    size_t *turn = files == NULL ? NULL : calloc(list->n + 1, sizeof *turn);

    for (size_t i = 0; turn != NULL && i < list->n; i++) {
        if (i % window == 0) {
            const size_t left = list->n - i;
            sort_window(list, i, left < window ? left : window, files);
        }
        turn[i] = files[i % window].file;
    }
    free(files);
    return turn;
}

int lanes_run(const vector_subject *who, const path_list *list, int jobs,
              const lane_sink *sink)
{
    race r = {.who = who, .list = list, .sink = sink};
    size_t *turn = largest_first(list, jobs);
    const process_pool pool = {.n_tasks = list->n,
                               .n_processes = jobs,
                               .turn = turn,
                               .start = start,
                               .greeted = greet,
                               .request = ask,
                               .answered = settle,
                               .lost = lose,
                               .failed = fail,
                               .told = tell,
                               .ended = tell_end,
                               .state = &r};
    const int status = process_pool_run(&pool);

    free(turn);
    json_decref(r.hello);
    return status == ABSENT ? 0 : status;
}
