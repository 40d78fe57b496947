/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle convert: a checkpoint into a backend's byte order, back, or the
 * proof that a converted file is what it says.
 */
#include "base/cli.h"
#include "base/say.h"
#include "base/stop.h"
#include "base/strbuf.h"
#include "check.h"
#include "gguf/gguf.h"
#include "options.h"
#include "run/backends.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A folder of several files is a source, too. */
static int check_target(const convert_options *o, const checkpoint *in)
{
    const size_t n = strlen(o->paths[1]);

    if (n > 5 && strcmp(o->paths[1] + n - 5, ".json") == 0) {
        return cli_refuse("%s: OUT is one safetensors file, no index",
                          o->paths[1]);
    }
    return !o->check && checkpoint_holds(in, o->paths[1])
               ? cli_refuse("%s is one of the files of IN", o->paths[1])
               : EXIT_PASS;
}

static int create(job *j, const convert_options *o, mxo_text why)
{
    /* The digest takes as long as IN is large. */
    if (o->to != NULL && (sink_has_room(&j->sink, o->paths[1], why) != 0 ||
                          job_digest(j, why) != 0)) {
        return -1;
    }
    json_t *metadata =
        o->to != NULL ? job_metadata(j) : json_pack("{s:s}", "format", "pt");
    const int status = sink_create(&j->sink, o->paths[1], metadata, why);

    json_decref(metadata);
    return status;
}

/* Every byte, to its place or against what is there. */
static int move(job *j, const convert_options *o, mxo_text why)
{
    job_progress_begin(j, !o->quiet);
    const int status =
        o->to != NULL ? job_run_forward(j, why) : job_run_back(j, why);

    job_progress_end(j);
    return status == 0
               ? EXIT_PASS
               : stop_exit_status(j->is_bad_input ? EXIT_USAGE : EXIT_RED);
}

/* A signal is two seconds old, and the backend is still at work on an expert:
   nothing is written meanwhile. */
static int leave(void *state)
{
    job *j = state;
    char sentence[600] = "";

    (void)job_stopped(j, (mxo_text){sentence, sizeof sentence});
    (void)cli_refuse("%s", sentence);
    new_file_close(&j->sink.out);
    return stop_exit_status(EXIT_RED);
}

static void conclude(const job *j, const convert_options *o)
{
    cli_line(stdout, 2, "%s %s: %zu tensors, %.1f MB, %s",
             o->check ? "checked" : "wrote", o->paths[1], j->sink.n,
             (double)j->sink.n_bytes / 1e6,
             o->to != NULL ? o->spelled : "checkpoint order");
}

static int write_file(job *j, const convert_options *o, mxo_text why)
{
    stop_leave_with(leave, j);
    int status =
        create(j, o, why) != 0 ? stop_exit_status(EXIT_RED) : move(j, o, why);

    if (status == EXIT_PASS && (checkpoint_is_unchanged(j->in, why) != 0 ||
                                sink_finish(&j->sink, why) != 0)) {
        status = EXIT_RED;
    }
    if (status == EXIT_PASS) {
        conclude(j, o);
    }
    return status;
}

/* The line that checks again. */
static void repro_line(const convert_options *o, strbuf *line)
{
    const shard *s = &o->part;

    strbuf_add(line, "mxoracle convert --check --%s=%s",
               o->to != NULL ? "to" : "from", o->spelled);
    if (s->tp > 1) {
        strbuf_add(line, " --tp=%" PRIu64 "/%" PRIu64, s->tp_rank, s->tp);
    }
    if (s->ep > 1) {
        strbuf_add(line, " --ep=%" PRIu64 "/%" PRIu64, s->ep_rank, s->ep);
    }
    if (s->round_hidden > 1 || s->round_inter > 1) {
        strbuf_add(line, " --pad=%" PRIu64 ",%" PRIu64, s->round_hidden,
                   s->round_inter);
    }
    if (o->rows != ROWS_UNTOLD) {
        strbuf_add(line, " --rows=%s",
                   o->rows == ROWS_IN_TURN ? "in_turn" : "halves");
    }
    if (o->input_scale[0] != 0) {
        float scale[2];
        memcpy(scale, o->input_scale, sizeof scale);
        strbuf_add(line, " --input-scale=%.9g,%.9g", (double)scale[0],
                   (double)scale[1]);
    }
    for (int i = 0; i < 2; i++) {
        char quoted[REPORT_PATH];
        cli_quote(" ", o->paths[i], quoted, sizeof quoted);
        strbuf_add(line, "%s", quoted);
    }
}

/* The last line of a check that a signal or the budget ended. */
static void conclude_stopped(const check *c, const convert_options *o)
{
    if (c->run.stopped != NULL && stop_reason() != NULL &&
        !report_options_stdout(&o->reports)) {
        cli_line(stdout, 2, "checked %s: %zu of %zu tensors, stopped by %s",
                 o->paths[1], c->n_judged, c->sink->n, stop_reason());
    }
}

