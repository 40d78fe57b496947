/* SPDX-License-Identifier: Apache-2.0 */
/* See layer_stages.h. */
#include "layer_stages.h"

#include "data/fill_loaded.h"
#include "layer_stage_half.h"

#include <string.h>

static const char *const names[2][N_STAGES] = {
    {"quantisation", "first GEMM", "activation"},
    {"requantisation", "second GEMM", "sum over experts"},
};

static void say_stage(const stage_half *h, stage_id i, strbuf *lines)
{
    const finding *f = &h->found[i];

    if (f->kind == ABSENT) {
        return;
    }
    strbuf_add(lines, "stage %-17s ", h->name[i]);
    if (f->kind == WRONG) {
        strbuf_add(lines, "WRONG%s: %s\n",
                   f->is_whole ? ", or what comes before it in the operation"
                               : "",
                   f->says);
    } else if (f->kind == RIGHT) {
        strbuf_add(lines, "right (%s)\n", f->says);
    } else {
        strbuf_add(lines, "not judged: %s\n", f->says);
    }
}

/* The first that is wrong; 0 if none is. */
static int say_first(const stage_half *h, int *n_right, int *n_open,
                     strbuf *lines)
{
    for (int i = 0; i < N_STAGES; i++) {
        const finding *f = &h->found[i];
        if (f->kind == WRONG) {
            strbuf_add(lines, "first wrong stage: %s%s (%s)%s\n", h->name[i],
                       f->is_whole ? " or what comes before it" : "", h->p->op,
                       *n_open > 0 ? ", of those that could be judged" : "");
            return 1;
        }
        *n_right += f->kind == RIGHT;
        *n_open += f->kind == OPEN;
    }
    return 0;
}

static void sum_up(const stage_half *one, const stage_half *two, strbuf *lines)
{
    int n_right = 0;
    int n_open = 0;

    if (say_first(one, &n_right, &n_open, lines) ||
        say_first(two, &n_right, &n_open, lines)) {
        return;
    }
    if (n_right > 0 && n_open == 0) {
        strbuf_add(lines, "every stage is right on given bytes: the fault is "
                          "in how they are put together\n");
    } else if (n_right > 0) {
        strbuf_add(lines, "no stage that could be judged is wrong\n");
    }
}

/* The second half's inputs, with what the oracle's first half gives. */
static void make_second(tensor_set *in, stage_half *two, const stage_half *one)
{
    tensor_set act = {0};

    stage_half_gives(one, &act);
    if (act.n == 1) {
        two->from = dtype_name(act.t[0].dtype);
        stage_half_inputs(in, two, &act.t[0]);
    }
    tensor_set_clear(&act);
}

/* Does it offer neither half?  Then how to be told more. */
static int say_missing(const evidence *e, strbuf *lines)
{
    const subject *s = &e->j->subject;

    if (subject_has_op(s, probe_halves[0].op) ||
        subject_has_op(s, probe_halves[1].op)) {
        return 0;
    }
    strbuf_add(lines,
               "stages are not judged: %s offers neither %s nor %s "
               "(docs/adding-a-backend.md)\n",
               s->table->name, probe_halves[0].op, probe_halves[1].op);
    return 1;
}

void stages_say(const evidence *e, strbuf *lines)
{
    tensor_set in[2] = {{0}, {0}};
    stage_half halves[2] = {
        {.e = e, .p = &probe_halves[0], .name = names[0], .in = &in[0]},
        {.e = e, .p = &probe_halves[1], .name = names[1], .in = &in[1]},
    };

    if (strcmp(e->call->op, "moe.layer") != 0 ||
        (fill_has_loader(e->c) && e->j->checkpoint == NULL) ||
        say_missing(e, lines)) {
        return;
    }
    halves[0].from = case_value(e->c, "from");
    halves[1].from = "bf16";
    stage_half_inputs(&in[0], &halves[0], NULL);
    make_second(&in[1], &halves[1], &halves[0]);
    for (int i = 0; i < 2; i++) {
        stage_half_judge(&halves[i]);
        for (int s = 0; s < N_STAGES; s++) {
            say_stage(&halves[i], (stage_id)s, lines);
        }
        tensor_set_clear(&in[i]);
    }
    sum_up(&halves[0], &halves[1], lines);
}
