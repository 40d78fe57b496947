/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequant.mx: an element times its block's scale, rounded once.  A dialect
 * becomes a table: for E2M1 the 16 results under each scale byte, for 8-bit
 * elements a factor.  Lanes have E2M1 in whole blocks along the last axis;
 * everything else goes block by block, wherever it lies.
 */
#include "cpu.h"
#include "dequant.h"
#include "element.h"
#include "number.h"

#include "../../common/mx_place_call.h"

#include <stdlib.h>
#include <string.h>

#define DEQUANT_ROUND(to, x) cpu_dequant_round(to, x)
#include "../../common/dequant_dialect.h"

enum { GRAIN_BLOCKS = 4096 };

typedef struct dequant_job {
    cpu_context *ctx;
    const cpu_element *element;
    uint32_t flags; /* DIALECT_... */
    uint32_t to;    /* mxo_dtype, and as the dialects count */
    int kind;
    mx_place place;
    cpu_dequant4 lane;
    float factor[256];
    float value[256];
} dequant_job;

static int kind_of(uint32_t to)
{
    return to == MXO_F32    ? DIALECT_TO_F32
           : to == MXO_BF16 ? DIALECT_TO_BF16
                            : DIALECT_TO_F16;
}

/* The code of a number of the type; patterns of BF16 stay as they are. */
static uint32_t code_of(uint32_t to, float x)
{
    return to == MXO_F32    ? cpu_bits32(x)
           : to == MXO_BF16 ? cpu_bits32(x) >> 16
                            : cpu_f16_of(x);
}

static uint32_t code_under(const dequant_job *job, unsigned c, unsigned s)
{
    return code_of(job->to, dialect_value(job->flags, job->kind, job->value[c],
                                          job->factor[s], (int)s));
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

static void put(const dequant_job *job, uint64_t i, uint32_t code)
{
    const uint16_t half = (uint16_t)code;

    if (job->to == MXO_F32) {
        memcpy(job->lane.y + 4 * i, &code, 4);
    } else {
        memcpy(job->lane.y + 2 * i, &half, 2);
    }
}

/* Blocks of any element, wherever they lie. */
static void span_any(void *arg, uint64_t begin, uint64_t end)
{
    const dequant_job *job = arg;
    const mx_place *p = &job->place;

    for (uint64_t t = begin; t < end; t++) {
        const mx_block b = mx_block_of(p, t);
        const uint8_t s = job->lane.scale[b.at];
        const uint32_t n = mx_count(&b, p->len);

        for (uint32_t k = 0; k < n; k++) {
            const uint8_t byte = job->lane.q[mx_code_at(p, &b, k)];
            const unsigned c = p->packed ? byte >> 4 * (k % 2) & 15u : byte;

            put(job, mx_element_at(p, &b, k), code_under(job, c, s));
        }
    }
}

static void fill_values(dequant_job *job)
{
    for (int i = 0; i < 256; i++) {
        job->factor[i] = dialect_factor(job->flags, job->kind, i);
        job->value[i] = cpu_element_value(job->element, (uint8_t)i);
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
    const dialect_row *row = dialect_of(rule);
    dequant_job job = {.element = cpu_element_of("e2m1"), .to = to};

    job.kind = kind_of(to);
    job.flags = row == NULL ? (uint32_t)DIALECT_ONLY_F32 : row->flags;
    if ((job.flags & DIALECT_ONLY_F32) != 0 ||
        ((job.flags & DIALECT_WRAP) != 0 && to != MXO_BF16)) {
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
    const dialect_row *row = dialect_of(call_text(call, "rule"));

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
    job->kind = kind_of(job->to);
    job->flags =
        row->flags |
        (call_is(call, "zero", "positive") ? (uint32_t)DIALECT_POSITIVE : 0);
    if (!dialect_may(job->flags, job->element->bits == 4, job->kind)) {
        return cpu_fail(MXO_E_PARAM, why, "rule=%s does not turn %s into %s",
                        row->name, job->element->name, call_text(call, "to"));
    }
    fill_values(job);
    return MXO_OK;
}

static mxo_status read_tensors(dequant_job *job, const mxo_call *call,
                               mxo_text why)
{
    const mxo_tensor *q = call_in(call, "q");
    const mxo_tensor *scale = call_in(call, "scale");
    const mxo_tensor *y = call_out(call, "y");
    const int axis = q == NULL ? -1 : mx_axis(call, q);
    const int packed = job->element->bits == 4;
    uint64_t full[MXO_MAX_RANK] = {0};
    uint64_t groups[MXO_MAX_RANK] = {0};

    if (axis < 0 || q->rank > MXO_MAX_RANK) {
        return cpu_fail(MXO_E_PARAM, why, "q is missing or has no such axis");
    }
    mx_place_lines(&job->place, q, axis, packed ? 2 : 1);
    job->place.packed = (uint32_t)packed;
    memcpy(full, q->shape, sizeof full);
    memcpy(groups, q->shape, sizeof groups);
    full[axis] = job->place.len;
    groups[axis] = job->place.blocks;
    MXO_TRY(cpu_want(q, "q", job->element->dtype, q->rank, q->shape, why));
    MXO_TRY(cpu_want(scale, "scale", MXO_E8M0, q->rank, groups, why));
    MXO_TRY(cpu_want(y, "y", job->to, q->rank, full, why));
    job->lane.q = cpu_data(q);
    job->lane.scale = cpu_data(scale);
    job->lane.y = cpu_data(y);
    job->lane.stream = y->n_bytes >= CPU_STREAM_BYTES;
    return MXO_OK;
}

mxo_status cpu_dequant_mx(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    dequant_job job = {.ctx = ctx};
    const mx_place *p = &job.place;

    MXO_TRY(cpu_known(call, "element to rule axis zero", why));
    MXO_TRY(read_rule(&job, call, why));
    MXO_TRY(read_tensors(&job, call, why));
    const int threads = cpu_threads(ctx, p->n, GRAIN_BLOCKS);
    if (!p->packed || p->inner != 1 || p->len % 32 != 0) {
        cpu_split(ctx, p->n, GRAIN_BLOCKS, span_any, &job);
        cpu_name_kernel(ctx, "dequant_mx_any", threads);
        return MXO_OK;
    }
    cpu_table4 table;
    fill_table(&table, &job, ctx->lane->planes);
    job.lane.table = &table;
    cpu_split(ctx, p->n, GRAIN_BLOCKS, span_4, &job);
    cpu_name_kernel(ctx, "dequant_mx", threads);
    return MXO_OK;
}
