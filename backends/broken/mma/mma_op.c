/* SPDX-License-Identifier: Apache-2.0 */
/* mma.step and mma.chain: operands in, sums of matrix instructions out. */
#include "mma.h"

#include <math.h>
#include <string.h>

enum { LONGEST = 4096, BLOCK = 32, SMALL_BLOCK = 16 };

/* One operand of the call. */
typedef struct matrix {
    const mxo_tensor *codes;
    const mxo_tensor *scale;
    const number_format *f; /* of bytes that are codes */
    int packed;
    int is_tf32; /* float32 whose low 13 bits nobody sees */
    int is_ue4m3;
    uint64_t k;
} matrix;

/* MM36: the two kinds of FP6 are taken for each other. */
static const number_format *format_of(const broken *b, const char *type)
{
    if (IS(MM36)) {
        type = strcmp(type, "e2m3") == 0   ? "e3m2"
               : strcmp(type, "e3m2") == 0 ? "e2m3"
                                           : type;
    }
    return broken_format(type);
}

static matrix matrix_of(const broken *b, const mxo_call *call, const char *code,
                        const char *scale)
{
    const char *type = call_text(call, "type");
    matrix m = {call_in(call, code),
                call_in(call, scale),
                format_of(b, type),
                strcmp(type, "e2m1") == 0,
                strcmp(type, "tf32") == 0,
                call_is(call, "scale", "ue4m3"),
                0};

    m.k = m.codes->shape[1] * (m.packed ? 2 : 1);
    return m;
}

static double number(const broken *b, const matrix *m, uint64_t i)
{
    static const broken faultless;
    uint32_t bits;
    float x;

    if (m->codes->dtype == MXO_U8) {
        return broken_decode(&faultless, m->f,
                             broken_code(m->codes, m->packed, i));
    }
    if (!m->is_tf32) {
        return broken_load(m->codes, i);
    }
    memcpy(&bits, tensor_address(m->codes) + 4 * i, 4);
    bits += IS(MH20) ? 0xfff + (bits >> 13 & 1) : 0;
    bits &= 0xffffe000;
    memcpy(&x, &bits, 4);
    return (double)x;
}

static double scale(const broken *b, const matrix *m, uint64_t row, uint64_t k)
{
    static const broken faultless;
    const uint64_t per = m->is_ue4m3 ? SMALL_BLOCK : BLOCK;

    if (m->scale == NULL) {
        return 1;
    }
    const uint32_t byte =
        broken_code(m->scale, 0, row * (m->k / per) + k / per);

    if (!m->is_ue4m3) {
        return byte == 255 && IS(MM03) ? 0x1p128
                                       : broken_e8m0(&faultless, byte);
    }
    return broken_decode(&faultless, &broken_formats[FORMAT_E4M3FN],
                         IS(MM09) ? byte : byte & 0x7f);
}

static void load_row(const broken *b, const matrix *m, uint64_t row, double *x,
                     double *s)
{
    for (uint64_t k = 0; k < m->k; k++) {
        x[k] = number(b, m, row * m->k + k);
        s[k] = scale(b, m, row, k);
    }
}

/* The unit has a NaN of its own, the addition of a promotion another. */
static void store(const mxo_tensor *t, uint64_t i, float d, int is_added)
{
    static const broken faultless;
    const uint16_t ones = 0x7fff;
    uint32_t bits;

    if (t->dtype == MXO_F16) {
        broken_store(&faultless, t, i, broken_dd((double)d));
        if (isnan(d)) {
            memcpy(tensor_address(t) + 2 * i, &ones, 2);
        }
        return;
    }

    memcpy(&bits, &d, 4);
    bits = !isnan(d) ? bits : is_added ? 0x7fc00000 : 0x7fffffff;
    memcpy(tensor_address(t) + 4 * i, &bits, 4);
}

/* rows of a against rows of b: the same row, or in a chain each of cols. */
static mxo_status run(const broken *b, const mxo_call *call, uint64_t cols,
                      uint64_t promote, mxo_text why)
{
    static double a[LONGEST];
    static double w[LONGEST];
    static double a_scale[LONGEST];
    static double w_scale[LONGEST];
    const int is_half = call_is(call, "acc", "f16");
    const broken_mma *row =
        broken_mma_find(call_text(call, "unit"), call_text(call, "type"));
    broken_mma of_half = row == NULL ? (broken_mma){0} : *row;
    const broken_mma *u = is_half ? &of_half : row;
    const matrix x = matrix_of(b, call, "a", "a_scale");
    const matrix y = matrix_of(b, call, "b", "b_scale");
    const mxo_tensor *c = call_in(call, "c");
    const broken_line l = {
        a,       w,       x.k,
        a_scale, w_scale, x.is_ue4m3 ? MMA_UE4M3_EXPONENT : MMA_ANY_EXPONENT};

    of_half.m = IS(MH24) ? of_half.m : MMA_HALF;
    if (row == NULL || x.k > LONGEST ||
        (is_half && (promote > 0 || row->kind != MMA_FUSED ||
                     !call_is(call, "type", "f16")))) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "another unit");
    }
    for (uint64_t i = 0; i < broken_elems(c); i++) {
        load_row(b, &x, cols > 0 ? i / cols : i, a, a_scale);
        load_row(b, &y, cols > 0 ? i % cols : i, w, w_scale);
        store(call_out(call, "d"), i,
              broken_mma_sum(b, u, &l, (float)broken_load(c, i), promote),
              promote > 0);
    }
    return MXO_OK;
}

mxo_status broken_mma_step(const broken *b, const mxo_call *call, mxo_text why)
{
    return run(b, call, 0, 0, why);
}

mxo_status broken_mma_chain(const broken *b, const mxo_call *call, mxo_text why)
{
    return run(b, call, call_in(call, "c")->shape[1],
               (uint64_t)call_number(call, "promote"), why);
}
