/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a call of format.* to the job of codes.h: formats, dialects and
 * readings of a scale byte by name, tensors checked.  For the host alone.
 */
#ifndef BACKENDS_CODES_CALL_H
#define BACKENDS_CODES_CALL_H

#include "call_read.h"
#include "codes.h"

static inline int codes_format_of(const char *name, codes_format *f)
{
    static const struct {
        const char *name;
        codes_format f;
    } rows[] = {
        {"e2m1", {1, 1, 3, CODES_NONE, 0x7}},
        {"e2m3", {3, 1, 5, CODES_NONE, 0x1f}},
        {"e3m2", {2, 3, 5, CODES_NONE, 0x1f}},
        {"e4m3fn", {3, 7, 7, CODES_FINITE_NAN, 0x7e}},
        {"e4m3fnuz", {3, 8, 7, CODES_FNUZ, 0x7f}},
        {"e5m2", {2, 15, 7, CODES_IEEE, 0x7b}},
        {"e5m2fnuz", {2, 16, 7, CODES_FNUZ, 0x7f}},
        {"int8", {6, 1, 7, CODES_INT8, 0x7f}},
        {"bf16", {7, 127, 15, CODES_IEEE, 0x7f7f}},
        {"f16", {10, 15, 15, CODES_IEEE, 0x7bff}},
        {"f32", {23, 127, 31, CODES_IEEE, 0x7f7fffff}},
        {"f64", {52, 1023, 63, CODES_IEEE, UINT64_C(0x7fefffffffffffff)}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            *f = rows[i].f;
            return 1;
        }
    }
    return 0;
}

typedef struct codes_dialect {
    const char *name;
    uint8_t nan[4]; /* by special */
    uint32_t ties, flags;
} codes_dialect;

