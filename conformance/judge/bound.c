/* SPDX-License-Identifier: Apache-2.0 */
/* See bound.h.  u = 2^-24 throughout: half a unit of binary32 at 1. */
#include "bound.h"

#include "base/codes.h"
#include "views.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 3 };

static const bound_row rows[] = {
#define MXO_BOUND(op, tensor, key, value, step, fraction, mantissa, data) \
    {op, tensor, key, value, step, fraction, mantissa, data, NULL, NULL},
#define MXO_ENDS(op, tensor, key, low, high, data) \
    {op, tensor, key, "0", 0, 0, 0, data, low, high},
#include "bound.def"
#undef MXO_BOUND
#undef MXO_ENDS
};

int bound_is_spare(const bound_row *r, const test_case *c)
{
    if (r == NULL) {
        return 0;
    }
    const word_span data = {r->data, strlen(r->data)};

    return span_lists(data, c->data);
}

int bound_is_own(const bound_row *r)
{
    return r != NULL && r->low != NULL && r->data[0] == '\0';
}

const bound_row *bound_row_for(const test_case *c, const char *tensor)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bound_row *r = &rows[i];
        if (strcmp(r->op, c->schema->info->name) == 0 &&
            strcmp(r->tensor, tensor) == 0 &&
            strcmp(case_value(c, r->key), r->value) == 0) {
            return r->low == NULL && bound_is_spare(r, c) ? NULL : r;
        }
    }
    return NULL;
}

/* h roundings to nearest: h u / (1 - h u). */
static double nearest(double h)
{
    const double x = h * 0x1p-24;

    return x < 1 ? x / (1 - x) : INFINITY;
}

/* Largest loss of k products, in units of the sum of magnitudes. */
static double lost(const bound_row *r, double k)
{
    const double steps = ceil(k / r->step);

    if (r->fraction == 0) {
        return nearest(k + 2);
    }
    return steps * ((r->step + 1) * ldexp(1, -r->fraction) +
                    ldexp(1, -r->mantissa)) +
           nearest(steps + 2);
}

/* Half a unit of an output type, relative. */
static double half_unit(uint32_t dtype)
{
    return dtype == MXO_BF16 ? 0x1p-8 : dtype == MXO_F16 ? 0x1p-11 : 0x1p-24;
}

static double bias_at(const op_call *call, uint64_t c)
{
    const host_tensor *t = tensor_set_find(call->in, "bias");

    return t == NULL ? 0 : dtype_value(t->dtype, tensor_load(t, c));
}

/* The terms of numerics 9.2 for one element. */
static double limit_of(const test_case *c, const bound_row *r, uint32_t to,
                       double y, double sum_abs, double bias)
{
    const double k = (double)case_dim(c, "k");
    const char *place = case_value(c, "bias");
    const int in_sum = strcmp(place, "sum") == 0;
    const double s = sum_abs + (in_sum ? fabs(bias) : 0);
    double limit = lost(r, k + in_sum) * s;

    if (s >= 0x1p127) {
        return INFINITY; /* a partial sum may overflow */
    }
    if (strcmp(place, "f32") == 0) {
        limit += 0x1p-24 * (fabs(y) + fabs(bias) + limit);
    } else if (strcmp(place, "to") == 0) {
        limit += half_unit(to) * (fabs(y) + 2 * fabs(bias) + limit);
    }
    /* Results below 2^-126 may be flushed; y itself was rounded once, and so
       are the few operations here. */
    limit += (2 * k + 2) * 0x1p-126 + 0x1p-50 * fabs(y);
    return limit + 0x1p-24 * fabs(y) * (to != MXO_F32 && to != MXO_F64);
}

static int set(test_case *c, const char *key, const char *value)
{
    char why[128];

    return case_set(c, key, value, (mxo_text){why, sizeof why});
}

/* The same case, exact, in float64, with the sums of magnitudes. */
static int exact_case(const test_case *c, const bound_row *r, test_case *exact)
{
    *exact = *c;
    if (strcmp(case_value(c, "bias"), "none") != 0 &&
        set(exact, "bias", "sum") != 0) {
        return -1;
    }
    return set(exact, r->key, "exact") == 0 && set(exact, "to", "f64") == 0 &&
                   set(exact, "sums", "1") == 0
               ? 0
               : -1;
}

static int take_limits(bound_set *b, const evidence *e, const bound_row *r,
                       const tensor_set *out)
{
    const host_tensor *y = &out->t[0];
    const host_tensor *s = &out->t[1];
    const uint64_t cols = y->rank == 0 ? 1 : y->shape[y->rank - 1];
    const uint32_t to = dtype_by_name(case_value(e->c, "to"));

    b->limit = calloc(b->n + 1, sizeof *b->limit);
    for (uint64_t i = 0; b->limit != NULL && i < b->n; i++) {
        b->y[i] = dtype_value(MXO_F64, tensor_load(y, i));
        b->limit[i] = limit_of(e->c, r, to, b->y[i],
                               dtype_value(MXO_F64, tensor_load(s, i)),
                               bias_at(e->call, i % cols));
    }
    return b->limit == NULL ? -1 : 0;
}

