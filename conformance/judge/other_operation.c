/* SPDX-License-Identifier: Apache-2.0 */
/* See other_operation.h. */
#include "other_operation.h"

#include "data/fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE = 256, SEED = 1 };

/* Calls up to SMALL bytes stand behind as many others as their row says, up to
   LARGE behind half as many, and one in 32 of the rest behind one. */
enum { SMALL = 1 << 12, LARGE = 1 << 16, IN = 32 };

/* The most bytes of its inputs: within limits a row may become larger. */
enum { MOST = 1 << 18 };

static const char *const rows[] = {
#define MXO_OTHER_OPERATION(n, text) text,
#include "other_operation.def"
#undef MXO_OTHER_OPERATION
};

/* Of sixteen small calls. */
static const int n_behind[] = {
#define MXO_OTHER_OPERATION(n, text) n,
#include "other_operation.def"
#undef MXO_OTHER_OPERATION
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

struct other_operations {
    other_operation *row[N_ROWS]; /* owned; NULL: it is none */
    int is_tried[N_ROWS];
};

static void release(other_operation **o)
{
    if (*o != NULL) {
        tensor_set_clear(&(*o)->in);
        tensor_set_clear(&(*o)->want);
        tensor_set_clear(&(*o)->right);
        tensor_set_clear(&(*o)->got);
        free(*o);
        *o = NULL;
    }
}

void other_operations_free(other_operations **o)
{
    for (int i = 0; *o != NULL && i < N_ROWS; i++) {
        release(&(*o)->row[i]);
    }
    free(*o);
    *o = NULL;
}

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < n; i++) {
        h = (h ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return h;
}

/* The same whatever runs before, beside and without it. */
static uint64_t hash(const test_case *c)
{
    const char *const op = c->schema->info->name;
    uint64_t h = mix(UINT64_C(0xcbf29ce484222325), op, strlen(op));

    for (int i = 0; i < c->schema->n_params; i++) {
        h = mix(h, c->value[i], strlen(c->value[i]) + 1);
    }
    h = mix(h, c->dim, (size_t)c->schema->n_dims * sizeof c->dim[0]);
    h = mix(h, c->data, strlen(c->data)) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

static int row_by_name(const char *op)
{
    const size_t n = strlen(op);
    int i = 0;

    while (i < N_ROWS && (strncmp(rows[i], op, n) != 0 || rows[i][n] != ':')) {
        i++;
    }
    return i;
}

int other_operation_draw(const test_case *c, uint64_t n_bytes,
                         int row[OTHER_MOST])
{
    const uint64_t h = hash(c);
    const int own = row_by_name(c->schema->info->name);
    const int of_row = own == N_ROWS ? 0 : n_behind[own];
    const int share = n_bytes <= SMALL   ? 2 * of_row
                      : n_bytes <= LARGE ? of_row
                                         : of_row > 0;
    const int drawn = share / IN + ((int)(h >> 48) % IN < share % IN);
    const int n = drawn < OTHER_MOST ? drawn : OTHER_MOST;

    for (int i = 0; i < n; i++) { /* of all others, as far apart as may be */
        const int k =
            (int)((h + (uint64_t)(i * (N_ROWS - 1) / n)) % (N_ROWS - 1));
        row[i] = k < own ? k : k + 1;
    }
    return n;
}

static int is_small(const test_case *c)
{
    uint64_t shape[MXO_MAX_RANK];
    char text[SENTENCE];
    uint64_t n = 0;
    uint32_t dtype;

    for (int i = 0; i < c->schema->n_inputs; i++) {
        if (!case_has_input(c, i)) {
            continue;
        }
        if (case_input(c, i, &dtype, shape, (mxo_text){text, sizeof text}) !=
            0) {
            return 0;
        }
        const uint64_t bytes =
            tensor_dense_bytes(dtype, c->schema->inputs[i].rank, shape);
        if (bytes > MOST - n) {
            return 0;
        }
        n += bytes;
    }
    return 1;
}

/* Does the subject declare that it takes only legal calls of its kind? */
static int is_legal_only(const judge *j, const test_case *c)
{
    test_case refused = *c;

    (void)snprintf(refused.flaw, sizeof refused.flaw, "unknown");
    return j->takes != NULL && !j->takes(j->taker, &refused);
}

/* The case, its inputs and the oracle's answer. */
static int set_up(judge *j, const char *text, other_operation *o)
{
    char sentence[SENTENCE];
    char name[CASE_TEXT];
    const mxo_text why = {sentence, sizeof sentence};
    run_checks unused;

    if (case_parse(&o->c, text, why) != 0 ||
        !subject_has_op(&j->subject, o->c.schema->info->name) ||
        (j->bring_within != NULL &&
         !j->bring_within(j->taker, &j->oracle, &o->c)) ||
        !is_small(&o->c)) {
        return 0;
    }
    case_print(&o->c, 0, name);
    (void)snprintf(o->name, sizeof o->name, "%.150s", name);
    case_params(&o->c, o->params);
    o->before = (call_before){.call = {o->c.schema->info->name, o->params,
                                       (uint32_t)o->c.schema->n_params, &o->in},
                              .out = &o->got,
                              .name = o->name,
                              .legal_only = is_legal_only(j, &o->c)};
    return fill_inputs(&o->c, SEED, &o->in, why) == 0 &&
           subject_infer(&j->oracle, &o->before.call, &o->want, why) ==
               MXO_OK &&
           o->want.n <= MAX_OUT &&
           subject_infer(&j->oracle, &o->before.call, &o->right, why) ==
               MXO_OK &&
           subject_infer(&j->oracle, &o->before.call, &o->got, why) == MXO_OK &&
           subject_run(&j->oracle, &o->before.call, &o->want, &unused, why) ==
               MXO_OK;
}

static void copy(tensor_set *to, const tensor_set *from)
{
    for (uint32_t i = 0; i < to->n; i++) {
        if (to->t[i].n_bytes > 0) {
            memcpy(to->t[i].data, from->t[i].data, to->t[i].n_bytes);
        }
    }
}

static int is_equal(const tensor_set *a, const tensor_set *b)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->t[i].n_bytes > 0 &&
            memcmp(a->t[i].data, b->t[i].data, a->t[i].n_bytes) != 0) {
            return 0;
        }
    }
    return 1;
}

