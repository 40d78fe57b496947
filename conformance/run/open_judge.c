/* SPDX-License-Identifier: Apache-2.0 */
/* See open_judge.h. */
#include "open_judge.h"
#include "case_run.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/say.h"
#include "base/stop.h"
#include "limits.h"
#include "past.h"
#include "serve/process_state.h"

#include <stdlib.h>
#include <string.h>

int backend_is_apart(const backend_ref *ref)
{
    return ref->linked == NULL;
}

static mxo_status open_here(opened_judge *o, const backend_ref *ref,
                            const open_options *how, mxo_text why)
{
    const mxo_backend *table = NULL;
    mxo_status status = backend_load(ref, &table, why);

    if (status == MXO_OK && table->limits != NULL) {
        o->limits = json_loads(table->limits, JSON_REJECT_DUPLICATES, NULL);
        status = o->limits != NULL
                     ? MXO_OK
                     : say(MXO_E_UNSUPPORTED, why, "its limits are no JSON");
    }
    if (status == MXO_OK) {
        status = judge_open(&o->j, table, how->device, why);
    }
    if (process_state_numbers_differ((mxo_text){o->left, sizeof o->left})) {
        number_standard();
    }
    return status;
}

static mxo_status open_apart(opened_judge *o, const backend_ref *ref,
                             const open_options *how, mxo_text why)
{
    const proxy_options options = {
        .command = ref->command[0] != '\0' ? ref->command : NULL,
        .plugin = ref->command[0] != '\0' ? NULL
                  : ref->linked != NULL   ? ref->name
                                          : ref->path,
        .is_linked = ref->linked != NULL,
        .global_symbols = ref->global_symbols,
        .device = how->device,
        .timeout_s = how->timeout_s};
    mxo_status status = proxy_open(&o->proxy, &options, why);

    if (status == MXO_OK) {
        char name[BACKEND_NAME];
        backend_name(ref, proxy_table(o->proxy)->name, name);
        proxy_name(o->proxy, name);
        status = judge_attach(&o->j, proxy_table(o->proxy), o->proxy,
                              proxy_link(o->proxy), why);
        o->limits = json_incref((json_t *)proxy_limits(o->proxy));
    }
    return status;
}

/* A name that is misspelt would be an operation that is never judged. */
static mxo_status check_ops(const opened_judge *o, mxo_text why)
{
    const char *const *ops = o->j.subject.table->ops;

    for (size_t i = 0; ops[i] != NULL; i++) {
        if (op_by_name(ops[i]) == NULL) {
            return say(MXO_E_UNSUPPORTED, why,
                       "it names an operation that there is not: \"%.60s\" "
                       "(mxoracle list has them all)",
                       ops[i]);
        }
    }
    return MXO_OK;
}