static int take_ends(bound_set *b, const bound_row *r, const tensor_set *out,
                     const host_tensor *want)
{
    const host_tensor *low = tensor_set_find(out, r->low);
    const host_tensor *high = tensor_set_find(out, r->high);

    b->low = calloc(b->n + 1, sizeof *b->low);
    b->high = calloc(b->n + 1, sizeof *b->high);
    if (low == NULL || high == NULL || b->low == NULL || b->high == NULL ||
        tensor_elems(low) != b->n || tensor_elems(high) != b->n) {
        return -1;
    }
    for (uint64_t i = 0; i < b->n; i++) {
        b->y[i] = dtype_value(want->dtype, tensor_load(want, i));
        b->low[i] = dtype_value(low->dtype, tensor_load(low, i));
        b->high[i] = dtype_value(high->dtype, tensor_load(high, i));
    }
    return 0;
}

static int take(bound_set *b, const evidence *e, const bound_row *r,
                const tensor_set *out, const host_tensor *want)
{
    b->n = tensor_elems(want);
    b->y = calloc(b->n + 1, sizeof *b->y);
    b->fails = calloc(b->n + 1, 1);
    if (b->y == NULL || b->fails == NULL || out->n < 2) {
        return -1;
    }
    return r->low == NULL ? take_limits(b, e, r, out)
                          : take_ends(b, r, out, want);
}

/* The inputs of the call, borrowed, and the subject's choice as "picked" if
   the operation asks for it.  0, or -1: there is no choice of that shape. */
static int take_inputs(const evidence *e, const test_case *asked,
                       tensor_set *in)
{
    const host_tensor *ids =
        e->got == NULL ? NULL : tensor_set_find(e->got, "topk_ids");
    int picks = 0;

    *in = *e->call->in;
    for (int i = 0; i < asked->schema->n_inputs; i++) {
        picks |= case_has_input(asked, i) &&
                 strcmp(asked->schema->inputs[i].name, "picked") == 0;
    }
    if (!picks) {
        return 0;
    }
    if (ids == NULL || in->n == MXO_MAX_TENSORS) {
        return -1;
    }
    in->t[in->n] = *ids;
    (void)snprintf(in->t[in->n].name, sizeof ids->name, "picked");
    in->n++;
    return 0;
}

int bound_ask(bound_set *b, const evidence *e, const bound_row *row,
              const host_tensor *want, mxo_text why)
{
    mxo_param params[OP_MAX_PARAMS];
    tensor_set in;
    const op_call asked = {e->call->op, params, e->call->n_params, &in};
    subject *oracle = &e->j->oracle;
    tensor_set out = {0};
    const char *word = bound_is_spare(row, e->c) ? "open" : "1";
    test_case exact = *e->c;
    run_checks d;
    int bad = -1;

    memset(b, 0, sizeof *b);
    b->has_signs = bound_is_spare(row, e->c);
    if ((row->low == NULL ? exact_case(e->c, row, &exact)
                          : set(&exact, row->key, word)) == 0 &&
        take_inputs(e, &exact, &in) == 0) {
        case_params(&exact, params);
        if (subject_infer(oracle, &asked, &out, why) == MXO_OK &&
            subject_run(oracle, &asked, &out, &d, why) == MXO_OK) {
            bad = take(b, e, row, &out, want);
        }
    }
    tensor_set_clear(&out);
    return bad;
}

void bound_clear(bound_set *b)
{
    free(b->y);
    free(b->limit);
    free(b->low);
    free(b->high);
    free(b->fails);
    memset(b, 0, sizeof *b);
}

/* x rounded to the nearest number of a type; overflow to infinity. */
static double rounded(uint32_t dtype, double x)
{
    const code_format *f = dtype_format(dtype);

    if (dtype == MXO_F64 || isinf(x)) {
        return x;
    }
    const uint64_t last = code_last_finite(f);
    const double most = code_value(f, last);
    /* The next number would be two units up: the middle goes to infinity. */
    const double middle = most + (most - code_value(f, last - 1)) / 2;

    if (fabs(x) >= middle) {
        return copysign(INFINITY, x);
    }
    return code_value(f, code_nearest(f, x));
}

