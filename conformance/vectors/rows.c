/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row on one file: parameters and inputs by its templates, the operation
 * on the subject, outputs by way of glue against the file's.
 */
#include "rows.h"

#include "base/say.h"
#include "filled.h"
#include "invoke.h"
#include "undeclared.h"
#include "vector_compare.h"
#include "vectors/map/glue.h"

#include <stdio.h>
#include <string.h>

enum { SENTENCE = 512 };

/* The operation's input of that name under the case's parameters. */
static const op_input *find_input(const test_case *c, const char *name)
{
    for (int i = 0; i < c->schema->n_inputs; i++) {
        if (strcmp(c->schema->inputs[i].name, name) == 0 &&
            case_has_input(c, i)) {
            return &c->schema->inputs[i];
        }
    }
    return NULL;
}

/* Give a glued value the operation's type and, with leading ones, its rank. */
static mxo_status add_input(const test_case *c, const char *name, glue *g,
                            tensor_set *in, mxo_text why)
{
    const op_input *input = find_input(c, name);
    uint64_t shape[MXO_MAX_RANK];
    uint32_t n = 0;
    host_tensor *t;

    if (input == NULL) {
        return say(MXO_E_PARAM, why, "%s has no input %s",
                   c->schema->info->name, name);
    }
    const uint32_t dtype =
        dtype_by_name(input->dtype[0] == '$' ? case_value(c, input->dtype + 1)
                                             : input->dtype);

    if (!vector_can_retag(g->dtype, dtype)) {
        return say(MXO_E_PARAM, why, "has %s as %s where %s is needed", name,
                   dtype_name(g->dtype), dtype_name(dtype));
    }
    while (n + g->rank < input->rank) {
        shape[n++] = 1;
    }
    for (uint32_t i = 0; i < g->rank; i++) {
        if (n == MXO_MAX_RANK) {
            return say(MXO_E_SHAPE, why, "gives %s too many axes", name);
        }
        shape[n++] = g->shape[i];
    }
    const mxo_status status = tensor_set_add(in, name, dtype, n, shape, &t);

    if (status != MXO_OK) {
        return say(status, why, "has an input %s that fits no memory", name);
    }
    if (t->n_bytes > 0) {
        memcpy(t->data, g->data, (size_t)t->n_bytes);
    }
    return MXO_OK;
}

/* One "name=expression"; "name?=..." is left out if the base is missing. */
static mxo_status bind_input(judging *j, const test_case *c, piece word,
                             tensor_set *in, mxo_text why)
{
    const glue_source source = {&j->scope, NULL};
    char text[TEXT_SIZE];
    char name[MXO_NAME_SIZE] = "";
    glue g;
    mxo_status status =
        scope_expand(&j->scope, word.ptr, word.len, text, sizeof text, why);
    piece expr = {text, strlen(text)};

    if (status != MXO_OK) {
        return status;
    }
    piece left = piece_cut(&expr, '=');
    const int optional = left.len > 0 && left.ptr[left.len - 1] == '?';

    left.len -= (size_t)optional;
    (void)piece_copy(left, name, sizeof name);
    if (optional) {
        piece rest = expr;
        char base[MXO_NAME_SIZE] = "";
        (void)piece_copy(piece_cut(&rest, '>'), base, sizeof base);
        if (tensor_set_find(&j->scope.file->tensors, base) == NULL) {
            return MXO_OK;
        }
    }
    status = glue_eval(&source, expr, &g, why);
    if (status == MXO_OK) {
        status = add_input(c, name, &g, in, why);
        glue_clear(&g);
    }
    return status;
}

static mxo_status bind_inputs(judging *j, const map_row *row,
                              const test_case *c, tensor_set *in, mxo_text why)
{
    piece rest = {row->in, strlen(row->in)};

    while (rest.len > 0) {
        MXO_TRY(bind_input(j, c, piece_cut(&rest, ' '), in, why));
    }
    return MXO_OK;
}

/* The canonical case of a row: defaults, then the row's parameters; the
   dimensions come with the tensors. */
static mxo_status make_case(judging *j, const map_row *row, test_case *c,
                            mxo_text why)
{
    piece rest = {row->params, strlen(row->params)};
    const op_schema *schema = op_by_name(row->op);

    if (schema == NULL) {
        return say(MXO_E_UNSUPPORTED, why, "%s is no operation", row->op);
    }
    case_begin(c, schema);
    while (rest.len > 0) {
        const piece word = piece_cut(&rest, ' ');
        char text[TEXT_SIZE];
        char key[OP_WORD];
        piece value = {text, 0};
        const mxo_status status =
            scope_expand(&j->scope, word.ptr, word.len, text, sizeof text, why);
        if (status != MXO_OK) {
            return status;
        }
        value.len = strlen(text);
        if (!piece_copy(piece_cut(&value, '='), key, sizeof key) ||
            case_set(c, key, value.ptr, why) != 0) {
            return MXO_E_PARAM;
        }
    }
    return MXO_OK;
}

