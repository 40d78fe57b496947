/* SPDX-License-Identifier: Apache-2.0 */
/* See case_run.h. */
#include "case_run.h"

#include "data/fill.h"
#include "data/fill_loaded.h"
#include "diagnose/diagnose.h"
#include "diagnose/layer_stages.h"
#include "judge/bound.h"
#include "judge/refusal.h"
#include "judge/third_party_tolerances.h"
#include "metamorph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE = 384 };

static void say_doubts(const run_checks *d, strbuf *lines)
{
    strbuf_add(lines, "%s, %s, %s",
               d->guards[0] == '\0' ? "guards intact" : "guards HIT",
               d->n_unwritten == 0 ? "fully written" : "partly UNWRITTEN",
               d->n_changing == 0 ? "deterministic" : "runs DIFFER");
}

/* The known mistake that gives these bytes, in the verdict's sentence. */
static void add_explanation(const evidence *e, verdict *v)
{
    char why[256] = "";
    const size_t used = strlen(v->reason);

    if (explain(e, why, sizeof why)) {
        (void)snprintf(v->reason + used, sizeof v->reason - used, "; %s", why);
    }
}

/* Where and what: the lines under a red verdict. */
static void add_detail(const judgement *g, verdict *v)
{
    const evidence *e = &g->evidence;
    strbuf lines = {NULL, 0, 0};

    if (g->differs) {
        diagnose(e, &lines);
        v->map = diagnose_map(e);
        tolerance_names(e->want, e->got, v->also, sizeof v->also);
    }
    if (e->bound.y != NULL) {
        bound_say(&e->bound, &e->got->t[e->output], &lines);
    }
    if (g->differs) {
        stages_say(e, &lines);
    }
    say_doubts(e->doubts, &lines);
    v->detail = lines.text;
}

void case_run_inputs(judge *j, const test_case *c, const tensor_set *in,
                     tensor_set *want, tensor_set *got, verdict *v)
{
    judgement g;

    judge_answer(j, c, in, want, got, &g, v);
    if (v->status == VERDICT_FAIL && g.has_evidence && !j->is_brief) {
        verdict doubts = {0};
        if (g.differs && !doubts_are_red(&g.doubts, &doubts)) {
            add_explanation(&g.evidence, v);
        }
        add_detail(&g, v);
    }
    judgement_clear(&g);
}

/* The output of a red subject, after all else. */
static void add_noise(const judge *j, verdict *v)
{
    const subject_link *link = j->subject.link;
    strbuf lines = {NULL, 0, 0};

    if (link == NULL || !verdict_is_red(v->status)) {
        return;
    }
    if (v->detail != NULL) {
        strbuf_add(&lines, "%s", v->detail);
    }
    link->say(link->state, &lines);
    if (lines.used > 0) {
        free(v->detail);
        v->detail = lines.text;
    }
}

/* One draw of the data. */
static void run_draw(judge *j, const test_case *c, uint64_t seed, verdict *v)
{
    const int has_loader = fill_has_loader(c);
    tensor_set checkpoint = {0};
    tensor_set loaded = {0};
    tensor_set *const in = has_loader ? &loaded : &checkpoint;
    tensor_set want = {0};
    tensor_set got = {0};
    char text[SENTENCE];
    const mxo_text why = {text, sizeof text};

    memset(v, 0, sizeof *v);
    if (!subject_has_room(2 * fill_bytes(c), why)) { /* twice: the subject's */
        verdict_conclude(v, VERDICT_SKIP, "memory", "%s", text);
    } else if (fill_checkpoint(c, seed, &checkpoint, why) != 0 ||
               (has_loader &&
                fill_load_copy(c, &checkpoint, &loaded, why) != 0)) {
        const int is_vast = fill_check_memory(c, why) != 0;
        verdict_conclude(v, is_vast ? VERDICT_SKIP : VERDICT_ERROR,
                         is_vast ? "memory" : "inputs", "%s", text);
    } else if (c->flaw[0] != '\0') {
        if (judge_begins(j, v)) {
            refusal_judge_invalid(j, c, in, v);
        }
    } else {
        j->checkpoint = &checkpoint;
        case_run_inputs(j, c, in, &want, &got, v);
        j->checkpoint = NULL;
        metamorph_check(&(first_call){j, c, &checkpoint, in, &want, &got}, v);
    }
    add_noise(j, v);
    tensor_set_clear(&checkpoint);
    tensor_set_clear(&loaded);
    tensor_set_clear(&want);
    tensor_set_clear(&got);
}

void case_run(judge *j, const test_case *c, uint64_t seed, verdict *v)
{
    enum { DRAWS = 8 };

    run_draw(j, c, seed, v);
    if (!case_keeps_all(c)) {
        return; /* the case itself says what is blank */
    }
    for (uint64_t i = 1; v->status == VERDICT_VACUOUS && i < DRAWS; i++) {
        verdict_clear(v);
        run_draw(j, c, seed ^ i << 40, v);
    }
    if (v->status == VERDICT_VACUOUS) { /* no fault of the subject's */
        v->status = VERDICT_SKIP;
    }
}
