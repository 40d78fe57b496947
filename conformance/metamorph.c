/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A property is a row: along which axis the inputs are picked apart, how, and
 * which row of the first answer each new row must be.  The first answer is
 * the oracle's, which the subject has just equalled.
 */
#include "metamorph.h"

#include "opinfo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Layers above this many products are asked only once. */
enum { CHEAP = 1 << 19, PARTS = 2 };

typedef enum pick_kind { PICK_REVERSED, PICK_LAST, PICK_HALVES } pick_kind;
typedef enum relation {
    ROWS_SAME,
    ROWS_REVERSED,
    ROWS_LAST,
    ROWS_SUM
} relation;

typedef struct property {
    const char *name;
    const char *axis; /* inputs whose first dimension it is are picked from */
    pick_kind pick;
    relation rows;
} property;

static const property properties[] = {
    {"experts in reverse order", "experts", PICK_REVERSED, ROWS_SAME},
    {"tokens in reverse order", "tokens", PICK_REVERSED, ROWS_REVERSED},
    {"the last token alone", "tokens", PICK_LAST, ROWS_LAST},
    {"experts in two halves", "experts", PICK_HALVES, ROWS_SUM},
};

/* Entries first..first+n-1 of the axis, forwards or backwards. */
typedef struct stretch {
    uint64_t first;
    uint64_t n;
    int backwards;
} stretch;

typedef struct trial {
    judge *j;
    const test_case *c;
    const tensor_set *in;
    const host_tensor *want;
    const property *p;
} trial;

static int applies(const test_case *c, const tensor_set *want)
{
    return strcmp(c->schema->info->name, "moe.layer") == 0 &&
           strcmp(c->data, "orderfree") == 0 && case_keeps_all(c) &&
           case_value(c, "map")[0] == '0' &&
           case_value(c, "bounds")[0] == '0' && want->n == 1 &&
           case_dim(c, "tokens") > 1 && case_dim(c, "experts") > 1 &&
           case_dim(c, "tokens") * case_dim(c, "topk") * case_dim(c, "hidden") *
                   case_dim(c, "inter") <=
               CHEAP;
}

/* Was the first answer equal, but for the bits of a NaN? */
static int is_equality(const verdict *v)
{
    return strcmp(v->rule, "bits") == 0 || strcmp(v->rule, "exact_nan") == 0;
}

static stretch stretch_of(const trial *t, int part)
{
    const uint64_t n = case_dim(t->c, t->p->axis);

    switch (t->p->pick) {
    case PICK_REVERSED:
        return (stretch){0, n, 1};
    case PICK_LAST:
        return (stretch){n - 1, 1, 0};
    default:
        return part == 0 ? (stretch){0, n / 2, 0}
                         : (stretch){n / 2, n - n / 2, 0};
    }
}

/* The call with the inputs of one part: fewer entries, or a map of experts. */
static test_case case_of(const trial *t, stretch s)
{
    const op_schema *schema = t->c->schema;
    test_case c = *t->c;

    c.dim[op_dim_index(schema, t->p->axis)] = s.n;
    c.dim[op_dim_index(schema, "global")] = case_dim(t->c, "experts");
    if (t->p->pick == PICK_HALVES) {
        memcpy(c.value[op_param_index(schema, "map")], "1", 2);
    }
    return c;
}

static void copy_rows(const host_tensor *from, stretch s, host_tensor *to)
{
    const size_t row = (size_t)(from->n_bytes / from->shape[0]);

    for (uint64_t i = 0; i < s.n && row > 0; i++) {
        const uint64_t k = s.first + (s.backwards ? s.n - 1 - i : i);
        memcpy(to->data + i * row, from->data + k * row, row);
    }
}

/* Where the experts are: those of the stretch here, the others elsewhere. */
static void fill_map(stretch s, host_tensor *map)
{
    for (uint64_t i = 0; i < tensor_elems(map); i++) {
        const int here = i >= s.first && i < s.first + s.n;
        tensor_store(map, i, here ? i - s.first : UINT64_MAX);
    }
}

static void fill_input(const trial *t, const op_input *input, stretch s,
                       host_tensor *to)
{
    const int axis = op_dim_index(t->c->schema, t->p->axis);
    const host_tensor *from = tensor_set_find(t->in, input->name);

    if (from == NULL) {
        fill_map(s, to);
    } else if (input->shape[0].dim == axis) {
        copy_rows(from, s, to);
    } else {
        memcpy(to->data, from->data, (size_t)from->n_bytes);
    }
    /* Experts that changed places keep their tokens. */
    const int renumber = strcmp(input->name, "topk_ids") == 0 && s.backwards &&
                         strcmp(t->p->axis, "experts") == 0;
    for (uint64_t i = 0; renumber && i < tensor_elems(to); i++) {
        tensor_store(to, i, s.n - 1 - tensor_load(to, i));
    }
}

/* MXO_OK and its answer; anything else: the call means nothing to the
   oracle or to the subject, or it was refused by the subject alone (*red). */
