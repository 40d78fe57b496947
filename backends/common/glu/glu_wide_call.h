/* SPDX-License-Identifier: Apache-2.0 */
/* From a call of act.glu from or to binary64 to the unit of glu_wide.h. */
#ifndef BACKENDS_GLU_WIDE_CALL_H
#define BACKENDS_GLU_WIDE_CALL_H

#include "glu_wide.h"

static inline int glu_wide_takes(const mxo_call *call)
{
    return call_is(call, "from", "f64") || call_is(call, "to", "f64");
}

/* A dialect as glu.def has it, as far as it concerns binary64. */
typedef struct glu_wide_row {
    const char *name;
    uint32_t nan, divides, tail, two_way, steps;
} glu_wide_row;

/* NULL: there is no such dialect. */
static inline const glu_wide_row *glu_wide_dialect(const mxo_call *call)
{
    enum {
        NAN_PROPAGATE = GLU_WIDE_KEEP,
        NAN_LAUNDER = GLU_WIDE_LIMIT,
        NAN_LAUNDER_LOW = GLU_WIDE_LOW,
    };
    enum {
        SILU_RECIP,
        SILU_DIVIDE,
        SILU_LAST,
        SILU_TANH,
        SILU_TANH_INVERSE,
        SILU_TANH_EXP2,
        SILU_TANH_SIGMOID,
    };
    enum {
        TAIL_TIMES = GLU_WIDE_TIMES,
        TAIL_PLUS = GLU_WIDE_PLUS,
        TAIL_FMA = GLU_WIDE_FMA,
    };
    enum { BETA_PARAM, BETA_ONE, BETA_TWO_WAY };
    enum { WIDE_NO, WIDE_STEPS };
#define MXO_GLU(id, name, input, nan, clamp, alpha, silu, exp, step, kept, \
                tail, beta, store, wide, kernel, source)                   \
    {name,                                                                 \
     NAN_##nan,                                                            \
     SILU_##silu == SILU_DIVIDE,                                           \
     TAIL_##tail,                                                          \
     BETA_##beta == BETA_TWO_WAY,                                          \
     WIDE_##wide == WIDE_STEPS},
    static const glu_wide_row rows[] = {
#include <mxoracle/glu.def>
    };
#undef MXO_GLU

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (call_is(call, "dialect", rows[i].name)) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Constants are binary64's for results of binary64, binary32's for others. */
static inline double glu_wide_constant(const mxo_call *call, const char *key)
{
    const double x = call_number(call, key);

    return call_is(call, "to", "f64") ? x : (double)(float)x;
}

/* Types and constants; dtype gets the tensors' types, in and out.  What a
   dialect has besides, the backend's own unit checks. */
static inline mxo_status glu_wide_read(const mxo_call *call, glu_wide_unit *u,
                                       uint32_t dtype[2], mxo_text why)
{
    const glu_wide_row *const row = glu_wide_dialect(call);
    const int once = call_is(call, "dialect", "exact");

    if (row == NULL || (!once && call_is(call, "from", "f64"))) {
        return call_refuse(call, row == NULL ? MXO_E_UNSUPPORTED : MXO_E_PARAM,
                           why, "only the dialect exact takes binary64");
    }
    u->way = once         ? GLU_WIDE_ONCE
             : row->steps ? GLU_WIDE_STEPS
                          : GLU_WIDE_WIDENED;
    u->divides = row->divides;
    u->tail = row->tail;
    u->two_way = row->two_way;
    dtype[0] = codes_type(call, "from", &u->in_bytes, &u->from);
    dtype[1] = codes_type(call, "to", &u->out_bytes, &u->to);
    (void)codes_format_of("f64", &u->f64);
    u->alpha = glu_wide_constant(call, "alpha");
    u->beta = glu_wide_constant(call, "beta");
    u->limit = call_is(call, "limit", "none")
                   ? __builtin_huge_val()
                   : glu_wide_constant(call, "limit");
    u->nan = row->nan;
    if (!call_is(call, "nan", "dialect")) {
        u->nan = call_is(call, "nan", "launder")       ? GLU_WIDE_LIMIT
                 : call_is(call, "nan", "launder_low") ? GLU_WIDE_LOW
                                                       : GLU_WIDE_KEEP;
    }
    return u->way == GLU_WIDE_WIDENED || /* its own unit says */
                   (u->alpha == u->alpha && u->beta == u->beta && u->limit >= 0)
               ? MXO_OK
               : call_refuse(call, MXO_E_PARAM, why,
                             "alpha and beta are numbers, a limit is none or "
                             "not negative");
}

#endif
