/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequant.mx: an element times its block's scale, rounded once.  Every
 * dialect is a way of reading the scale byte, so a dialect becomes a table:
 * for E2M1 the 16 results under each scale byte, for 8-bit elements a factor.
 * The product is exact in float (at most four significant bits), so the one
 * rounding is the one into the destination.
 */
#include "cpu.h"
#include "dequant.h"
#include "element.h"
#include "number.h"

#include <stdlib.h>
#include <string.h>

enum { GRAIN_BLOCKS = 4096 };

/* How a dialect reads a scale byte and multiplies. */
enum {
    ZERO = 1,     /* byte 0 is 0, not 2^-127 */
    INF = 2,      /* byte 255 is infinity, not NaN */
    CLAMP = 4,    /* infinities become the largest finite value */
    FIRST = 8,    /* the factor is rounded to the destination type */
    BF16 = 16,    /* the product passes through BF16; F16: as FIRST */
    CAP15 = 32,   /* F16: the factor is at most 2^15 */
    DOUBLED = 64, /* twice the element, half the factor, no special 255 */
    WRAP = 128,   /* exponent fields added modulo 2^16 */
    ONLY_F32 = 256,
    ONLY_BF16 = 512,
    NOT_F32 = 1024,
    ONLY_E2M1 = 2048,
    QUARTER = 4096, /* the factor is a quarter of the scale */
    LOW = 8192      /* 2^-119 of the scale, whose byte is <= 247; no -0 */
};

typedef struct dialect {
    const char *name;
    unsigned flags;
} dialect;

static const dialect dialects[] = {
    {"ocp", 0},
    {"shift", ZERO | INF},
    {"triton35_torch", ZERO | INF},
    {"triton36_torch", ZERO | INF | CLAMP},
    {"triton35_kernel", ZERO | FIRST},
    {"triton36_kernel", ZERO | BF16 | CLAMP},
    {"triton_subnormal", BF16 | CLAMP},
    {"triton_matmul", ZERO | INF | FIRST | ONLY_BF16},
    {"quark_hip", INF | FIRST | CAP15 | NOT_F32},
    {"quark_triton", ZERO | FIRST | NOT_F32},
    {"vllm_cpu", WRAP | ONLY_BF16 | ONLY_E2M1},
    {"marlin", ZERO | INF | FIRST | ONLY_BF16 | ONLY_E2M1},
    {"vllm_mxfp8", INF | ONLY_BF16},
    {"ldexp", INF | FIRST},
    {"ggml", DOUBLED | ONLY_F32 | ONLY_E2M1},
    {"ocp_bf16", FIRST | ONLY_BF16},
    {"xpu", ZERO | INF | FIRST | NOT_F32 | ONLY_E2M1},
    {"humming", ZERO | INF | QUARTER | ONLY_BF16 | ONLY_E2M1},
    {"b12x", ZERO | LOW | ONLY_BF16 | ONLY_E2M1},
};

typedef struct dequant_job {
    cpu_context *ctx;
    const cpu_element *element;
    unsigned flags;
    int plus_zero; /* -0 is written as +0 */
    uint32_t to;
    cpu_dequant4 lane;
    float factor[256];
    float value[256];
} dequant_job;

static float round_to(uint32_t to, float x)
{
    switch (to) {
    case MXO_BF16:
        return cpu_from_bf16(cpu_bf16_of(x));
    case MXO_F16:
        return cpu_from_f16(cpu_f16_of(x));
    default:
        return x;
    }
}

static float factor_of(unsigned flags, uint32_t to, int byte)
{
    const int first =
        (flags & FIRST) != 0 || ((flags & BF16) != 0 && to == MXO_F16);
    float f = (float)cpu_pow2(byte - 127);

    if ((flags & DOUBLED) != 0) {
        return (float)cpu_pow2(byte - 128);
    }
    if ((flags & LOW) != 0) { /* byte 0 is far below every number */
        return byte == 0 ? 0 : (float)cpu_pow2((byte < 247 ? byte : 247) - 246);
    }
    if ((flags & QUARTER) != 0) {
        f = (float)cpu_pow2(byte - 129);
    }
    if (byte == 0 && (flags & ZERO) != 0) {
        f = 0;
    }
    if (byte == 255) {
        f = cpu_float((flags & INF) != 0 ? 0x7f800000u : 0x7fc00000u);
    }
    if ((flags & CAP15) != 0 && to == MXO_F16 && f > 0x1p15f) {
        f = 0x1p15f;
    }
    return first ? round_to(to, f) : f;
}

