/* SPDX-License-Identifier: Apache-2.0 */
#include "reach.h"

#include "base/memory.h"
#include "base/prng.h"
#include "base/tensors.h"
#include "case_shape.h"
#include "case_text.h"

#include <mxoracle/mxoracle.h>

#include <stdlib.h>
#include <string.h>

/* A value of a parameter. */
typedef struct reached {
    const op_schema *schema;
    int param;
    char value[OP_WORD];
    uint64_t most[OP_MAX_DIMS];
    /* Two of its cases: that with most other values, and the smallest. */
    size_t rich, small;
    int others;
    uint64_t size; /* of the smallest, in elements; UINT64_MAX: none yet */
    int is_joint;  /* has it a case beyond one tile on all axes at once? */
} reached;

typedef uint64_t extents[OP_MAX_DIMS];

/* Axes of inputs: their last ones, and all others. */
enum { ROWS = 1, COLUMNS = 2 };

struct reach {
    size_t n, capacity;
    reached *v; /* as they were met */
    size_t n_slots;
    size_t *slot; /* 1 + its number, or 0 */
    /* Of each operation: its cases' largest, those to be met (0: none), and
       those to be met at once. */
    extents *most, *wanted, *joint;
};

static int is_layer(const op_schema *s)
{
    return strstr(s->info->name, "layer") != NULL;
}

/* Have a layer's halves the parameter, too?  A profile is a layer's own. */
static int is_step(const op_schema *s, const char *key)
{
    static const char *const halves[] = {"moe.gemm1", "moe.gemm2",
                                         "moe.nvfp4_gemm1", "moe.nvfp4_gemm2"};

    if (!is_layer(s) || strcmp(key, "profile") == 0) {
        return 0;
    }
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++) {
        if (op_param_index(op_by_name(halves[i]), key) >= 0) {
            return 1;
        }
    }
    return 0;
}

/* Numbers have no kernels of their own, and nobody waits for a default. */
static int is_counted(const test_case *c, int param)
{
    const op_param *p = &c->schema->params[param];

    return (p->kind == PARAM_CHOICE || p->kind == PARAM_BOOL ||
            p->kind == PARAM_NAME) &&
           strcmp(c->value[param], p->standard) != 0 &&
           !is_step(c->schema, p->key);
}

/* Is the extent the case's own choice? */
static int is_free(const test_case *c, int dim)
{
    return case_uses_dim(c, dim) && !case_dim_is_standard(c, dim);
}

static int is_of(const reached *v, const op_schema *s, int param,
                 const char *value)
{
    return v->schema == s && v->param == param && strcmp(v->value, value) == 0;
}

static size_t *slot_of(const reach *r, const op_schema *s, int param,
                       const char *value)
{
    for (uint64_t at = seed_of((uint64_t)param, s->info->name, value);; at++) {
        size_t *const slot = &r->slot[at & (r->n_slots - 1)];

        if (*slot == 0 || is_of(&r->v[*slot - 1], s, param, value)) {
            return slot;
        }
    }
}

/* Room for one more, with at least two slots for each. */
static void make_room(reach *r)
{
    if (r->n < r->capacity) {
        return;
    }
    r->capacity = r->capacity == 0 ? 1024 : 2 * r->capacity;
    r->n_slots = 2 * r->capacity;
    r->v = memory_need_more(r->v, r->capacity * sizeof *r->v);
    free(r->slot);
    r->slot = memory_need_zeros(r->n_slots, sizeof *r->slot);
    for (size_t i = 0; i < r->n; i++) {
        *slot_of(r, r->v[i].schema, r->v[i].param, r->v[i].value) = i + 1;
    }
}

/* NULL: no case has been noted that has the parameter's value. */
static const reached *known(const reach *r, const test_case *c, int param)
{
    const size_t at =
        r->n == 0 ? 0 : *slot_of(r, c->schema, param, c->value[param]);

    return at == 0 ? NULL : &r->v[at - 1];
}

static reached *find(reach *r, const test_case *c, int param)
{
    make_room(r);
    size_t *const slot = slot_of(r, c->schema, param, c->value[param]);

    if (*slot == 0) {
        reached *const v = &r->v[r->n++];

        memset(v, 0, sizeof *v);
        v->schema = c->schema;
        v->param = param;
        v->others = -1;
        v->size = UINT64_MAX;
        memcpy(v->value, c->value[param], sizeof v->value);
        *slot = r->n;
    }
    return &r->v[*slot - 1];
}

static int is_last_axis(const op_schema *s, int dim)
{
    for (int i = 0; i < s->n_inputs; i++) {
        const op_input *in = &s->inputs[i];

        if (in->rank > 1 && in->shape[in->rank - 1].dim == dim) {
            return 1;
        }
    }
    return 0;
}

/* Experts are crossed with everything in grids of their own, but for a
   router's columns. */
static int is_extended(const op_schema *s, int dim)
{
    return strcmp(s->dims[dim], "experts") != 0 ||
           (!is_layer(s) && is_last_axis(s, dim));
}

