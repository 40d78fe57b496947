/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pads behind a short last group that enter its maximum: the call is widened to
 * whole groups, with the pads' numbers in activations and zeros in weights, so
 * that nothing else changes.  Outputs may be wider then, too.
 */
#include "layer_edit.h"

#include "case/profile_fact.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A dimension that becomes a multiple of its groups. */
typedef struct widening {
    uint64_t was;
    uint64_t now;
    uint64_t group;
    int in_pairs; /* gate and up rows take turns */
    int exponent; /* of what pads hold */
} widening;

/* Where an element is along the axis that is widened. */
typedef struct place {
    uint64_t outer;
    uint64_t at;
    uint64_t inner;
    uint64_t width; /* elements of one step along the axis */
} place;

/* The code that the widened tensor has there. */
typedef uint64_t wide_code(const widening *w, const host_tensor *was,
                           uint64_t n, const place *p);

static uint64_t code_at(const host_tensor *was, uint64_t n, const place *p,
                        uint64_t at)
{
    return tensor_load(was, (p->outer * n + at) * p->width + p->inner);
}

static uint64_t zero_behind(const widening *w, const host_tensor *was,
                            uint64_t n, const place *p)
{
    (void)w;
    return p->at < n ? code_at(was, n, p, p->at) : 0;
}

static uint64_t one_behind(const widening *w, const host_tensor *was,
                           uint64_t n, const place *p)
{
    (void)w;
    return p->at < n ? code_at(was, n, p, p->at) : 127;
}

static uint64_t former_behind(const widening *w, const host_tensor *was,
                              uint64_t n, const place *p)
{
    return code_at(was, n, p, p->at < n ? p->at : p->at - w->group);
}

static uint64_t next_row_behind(const widening *w, const host_tensor *was,
                                uint64_t n, const place *p)
{
    const uint64_t flat = p->outer * n + p->at;

    (void)w;
    return p->at < n                  ? code_at(was, n, p, p->at)
           : flat < tensor_elems(was) ? tensor_load(was, flat)
                                      : 0;
}

/* A power of two in a float's code. */
static uint64_t power_behind(const widening *w, const host_tensor *was,
                             uint64_t n, const place *p)
{
    const int is_half = was->dtype == MXO_F16;
    const int bits = is_half ? 10 : was->dtype == MXO_BF16 ? 7 : 23;

    return p->at < n ? code_at(was, n, p, p->at)
                     : (uint64_t)(w->exponent + (is_half ? 15 : 127)) << bits;
}

/* Rows of w13: those behind are what is a group before them, of gate and up
   alike. */
static uint64_t rows_behind(const widening *w, const host_tensor *was,
                            uint64_t n, const place *p)
{
    const uint64_t column = w->in_pairs ? p->at / 2 : p->at % w->now;
    const uint64_t half = w->in_pairs ? p->at % 2 : p->at / w->now;
    const uint64_t from = column < w->was ? column : column - w->group;

    return code_at(was, n, p,
                   w->in_pairs ? 2 * from + half : half * w->was + from);
}

static uint64_t product(const uint64_t *shape, uint32_t from, uint32_t end)
{
    uint64_t n = 1;

    while (from < end) {
        n *= shape[from++];
    }
    return n;
}

/* One tensor with so many steps along an axis. */
static int widen(layer_call *call, const widening *w, const char *name,
                 uint32_t axis, uint64_t to, wide_code *code)
{
    host_tensor *t = tensor_set_find(&call->in, name);
    tensor_set wide = {0};
    host_tensor *made;
    uint64_t shape[MXO_MAX_RANK];

    if (t == NULL) {
        return 1;
    }
    memcpy(shape, t->shape, sizeof shape);
    shape[axis] = to;
    if (tensor_set_add(&wide, name, t->dtype, t->rank, shape, &made) !=
        MXO_OK) {
        return 0;
    }
    const uint64_t width = product(shape, axis + 1, t->rank);

    for (uint64_t i = 0; i < tensor_elems(made); i++) {
        const place p = {i / width / to, i / width % to, i % width, width};
        tensor_store(made, i, code(w, t, t->shape[axis], &p));
    }
    const host_tensor kept = *t;

    *t = *made;
    *made = kept;
    tensor_set_clear(&wide);
    return 1;
}

/* What a layer declares of an entry. */
static const char *entry(const test_case *c, const char *key)
{
    const char *value = case_value(c, key);

    return strcmp(value, "profile") == 0
               ? profile_fact(case_value(c, "profile"), key)
               : value;
}