static mxo_status answer(const trial *t, int part, tensor_set *out, int *red)
{
    const stretch s = stretch_of(t, part);
    const test_case c = case_of(t, s);
    mxo_param params[OP_MAX_PARAMS];
    tensor_set in = {0};
    const op_call call = {c.schema->info->name, params,
                          (uint32_t)c.schema->n_params, &in};
    char text[SUBJECT_TEXT];
    const mxo_text why = {text, sizeof text};
    mxo_status status = MXO_OK;
    uint64_t shape[MXO_MAX_RANK];
    uint32_t dtype;
    host_tensor *made;
    distrust d;

    case_params(&c, params);
    for (int i = 0; status == MXO_OK && i < c.schema->n_inputs; i++) {
        const op_input *input = &c.schema->inputs[i];
        if (!case_has_input(&c, i)) {
            continue;
        }
        status = case_input(&c, i, &dtype, shape, why) != 0
                     ? MXO_E_SHAPE
                     : tensor_set_add(&in, input->name, dtype, input->rank,
                                      shape, &made);
        if (status == MXO_OK) {
            fill_input(t, input, s, made);
        }
    }
    if (status == MXO_OK) {
        status = subject_infer(&t->j->oracle, &call, out, why);
    }
    if (status == MXO_OK) {
        status = subject_run(&t->j->subject, &call, out, &d, why);
        *red = status != MXO_OK && status != MXO_E_UNSUPPORTED;
    }
    tensor_set_clear(&in);
    return status;
}

/* Bits, any NaN for any other. */
static int rows_equal(const host_tensor *a, uint64_t i, const host_tensor *b,
                      uint64_t k)
{
    const uint64_t n = a->shape[1];

    for (uint64_t c = 0; c < n; c++) {
        const uint64_t x = tensor_load(a, i * n + c);
        const uint64_t y = tensor_load(b, k * n + c);
        if (x != y &&
            !(dtype_is_nan(a->dtype, x) && dtype_is_nan(b->dtype, y))) {
            return 0;
        }
    }
    return 1;
}

static int row_is_zero(const host_tensor *t, uint64_t i)
{
    const uint64_t n = t->shape[1];

    for (uint64_t k = i * n; k < (i + 1) * n; k++) {
        if (!(dtype_value(t->dtype, tensor_load(t, k)) == 0)) {
            return 0;
        }
    }
    return 1;
}

/* The half all experts of a token lie in; -1 if it has some in both. */
static int half_of(const trial *t, uint64_t token)
{
    const host_tensor *ids = tensor_set_find(t->in, "topk_ids");
    const uint64_t topk = ids->shape[1];
    const uint64_t middle = case_dim(t->c, "experts") / 2;
    uint64_t n_second = 0;

    for (uint64_t i = token * topk; i < (token + 1) * topk; i++) {
        n_second += tensor_load(ids, i) >= middle;
    }
    return n_second == 0 ? 0 : n_second == topk ? 1 : -1;
}

/* Sums of two rounded halves are compared where one of them is all. */
static int row_holds(const trial *t, const tensor_set out[PARTS], uint64_t i)
{
    const uint64_t last = t->want->shape[0] - 1;
    int half;

    switch (t->p->rows) {
    case ROWS_SAME:
        return rows_equal(&out[0].t[0], i, t->want, i);
    case ROWS_REVERSED:
        return rows_equal(&out[0].t[0], i, t->want, last - i);
    case ROWS_LAST:
        return rows_equal(&out[0].t[0], i, t->want, last);
    default:
        half = half_of(t, i);
        return half < 0 || (rows_equal(&out[half].t[0], i, t->want, i) &&
                            row_is_zero(&out[1 - half].t[0], i));
    }
}

static void check_property(const trial *t, verdict *v)
{
    const int parts = t->p->pick == PICK_HALVES ? PARTS : 1;
    tensor_set out[PARTS] = {0};
    mxo_status status = MXO_OK;
    int red = 0;

    for (int i = 0; status == MXO_OK && i < parts; i++) {
        status = answer(t, i, &out[i], &red);
    }
    if (red) {
        v->status = VERDICT_FAIL;
        (void)snprintf(v->kind, sizeof v->kind, "metamorphic");
        (void)snprintf(v->reason, sizeof v->reason,
                       "%s: it refuses what differs in nothing else",
                       t->p->name);
    }
    const uint64_t n = status == MXO_OK ? out[0].t[0].shape[0] : 0;

    for (uint64_t i = 0; i < n && v->status == VERDICT_PASS; i++) {
        if (!row_holds(t, out, i)) {
            v->status = VERDICT_FAIL;
            (void)snprintf(v->kind, sizeof v->kind, "metamorphic");
            (void)snprintf(v->reason, sizeof v->reason,
                           "%s: row %" PRIu64
                           " of y is not that of the whole call",
                           t->p->name, i);
        }
    }
    for (int i = 0; i < parts; i++) {
        tensor_set_clear(&out[i]);
    }
}

void metamorph_check(judge *j, const test_case *c, const tensor_set *in,
                     const tensor_set *want, verdict *v)
{
    const size_t n = sizeof properties / sizeof properties[0];

    for (size_t i = 0; i < n && v->status == VERDICT_PASS; i++) {
        const trial t = {j, c, in, want->n == 0 ? NULL : &want->t[0],
                         &properties[i]};
        if (is_equality(v) && applies(c, want)) {
            check_property(&t, v);
        }
    }
}
