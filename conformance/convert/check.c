/* SPDX-License-Identifier: Apache-2.0 */
/* See check.h. */
#include "check.h"

#include "base/cli.h"
#include "base/say.h"
#include "base/stop.h"
#include "files/json_walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Are these arrays the same, member by member? */
static int same_arrays(const char *said, const char *right)
{
    json_walk a = json_walk_of(said);
    json_walk b = json_walk_of(right);
    int more = a.closer == ']' && b.closer == ']' ? 1 : -1;

    while (more == 1) {
        more = json_walk_next(&a);
        more = json_walk_next(&b) == more ? more : -1;
        if (more == 1 &&
            !json_equal(json_walk_value(&a), json_walk_value(&b))) {
            more = -1;
        }
    }
    json_walk_end(&a);
    json_walk_end(&b);
    return more == 0;
}

/* A converted file says of its layers what is said of them today. */
static int check_layers(const job *j, const checkpoint *existing, mxo_text why)
{
    json_t *meta = job_metadata(j);
    const int same =
        same_arrays(checkpoint_meta(existing, META_LAYERS),
                    json_string_value(json_object_get(meta, META_LAYERS)));

    json_decref(meta);
    if (!same) {
        (void)say(MXO_E_SHAPE, why,
                  "the file's metadata say other layers than it has");
    }
    return same ? 0 : -1;
}

/* A converted file says which layout it is in and where it came from. */
static int check_claims(const job *j, const checkpoint *existing, mxo_text why)
{
    const char *layout = checkpoint_meta(existing, META_LAYOUT);
    const char *digest = checkpoint_meta(existing, META_DIGEST);
    const char *const wanted = j->digest;

    if (!job_is_layout(j, layout)) {
        (void)say(MXO_E_SHAPE, why, "the file is in the layout %.100s, not %s",
                  layout == NULL ? "nobody knows" : layout, j->conversion);
        return -1;
    }
    if (digest != NULL && strcmp(digest, "none") != 0 &&
        strcmp(wanted, "none") != 0 && strcmp(digest, wanted) != 0) {
        (void)say(MXO_E_SHAPE, why,
                  "the file was made from another checkpoint: %.40s, not %s",
                  digest, wanted);
        return -1;
    }
    return check_layers(j, existing, why);
}

/* index: 0 of the header, from 1 of tensors. */
static void tell(check *c, const char *name, uint64_t index, verdict *v)
{
    report_result r = {.backend = &c->info,
                       .case_text = name,
                       .op = c->op,
                       .index = index,
                       .judged = v->status,
                       .n_cases = 1,
                       .seed = 1,
                       .v = v};

    (void)snprintf(v->rule, sizeof v->rule, "bits");
    (void)snprintf(r.repro, sizeof r.repro, "%s", c->repro);
    report_set_result(&c->reports, &r);
    tally_add(&c->counts, &r);
}

static void tell_tensor(check *c, size_t i)
{
    const sink_tensor *t = &c->sink->tensor[i];
    const sink_wrong *w = &t->wrong;
    verdict v = {.n_total = t->n_bytes, .n_diff = w->n};

    char detail[400];

    if (w->n > 0) {
        verdict_conclude(&v, VERDICT_FAIL, "bytes",
                         "%" PRIu64 " of %" PRIu64 " bytes differ", w->n,
                         t->n_bytes);
        (void)snprintf(v.tensor, sizeof v.tensor, "%.63s", t->name);
        (void)snprintf(v.index, sizeof v.index, "[%" PRIu64 "]", w->at);
        (void)snprintf(v.want, sizeof v.want, "%02x", w->want);
        (void)snprintf(v.got, sizeof v.got, "%02x", w->got);
        (void)snprintf(detail, sizeof detail,
                       "%.300s: byte %" PRIu64 " is %02x, not %02x", t->name,
                       w->at, w->got, w->want);
        v.detail = detail;
    }
    tell(c, t->name, i + 1, &v);
}

/* Tensors are reported in the order of the file, as soon as they and all
   before them are compared. */
static void on_compared(void *state)
{
    check *c = state;

    while (c->n_judged < c->sink->n && sink_is_compared(c->sink, c->n_judged)) {
        tell_tensor(c, c->n_judged++);
    }
}

int check_begin(check *c, job *j, const char *repro,
                const report_options *options)
{
    c->op = j->conversion;
    c->repro = repro;
    c->sink = &j->sink;
    report_run_begin(&c->run, "convert");
    c->run.n_planned = 1 + j->sink.n;
    c->run.n_backends = 1;
    c->run.backends = &c->info;
    (void)snprintf(c->info.name, sizeof c->info.name, "%s",
                   j->mover.table->name);
    (void)snprintf(c->info.version, sizeof c->info.version, "%s",
                   j->mover.table->version);
    const int status = report_set_open(&c->reports, options, NULL);

    if (status == EXIT_PASS) {
        report_set_begin(&c->reports, &c->run);
        j->sink.on_compared = on_compared;
        j->sink.state = c;
    }
    return status;
}

int check_header(check *c, job *j, const checkpoint *existing, int forward,
                 mxo_text why)
{
    verdict v = {.n_total = 1};

    if (forward && job_digest(j, why) != 0) {
        return -1; /* stopped: nothing is known of the header */
    }
    int status = forward ? check_claims(j, existing, why) : 0;

    status = status == 0 ? sink_expect(&j->sink, existing, why) : status;
    if (status != 0) {
        verdict_conclude(&v, VERDICT_FAIL, "header", "%.500s", why.ptr);
        v.n_diff = 1;
    }
    tell(c, "header", 0, &v);
    return status;
}

int check_end(check *c, int has_changed)
{
    on_compared(c);
    /* A job that was stopped has compared tensors behind one that it has not.
     */
    for (size_t i = c->n_judged; i < c->sink->n; i++) {
        if (sink_is_compared(c->sink, i)) {
            tell_tensor(c, i);
        }
    }
    const char *stop = stop_reason();

    c->run.stopped = has_changed ? "files that changed" : stop;
    report_set_end(&c->reports, &c->counts);
    const int closed = report_set_close(&c->reports);

    tally_clear(&c->counts);
    return closed != EXIT_PASS ? closed : stop_exit_status_of(stop, EXIT_PASS);
}