/* Is a name of n letters among tensors, "x:bf16[rows] scale:f32[n]" or "y"? */
static int is_tensor(const char *tensors, const char *name, size_t n)
{
    const char *at = tensors;

    while (*at != '\0') {
        if (strncmp(at, name, n) == 0 && strchr(": ", at[n]) != NULL) {
            return 1;
        }
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    return 0;
}

static int is_tensor_of_its(const mxo_backend *b, const char *name, size_t n)
{
    for (size_t i = 0; b->ops[i] != NULL; i++) {
        const mxo_op_info *info = op_by_name(b->ops[i])->info;
        if (is_tensor(info->in, name, n) || is_tensor(info->out, name, n)) {
            return 1;
        }
    }
    return n == 1 && name[0] == '*';
}

/* "moe.sort", or "act.glu:per_expert=limit|all" */
/* Does the parameter take each of the values that | separates, written as in a
   call? */
static int takes_values(const op_schema *op, const char *key, word_span values)
{
    const mxo_text nowhere = {NULL, 0};
    char value[OP_WORD];
    test_case c;

    if (values.len == 0 || values.ptr[values.len - 1] == '|') {
        return 0;
    }
    case_begin(&c, op);
    while (values.len > 0) {
        if (!span_copy(span_cut(&values, '|'), value) ||
            case_set(&c, key, value, nowhere) != 0 ||
            strcmp(case_value(&c, key), value) != 0) {
            return 0;
        }
    }
    return 1;
}

static int is_call_of_its(const mxo_backend *b, const char *word, size_t n)
{
    const size_t length = strcspn(word, ": ");
    char name[OP_WORD];
    char key[OP_WORD];
    size_t i = 0;

    if (!span_copy((word_span){word, length}, name)) {
        return 0;
    }
    while (b->ops[i] != NULL && strcmp(b->ops[i], name) != 0) {
        i++;
    }
    if (b->ops[i] == NULL || length == n) {
        return b->ops[i] != NULL;
    }
    word_span values = {word + length + 1, n - length - 1};

    return span_copy(span_cut(&values, '='), key) &&
           op_param_index(op_by_name(name), key) >= 0 &&
           takes_values(op_by_name(name), key, values);
}

/* Each word of what it declares must be about an operation of its own. */
static mxo_status check_declared(const mxo_backend *b, const char *what,
                                 const char *words,
                                 int (*is_known)(const mxo_backend *b,
                                                 const char *word, size_t n),
                                 mxo_text why)
{
    const char *at = words == NULL ? "" : words + strspn(words, " ");

    while (*at != '\0') {
        const size_t n = strcspn(at, " ");
        if (!is_known(b, at, n)) {
            return say(MXO_E_UNSUPPORTED, why,
                       "its %s name what none of its operations has: "
                       "\"%.*s\"",
                       what, n < 60 ? (int)n : 60, at);
        }
        at += n + strspn(at + n, " ");
    }
    return MXO_OK;
}

static mxo_status check_table(const opened_judge *o, mxo_text why)
{
    const mxo_backend *b = o->j.subject.table;

    MXO_TRY(check_ops(o, why));
    MXO_TRY(check_declared(b, "strides", b->strides, is_tensor_of_its, why));
    return check_declared(b, "uncaptured calls", b->uncaptured, is_call_of_its,
                          why);
}

mxo_status opened_judge_open(opened_judge *o, const backend_ref *ref,
                             const open_options *how, mxo_text why)
{
    mxo_status status;

    memset(o, 0, sizeof *o);
    if (ref->why_not[0] != '\0') {
        status = say(MXO_E_DEVICE, why, "%s", ref->why_not);
    } else if (how->in_process && ref->command[0] != '\0') {
        status = say(MXO_E_UNSUPPORTED, why,
                     "a program cannot be judged in this process");
    } else if (how->in_process || (!backend_is_apart(ref) && !how->apart)) {
        status = open_here(o, ref, how, why);
    } else {
        status = open_apart(o, ref, how, why);
    }
    o->is_open = status == MXO_OK;
    o->is_drawn = how->is_drawn;
    if (status == MXO_OK) {
        status = o->limits != NULL && limits_check(o->limits, why) != 0
                     ? MXO_E_UNSUPPORTED
                     : check_table(o, why);
    }
    o->j.subject.soak = how->soak;
    o->past = o->proxy == NULL ? NULL : past_create();
    if (status != MXO_OK) {
        opened_judge_close(o);
    }
    return status;
}

/* No data of the kind that the case has fits its new sizes or parameters. */
static int has_no_data(const verdict *v)
{
    return v->status == VERDICT_ERROR && strcmp(v->kind, "inputs") == 0;
}

static void conclude_outside(verdict *v)
{
    verdict_clear(v);
    memset(v, 0, sizeof *v);
    verdict_conclude(v, VERDICT_UNSUPPORTED, "outside",
                     "it lies outside its declared limits");
}

/* A report must say which call it is about. */
static void say_other_case(const test_case *c, verdict *v)
{
    strbuf lines = {NULL, 0, 0};
    char text[CASE_TEXT];

    case_print(c, 0, text);
    free(v->asked);
    v->asked = memory_need_text(text);
    if (!verdict_is_red(v->status)) {
        return;
    }
    strbuf_add(&lines, "judged as %s, the nearest within its limits%s%s", text,
               v->detail == NULL ? "" : "\n",
               v->detail == NULL ? "" : v->detail);
    free(v->detail);
    v->detail = lines.text;
}

static int takes(void *state, const test_case *c)
{
    return limits_allow(state, c);
}

static int bring_within(void *state, subject *oracle, test_case *c)
{
    return limits_find(state, oracle, 0, c) != LIMITS_OUTSIDE;
}

/* The case as it is asked, and which it is: it may have no data, or turn out
   to be a call that is refused. */
static limits_place judge_within(opened_judge *o, const json_t *limits,
                                 const test_case *c, uint64_t seed,
                                 limits_place place, verdict *v)
{
    const char *op = c->schema->info->name;

    o->j.promises = limits != NULL && limits_speak_of(limits, op);
    o->j.legal_only = limits_legal_only(limits, op);
    o->j.takes = limits == NULL ? NULL : takes;
    o->j.bring_within = limits == NULL ? NULL : bring_within;
    o->j.taker = o->limits;
    case_run(&o->j, c, seed, v);
    past_find(o->past, &(past_call){o, c, seed}, v);
    if (place == LIMITS_NEAR && has_no_data(v)) {
        conclude_outside(v);
    }
    if (strcmp(v->kind, "outside") == 0) {
        return LIMITS_OUTSIDE;
    }
    if (place == LIMITS_NEAR) {
        say_other_case(c, v);
    }
    return place;
}

void opened_judge_case(opened_judge *o, const test_case *c, uint64_t seed,
                       verdict *v)
{
    const int is_offered = subject_has_op(&o->j.subject, c->schema->info->name);
    const json_t *limits = is_offered ? o->limits : NULL;
    test_case asked = *c;
    limits_place place = limits_find(limits, &o->j.oracle, o->is_drawn, &asked);

    memset(v, 0, sizeof *v);
    stop_work_begin();
    if (place == LIMITS_OUTSIDE) {
        conclude_outside(v);
    } else {
        place = judge_within(o, limits, &asked, seed, place, v);
    }
    stop_work_end();
    v->limits = (int)place;
}

void opened_judge_close(opened_judge *o)
{
    if (o->is_open) {
        judge_close(&o->j);
    }
    proxy_close(&o->proxy);
    past_destroy(&o->past);
    json_decref(o->limits);
    o->limits = NULL;
    o->is_open = 0;
}

void opened_judge_end(opened_judge *o, verdict *v)
{
    char why[512] = "";
    strbuf printed = {NULL, 0, 0};
    strbuf lines = {NULL, 0, 0};
    const proxy_end end =
        o->proxy == NULL
            ? PROXY_END_WELL
            : proxy_finish(o->proxy, (mxo_text){why, sizeof why}, &printed);

    memset(v, 0, sizeof *v);
    if (end != PROXY_END_WELL) {
        verdict_conclude(
            v, end == PROXY_END_LATE ? VERDICT_TIMEOUT : VERDICT_CRASH, "end",
            "%s", why);
    }
    if (printed.used > 0) {
        strbuf_add(&lines, "it printed:\n%s", printed.text);
        v->detail = lines.text;
    }
    strbuf_clear(&printed);
}

void opened_judge_finish(opened_judge *o, verdict *v)
{
    opened_judge_end(o, v);
    opened_judge_close(o);
}