static uint64_t wanted_of(const op_schema *s, int dim)
{
    if (is_last_axis(s, dim)) {
        return is_layer(s) ? REACH_LAYER_COLUMNS : REACH_COLUMNS;
    }
    return is_layer(s) ? REACH_LAYER_ROWS : REACH_ROWS;
}

/* Products, whose extents multiply, go no further at once than a layer; and
   what lies behind the first expert has tiles, too. */
static uint64_t joint_of(const op_schema *s, int dim)
{
    const char *const name = s->info->name;

    if (!is_extended(s, dim)) {
        return 2;
    }
    if (strstr(name, "gemm") == NULL && strncmp(name, "mma.", 4) != 0) {
        return wanted_of(s, dim);
    }
    return is_last_axis(s, dim) ? REACH_LAYER_COLUMNS : REACH_LAYER_ROWS;
}

static int is_joint(const test_case *c)
{
    for (int i = 0; i < c->schema->n_dims; i++) {
        if (is_free(c, i) && c->dim[i] < joint_of(c->schema, i)) {
            return 0;
        }
    }
    return 1;
}

static void note_extents(uint64_t *most, const test_case *c)
{
    for (int i = 0; i < c->schema->n_dims; i++) {
        if (c->dim[i] > most[i] && is_free(c, i)) {
            most[i] = c->dim[i];
        }
    }
}

static int number_of(const op_schema *s)
{
    int i = 0;

    while (op_at(i) != s) {
        i++;
    }
    return i;
}

/* Elements of the largest tensor. */
static uint64_t size_of(const test_case *c)
{
    uint64_t most = 0;

    for (int i = 0; i < c->schema->n_inputs; i++) {
        uint64_t shape[MXO_MAX_RANK];
        uint64_t n = 1;

        case_shape_up(c, i, shape);
        for (uint32_t k = 0; k < c->schema->inputs[i].rank; k++) {
            n *= shape[k];
        }
        most = case_has_input(c, i) && n > most ? n : most;
    }
    return most;
}

/* Is the input as a loader leaves it, in shapes of its own? */
static int is_loaded(const test_case *c, const op_input *in)
{
    return in->conversion >= 0 &&
           strcmp(c->value[in->conversion],
                  c->schema->params[in->conversion].standard) != 0;
}

/* Does the emulator know outputs of such a call, on zeros?  It is not asked of
   loaded weights and of large ones. */
static int is_served(const test_case *c)
{
    static const uint64_t zeros[1 << 17];
    mxo_param params[OP_MAX_PARAMS];
    mxo_tensor in[OP_MAX_INPUTS] = {{0}};
    mxo_tensor out[MXO_MAX_TENSORS];
    uint32_t n_out = MXO_MAX_TENSORS;
    uint32_t n = 0;

    for (int i = 0; i < c->schema->n_inputs; i++) {
        const op_input *const one = &c->schema->inputs[i];
        mxo_tensor *const t = &in[n];

        if (!case_has_input(c, i)) {
            continue;
        }
        if (is_loaded(c, one)) {
            return 1;
        }
        t->buffer = (void *)(uintptr_t)zeros; /* nobody writes to inputs */
        if (case_input(c, i, &t->dtype, t->shape, (mxo_text){NULL, 0}) != 0) {
            return 0;
        }
        t->name = one->name;
        t->rank = one->rank;
        t->n_bytes = tensor_dense_bytes(t->dtype, t->rank, t->shape);
        if (t->n_bytes > sizeof zeros) {
            return 1;
        }
        n++;
    }
    case_params(c, params);
    const mxo_call call = {.struct_size = sizeof call,
                           .n_params = (uint32_t)c->schema->n_params,
                           .n_in = n,
                           .op = c->schema->info->name,
                           .params = params,
                           .in = in};

    return mxo_emulator()->infer(NULL, &call, out, &n_out,
                                 (mxo_text){NULL, 0}) == MXO_OK;
}

/* Calls that must be refused, parts of cases, and nothing reach nothing. */
static int is_whole(const test_case *c)
{
    for (int i = 0; i < c->schema->n_dims; i++) {
        if (c->dim[i] == 0 && case_uses_dim(c, i)) {
            return 0;
        }
    }
    return c->flaw[0] == '\0' && case_keeps_all(c) && c->stretch == 0;
}

/* What a case may tell: its counted parameters, its size, and whether it is
   beyond one tile on all axes. */
typedef struct told {
    const test_case *c;
    int n, param[OP_MAX_PARAMS];
    uint64_t size;
    int is_joint;
} told;

static told told_by(const test_case *c)
{
    told t = {.c = c};

    for (int i = 0; i < c->schema->n_params; i++) {
        if (is_counted(c, i)) {
            t.param[t.n++] = i;
        }
    }
    t.size = t.n > 0 ? size_of(c) : 0;
    t.is_joint = t.n > 0 && is_joint(c);
    return t;
}

static int goes_farther(const uint64_t *most, const test_case *c)
{
    for (int i = 0; i < c->schema->n_dims; i++) {
        if (c->dim[i] > most[i] && is_free(c, i)) {
            return 1;
        }
    }
    return 0;
}