static uint32_t code_of(uint32_t to, float x)
{
    return to == MXO_F32    ? cpu_bits32(x)
           : to == MXO_BF16 ? cpu_bf16_of(x)
                            : cpu_f16_of(x);
}

static uint32_t result_of(const dequant_job *job, float product)
{
    const uint32_t to = job->to;
    const uint32_t sign = to == MXO_F32 ? 0x80000000u : 0x8000u;
    const uint32_t infinity = code_of(to, cpu_float(0x7f800000u));

    if (product != product) {
        return code_of(to, cpu_float(0x7fc00000u));
    }
    if ((job->flags & BF16) != 0 && to == MXO_F32) {
        product = round_to(MXO_BF16, product);
    }
    uint32_t code = code_of(to, product);
    if ((job->flags & CLAMP) != 0 && (code & ~sign) == infinity) {
        code--;
    }
    const int no_minus = job->plus_zero || (job->flags & (LOW | DOUBLED)) != 0;

    return no_minus && code == sign ? 0 : code;
}

/* BF16 patterns with the scale added to the exponent field, no care taken. */
static uint32_t wrapped(const dequant_job *job, unsigned c, unsigned s)
{
    const uint32_t pattern = cpu_bf16_of(job->value[c]);
    const uint32_t sum = (pattern + ((s - 127u) << 7)) & 0xffffu;

    return (c & 7) == 0 || (job->plus_zero && sum == 0x8000u) ? 0 : sum;
}

static uint32_t code_under(const dequant_job *job, unsigned c, unsigned s)
{
    return (job->flags & WRAP) != 0
               ? wrapped(job, c, s)
               : result_of(job, job->value[c] * job->factor[s]);
}

static void fill_table(cpu_table4 *table, const dequant_job *job, int planes)
{
    for (unsigned s = 0; s < 256; s++) {
        for (unsigned c = 0; c < 16; c++) {
            const uint32_t code = code_under(job, c, s);
            if (job->to == MXO_F32 && planes) {
                for (int b = 0; b < 4; b++) {
                    table->u.plane32[s][b][c] = (uint8_t)(code >> 8 * b);
                }
            } else if (job->to == MXO_F32) {
                table->u.row32[s][c] = code;
            } else if (planes) {
                table->u.plane16[s][0][c] = (uint8_t)code;
                table->u.plane16[s][1][c] = (uint8_t)(code >> 8);
            } else {
                table->u.row16[s][c] = (uint16_t)code;
            }
        }
    }
}

static void span_4(void *arg, uint64_t begin, uint64_t end)
{
    const dequant_job *job = arg;
    const cpu_isa_ops *lane = job->ctx->lane;
    const uint64_t out = job->to == MXO_F32 ? 128 : 64;
    cpu_dequant4 part = job->lane;

    part.q += begin * 16;
    part.scale += begin;
    part.y += begin * out;
    part.blocks = end - begin;
    (out == 128 ? lane->dequant4_32 : lane->dequant4_16)(&part);
}

static void span_8(void *arg, uint64_t begin, uint64_t end)
{
    const dequant_job *job = arg;
    const uint64_t size = cpu_dtype_bytes(job->to);

    for (uint64_t i = begin * 32; i < end * 32; i++) {
        const float product =
            job->value[job->lane.q[i]] * job->factor[job->lane.scale[i / 32]];
        const uint32_t code = result_of(job, product);
        const uint16_t half = (uint16_t)code;

        if (size == 4) {
            memcpy(job->lane.y + 4 * i, &code, 4);
        } else {
            memcpy(job->lane.y + 2 * i, &half, 2);
        }
    }
}

static int says(const dequant_job *job)
{
    const unsigned f = job->flags;

    return !((f & ONLY_F32) != 0 && job->to != MXO_F32) &&
           !((f & ONLY_BF16) != 0 && job->to != MXO_BF16) &&
           !((f & NOT_F32) != 0 && job->to == MXO_F32) &&
           !((f & ONLY_E2M1) != 0 && job->element->bits != 4);
}

static const dialect *dialect_of(const char *name)
{
    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
        if (strcmp(dialects[i].name, name) == 0) {
            return &dialects[i];
        }
    }
    return NULL;
}

static void fill_values(dequant_job *job)
{
    for (int i = 0; i < 256; i++) {
        job->factor[i] = factor_of(job->flags, job->to, i);
        job->value[i] = cpu_element_value(job->element, (uint8_t)i) *
                        ((job->flags & DOUBLED) != 0 ? 2.0f : 1.0f);
    }
}