/* Twice in a row: the second answer stands behind its own operation. */
static int is_answered_alone(judge *j, other_operation *o)
{
    subject plain = j->subject;
    char text[SENTENCE];
    const mxo_text why = {text, sizeof text};
    int is_good = 1;

    plain.decoy = 0;
    plain.once = 1;
    plain.host_align = 0;
    for (int i = 0; i < 2 && is_good; i++) {
        run_checks d;
        is_good = subject_run(&plain, &o->before.call, &o->right, &d, why) ==
                      MXO_OK &&
                  !judge_doubts(&d, why);
    }
    j->subject.n_placed = plain.n_placed;
    return is_good;
}

int other_operation_prove(judge *j, other_operation *o)
{
    tensor_set sorted = {0};
    char text[SENTENCE];
    const mxo_text why = {text, sizeof text};

    if (o->is_proven) {
        return 1;
    }
    o->is_proven =
        subject_begin(&j->subject, why) == MXO_OK && is_answered_alone(j, o) &&
        subject_infer(&j->oracle, &o->before.call, &sorted, why) == MXO_OK;
    if (o->is_proven) {
        copy(&sorted, &o->right);
        o->is_proven =
            judge_accepts(j, &o->c, &o->before.call, &o->want, &sorted, why);
    }
    tensor_set_clear(&sorted);
    o->is_bad = !o->is_proven;
    /* How its process ended is none of the case's. */
    (void)subject_begin(&j->subject, why);
    return o->is_proven;
}

static other_operation *row_of(judge *j, int i)
{
    other_operations *all = j->operations;

    if (!all->is_tried[i]) {
        other_operation *o = calloc(1, sizeof *o);
        if (o != NULL && !set_up(j, rows[i], o)) {
            release(&o);
        }
        all->row[i] = o;
        all->is_tried[i] = 1;
    }
    return all->row[i];
}

/* Add the row, unless it is of no use or there already. */
static int add(judge *j, const test_case *c, int row, other_list *list)
{
    other_operation *o = row_of(j, row);
    int is_there = 0;

    for (int i = 0; i < list->n; i++) {
        is_there |= list->at[i] == o;
    }
    if (o == NULL || o->is_bad || o->c.schema == c->schema || is_there) {
        return 0;
    }
    o->before.is_made = o->before.is_answered = 0;
    list->before[list->n] = &o->before;
    list->at[list->n++] = o;
    return 1;
}

void other_operations_for(judge *j, const test_case *c, const tensor_set *in,
                          other_list *list)
{
    const int given = row_by_name(j->beside);
    int row[OTHER_MOST];

    list->n = 0;
    if (!j->subject.decoy) {
        return;
    }
    if (j->operations == NULL) {
        j->operations = calloc(1, sizeof *j->operations);
    }
    if (j->operations == NULL) {
        return;
    }
    if (given < N_ROWS) {
        (void)add(j, c, given, list);
        return;
    }
    const int n = other_operation_draw(c, tensor_set_bytes(in), row);

    for (int i = 0; i < n; i++) {
        int k = 0;
        while (k < N_ROWS && !add(j, c, (row[i] + k) % N_ROWS, list)) {
            k++;
        }
    }
}

int other_operation_is_right(judge *j, other_operation *o, mxo_text what)
{
    return !o->before.is_answered || is_equal(&o->got, &o->right) ||
           judge_accepts(j, &o->c, &o->before.call, &o->want, &o->got, what);
}