static void report_difference(judging *j, const host_tensor *t, const glue *g,
                              const map_rule *rule, const vector_difference *d)
{
    char at[80];
    char shape[80];

    finding_index(t, d->first, at, sizeof at);
    finding_shape(t->shape, t->rank, shape, sizeof shape);
    finding_add(&j->found, VECTOR_FAILED,
                "%s %s%s: %llu of %llu elements differ, first at %s", t->name,
                dtype_name(t->dtype), shape, (unsigned long long)d->n_differ,
                (unsigned long long)d->n_judged, at);
    finding_codes(&j->found, t->dtype, d->in_file, d->computed,
                  j->j->subject.table->name);
    finding_place(&j->found, t, g, rule, d);
}

/* In canonical files types and shapes are those of the operation, or raw codes
   as unsigned integers of their width. */
static int is_labelled(const host_tensor *t, const glue *g)
{
    const int is_raw = dtype_name(t->dtype)[0] == 'u' &&
                       dtype_bytes(t->dtype) == dtype_bytes(g->dtype);

    return (t->dtype == g->dtype || is_raw) && t->rank == g->rank &&
           memcmp(t->shape, g->shape, t->rank * sizeof t->shape[0]) == 0;
}

/* Compare a file's tensor with what was computed for it. */
static void judge_output(judging *j, const map_row *row, host_tensor *t,
                         const glue *g)
{
    const map_rule *rule = map_find_rule(row->rule);
    const size_t index = (size_t)(t - j->scope.file->tensors.t);
    vector_difference d;

    j->scope.judged[index]++;
    if (!vector_same_shape(t, g) || !vector_can_retag(t->dtype, g->dtype) ||
        (row->op == row->vector_op && !is_labelled(t, g))) {
        char shape[80];
        char given[80];
        finding_shape(t->shape, t->rank, shape, sizeof shape);
        finding_shape(g->shape, g->rank, given, sizeof given);
        finding_add(&j->found, VECTOR_FAILED,
                    "%s is %s%s, which is not what %s gives: %s%s", t->name,
                    dtype_name(t->dtype), shape, row->op, dtype_name(g->dtype),
                    given);
        return;
    }
    vector_compare(t, g, rule, &d, NULL);
    finding_count(&j->found, d.n_judged, rule);
    if (d.n_differ > 0) {
        report_difference(j, t, g, rule, &d);
    }
}

/* Whether the row is for outputs that the oracle may have bounds for. */
static int is_bounded(const map_row *row)
{
    return row->op == row->vector_op || strcmp(row->rule, "bound") == 0;
}

/* An output of the operation as it is, without glue? */
static int is_plain_name(piece expr, char output[MXO_NAME_SIZE])
{
    return memchr(expr.ptr, '>', expr.len) == NULL &&
           piece_copy(expr, output, MXO_NAME_SIZE);
}

/* "out.q=q>glue": compare; "tmp.x=y": keep for later rows. */
static mxo_status take_output(judging *j, const map_row *row, piece word,
                              const answered *a, mxo_text why)
{
    const glue_source source = {&j->scope, a->out};
    char text[TEXT_SIZE];
    char name[MXO_NAME_SIZE] = "";
    char output[MXO_NAME_SIZE] = "";
    glue g;
    host_tensor *t = NULL;
    mxo_status status =
        scope_expand(&j->scope, word.ptr, word.len, text, sizeof text, why);
    piece expr = {text, strlen(text)};

    if (status != MXO_OK) {
        return status;
    }
    (void)piece_copy(piece_cut(&expr, '='), name, sizeof name);
    t = tensor_set_find(&j->scope.file->tensors, name);
    if (t == NULL && memcmp(name, "tmp.", 4) != 0) {
        return MXO_OK;
    }
    if (t != NULL && row->op == row->vector_op &&
        tensor_set_find(a->out, name + strlen("out.")) == NULL) {
        j->scope.judged[t - j->scope.file->tensors.t]++;
        finding_add(&j->found, VECTOR_FAILED, "%s is no output of %s", name,
                    row->op);
        return MXO_OK;
    }
    if (t != NULL && is_bounded(row) && is_plain_name(expr, output) &&
        undeclared_judge(j, a, t, output)) {
        j->scope.judged[t - j->scope.file->tensors.t]++;
        return MXO_OK;
    }
    status = glue_eval(&source, expr, &g, why);
    if (status != MXO_OK) {
        return status;
    }
    if (t != NULL) {
        judge_output(j, row, t, &g);
    } else {
        status = tensor_set_add(&j->scope.file->tensors, name, g.dtype, g.rank,
                                g.shape, &t);
        if (status == MXO_OK && t->n_bytes > 0) {
            memcpy(t->data, g.data, (size_t)t->n_bytes);
        }
    }
    glue_clear(&g);
    return status;
}

