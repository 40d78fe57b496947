/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter of steps.def: goes through the steps of a version and entry
 * until one of them ends, and writes down every class it asks.
 */
#include "rules.h"

#include <stddef.h>
#include <string.h>

typedef struct selection {
    const mxo_select_config *c;
    const mxo_select_rules *rules;
    mxo_select_result *r;
    sel_device device;
    int batched;
    int has_triton;
    mxo_sel_key wanted;
    int n;
    uint8_t list[MXO_SEL_LIST_MAX];
} selection;

/* What trying something came to. */
typedef enum outcome { GO_ON, DONE } outcome;

static outcome fail(selection *s, mxo_sel_error error)
{
    s->r->failure.error = error;
    return DONE;
}

static outcome malformed(selection *s, mxo_sel_env env)
{
    s->r->failure.env = env;
    return fail(s, MXO_SEL_ERROR_INTEGER);
}

static outcome take(selection *s, mxo_sel_backend backend,
                    mxo_sel_experts experts, mxo_sel_key key)
{
    s->r->backend = backend;
    s->r->experts = experts;
    s->r->key = key;
    memset(&s->r->failure, 0, sizeof s->r->failure);
    return DONE;
}

/* The first class of a backend that supports the configuration, if any. */
static outcome ask_backend(selection *s, mxo_sel_backend backend,
                           mxo_sel_key key)
{
    const sel_backend *b = &s->rules->backends[s->c->version][backend];

    if ((b->flags & SEL_NEEDS_PACKAGE) != 0 &&
        (s->c->libraries >> MXO_SEL_LIB_humming & 1) == 0) {
        return fail(s, MXO_SEL_ERROR_NO_HUMMING);
    }
    if (b->experts[0] == MXO_SEL_EXPERTS_NONE) {
        s->r->failure.last.backend = (uint8_t)backend;
        return fail(s, MXO_SEL_ERROR_UNKNOWN_BACKEND);
    }
    for (int i = 0; i < SEL_EXPERTS_MAX && b->experts[i] != 0; i++) {
        mxo_sel_candidate *last = &s->r->failure.last;
        *last = (mxo_sel_candidate){(uint8_t)backend, b->experts[i],
                                    (uint8_t)key, 0, 0};
        const mxo_sel_env env = sel_ask(s->c, &s->device, s->batched, last);
        if (env != MXO_SEL_ENV_NONE) {
            return malformed(s, env);
        }
        if (s->r->n_trace < MXO_SEL_TRACE_MAX) {
            s->r->trace[s->r->n_trace++] = *last;
        }
        if (last->reason == MXO_SEL_BECAUSE_NONE) {
            return take(s, backend, (mxo_sel_experts)b->experts[i], key);
        }
    }
    return GO_ON;
}

/* As _return_or_raise. */
static outcome try_backend(selection *s, mxo_sel_backend backend,
                           mxo_sel_key key)
{
    return ask_backend(s, backend, key) == DONE
               ? DONE
               : fail(s, MXO_SEL_ERROR_UNSUPPORTED);
}

static mxo_sel_key key_for(const selection *s, mxo_sel_backend backend)
{
    return s->wanted != MXO_SEL_KEY_NONE
               ? s->wanted
               : mxo_select_backend_key(s->c, backend);
}

static int is_value_error(mxo_sel_error error)
{
    return strcmp(mxo_select_error_type(error), "ValueError") == 0;
}

/* What moe_backend names, one after the other; the last error counts. */
static outcome try_named(selection *s, const sel_step *step)
{
    mxo_sel_failure *f = &s->r->failure;
    uint8_t named[MXO_SEL_LIST_MAX];
    int n = mxo_select_map(s->c, named, f);

    if (f->error != MXO_SEL_ERROR_NONE) {
        return DONE;
    }
    for (int i = 0; s->batched && i < n; i++) {
        const uint8_t b = s->rules->backends[s->c->version][named[i]].batched;
        named[i] = b != MXO_SEL_BACKEND_NONE ? b : named[i];
    }
    memcpy(s->list, named, sizeof named);
    s->n = (step->flags & SEL_FILTER) == 0
               ? n
               : mxo_select_filter(s->c, named, n, s->wanted, s->list);
    if (s->n == 0) {
        f->keys[0] = s->wanted;
        f->n_variants = (uint8_t)n;
        memcpy(f->variants, named, sizeof named);
        return fail(s, MXO_SEL_ERROR_FILTER);
    }
    for (int i = 0; i < s->n; i++) {
        const mxo_sel_backend b = (mxo_sel_backend)s->list[i];
        (void)try_backend(s, b, key_for(s, b));
        if (f->error == MXO_SEL_ERROR_NONE || !is_value_error(f->error)) {
            break;
        }
    }
    return DONE;
}

static outcome walk(selection *s)
{
    for (int i = 0; i < s->n; i++) {
        const mxo_sel_backend b = (mxo_sel_backend)s->list[i];
        if (ask_backend(s, b, key_for(s, b)) == DONE) {
            return DONE;
        }
    }
    return GO_ON;
}

static void set_list(selection *s, const sel_step *step)
{
    uint8_t all[MXO_SEL_LIST_MAX];
    int n;

    if (s->n > 0) {
        return;
    }
    n = mxo_select_priority(s->c, (mxo_sel_list)step->list, all);
    memcpy(s->list, all, sizeof all);
    s->n = (step->flags & SEL_FILTER) == 0
               ? n
               : mxo_select_filter(s->c, all, n, s->wanted, s->list);
}