static inline const codes_dialect *codes_dialect_of(const char *name)
{
#define E2M1ONLY CODES_E2M1ONLY
#define NONEGZERO CODES_NONEGZERO
#define ZEROPLUS CODES_ZEROPLUS
#define NOSAT CODES_NOSAT
#define FNNAN CODES_FNNAN
#define EARLY CODES_EARLY
#define INFZERO CODES_INFZERO
#define CUT CODES_CUT
#define SEED CODES_SEED
#define LOG2 CODES_LOG2
#define MXO_DIALECT(id, name, none, fn, fnuz, ieee, ties, flags, source)     \
    {name,                                                                   \
     {CODES_NAN_##none, CODES_NAN_##fn, CODES_NAN_##fnuz, CODES_NAN_##ieee}, \
     ties,                                                                   \
     flags},
    static const codes_dialect rows[] = {
#include <mxoracle/dialect.def>
    };
#undef MXO_DIALECT
#undef E2M1ONLY
#undef NONEGZERO
#undef ZEROPLUS
#undef NOSAT
#undef FNNAN
#undef EARLY
#undef INFZERO
#undef CUT
#undef SEED
#undef LOG2

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Index of the parameter's text in the list; its length: not there. */
static inline uint32_t codes_choice(const mxo_call *call, const char *key,
                                    const char *const *list, uint32_t n)
{
    uint32_t i = 0;

    while (i < n && !call_is(call, key, list[i])) {
        i++;
    }
    return i;
}

static inline mxo_status codes_flag(const mxo_call *call, const char *key,
                                    uint32_t *flag, mxo_text why)
{
    *flag = (uint32_t)call_is(call, key, "1");
    return *flag != 0 || call_is(call, key, "0")
               ? MXO_OK
               : call_refuse(call, MXO_E_PARAM, why, "a flag is 0 or 1");
}

static inline mxo_status codes_tie(const mxo_call *call, codes_job *a,
                                   mxo_text why)
{
    static const char *const ties[] = {"rne", "rz", "rna", "rnz", "sr"};

    a->tie = codes_choice(call, "tie", ties, 5);
    return a->tie < 5 ? MXO_OK
                      : call_refuse(call, MXO_E_PARAM, why, "no such tie");
}

static inline mxo_status codes_dialect_read(const mxo_call *call, codes_job *a,
                                            mxo_text why)
{
    const codes_dialect *const d = codes_dialect_of(call_text(call, "dialect"));
    const int is_int8 = a->to.special == CODES_INT8;
    const int is_mxo = call_is(call, "dialect", "mxo");
    const int is_fp8 = a->to.width == 7;
    const double bits = call_number(call, "bits");

    MXO_TRY(codes_tie(call, a, why));
    MXO_TRY(codes_flag(call, "sat", &a->sat, why));
    if (d == NULL || (is_int8 && !is_mxo) ||
        ((d->flags & CODES_E2M1ONLY) != 0 && a->to.width != 3) ||
        (!is_int8 && d->nan[a->to.special] == CODES_NAN_ABSENT)) {
        return call_refuse(call, MXO_E_PARAM, why,
                           "the dialect has no such format");
    }
    if (a->from.mbits == 52 && !is_mxo && !call_is(call, "dialect", "cuda")) {
        return call_refuse(call, MXO_E_PARAM, why,
                           "the dialect does not take float64");
    }
    if ((d->ties >> a->tie & 1) == 0 ||
        ((d->flags & CODES_NOSAT) != 0 && a->sat != 0 && is_fp8)) {
        return call_refuse(call, MXO_E_PARAM, why,
                           "the dialect does not round or saturate so");
    }
    if (a->tie == CODES_SR && (d->flags & CODES_SEED) == 0 &&
        !(bits >= 1 && bits <= 32)) {
        return call_refuse(call, MXO_E_PARAM, why, "1 to 32 random bits");
    }
    a->bits = bits >= 1 && bits <= 32 ? (uint32_t)bits : 32;
    a->nan = is_int8 ? (uint32_t)CODES_NAN_OWN : d->nan[a->to.special];
    a->flags = d->flags;
    return MXO_OK;
}

static inline mxo_status codes_e8m0_read(const mxo_call *call, codes_job *a,
                                         mxo_text why)
{
#define MXO_E8M0(id, name, low, high, form, formats, source) \
    {name, CODES_LOW_##low, CODES_HIGH_##high, CODES_##form, formats},
    static const struct {
        const char *name;
        uint32_t low, high, form, formats;
    } rows[] = {
#include <mxoracle/e8m0.def>
    };
#undef MXO_E8M0
    const uint32_t to = a->to.mbits == 23 ? 1 : a->to.mbits == 7 ? 2 : 4;
    size_t i = 0;

    while (i < sizeof rows / sizeof rows[0] &&
           !call_is(call, "rule", rows[i].name)) {
        i++;
    }
    if (i == sizeof rows / sizeof rows[0] || (rows[i].formats & to) == 0) {
        return call_refuse(call, MXO_E_PARAM, why,
                           "the rule does not convert to that type");
    }
    a->low = rows[i].low;
    a->high = rows[i].high;
    a->form = rows[i].form;
    return MXO_OK;
}

typedef struct codes_row {
    const char *op;
    const char *in, *out;  /* tensors */
    const char *from, *to; /* parameters that name a format, or a type */
    uint32_t what;
} codes_row;

/* The operation's row; the one whose input the call has. */
static inline const codes_row *codes_row_of(const mxo_call *call)
{
    static const codes_row rows[] = {
        {"format.classify", "code", "class", "format", "u8", CODES_CLASSIFY},
        {"format.convert", "x", "y", "from", "to", CODES_CONVERT},
        {"format.decode", "code", "y", "format", "to", CODES_DECODE},
        {"format.e8m0_decode", "code", "y", "e8m0", "to", CODES_E8M0_DECODE},
        {"format.e8m0_encode", "x", "code", "from", "e8m0", CODES_E8M0_ENCODE},
        {"format.encode", "x", "code", "from", "format", CODES_ENCODE},
        {"format.ue4m3", "code", "y", "u8", "f32", CODES_UE4M3_DECODE},
        {"format.ue4m3", "x", "y", "f32", "u8", CODES_UE4M3_ENCODE},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].op, call->op) == 0 && call->n_in > 0 &&
            strcmp(rows[i].in, call->in[0].name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Type of the tensor that a row's word stands for, and its format, if any. */
static inline uint32_t codes_type(const mxo_call *call, const char *word,
                                  uint32_t *bytes, codes_format *f)
{
    static const struct {
        const char *name;
        uint32_t dtype, bytes;
    } rows[] = {{"e8m0", MXO_E8M0, 1},
                {"bf16", MXO_BF16, 2},
                {"f16", MXO_F16, 2},
                {"f32", MXO_F32, 4},
                {"f64", MXO_F64, 8}};
    const char *const said = call_text(call, word);
    const char *const name = said[0] == '\0' ? word : said;

    (void)codes_format_of(name, f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            *bytes = rows[i].bytes;
            return rows[i].dtype;
        }
    }
    *bytes = 1;
    return MXO_U8;
}

/* Two codes of E2M1 in a byte, on the side where the codes are. */
static inline mxo_status codes_packed(const mxo_call *call, codes_job *a,
                                      const mxo_tensor *x, mxo_text why)
{
    uint32_t packed = 0;

    if (a->op != CODES_DECODE && a->op != CODES_ENCODE) {
        return MXO_OK;
    }
    MXO_TRY(codes_flag(call, "packed", &packed, why));
    if (packed == 0) {
        return MXO_OK;
    }
    if (!call_is(call, "format", "e2m1") || x->rank == 0) {
        return call_refuse(call, MXO_E_PARAM, why,
                           "packed=1 needs format=e2m1 and an axis");
    }
    if (a->op == CODES_DECODE) {
        a->in_bytes = 0;
        return MXO_OK;
    }
    a->out_bytes = 0;
    return x->shape[x->rank - 1] % 2 == 0
               ? MXO_OK
               : call_refuse(call, MXO_E_SHAPE, why,
                             "packed=1 needs an even last axis");
}

static inline mxo_status codes_tensors(const mxo_call *call,
                                       const codes_row *row, uint32_t dtype,
                                       codes_job *a, mxo_text why)
{
    const mxo_tensor *const x = &call->in[0];
    const mxo_tensor *const y = call->n_out > 0 ? &call->out[0] : NULL;

    if (y == NULL || strcmp(y->name, row->out) != 0 || y->dtype != dtype ||
        y->rank != x->rank) {
        return call_refuse(call, MXO_E_SHAPE, why,
                           "the output is missing or not in shape");
    }
    a->n = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        const int last = i + 1 == x->rank;
        const uint64_t want = x->shape[i] * (last && a->in_bytes == 0 ? 2 : 1) /
                              (last && a->out_bytes == 0 ? 2 : 1);
        if (y->shape[i] != want) {
            return call_refuse(call, MXO_E_SHAPE, why,
                               "the output has another shape");
        }
        a->n *= want;
    }
    a->in = tensor_address(x);
    a->out = tensor_address(y);
    if (a->tie == CODES_SR) {
        const mxo_tensor *const rand = call->n_in > 1 ? &call->in[1] : NULL;
        if (rand == NULL ||
            rand->n_bytes / 4 != a->n * (a->out_bytes == 0 ? 2 : 1)) {
            return call_refuse(call, MXO_E_SHAPE, why,
                               "rand needs one entry per element of x");
        }
        a->rand = tensor_address(rand);
    }
    return MXO_OK;
}

/* The parameters that an operation has beside its formats. */
static inline mxo_status codes_params(const mxo_call *call, codes_job *a,
                                      mxo_text why)
{
    static const char *const rules[] = {
        "rz", "rp", "cutlass", "torch", "ml_dtypes", "deepgemm", "openvino"};

    a->ones = (uint32_t)call_is(call, "nan", "ones");
    a->positive = (uint32_t)call_is(call, "zero", "positive");
    switch (a->op) {
    case CODES_CONVERT:
        return codes_tie(call, a, why);
    case CODES_ENCODE:
        return codes_dialect_read(call, a, why);
    case CODES_E8M0_DECODE:
        return codes_e8m0_read(call, a, why);
    case CODES_E8M0_ENCODE:
        a->rule = codes_choice(call, "rule", rules, 7);
        MXO_TRY(codes_flag(call, "sat", &a->sat, why));
        return a->rule < 7
                   ? MXO_OK
                   : call_refuse(call, MXO_E_PARAM, why, "no such rule");
    default:
        return MXO_OK;
    }
}

/* A call of format.* as a job; what the tables do not know is refused. */
static inline mxo_status codes_make(const mxo_call *call, codes_job *a,
                                    mxo_text why)
{
    const codes_row *const row = codes_row_of(call);

    memset(a, 0, sizeof *a);
    if (row == NULL) {
        return call_refuse(call, MXO_E_UNSUPPORTED, why, "no such operation");
    }
    a->op = row->what;
    const uint32_t in = codes_type(call, row->from, &a->in_bytes, &a->from);
    const uint32_t out = codes_type(call, row->to, &a->out_bytes, &a->to);

    if (call->in[0].dtype != in) {
        return call_refuse(call, MXO_E_SHAPE, why,
                           "the input has another type");
    }
    MXO_TRY(codes_packed(call, a, &call->in[0], why));
    MXO_TRY(codes_params(call, a, why));
    return codes_tensors(call, row, out, a, why);
}

#endif