/* As take_output(); a fault in a file with canonical names is explained. */
static mxo_status take_explained(judging *j, const map_row *row, piece word,
                                 const answered *a, mxo_text why)
{
    const uint32_t n_lines = j->found.n_lines;

    MXO_TRY(take_output(j, row, word, a, why));
    piece name = piece_cut(&word, '=');
    char output[MXO_NAME_SIZE];

    (void)piece_cut(&name, '.');
    if (row->op == row->vector_op && j->found.n_lines > n_lines &&
        piece_copy(name, output, sizeof output)) {
        filled_explain(j, a, output);
    }
    return MXO_OK;
}

static mxo_status take_outputs(judging *j, const map_row *row,
                               const answered *a, mxo_text why)
{
    piece rest = {row->out, strlen(row->out)};

    while (rest.len > 0) {
        MXO_TRY(take_explained(j, row, piece_cut(&rest, ' '), a, why));
    }
    return MXO_OK;
}

/* Does the file hold any output that this row would judge? */
static int row_has_output(judging *j, const map_row *row)
{
    piece rest = {row->out, strlen(row->out)};

    while (rest.len > 0) {
        const piece word = piece_cut(&rest, ' ');
        char text[TEXT_SIZE];
        char name[MXO_NAME_SIZE] = "";
        piece expr = {text, 0};
        if (scope_expand(&j->scope, word.ptr, word.len, text, sizeof text,
                         (mxo_text){NULL, 0}) != MXO_OK) {
            return 1; /* the sentence comes when the row is run */
        }
        expr.len = strlen(text);
        (void)piece_copy(piece_cut(&expr, '='), name, sizeof name);
        if (memcmp(name, "tmp.", 4) == 0 ||
            tensor_set_find(&j->scope.file->tensors, name) != NULL) {
            return 1;
        }
    }
    return 0;
}

/* A file with canonical names holds every output of its operation. */
static void require_outputs(judging *j, const tensor_set *out)
{
    for (uint32_t i = 0; i < out->n; i++) {
        char name[MXO_NAME_SIZE + 4];
        (void)snprintf(name, sizeof name, "out.%s", out->t[i].name);
        if (tensor_set_find(&j->scope.file->tensors, name) == NULL) {
            finding_add(&j->found, VECTOR_FAILED, "%s is missing", name);
        }
    }
}

static mxo_status run_case(judging *j, const map_row *row, test_case *c,
                           tensor_set *in, tensor_set *out, mxo_text why)
{
    /* Enough for every honest file; a hostile one cannot ask for more. */
    const uint64_t limit = 64 * j->scope.file->n_bytes + (1 << 20);

    MXO_TRY(bind_inputs(j, row, c, in, why));
    if (row->op == row->vector_op) {
        undeclared_case(&j->scope, in, c);
    }
    MXO_TRY(invoke(j->j, c, in, limit, out, &j->found, why));
    if (row->op == row->vector_op) {
        require_outputs(j, out);
    }
    const answered a = {c, in, out};

    if (row->op == row->vector_op) {
        filled_settle(j, &a);
    }

    return take_outputs(j, row, &a, why);
}

static mxo_status run_row(judging *j, const map_row *row)
{
    char sentence[SENTENCE] = "";
    const mxo_text why = {sentence, sizeof sentence};
    tensor_set in;
    tensor_set out;
    test_case c;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    mxo_status status = make_case(j, row, &c, why);

    if (status == MXO_OK) {
        finding_case(&j->found, &c);
        status = run_case(j, row, &c, &in, &out, why);
    }
    if (status != MXO_OK) {
        finding_status(&j->found, status, sentence);
    }
    tensor_set_clear(&in);
    tensor_set_clear(&out);
    return status;
}

/* Every value of the row's variables; UNSUPPORTED if later rows would miss
   what this one was to keep for them, DEVICE if the subject is gone. */
static mxo_status run_combinations(judging *j, const map_row *row)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; map_combination(row, i, &j->scope); i++) {
        if (scope_holds(&j->scope, row->when) && row_has_output(j, row)) {
            j->n_rows++;
            status = run_row(j, row);
            if (status == MXO_E_DEVICE ||
                (status == MXO_E_UNSUPPORTED && strstr(row->out, "tmp."))) {
                return status;
            }
        }
    }
    j->scope.n_variables = 0;
    return MXO_OK;
}

/* Run all rows of the operation that fit. */
int rows_run(judging *j, const map_row *rows, const char *op)
{
    for (const map_row *row = rows; row->vector_op != NULL; row++) {
        if (strcmp(row->vector_op, op) == 0 &&
            run_combinations(j, row) != MXO_OK) {
            return -1;
        }
    }
    return 0;
}
