/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.group: rectangles of a matrix under one scale each, stored as floats,
 * as E8M0 bytes, or as words of four bytes.  Rows of groups are split among
 * threads: no two share a byte of an output.  docs/ops/quant.group.md
 */
#include "cpu.h"
#include "quant.h"

#include <string.h>

typedef enum group_form {
    GROUP_F32,
    GROUP_E8M0,
    GROUP_WORDS,     /* [down, words] */
    GROUP_WORDS_DOWN /* [words, down rounded up to 4] */
} group_form;

typedef struct group_job {
    cpu_quant quant;
    group_form form;
    int by_byte; /* scales are powers of two */
    const mxo_tensor *x;
    uint8_t *q;
    uint8_t *scale;
    uint64_t rows, cols;
    uint64_t height, width; /* of a group */
    uint64_t down, across;  /* groups */
    uint64_t pitch;         /* words from one row of words to the next */
} group_job;

static uint64_t group_size(double given, uint64_t axis)
{
    return given > 0 ? (uint64_t)given : axis + (axis == 0);
}

static mxo_status read_params(group_job *job, const mxo_call *call,
                              mxo_text why)
{
    static const char *const forms[] = {"f32", "e8m0", "packed", "packed_mn",
                                        NULL};
    const cpu_quant_rule *rule = cpu_quant_rule_of(call_text(call, "rule"));
    const cpu_element *e = cpu_element_of(call_text(call, "element"));
    const uint32_t from = cpu_float_dtype(call_text(call, "from"));

    job->form = (group_form)cpu_choice(call, "scale", forms);
    MXO_TRY(cpu_flag(call, "pow2", &job->by_byte, why));
    if (rule == NULL || e == NULL || from == MXO_N_DTYPES ||
        cpu_choice(call, "scale", forms) < 0) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no quant.group to %s by %s",
                        call_text(call, "element"), call_text(call, "rule"));
    }
    if (job->form != GROUP_F32 && !job->by_byte) {
        return cpu_fail(MXO_E_PARAM, why, "quant.group: scale=%s needs pow2=1",
                        call_text(call, "scale"));
    }
    cpu_quant_make(&job->quant, rule, e, from, CPU_BY_RULE);
    return MXO_OK;
}

static mxo_status read_shape(group_job *job, const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    const double height = call_number(call, "group_rows");
    const double width = call_number(call, "group_cols");
    const int packs = job->quant.element->bits == 4;
    const int whole = height == 0 && width == 0; /* one group, if empty too */

    if (height < 0 || width < 0) {
        return cpu_fail(MXO_E_PARAM, why,
                        "quant.group: a group size is negative");
    }
    if (x == NULL || x->rank == 0 || (x->rank != 2 && height > 1)) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "quant.group: groups of rows need a matrix");
    }
    job->x = x;
    job->cols = x->shape[x->rank - 1];
    job->rows = 1;
    for (uint32_t i = 0; i + 1 < x->rank; i++) {
        job->rows *= x->shape[i];
    }
    job->height = group_size(height, job->rows);
    job->width = group_size(width, job->cols);
    job->down = whole ? 1 : (job->rows + job->height - 1) / job->height;
    job->across = whole ? 1 : (job->cols + job->width - 1) / job->width;
    if (packs && job->cols % 2 != 0) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "quant.group: E2M1 columns do not pair up");
    }
    return job->form >= GROUP_WORDS && !packs && job->across % 4 != 0 &&
                   (job->quant.flags & CPU_Q_PACK_FULL) != 0
               ? cpu_fail(MXO_E_SHAPE, why,
                          "quant.group: this rule packs FP8 scales four by "
                          "four")
               : cpu_want(x, "x", job->quant.from, x->rank, x->shape, why);
}

static mxo_status want_scales(const group_job *job, const mxo_call *call,
                              const mxo_tensor *scale, mxo_text why)
{
    const int one = call_number(call, "group_rows") == 0 &&
                    call_number(call, "group_cols") == 0;
    const int by_row = call_number(call, "group_rows") == 1;
    const uint64_t words = (job->across + 3) / 4;
    const uint64_t plain[2] = {job->down, job->across};
    const uint64_t packed[2] = {job->down, words};
    const uint64_t turned[2] = {words, cpu_round_up(job->down, 4)};
    const uint32_t dtype = job->form == GROUP_F32    ? MXO_F32
                           : job->form == GROUP_E8M0 ? MXO_E8M0
                                                     : MXO_I32;
    uint64_t rows[MXO_MAX_RANK];

    if (job->form >= GROUP_WORDS) {
        return cpu_want(scale, "scale", dtype, 2,
                        job->form == GROUP_WORDS ? packed : turned, why);
    }
    memcpy(rows, job->x->shape, sizeof rows);
    rows[job->x->rank - 1] = job->across;
    return one      ? cpu_want(scale, "scale", dtype, 1, plain, why)
           : by_row ? cpu_want(scale, "scale", dtype, job->x->rank, rows, why)
                    : cpu_want(scale, "scale", dtype, 2, plain, why);
}

