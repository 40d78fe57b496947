/* SPDX-License-Identifier: Apache-2.0 */
/* See third_party_tolerances.h. */
#include "third_party_tolerances.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef enum tolerance_kind {
    CLOSE,
    OF_MAX,
    COSINE,
    DIFF,
    NMSE,
    RELATIVE
} tolerance_kind;

typedef struct tolerance_rule {
    const char *name;
    tolerance_kind kind;
    double a;
    double b;
    double may_fail;
    const char *source;
} tolerance_rule;

static const tolerance_rule rules[] = {
#define MXO_ALSO(name, kind, a, b, may_fail, source) \
    {name, kind, a, b, may_fail, source},
#include "third_party_tolerances.def"
#undef MXO_ALSO
};

enum { N_RULES = sizeof rules / sizeof rules[0] };

/* Sums over all elements that the rules are made of. */
typedef struct sums {
    double n;
    double want_want;
    double got_got;
    double want_got;
    double off_off;
    double most; /* largest |want| */
    int nan;     /* only one of the two has it */
} sums;

const char *tolerance_name(int i)
{
    return i >= 0 && i < N_RULES ? rules[i].name : NULL;
}

/* Whether the text is the name of a rule, or of its family. */
static int is_called(const char *name, const char *text)
{
    const size_t n = strlen(text);

    return strcasecmp(name, text) == 0 || strcmp(text, "all") == 0 ||
           (n > 0 && strncasecmp(name, text, n) == 0 && name[n] == '_');
}

int tolerance_add(const char *text, char *list, size_t size)
{
    int known = 0;

    for (int i = 0; i < N_RULES; i++) {
        const size_t used = strlen(list);
        if (is_called(rules[i].name, text)) {
            (void)snprintf(list + used, size - used, "%s%s",
                           used == 0 ? "" : ",", rules[i].name);
            known = 1;
        }
    }
    return known;
}

static void values(const host_tensor *want, const host_tensor *got, uint64_t i,
                   double *w, double *g)
{
    *w = dtype_value(want->dtype, tensor_load(want, i));
    *g = dtype_value(got->dtype, tensor_load(got, i));
}

static sums sum_up(const host_tensor *want, const host_tensor *got)
{
    const uint64_t n = tensor_elems(want);
    sums s = {.n = (double)n};

    for (uint64_t i = 0; i < n; i++) {
        double w;
        double g;
        values(want, got, i, &w, &g);
        if (isnan(w) && isnan(g)) {
            continue;
        }
        s.nan |= isnan(w) || isnan(g);
        if (w == g) {
            g = w; /* infinities included: no difference */
        }
        s.want_want += w * w;
        s.got_got += g * g;
        s.want_got += w * g;
        s.off_off += w == g ? 0 : (w - g) * (w - g);
        s.most = fabs(w) > s.most ? fabs(w) : s.most;
    }
    return s;
}

static int is_close(const tolerance_rule *r, const sums *s,
                    const host_tensor *want, const host_tensor *got)
{
    const double atol = r->kind == OF_MAX ? r->a * s->most : r->a;
    const uint64_t n = tensor_elems(want);
    uint64_t beyond = 0;

    for (uint64_t i = 0; i < n; i++) {
        double w;
        double g;
        values(want, got, i, &w, &g);
        beyond += w != g && !(fabs(w - g) <= atol + r->b * fabs(w)) &&
                  !(isnan(w) && isnan(g));
    }
    return (double)beyond <= r->may_fail * (double)n;
}

static int is_relative(const tolerance_rule *r, const sums *s,
                       const host_tensor *want, const host_tensor *got)
{
    const double rms = sqrt(s->want_want / s->n);
    const uint64_t n = tensor_elems(want);
    double most = 0;
    double squares = 0;

    for (uint64_t i = 0; i < n; i++) {
        double w;
        double g;
        values(want, got, i, &w, &g);
        const double off = w == g || isnan(w) ? 0 : fabs(w - g);
        const double base = fabs(w) > rms ? fabs(w) : rms;
        const double e = off == 0 ? 0 : off / base;
        most = e > most ? e : most;
        squares += e * e;
    }
    return most <= r->a && sqrt(squares / s->n) <= r->b;
}

int tolerance_accepts(int i, const host_tensor *want, const host_tensor *got)
{
    const tolerance_rule *r = &rules[i];
    const sums s = sum_up(want, got);

    if (s.n == 0 || s.nan) {
        return s.n == 0;
    }
    switch (r->kind) {
    case COSINE:
        return 1 - s.want_got / sqrt(s.want_want * s.got_got) <= r->a;
    case DIFF:
        return 1 - 2 * s.want_got / (s.want_want + s.got_got) < r->a;
    case NMSE:
        return s.off_off <= r->a * s.want_want;
    case RELATIVE:
        return is_relative(r, &s, want, got);
    default:
        return is_close(r, &s, want, got);
    }
}

static int is_float(uint32_t dtype)
{
    return dtype == MXO_F16 || dtype == MXO_BF16 || dtype == MXO_F32 ||
           dtype == MXO_F64;
}

void tolerance_names(const tensor_set *want, const tensor_set *got, char *text,
                     size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < N_RULES; i++) {
        int n = 0;
        int accepted = 1;
        for (uint32_t o = 0; o < want->n && accepted; o++) {
            if (is_float(want->t[o].dtype)) {
                n++;
                accepted = tolerance_accepts(i, &want->t[o], &got->t[o]);
            }
        }
        if (n > 0 && accepted) {
            const size_t used = strlen(text);
            (void)snprintf(text + used, size - used, "%s%s",
                           used == 0 ? "" : " ", rules[i].name);
        }
    }
}

static int is_listed(const char *list, const char *name, size_t n)
{
    while (*list != '\0') {
        const size_t length = strcspn(list, ",");
        if (length == n && strncmp(list, name, n) == 0) {
            return 1;
        }
        list += length + (list[length] == ',');
    }
    return 0;
}

void tolerance_choose(const char *names, const char *list, char *text,
                      size_t size)
{
    text[0] = '\0';
    while (*names != '\0') {
        const size_t n = strcspn(names, " ");
        const size_t used = strlen(text);
        if (is_listed(list, names, n)) {
            (void)snprintf(text + used, size - used, "%s%.*s",
                           used == 0 ? "" : ", ", (int)n, names);
        }
        names += n + (names[n] == ' ');
    }
}