int bound_accepts(uint32_t dtype, uint64_t code, double y, double limit)
{
    const double got = dtype_value(dtype, code);

    if (isnan(y)) { /* an operand is, or infinities cancel: in any order */
        return isnan(got);
    }
    if (isnan(got)) {
        return limit == INFINITY;
    }
    if (isinf(y)) {
        return got == y;
    }
    return got >= rounded(dtype, y - limit) && got <= rounded(dtype, y + limit);
}

double bound_share(uint32_t dtype, uint64_t code, double y, double limit)
{
    const double got = dtype_value(dtype, code);
    double low = 0;
    double high = 1;

    if (!isfinite(y) || !isfinite(got) || !(limit > 0) || isinf(limit) ||
        bound_accepts(dtype, code, y, 0)) {
        return 0;
    }
    while (high < 0x1p40 && !bound_accepts(dtype, code, y, high * limit)) {
        low = high;
        high *= 2;
    }
    for (int i = 0; i < 12; i++) {
        const double middle = (low + high) / 2;
        if (bound_accepts(dtype, code, y, middle * limit)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

int ends_accept(double got, double low, double high)
{
    if (isnan(low) || isnan(got)) {
        return (isnan(low) && isnan(got)) ||
               (low == -INFINITY && high == INFINITY);
    }
    return got >= low && got <= high;
}

double ends_share(double got, double want, double low, double high)
{
    const double room = got > want ? high - want : want - low;
    const double way = fabs(got - want);

    if (isnan(got) || isnan(want) || got == want || isinf(room)) {
        return 0;
    }
    return way < room * 0x1p40 ? way / room : 0x1p40;
}

static double share_of(const bound_set *b, const host_tensor *got, uint64_t i)
{
    const uint64_t code = tensor_load(got, i);

    return b->low == NULL ? bound_share(got->dtype, code, b->y[i], b->limit[i])
                          : ends_share(dtype_value(got->dtype, code), b->y[i],
                                       b->low[i], b->high[i]);
}

int bound_holds(const bound_set *b, uint64_t i, uint32_t dtype, uint64_t code)
{
    if (b->low == NULL) {
        return bound_accepts(dtype, code, b->y[i], b->limit[i]);
    }
    const double x = dtype_value(dtype, code);
    const int is_sign = b->has_signs && x == 0 && b->low[i] == 0 &&
                        b->high[i] == 0 &&
                        signbit(b->low[i]) == signbit(b->high[i]);

    return is_sign ? signbit(x) == signbit(b->low[i])
                   : ends_accept(x, b->low[i], b->high[i]);
}

static void count(verdict_use *use, double share)
{
    static const double upto[VERDICT_BINS - 1] = {0,    0x1p-6, 0x1p-4,
                                                  0.25, 0.5,    1};
    int bin = 0;

    while (bin < VERDICT_BINS - 1 && share > upto[bin]) {
        bin++;
    }
    use->n[bin]++;
    use->most = share > use->most ? share : use->most;
}

comparison bound_compare(bound_set *b, const host_tensor *want,
                         const host_tensor *got, verdict_use *use)
{
    comparison c = {b->n, 0, 0, 0};

    for (uint64_t i = 0; i < b->n; i++) {
        const uint64_t code = tensor_load(got, i);
        if (code == tensor_load(want, i)) {
            use->n[0]++;
            continue;
        }
        b->fails[i] = (uint8_t)!bound_holds(b, i, got->dtype, code);
        count(use, share_of(b, got, i));
        if (b->fails[i]) {
            c.first = c.n_diff == 0 ? i : c.first;
            c.last = i;
            c.n_diff++;
        }
    }
    return c;
}

static void say_one(const bound_set *b, const host_tensor *got, uint64_t i,
                    strbuf *lines)
{
    const double x = dtype_value(got->dtype, tensor_load(got, i));
    char index[96];

    view_index(got, i, index, sizeof index);
    if (b->low == NULL) {
        strbuf_add(lines,
                   "%-8s exact %+.17g, got %+.9g, bound %.3g: %.3g times\n",
                   index, b->y[i], x, b->limit[i], share_of(b, got, i));
    } else if (b->low[i] == b->high[i]) {
        strbuf_add(lines, "%-8s got %+.9g, only %+.9g may be there\n", index, x,
                   b->low[i]);
    } else {
        strbuf_add(lines,
                   "%-8s got %+.9g, allowed is %+.9g to %+.9g: %.3g times "
                   "the way from %+.9g\n",
                   index, x, b->low[i], b->high[i], share_of(b, got, i),
                   b->y[i]);
    }
}

void bound_say(const bound_set *b, const host_tensor *got, strbuf *lines)
{
    int shown = 0;

    for (uint64_t i = 0; i < b->n && shown < SHOWN; i++) {
        if (b->fails[i]) {
            say_one(b, got, i, lines);
            shown++;
        }
    }
}