static mxo_status read_outputs(group_job *job, const mxo_call *call,
                               mxo_text why)
{
    const cpu_element *e = job->quant.element;
    const mxo_tensor *q = call_out(call, "q");
    const mxo_tensor *scale = call_out(call, "scale");
    uint64_t shape[MXO_MAX_RANK];

    memcpy(shape, job->x->shape, sizeof shape);
    shape[job->x->rank - 1] = e->bits == 4 ? job->cols / 2 : job->cols;
    MXO_TRY(cpu_want(q, "q", e->dtype, job->x->rank, shape, why));
    MXO_TRY(want_scales(job, call, scale, why));
    job->pitch = job->form >= GROUP_WORDS ? scale->shape[1] : 0;
    job->q = cpu_data(q);
    job->scale = cpu_data(scale);
    return MXO_OK;
}

/* A row of a group. */
typedef struct group_row {
    uint64_t at; /* element */
    uint64_t n;
} group_row;

static group_row row_of(const group_job *job, uint64_t r, uint64_t gc)
{
    const uint64_t first = gc * job->width;
    const uint64_t left = job->cols - first;
    const group_row row = {r * job->cols + first,
                           left < job->width ? left : job->width};

    return row;
}

static uint64_t last_row(const group_job *job, uint64_t gr)
{
    const uint64_t end = (gr + 1) * job->height;

    return end < job->rows ? end : job->rows;
}

static float element(const group_job *job, uint64_t i)
{
    const uint64_t size = cpu_dtype_bytes(job->quant.from);
    const uint8_t *const x = cpu_data(job->x);
    float y;

    cpu_widen(job->quant.from, x + size * i, 1, &y);
    return y;
}

static uint32_t group_amax(const group_job *job, uint64_t gr, uint64_t gc)
{
    cpu_quant_max max = {0, 0, 0};

    for (uint64_t r = gr * job->height; r < last_row(job, gr); r++) {
        const group_row row = row_of(job, r, gc);
        for (uint64_t i = 0; i < row.n; i++) {
            cpu_quant_look(&max, element(job, row.at + i));
        }
    }
    return cpu_quant_amax(&job->quant, &max);
}

/* Byte of group (gr, gc) into its word. */
static void put_word(const group_job *job, uint64_t gr, uint64_t gc,
                     uint32_t byte)
{
    const uint64_t at = job->form == GROUP_WORDS ? gr * job->pitch + gc / 4
                                                 : gc / 4 * job->pitch + gr;
    uint32_t word;

    memcpy(&word, job->scale + 4 * at, sizeof word);
    word |= byte << 8 * (gc % 4);
    memcpy(job->scale + 4 * at, &word, sizeof word);
}

static cpu_quant_scale scale_group(const group_job *job, uint64_t gr,
                                   uint64_t gc)
{
    const uint64_t at = gr * job->across + gc;
    const uint32_t amax = group_amax(job, gr, gc);
    float value;

    if (!job->by_byte) {
        const cpu_quant_scale s =
            cpu_quant_under_float(&job->quant, amax, &value);
        memcpy(job->scale + 4 * at, &value, sizeof value);
        return s;
    }
    const uint8_t byte = cpu_quant_byte(&job->quant, amax);

    if (job->form >= GROUP_WORDS) {
        put_word(job, gr, gc, byte);
    } else if (job->form == GROUP_E8M0) {
        job->scale[at] = byte;
    } else {
        const uint32_t power = byte == 0 ? 0x400000u : (uint32_t)byte << 23;
        memcpy(job->scale + 4 * at, &power, sizeof power);
    }
    return cpu_quant_under_byte(&job->quant, amax, byte);
}

static void put_code(const group_job *job, uint64_t i, uint8_t code)
{
    if (job->quant.element->bits == 8) {
        job->q[i] = code;
    } else if (i % 2 == 0) {
        job->q[i / 2] = (uint8_t)((job->q[i / 2] & 0xf0) | code);
    } else {
        job->q[i / 2] = (uint8_t)((job->q[i / 2] & 0x0f) | code << 4);
    }
}

static void one_group(const group_job *job, uint64_t gr, uint64_t gc)
{
    const cpu_quant_scale s = scale_group(job, gr, gc);

    for (uint64_t r = gr * job->height; r < last_row(job, gr); r++) {
        const group_row row = row_of(job, r, gc);
        for (uint64_t i = 0; i < row.n; i++) {
            put_code(job, row.at + i,
                     cpu_quant_scaled(&s, element(job, row.at + i)));
        }
    }
}

static void span_groups(void *arg, uint64_t begin, uint64_t end)
{
    const group_job *job = arg;
    const int fills = job->quant.element->bits == 4 &&
                      (job->quant.flags & CPU_Q_PACK_FULL) != 0;

    for (uint64_t gr = begin; gr < end; gr++) {
        for (uint64_t gc = 0; gc < job->across; gc++) {
            one_group(job, gr, gc);
        }
        for (uint64_t gc = job->across;
             fills && job->form >= GROUP_WORDS && gc % 4 != 0; gc++) {
            put_word(job, gr, gc, 127);
        }
    }
}

mxo_status cpu_quant_group(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    group_job job = {.x = NULL};

    MXO_TRY(cpu_known(
        call, "element from rule group_rows group_cols pow2 scale", why));
    MXO_TRY(read_params(&job, call, why));
    MXO_TRY(read_shape(&job, call, why));
    MXO_TRY(read_outputs(&job, call, why));
    if (job.form >= GROUP_WORDS) {
        memset(job.scale, 0, (size_t)call_out(call, "scale")->n_bytes);
    }
    cpu_split(ctx, job.down, 1, span_groups, &job);
    cpu_name_kernel(ctx, "quant_group", cpu_threads(ctx, job.down, 1));
    return MXO_OK;
}