static void drop(selection *s, uint32_t dropped)
{
    int n = 0;

    for (int i = 0; i < s->n; i++) {
        s->list[n] = s->list[i];
        n += (dropped >> s->list[i] & 1) == 0;
    }
    s->n = n;
}

/* has_triton_kernels() and (9, 0) <= capability < (11, 0) */
static outcome probe(selection *s)
{
    const sel_switches *w = &s->rules->switches;

    if ((s->c->libraries >> MXO_SEL_LIB_triton_kernels & 1) == 0) {
        return GO_ON;
    }
    if (s->device.cap < 0) {
        return fail(s, MXO_SEL_ERROR_NO_CAPABILITY);
    }
    s->has_triton =
        s->device.cap >= w->triton_low && s->device.cap < w->triton_high;
    return GO_ON;
}

/* 1, 0, or -1 if the variable is malformed. */
static int variable_holds(const selection *s, const sel_step *step)
{
    const char *text = step->env == 0 ? NULL : s->c->env[step->env];
    int on;

    if (step->env == 0) {
        return 1;
    }
    if (text == NULL) {
        return step->is == SEL_IS_ANY;
    }
    on = sel_int_bool(text);
    if (on < 0) {
        return -1;
    }
    return step->is == SEL_IS_ANY || on == (step->is == SEL_IS_TRUE);
}

static int holds(const selection *s, const sel_step *step)
{
    const mxo_select_config *c = s->c;

    return !(((step->flags & SEL_IF_LORA) != 0 && !c->is_lora_enabled) ||
             ((step->flags & SEL_IF_EP) != 0 && !c->parallel.use_ep) ||
             ((step->flags & SEL_IF_EPLB) != 0 && !c->parallel.enable_eplb) ||
             !sel_where_holds(&step->where, &s->device) ||
             (step->routings != 0 && (step->routings >> c->routing & 1) == 0));
}

static outcome refuse(selection *s, const sel_step *step)
{
    /* The checkpoint's key, even where the user's was in force. */
    s->r->failure.keys[0] = s->c->model_key;
    return fail(s, (mxo_sel_error)step->error);
}

static outcome explicit_backend(selection *s, const sel_step *step)
{
    return strcmp(s->c->moe_backend, "auto") == 0 ? GO_ON : try_named(s, step);
}

static outcome resolve(selection *s)
{
    s->wanted = mxo_select_resolve(s->c, &s->r->failure);
    return s->r->failure.error == MXO_SEL_ERROR_NONE ? GO_ON : DONE;
}

static outcome perform(selection *s, const sel_step *step)
{
    const mxo_sel_backend backend = (mxo_sel_backend)step->backend;
    const sel_backend *row = &s->rules->backends[s->c->version][backend];

    switch ((sel_op)step->op) {
    case SEL_OP_RESOLVE:
        return resolve(s);
    case SEL_OP_PROBE:
        return probe(s);
    case SEL_OP_EXPLICIT:
        return explicit_backend(s, step);
    case SEL_OP_LIST:
        set_list(s, step);
        return GO_ON;
    case SEL_OP_DROP:
        drop(s, step->dropped);
        return GO_ON;
    case SEL_OP_TRY:
        return try_backend(s, backend, (mxo_sel_key)step->key);
    case SEL_OP_TAKE:
        return take(s, backend, (mxo_sel_experts)row->experts[0],
                    (mxo_sel_key)step->key);
    case SEL_OP_REFUSE:
        return refuse(s, step);
    case SEL_OP_WALK:
        return walk(s);
    default: /* SEL_OP_PARSE: its condition has been asked */
        return GO_ON;
    }
}

static outcome one_step(selection *s, const sel_step *step)
{
    int on;

    if (step->version != s->c->version ||
        (step->entries >> s->c->entry & 1) == 0 || !holds(s, step)) {
        return GO_ON;
    }
    on = variable_holds(s, step);
    if (on < 0) {
        return malformed(s, (mxo_sel_env)step->env);
    }
    if (on == 0 || ((step->flags & SEL_IF_TRITON) != 0 && !s->has_triton)) {
        return GO_ON;
    }
    return perform(s, step);
}

void mxo_select(const mxo_select_config *c, mxo_select_result *r)
{
    selection s = {.c = c, .rules = sel_rules(c), .r = r};

    s.device = sel_device_of(c);
    s.batched = sel_is_batched(c);
    r->n_trace = 0;
    (void)take(&s, MXO_SEL_BACKEND_NONE, MXO_SEL_EXPERTS_NONE,
               MXO_SEL_KEY_NONE);
    for (int i = 0; i < SEL_MAX_STEPS; i++) {
        const sel_step *step = &s.rules->steps[i];
        if (step->op == SEL_OP_END || one_step(&s, step) == DONE) {
            break;
        }
    }
    r->hidden = 0;
    r->intermediate = 0;
    if (r->failure.error == MXO_SEL_ERROR_NONE) {
        r->hidden = c->hidden;
        r->intermediate = c->intermediate;
        mxo_select_round_up(c, r->backend, &r->hidden, &r->intermediate);
    }
}