static float number_of(uint32_t to, uint32_t code)
{
    return to == MXO_F32    ? cpu_float(code)
           : to == MXO_BF16 ? cpu_from_bf16((uint16_t)code)
                            : cpu_from_f16((uint16_t)code);
}

int cpu_dequant_e2m1(const char *rule, uint32_t to, float value[256][16])
{
    const dialect *row = dialect_of(rule);
    dequant_job job = {.element = cpu_element_of("e2m1"), .to = to};

    job.flags = row == NULL ? ONLY_F32 : row->flags;
    if ((job.flags & ONLY_F32) != 0 ||
        ((job.flags & WRAP) != 0 && to != MXO_BF16)) {
        return -1;
    }
    fill_values(&job);
    for (unsigned s = 0; s < 256; s++) {
        for (unsigned c = 0; c < 16; c++) {
            value[s][c] = number_of(to, code_under(&job, c, s));
        }
    }
    return 0;
}

static mxo_status read_rule(dequant_job *job, const mxo_call *call,
                            mxo_text why)
{
    const dialect *row = dialect_of(call_text(call, "rule"));

    job->element = cpu_element_of(call_text(call, "element"));
    job->to = cpu_float_dtype(call_text(call, "to"));
    if (job->element == NULL || job->to == MXO_N_DTYPES) {
        return cpu_fail(MXO_E_PARAM, why, "element or to is unknown");
    }
    if (row == NULL) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no rule %s",
                        call_text(call, "rule"));
    }
    job->flags = row->flags;
    job->plus_zero = call_is(call, "zero", "positive");
    if (!says(job)) {
        return cpu_fail(MXO_E_PARAM, why, "rule=%s does not turn %s into %s",
                        row->name, job->element->name, call_text(call, "to"));
    }
    fill_values(job);
    return MXO_OK;
}

static mxo_status read_tensors(dequant_job *job, const mxo_call *call,
                               uint64_t *blocks, mxo_text why)
{
    const mxo_tensor *q = call_in(call, "q");
    const mxo_tensor *scale = call_in(call, "scale");
    const mxo_tensor *y = call_out(call, "y");
    const double axis = call_number(call, "axis");
    uint64_t full[MXO_MAX_RANK] = {0};
    uint64_t groups[MXO_MAX_RANK] = {0};

    if (q == NULL || q->rank == 0 || q->rank > MXO_MAX_RANK) {
        return cpu_fail(MXO_E_SHAPE, why, "q is missing or has no axis");
    }
    const uint32_t last = q->rank - 1;
    for (uint32_t i = 0; i <= last; i++) {
        full[i] = groups[i] = q->shape[i];
    }
    full[last] *= job->element->bits == 4 ? 2 : 1;
    groups[last] = full[last] / 32;
    if ((axis != -1 && axis != (double)last) || full[last] % 32 != 0) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend wants whole blocks of 32 along the "
                        "last axis");
    }
    MXO_TRY(cpu_want(q, "q", job->element->dtype, q->rank, q->shape, why));
    MXO_TRY(cpu_want(scale, "scale", MXO_E8M0, q->rank, groups, why));
    MXO_TRY(cpu_want(y, "y", job->to, q->rank, full, why));
    job->lane.q = cpu_data(q);
    job->lane.scale = cpu_data(scale);
    job->lane.y = cpu_data(y);
    job->lane.stream = y->n_bytes >= CPU_STREAM_BYTES;
    *blocks = scale->n_bytes;
    return MXO_OK;
}

mxo_status cpu_dequant_mx(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    dequant_job job = {.ctx = ctx};
    uint64_t blocks = 0;

    MXO_TRY(cpu_known(call, "element to rule axis zero", why));
    MXO_TRY(read_rule(&job, call, why));
    MXO_TRY(read_tensors(&job, call, &blocks, why));
    const int threads = cpu_threads(ctx, blocks, GRAIN_BLOCKS);
    if (job.element->bits == 8) {
        cpu_split(ctx, blocks, GRAIN_BLOCKS, span_8, &job);
        cpu_name_kernel(ctx, "dequant_mx8", threads);
        return MXO_OK;
    }
    cpu_table4 table;
    fill_table(&table, &job, ctx->lane->planes);
    job.lane.table = &table;
    cpu_split(ctx, blocks, GRAIN_BLOCKS, span_4, &job);
    cpu_name_kernel(ctx, "dequant_mx", threads);
    return MXO_OK;
}
