/* SPDX-License-Identifier: Apache-2.0 */
/* The scale byte of a block, and quant.scale. */
#include "broken.h"

#include <math.h>
#include <string.h>

/* The names that quant.mx and quant.scale give to one rule. */
static const struct {
    const char *name;
    int rule;
} rules[] = {
    {"floor", RULE_FLOOR},
    {"ceil", RULE_CEIL},
    {"rceil", RULE_RCEIL},
    {"even", RULE_EVEN},
    {"rceil_mul", RULE_RCEIL},
    {"rceil_exact", RULE_RCEIL_EXACT},
    {"floor_div", RULE_FLOOR_DIV},
    {"floor_nooffset", RULE_NO_OFFSET},
    {"vllm_torch_ceil", RULE_VLLM_CEIL},
    {"triton36_up", RULE_TRITON_UP},
    {"triton36_down", RULE_TRITON_DOWN},
};

int broken_rule(const char *name)
{
    for (unsigned i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].name, name) == 0) {
            return rules[i].rule;
        }
    }
    return N_RULES;
}

/* floor(log2 x); of zero something very small. */
static int lg(double x)
{
    int e = -1000;

    if (x > 0) {
        (void)frexp(x, &e);
    }
    return e - 1;
}

static int ceil_lg(double x)
{
    return lg(x) + (x > broken_power(lg(x)));
}

static int emax(const broken *b, const number_format *f)
{
    const int e = lg(broken_largest(f));

    return e + (IS(Q41) && f->kind == KIND_FN) - (IS(Q42) && f->ebits == 5);
}

/* Round to m + 1 significant bits, half up, and keep the exponent. */
static int even_lg(const broken *b, const number_format *f, double amax)
{
    const int e = lg(amax);
    const int m = f->kind == KIND_INT8 ? 6 : f->mbits;
    const double threshold = 2 - broken_power(-m - (IS(Q32) ? 0 : 1));
    const double mantissa = ldexp(amax, -e);

    if (amax < 0x1p-126) { /* no hidden bit: only the carry counts */
        return amax < 0x1p-126 * (1 - broken_power(-1 - m)) ? -127 : -126;
    }
    return e + (IS(Q33) ? mantissa > threshold : mantissa >= threshold);
}

/* amax / largest, by a rounded reciprocal as rule "rceil" has it. */
static double by_reciprocal(const broken *b, double amax, double largest)
{
    const float r = 1 / (float)largest;
    const float off = IS(Q103)   ? nextafterf(r, 1)
                      : IS(Q104) ? nextafterf(r, 0)
                                 : r;
    const float quotient = (float)amax * off;

    return (double)quotient;
}

static int exponent(const broken *b, const number_format *f, int rule,
                    double amax)
{
    const double largest =
        IS(Q34) ? 2 * broken_power(emax(b, f)) : broken_largest(f);

    switch (rule) {
    case RULE_CEIL:
        return ceil_lg(amax) - emax(b, f);
    case RULE_RCEIL:
        return ceil_lg(by_reciprocal(b, amax, largest));
    case RULE_VLLM_CEIL:
        return ceil_lg((double)(float)(amax / largest));
    case RULE_RCEIL_EXACT:
        return ceil_lg(amax / largest);
    case RULE_EVEN:
        return even_lg(b, f, amax) - emax(b, f);
    case RULE_FLOOR_DIV:
        return lg((double)(float)(amax / largest));
    case RULE_NO_OFFSET:
        return lg(amax);
    case RULE_CEIL_NO_OFFSET:
        return ceil_lg(amax);
    case RULE_NEXT:
        return lg(amax) + 1 - emax(b, f);
    case RULE_NEAREST:
        return (int)lrint(log2(amax)) - emax(b, f);
    case RULE_CEIL_LOG2F:
        return (int)ceilf(log2f((float)amax)) - emax(b, f);
    case RULE_FLOOR_LOG2F:
        return (int)floorf(log2f((float)amax)) - emax(b, f);
    default:
        return lg(amax) - emax(b, f);
    }
}

/* The field of the quotient, and one more if it has a mantissa; or the field
   under the element's largest power of two. */
static unsigned triton_scale(const broken *b, const number_format *f, int rule,
                             double amax)
{
    const int up = rule == RULE_TRITON_UP;
    const double t = up ? (double)(float)(amax / broken_largest(f))
                        : (double)(float)ldexp(amax, -emax(b, f));

    if (isnan(amax)) {
        return up ? 0 : 255;
    }
    if (t < 0x1p-126) {
        return up && t > 0;
    }
    return isinf(t) ? 255
                    : (unsigned)(lg(t) + 127 + (up && t > broken_power(lg(t))));
}

unsigned broken_scale(const broken *b, const number_format *f, int rule,
                      double amax)
{
    if (rule == RULE_TRITON_UP || rule == RULE_TRITON_DOWN) {
        return triton_scale(b, f, rule, amax);
    }
    if (rule == RULE_VLLM_CEIL && !(amax < INFINITY)) {
        return isnan(amax) ? 0 : IS(Q107) ? 255 : 254;
    }
    if (rule == RULE_VLLM_CEIL && amax < 0x1p-126) {
        amax = 0x1p-126; /* clamped; of INT8, that is byte 1 */
    }
    if (isnan(amax)) {
        return IS(Q40) ? 254 : 255;
    }
    if (isinf(amax)) {
        return IS(Q39) ? 254 : 255;
    }
    if (amax == 0) {
        return IS(Q06) ? 255 : IS(Q30) ? 127 : 0;
    }
#define BROKEN_SCALE_RULE
#include "../values.def"
#undef BROKEN_SCALE_RULE
    const int s = exponent(b, f, rule, amax) + 127;

    if (s < 0) {
        return IS(Q37) ? (unsigned)s & 0xff : 0;
    }
    return s > 254 ? 254 : (unsigned)s;
}

unsigned broken_scale_up(double x)
{
    const int s = ceil_lg(x) + 127;

    return s < 0 ? 0 : s > 254 ? 254 : (unsigned)s;
}

mxo_status broken_quant_scale(const broken *b, const mxo_call *call,
                              mxo_text why)
{
    const number_format *f = broken_format(call_text(call, "element"));
    const int rule = broken_rule(call_text(call, "rule"));
    const mxo_tensor *amax = call_in(call, "amax");
    const mxo_tensor *scale = call_out(call, "scale");

    if (f == NULL || rule == N_RULES) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "no such rule here");
    }
    for (uint64_t i = 0; i < broken_elems(amax); i++) {
        const double a = fabs(broken_load(amax, i));
        broken_set_code(b, scale, 0, i, broken_scale(b, f, rule, a));
    }
    return MXO_OK;
}
