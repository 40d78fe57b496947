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
    uint32_t n_walked; /* classes a list came to */
} selection;

/* Outcome of trying a backend or a step. */
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

/* One class; it is taken if it supports the configuration. */
static outcome ask_class(selection *s, mxo_sel_backend backend, uint8_t experts,
                         mxo_sel_key key)
{
    mxo_sel_candidate *last = &s->r->failure.last;

    *last = (mxo_sel_candidate){(uint8_t)backend, experts, (uint8_t)key, 0, 0};
    const mxo_sel_env env = sel_ask(s->c, &s->device, last);

    if (env != MXO_SEL_ENV_NONE) {
        return malformed(s, env);
    }
    if (s->r->n_trace < MXO_SEL_TRACE_MAX) {
        s->r->trace[s->r->n_trace++] = *last;
    }
    return last->reason == MXO_SEL_BECAUSE_NONE
               ? take(s, backend, (mxo_sel_experts)experts, key)
               : GO_ON;
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
        if (ask_class(s, backend, b->experts[i], key) == DONE) {
            return DONE;
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

/* The key a candidate is asked with. */
static mxo_sel_key key_for(const selection *s, const sel_step *step,
                           mxo_sel_backend backend)
{
    const sel_backend *b = &s->rules->backends[s->c->version][backend];
    const int is_wanted =
        (step->flags & SEL_OWN_KEYS) == 0 || (b->flags & SEL_ALWAYS_KEPT) != 0;

    return s->wanted != MXO_SEL_KEY_NONE && is_wanted ? s->wanted
                                                      : (mxo_sel_key)b->key;
}

static int is_value_error(mxo_sel_error error)
{
    return strcmp(mxo_select_error_type(error), "ValueError") == 0;
}

/* A backend that is named may have a class for LoRA, or none. */
static outcome try_one_named(selection *s, mxo_sel_backend backend,
                             mxo_sel_key key)
{
    const sel_backend *b = &s->rules->backends[s->c->version][backend];

    if (s->c->is_lora_enabled && (b->flags & SEL_REFUSES_LORA) != 0) {
        s->r->failure.last = (mxo_sel_candidate){.backend = (uint8_t)backend};
        return fail(s, MXO_SEL_ERROR_LORA_MXFP8);
    }
    if (s->c->is_lora_enabled && b->lora != MXO_SEL_EXPERTS_NONE &&
        ask_class(s, backend, b->lora, key) == DONE) {
        return DONE;
    }
    return try_backend(s, backend, key);
}

static void replace_batched(const selection *s, uint8_t *list, int n)
{
    for (int i = 0; s->batched && i < n; i++) {
        const uint8_t b = s->rules->backends[s->c->version][list[i]].batched;
        list[i] = b != MXO_SEL_BACKEND_NONE ? b : list[i];
    }
}

/* Candidates of moe_backend; 0: an error is set. */
static int name_candidates(selection *s, const sel_step *step)
{
    mxo_sel_failure *f = &s->r->failure;
    const int filters = (step->flags & SEL_FILTER) != 0;
    uint8_t named[MXO_SEL_LIST_MAX];
    int n = mxo_select_map(s->c, named, f);

    replace_batched(s, named, n);
    if ((step->flags & SEL_REQUESTED) != 0) {
        s->n = sel_requested(s->c, s->wanted, filters, s->list, f);
        replace_batched(s, s->list, s->n);
    } else {
        memcpy(s->list, named, sizeof named);
        s->n = !filters ? n
                        : mxo_select_filter(s->c, named, n, s->wanted, s->list);
    }
    if (s->n == 0 && f->error == MXO_SEL_ERROR_NONE) {
        f->keys[0] = s->wanted;
        f->n_variants = (uint8_t)n;
        memcpy(f->variants, named, sizeof named);
        (void)fail(s, (mxo_sel_error)step->error);
    }
    return f->error == MXO_SEL_ERROR_NONE ? s->n : 0;
}

/* Try the backends that moe_backend names in turn; the last error counts. */
static outcome try_named(selection *s, const sel_step *step)
{
    const int n = name_candidates(s, step);

    for (int i = 0; i < n; i++) {
        const mxo_sel_backend b = (mxo_sel_backend)s->list[i];
        (void)try_one_named(s, b, key_for(s, step, b));
        if (s->r->failure.error == MXO_SEL_ERROR_NONE ||
            !is_value_error(s->r->failure.error)) {
            break;
        }
    }
    return DONE;
}

static outcome walk(selection *s, const sel_step *step)
{
    for (int i = 0; i < s->n; i++) {
        const mxo_sel_backend b = (mxo_sel_backend)s->list[i];
        if (ask_backend(s, b, key_for(s, step, b)) == DONE) {
            return DONE;
        }
    }
    s->n_walked = s->r->n_trace;
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

/* The one deployment that a release singled out. */
static int has_shape(const selection *s)
{
    const mxo_select_config *c = s->c;
    const int64_t local =
        c->num_local_experts != 0 ? c->num_local_experts : c->num_experts;
    const sel_switches *w = &s->rules->switches;

    return s->wanted == w->shape.key && c->parallel.use_ep &&
           c->parallel.ep_size == w->shape.ep_size &&
           c->num_experts == w->shape.num_experts &&
           local == w->shape.num_local_experts &&
           c->hidden == w->shape.hidden &&
           c->intermediate == w->shape.intermediate;
}

static int holds(const selection *s, const sel_step *step)
{
    const mxo_select_config *c = s->c;

    return !(((step->flags & SEL_IF_UNGATED) != 0 && sel_is_gated(c)) ||
             ((step->flags & SEL_IF_SHAPE) != 0 && !has_shape(s)) ||
             ((step->flags & SEL_IF_LORA) != 0 && !c->is_lora_enabled) ||
             ((step->flags & SEL_IF_EP) != 0 && !c->parallel.use_ep) ||
             ((step->flags & SEL_IF_EPLB) != 0 && !c->parallel.enable_eplb) ||
             !sel_where_holds(&step->where, &s->device) ||
             (step->routings != 0 && (step->routings >> c->routing & 1) == 0));
}

static outcome refuse(selection *s, const sel_step *step)
{
    mxo_sel_failure *f = &s->r->failure;

    /* The checkpoint's key, even where the user's was in force. */
    f->keys[0] = s->c->model_key;
    f->n_variants = (uint8_t)s->n;
    memcpy(f->variants, s->list, sizeof f->variants);
    f->n_refused = s->n_walked;
    memcpy(f->refused, s->r->trace, s->n_walked * sizeof f->refused[0]);
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
        return try_backend(s, backend,
                           (step->flags & SEL_WITH_WANTED) != 0
                               ? s->wanted
                               : (mxo_sel_key)step->key);
    case SEL_OP_TAKE:
        return take(s, backend, (mxo_sel_experts)row->experts[0],
                    (mxo_sel_key)step->key);
    case SEL_OP_REFUSE:
        return refuse(s, step);
    case SEL_OP_WALK:
        return walk(s, step);
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

void mxo_select_validate(const mxo_select_config *c, mxo_sel_backend backend,
                         mxo_sel_experts experts, mxo_sel_failure *failure)
{
    static const mxo_sel_key in_order[] = {
        MXO_SEL_KEY_kMxfp4Dynamic, MXO_SEL_KEY_kMxfp8Dynamic,
        MXO_SEL_KEY_kFp8Dynamic128Sym, MXO_SEL_KEY_kFp8StaticTensorSym,
        MXO_SEL_KEY_NONE};
    const sel_device d = sel_device_of(c);
    const sel_class *k = &sel_rules(c)->classes[c->version][experts];
    mxo_sel_key key = mxo_select_backend_key(c, backend);
    mxo_sel_env env;

    for (size_t i = 0; i < sizeof in_order / sizeof in_order[0]; i++) {
        if (sel_has_scheme(&d, k, in_order[i])) {
            key = in_order[i];
            break;
        }
    }
    *failure = (mxo_sel_failure){.error = MXO_SEL_ERROR_NONE};
    failure->last = (mxo_sel_candidate){(uint8_t)backend, (uint8_t)experts,
                                        (uint8_t)key, 0, 0};
    env = sel_ask(c, &d, &failure->last);
    if (env != MXO_SEL_ENV_NONE) {
        failure->error = MXO_SEL_ERROR_INTEGER;
        failure->env = env;
    } else if (failure->last.reason != MXO_SEL_BECAUSE_NONE) {
        failure->error = MXO_SEL_ERROR_VALIDATE;
    }
}