/* Elements of a group of activations; 0: they have none. */
static uint64_t group_of(const test_case *c)
{
    const char *how = entry(c, "quant");

    if (strcmp(c->schema->info->name, "quant.group") == 0) {
        return strtoull(case_value(c, "group_cols"), NULL, 10);
    }
    if (strcmp(how, "quant.mx") != 0 && strcmp(how, "quant.group") != 0 &&
        strcmp(how, "quant.qdq") != 0) {
        return 0;
    }
    const uint64_t group = strtoull(entry(c, "quant_group"), NULL, 10);

    return group == 0 ? 32 : group;
}

static int resize(test_case *c, const char *dim, uint64_t n)
{
    char text[32];
    char why[256];

    (void)snprintf(text, sizeof text, "%" PRIu64, n);
    return case_vary(c, dim, text, (mxo_text){why, sizeof why}) == 0;
}

/* Blocks of 32. */
static uint64_t blocks(uint64_t n)
{
    return (n + 31) / 32;
}

/* Hidden states, with zeros for them in both matrices. */
static int widen_hidden(layer_call *call, const widening *w, wide_code *pads)
{
    return widen(call, w, "x", 1, w->now, pads) &&
           widen(call, w, "w13", 2, w->now / 2, zero_behind) &&
           widen(call, w, "w13_scale", 2, blocks(w->now), one_behind) &&
           widen(call, w, "w2", 1, w->now, zero_behind) &&
           widen(call, w, "w2_scale", 1, w->now, one_behind) &&
           widen(call, w, "w2_bias", 1, w->now, zero_behind);
}

/* Activations, which rows of w13 make unless they are given. */
static int widen_inter(layer_call *call, const widening *w, wide_code *pads)
{
    return widen(call, w, "act", 2, w->now, pads) &&
           widen(call, w, "w13", 1, 2 * w->now, rows_behind) &&
           widen(call, w, "w13_scale", 1, 2 * w->now, rows_behind) &&
           widen(call, w, "w13_bias", 1, 2 * w->now, rows_behind) &&
           widen(call, w, "w2", 2, w->now / 2, zero_behind) &&
           widen(call, w, "w2_scale", 2, blocks(w->now), one_behind);
}

/* Does the call quantise along this dimension? */
static int quantises(const layer_call *call, const char *dim)
{
    const char *given = strcmp(dim, "inter") == 0 ? "act" : "x";
    const host_tensor *t = tensor_set_find(&call->in, given);

    if (strcmp(dim, "inter") == 0 &&
        strcmp(entry(&call->c, "requant"), "same") != 0) {
        return 0;
    }
    return t == NULL ? strcmp(dim, "inter") == 0 &&
                           tensor_set_find(&call->in, "w2") != NULL
                     : t->dtype != MXO_U8;
}

static layer_edit widen_call(layer_call *call, const char *dim, wide_code *pads,
                             int exponent)
{
    const uint64_t group = group_of(&call->c);
    const uint64_t was = case_dim(&call->c, dim);
    const widening w = {
        was, group == 0 ? 0 : (was + group - 1) / group * group, group,
        strcmp(case_value(&call->c, "rows"), "interleaved") == 0, exponent};
    const int has_former = pads != former_behind || was > group;

    if (w.now == was || w.now == 0 || was == 0 || was % 2 != 0 || !has_former ||
        !quantises(call, dim) || !resize(&call->c, dim, w.now)) {
        return EDIT_END;
    }
    const int done = strcmp(dim, "hidden") == 0 ? widen_hidden(call, &w, pads)
                     : strcmp(dim, "inter") == 0
                         ? widen_inter(call, &w, pads)
                         : widen(call, &w, "x", 1, w.now, pads);

    return done ? EDIT_DONE : EDIT_END;
}

layer_edit edit_pads_of_former(layer_call *call, const char *on, unsigned which)
{
    return which > 0 ? EDIT_END : widen_call(call, on, former_behind, 0);
}

/* Pads of activations that a layer makes itself have no other source. */
static int is_given(const layer_call *call, const char *dim)
{
    return strcmp(dim, "inter") != 0 ||
           tensor_set_find(&call->in, "act") != NULL;
}

layer_edit edit_pads_of_next_row(layer_call *call, const char *on,
                                 unsigned which)
{
    return which > 0 || !is_given(call, on)
               ? EDIT_END
               : widen_call(call, on, next_row_behind, 0);
}

/* All of one size, which is tried from 2^-14 on, the least of FP16. */
layer_edit edit_pads_of_a_size(layer_call *call, const char *on, unsigned which)
{
    enum { LEAST = -14, LARGEST = 15 };

    return (int)which > LARGEST - LEAST || !is_given(call, on)
               ? EDIT_END
               : widen_call(call, on, power_behind, LEAST + (int)which);
}
