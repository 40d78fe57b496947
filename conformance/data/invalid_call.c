/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See invalid_call.h.  An invalid tensor has all the bytes that it claims,
 * unless the claim itself is wrong: a read stays inside its memory.
 */
#include "invalid_call.h"
#include "case/case_text.h"

#include "case/case_shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct spoiling {
    const test_case *c;
    invalid_call *call;
    const char *target;
    tensor_set *set; /* holds the tensor; NULL: the target is none */
    uint32_t at;
} spoiling;

static host_tensor *tensor_of(const spoiling *s)
{
    return &s->set->t[s->at];
}

/* Other extents: the same bytes as far as they go, then again. */
static int reshape(host_tensor *t, uint32_t rank, const uint64_t *shape)
{
    tensor_set one = {0};
    host_tensor *made;

    if (tensor_set_add(&one, t->name, t->dtype, rank, shape, &made) != MXO_OK) {
        return -1;
    }
    for (uint64_t i = 0; i < made->n_bytes; i++) {
        made->data[i] = t->n_bytes == 0 ? 0 : t->data[i % t->n_bytes];
    }
    free(t->data);
    *t = *made;
    return 0;
}

static int lengthen(host_tensor *t, int by)
{
    uint64_t shape[MXO_MAX_RANK];

    memcpy(shape, t->shape, sizeof shape);
    if (t->rank == 0 || (by < 0 && shape[0] == 0)) {
        return -1;
    }
    shape[0] += (uint64_t)(int64_t)by;
    return reshape(t, t->rank, shape);
}

static int spoil_bytes(const spoiling *s)
{
    host_tensor *t = tensor_of(s);

    t->n_bytes -= t->n_bytes > 0;
    return 0;
}

/* Another reading of the same bytes. */
static int spoil_dtype(const spoiling *s)
{
    static const uint32_t other[][2] = {
        {MXO_U8, MXO_E4M3},  {MXO_E8M0, MXO_U8}, {MXO_BF16, MXO_F16},
        {MXO_F16, MXO_BF16}, {MXO_F32, MXO_I32}, {MXO_I32, MXO_F32},
        {MXO_U32, MXO_F32},  {MXO_F64, MXO_I64}, {MXO_I64, MXO_F64}};
    host_tensor *t = tensor_of(s);
    const uint32_t was = t->dtype;

    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        t->dtype = was == other[i][0] ? other[i][1] : t->dtype;
    }
    t->dtype = t->dtype == was ? MXO_U8 : t->dtype;
    return dtype_bytes(was) == dtype_bytes(t->dtype) ? 0 : -1;
}

static int spoil_flat(const spoiling *s)
{
    host_tensor *t = tensor_of(s);
    const uint64_t n = tensor_elems(t);

    t->shape[0] = t->rank == 1 ? 1 : n;
    t->shape[1] = n;
    t->rank = t->rank == 1 ? 2 : 1;
    return 0;
}

static int spoil_long(const spoiling *s)
{
    return lengthen(tensor_of(s), 1);
}

static int spoil_missing(const spoiling *s)
{
    free(tensor_of(s)->data);
    s->set->n--;
    memmove(tensor_of(s), tensor_of(s) + 1,
            (s->set->n - s->at) * sizeof s->set->t[0]);
    return 0;
}

static int reshape_inputs(const spoiling *s)
{
    test_case c;
    int bad = 0;

    invalid_call_resize(s->c, &c);
    for (int i = 0; i < c.schema->n_inputs && !bad; i++) {
        const op_input *in = &c.schema->inputs[i];
        host_tensor *t = tensor_set_find(s->call->in, in->name);
        uint64_t shape[MXO_MAX_RANK];

        if (case_has_input(&c, i)) {
            case_shape_up(&c, i, shape);
            bad = reshape(t, in->rank, shape);
        }
    }
    return bad;
}

static int spoil_odd(const spoiling *s)
{
    return reshape_inputs(s);
}

static int spoil_off(const spoiling *s)
{
    return reshape_inputs(s);
}

static int spoil_short(const spoiling *s)
{
    return lengthen(tensor_of(s), -1);
}

static int spoil_turned(const spoiling *s)
{
    host_tensor *t = tensor_of(s);

    if (t->rank < 2 || t->shape[t->rank - 1] == t->shape[t->rank - 2]) {
        return -1;
    }
    const uint64_t last = t->shape[t->rank - 1];

    t->shape[t->rank - 1] = t->shape[t->rank - 2];
    t->shape[t->rank - 2] = last;
    return 0;
}

static int spoil_unknown(const spoiling *s)
{
    s->call->params[s->call->n_params++] =
        (mxo_param){"no_such_parameter", "1", 1};
    return 0;
}

static int spoil_unset(const spoiling *s)
{
    const uint32_t at = (uint32_t)op_param_index(s->c->schema, s->target);

    s->call->n_params--;
    memmove(&s->call->params[at], &s->call->params[at + 1],
            (s->call->n_params - at) * sizeof s->call->params[0]);
    return 0;
}

static int spoil_value(const spoiling *s)
{
    mxo_param *p = &s->call->params[op_param_index(s->c->schema, s->target)];

    p->text = "no_such_value";
    p->number = 0; /* as for every text that is no number */
    return 0;
}

/* Its bytes, counted in 64 bits, are those it has. */
static int spoil_vast(const spoiling *s)
{
    host_tensor *t = tensor_of(s);

    if (t->rank == 0 || t->n_bytes == 0) {
        return -1;
    }
    const uint64_t row = t->n_bytes / t->shape[0];

    t->shape[0] |= UINT64_C(1) << 63;
    t->n_bytes = row % 2 == 0 ? t->n_bytes : t->n_bytes - 1;
    return 0;
}

static int (*const does[N_INVALID])(const spoiling *) = {
#define MXO_INVALID_CALL(name, on, status, what) spoil_##name,
#include "case/invalid_calls.def"
#undef MXO_INVALID_CALL
};

void invalid_call_resize(const test_case *c, test_case *changed)
{
    const case_invalid how = case_invalid_of(c);
    const uint64_t by = how.kind == INVALID_odd ? 1 : 2;
    char value[OP_WORD];
    char text[OP_WORD];

    *changed = *c;
    if (how.kind == INVALID_odd || how.kind == INVALID_off) {
        (void)snprintf(value, sizeof value, "%llu",
                       (unsigned long long)(case_dim(c, how.target) + by));
        (void)case_vary(changed, how.target, value,
                        (mxo_text){text, sizeof text});
    }
}

/* Inputs come first: some operations call an output by an input's name. */
static void find_tensor(spoiling *s)
{
    tensor_set *const sets[2] = {s->call->in, s->call->out};

    for (int k = 0; k < 2 && s->set == NULL; k++) {
        for (uint32_t i = 0; i < sets[k]->n; i++) {
            if (strcmp(sets[k]->t[i].name, s->target) == 0) {
                s->set = sets[k];
                s->at = i;
            }
        }
    }
}

int invalid_call_make(const test_case *c, invalid_call *call, mxo_text why)
{
    const case_invalid how = case_invalid_of(c);
    spoiling s = {c, call, how.target, NULL, 0};
    const int is_about_tensor = op_dim_index(c->schema, how.target) < 0 &&
                                op_param_index(c->schema, how.target) < 0 &&
                                how.target[0] != '\0';

    find_tensor(&s);
    if ((is_about_tensor && s.set == NULL) || does[how.kind](&s) != 0) {
        (void)snprintf(why.ptr, why.size, "flaw=%s cannot be done to this call",
                       c->flaw);
        return -1;
    }
    return 0;
}