static int compare_file(job *j, const convert_options *o, check *c,
                        const checkpoint *existing, mxo_text why)
{
    int status = check_header(c, j, existing, o->to != NULL, why) != 0
                     ? stop_exit_status(EXIT_RED)
                     : move(j, o, why);

    if (j->sink.n_wrong > 0) {
        const sink_tensor *t = &j->sink.tensor[j->sink.first_red];
        (void)say(MXO_E_SHAPE, why,
                  "%.300s: %" PRIu64 " bytes differ; %.120s byte %" PRIu64
                  " is %02x, not %02x",
                  o->paths[1], j->sink.n_wrong, t->name, t->wrong.at,
                  t->wrong.got, t->wrong.want);
        status = status == EXIT_PASS ? EXIT_RED : status;
    }
    /* What was compared may be of two versions, red or not. */
    const int has_changed = checkpoint_is_unchanged(j->in, why) != 0 ||
                            checkpoint_is_unchanged(existing, why) != 0;
    const int reported = check_end(c, has_changed);

    conclude_stopped(c, o);
    status = has_changed && status == EXIT_PASS ? EXIT_RED : status;

    if (status == EXIT_PASS && reported == EXIT_PASS &&
        !report_options_stdout(&o->reports)) {
        conclude(j, o);
    }
    return reported == EXIT_BROKEN ? reported : status;
}

static int check_file(job *j, const convert_options *o, mxo_text why)
{
    static check c; /* too large for a stack */
    checkpoint existing = {0};
    strbuf repro = {0};
    int status;

    repro_line(o, &repro);
    if (checkpoint_open(o->paths[1], &existing, why) != 0) {
        status = EXIT_RED;
    } else {
        status = check_begin(&c, j, strbuf_text(&repro), &o->reports);
        status = status == EXIT_PASS ? compare_file(j, o, &c, &existing, why)
                                     : status;
    }
    strbuf_clear(&repro);
    checkpoint_close(&existing);
    return status;
}

static int convert(job *j, const convert_options *o, mxo_text why)
{
    const int planned =
        o->to != NULL ? job_plan_forward(j, why) : job_plan_back(j, why);
    const int status = planned != 0 ? stop_exit_status(EXIT_USAGE)
                       : o->check   ? check_file(j, o, why)
                                    : write_file(j, o, why);

    sink_close(&j->sink);
    return status;
}

/* GGUF has whole layers, and no order of a backend's. */
static int convert_gguf(const convert_options *o)
{
    const shard *s = &o->part;
    char sentence[600] = "";
    const mxo_text why = {sentence, sizeof sentence};

    if (o->check || s->tp != 1 || s->ep != 1 || s->round_hidden != 1 ||
        s->round_inter != 1) {
        return cli_refuse("gguf takes whole layers: no --check, --tp, --ep or "
                          "--pad");
    }
    stop_catch_signals();
    const int failed =
        o->to != NULL ? gguf_from_checkpoint(o->paths[0], o->paths[1], o->rows,
                                             !o->quiet, why)
                      : gguf_read(o->paths[0], o->paths[1], !o->quiet, why);

    if (failed != 0) {
        (void)cli_refuse("%s", sentence);
        return stop_exit_status(failed < 0 ? EXIT_USAGE : EXIT_RED);
    }
    cli_line(stdout, 2, "wrote %s: gguf", o->paths[1]);
    return EXIT_PASS;
}

static int open_backend(const convert_options *o, const mxo_backend **table,
                        mxo_text why)
{
    static backend_list known;

    backends_known(&known);
    const backend_ref *ref = backends_find(&known, o->backend);
    int status = ref == NULL ? cli_refuse("no backend is called %s", o->backend)
                             : EXIT_PASS;

    if (ref != NULL && backend_load(ref, table, why) != MXO_OK) {
        status = cli_refuse("%s: %s", o->backend, why.ptr);
    }
    return status;
}

/* The conversion that --for asks for, and what was assumed about IN. */
static int follow_checkpoint(convert_options *o, const checkpoint *in,
                             mxo_text why)
{
    char assumed[JOB_ASSUMED];
    const int status =
        job_follow(o->machine, in, o->chosen, &o->part, assumed, why);

    if (status > 0) {
        return EXIT_PASS; /* the plan refuses it, in its own words */
    }
    if (status < 0) {
        return EXIT_USAGE;
    }
    job_spell(o->chosen, o->spelled);
    cli_line(stderr, 2, "note: --for=%s chooses %s%s%s", o->machine, o->spelled,
             assumed[0] == '\0' ? "" : ", assumed: ", assumed);
    return EXIT_PASS;
}

int cmd_convert(int argc, char **argv)
{
    convert_options o = {.backend = "cpu", .part = {0, 1, 0, 1, 1, 1}};
    char sentence[600] = "";
    const mxo_text why = {sentence, sizeof sentence};
    const mxo_backend *table = NULL;
    checkpoint in;
    job j = {.in = &in};
    int status = convert_options_read(&o, argc, argv);

    if (status >= 0) {
        return status;
    }
    if (convert_is_gguf(&o)) {
        return convert_gguf(&o);
    }
    status = open_backend(&o, &table, why);
    if (status != EXIT_PASS) {
        return status;
    }
    j.part = o.part;
    j.rows = o.rows;
    memcpy(j.input_scale, o.input_scale, sizeof j.input_scale);
    j.conversion = o.spelled;
    j.is_stoppable = 1;
    j.is_slow = strcmp(o.backend, "emu") == 0;
    stop_catch_signals();
    if (checkpoint_open(o.paths[0], &in, why) != 0) {
        return cli_refuse("%s", sentence);
    }
    status = check_target(&o, &in);
    if (status == EXIT_PASS && o.machine != NULL) {
        status = follow_checkpoint(&o, &in, why);
        j.part = o.part;
    }
    if (status == EXIT_PASS) {
        status = mover_open(&j.mover, table, j.conversion, why) != 0
                     ? EXIT_BROKEN
                     : convert(&j, &o, why);
    }
    if (status != EXIT_PASS && sentence[0] != '\0') {
        (void)cli_refuse("%s", sentence);
    }
    job_clear(&j);
    checkpoint_close(&in);
    return status;
}