static int is_richer(const told *t, const reached *v)
{
    enum { SMALL_BEFORE = 1 << 13 }; /* elements of what may be extended */

    return t->n > v->others && t->size <= SMALL_BEFORE;
}

/* Would its note change anything?  To ask the emulator costs most. */
static int is_news(reach *r, const told *t)
{
    if (goes_farther(r->most[number_of(t->c->schema)], t->c)) {
        return 1;
    }
    for (int k = 0; k < t->n; k++) {
        const reached *const v = known(r, t->c, t->param[k]);

        if (v == NULL || goes_farther(v->most, t->c) || is_richer(t, v) ||
            t->is_joint > v->is_joint || t->size < v->size) {
            return 1;
        }
    }
    return 0;
}

void reach_note(reach *r, const test_case *c, size_t at)
{
    if (!is_whole(c)) {
        return;
    }
    const told t = told_by(c);

    if (!is_news(r, &t) || !is_served(c)) {
        return;
    }
    note_extents(r->most[number_of(c->schema)], c);
    for (int k = 0; k < t.n; k++) {
        reached *const v = find(r, c, t.param[k]);

        note_extents(v->most, c);
        v->is_joint |= t.is_joint;
        if (is_richer(&t, v)) {
            v->others = t.n;
            v->rich = at;
        }
        if (t.size < v->size) {
            v->size = t.size;
            v->small = at;
        }
    }
}

static void want(reach *r, int op)
{
    const op_schema *const s = op_at(op);

    for (int dim = 0; dim < s->n_dims; dim++) {
        const uint64_t most = r->most[op][dim];

        if (is_extended(s, dim) && most >= wanted_of(s, dim)) {
            r->wanted[op][dim] = wanted_of(s, dim);
        }
        if (most >= joint_of(s, dim)) {
            r->joint[op][dim] = joint_of(s, dim);
        }
    }
}

static int is_among(const op_schema *s, int dim, int axes)
{
    return (axes & (is_last_axis(s, dim) ? COLUMNS : ROWS)) != 0;
}

static int waits(const reached *v, int axes, const uint64_t *wanted)
{
    for (int dim = 0; dim < v->schema->n_dims; dim++) {
        if (v->most[dim] < wanted[dim] && is_among(v->schema, dim, axes)) {
            return 1;
        }
    }
    return 0;
}

/* Gives the case multiples of extents as are wanted.  Does it change? */
static int extend(test_case *c, int axes, const uint64_t *wanted)
{
    int found = 0;

    for (int dim = 0; dim < c->schema->n_dims; dim++) {
        const uint64_t n = c->dim[dim];

        if (wanted[dim] > n && n > 0 && is_free(c, dim) &&
            is_among(c->schema, dim, axes)) {
            case_vary_dim(c, dim, (wanted[dim] + n - 1) / n * n);
            found = 1;
        }
    }
    return found;
}

/* Extends the case, unless it is large then.  Is it in the list? */
static int reach_by(reach *r, case_list *l, size_t at, int axes,
                    const uint64_t *wanted)
{
    enum { SMALL_BEHIND = 1 << 17 };
    test_case c;

    if (case_parse(&c, l->item[at].text, (mxo_text){NULL, 0}) != 0 ||
        !extend(&c, axes, wanted) || size_of(&c) > SMALL_BEHIND ||
        !is_served(&c)) {
        return 0;
    }
    grid_add_stretches(l, r, &c, l->item[at].seed);
    return 1;
}

/* From the case with most other values, or else from the smallest. */
static void reach_along(reach *r, case_list *l, size_t i, int axes,
                        const uint64_t *wanted)
{
    if (r->v[i].others < 0 || !reach_by(r, l, r->v[i].rich, axes, wanted)) {
        (void)reach_by(r, l, r->v[i].small, axes, wanted);
    }
}

static void reach_value(reach *r, case_list *l, size_t i)
{
    const int op = number_of(r->v[i].schema);

    if (!r->v[i].is_joint) {
        reach_along(r, l, i, ROWS | COLUMNS, r->joint[op]);
    }
    if (waits(&r->v[i], ROWS, r->wanted[op])) {
        reach_along(r, l, i, ROWS, r->wanted[op]);
    }
    /* Columns cost most where there are most rows. */
    if (waits(&r->v[i], COLUMNS, r->wanted[op])) {
        (void)reach_by(r, l, r->v[i].small, COLUMNS, r->wanted[op]);
    }
}

reach *reach_new(void)
{
    reach *const r = memory_need_zeros(1, sizeof *r);

    r->most = memory_need_zeros((size_t)op_count(), sizeof *r->most);
    r->wanted = memory_need_zeros((size_t)op_count(), sizeof *r->wanted);
    r->joint = memory_need_zeros((size_t)op_count(), sizeof *r->joint);
    return r;
}

void reach_free(reach *r)
{
    free(r->most);
    free(r->wanted);
    free(r->joint);
    free(r->slot);
    free(r->v);
    free(r);
}

void reach_append(reach *r, case_list *l)
{
    for (int i = 0; i < op_count(); i++) {
        want(r, i);
    }
    for (size_t i = 0; i < r->n; i++) {
        reach_value(r, l, i);
    }
}
