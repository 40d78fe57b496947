/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.nvfp4_layer and its halves.  Operands are integers: a code is a multiple
 * of 1/2, a scale one of 2^-9, so a block's 16 products are one small integer
 * times two scales, and a row of them an exact sum in 64 bits.
 */
#include "moe_nvfp4.h"

#include "gemm/gemm_read.h"

#include <stdlib.h>
#include <string.h>

/* Both operands are multiples of 2^-10. */
#define UNIT 0x1p-20

/* A row of activations: doubled codes, scales in units of 2^-9, -1: NaN. */
typedef struct fp4_row {
    int8_t *code;
    int32_t *scale;
} fp4_row;

static const int8_t doubled[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                   0, -1, -2, -3, -4, -6, -8, -12};

static int nibble(const uint8_t *w, size_t i)
{
    return w[i / 2] >> (i % 2 != 0 ? 4 : 0) & 15;
}

/* k ascending, one float: a product is exact in double. */
static float in_turn(const fp4_row *a, const uint8_t *w, size_t first,
                     double unit, float y)
{
    for (size_t i = first; i < first + BLOCK; i++) {
        y = cpu_add32(a->code[i] * doubled[nibble(w, i)] * unit, y);
    }
    return y;
}

static float dot(const fp4 *f, const fp4_row *a, const uint8_t *w,
                 const uint8_t *scale, size_t k)
{
    int64_t sum = 0;
    float y = 0;

    for (size_t b = 0; b < k / BLOCK; b++) {
        const int64_t other = cpu_nvfp4_scale(scale[b]);
        const int64_t both = a->scale[b] * other;
        int32_t part = 0;

        if (other < 0 || a->scale[b] < 0) {
            return cpu_float(0x7fc00000u);
        }
        for (size_t i = b * BLOCK; i < (b + 1) * BLOCK; i++) {
            part += a->code[i] * doubled[nibble(w, i)];
        }
        sum += part * both;
        y = f->is_seq ? in_turn(a, w, b * BLOCK, (double)both * UNIT, y) : y;
    }
    return f->is_seq ? y : (float)sum * (float)UNIT;
}

static void quantise(const cpu_nvfp4 *rule, float global, const float *x,
                     size_t k, const fp4_row *to)
{
    uint8_t code[BLOCK];

    for (size_t b = 0; b < k / BLOCK; b++) {
        to->scale[b] =
            cpu_nvfp4_scale(cpu_nvfp4_block(rule, global, x + b * BLOCK, code));
        for (size_t i = 0; i < BLOCK; i++) {
            to->code[b * BLOCK + i] = doubled[code[i]];
        }
    }
}

static void load_row(const mxo_tensor *t, size_t row, size_t k, float *x)
{
    for (size_t i = 0; i < k; i++) {
        x[i] = (float)cpu_wide_value(t, row * k + i);
    }
}

/* Rows of w13: all of them into h; then gate and up halves of it. */
static void first_gemm(const fp4 *f, size_t e, const fp4_row *a, float *h)
{
    const layer *l = &f->base;
    const size_t k = l->hidden;
    const float alpha = cpu_fp4_global(f, "g1_alphas", e);

    for (size_t r = 0; r < 2 * l->inter; r++) {
        const size_t row = e * 2 * l->inter + r;
        const float y =
            dot(f, a, f->w13 + row * (k / 2), f->s13 + row * (k / BLOCK), k);
        h[r] = f->is_raw ? y : cpu_layer_round(l->one.out, y * alpha);
    }
}

static void split(const fp4 *f, const float *h, size_t first, size_t n,
                  float *gate, float *up)
{
    const int joint = call_is(f->base.call, "rows", "interleaved");
    const int turned = call_is(f->base.call, "rows", "up_first");
    const size_t inter = f->base.inter;

    for (size_t i = 0; i < n; i++) {
        const size_t at = first + i;
        gate[i] = h[joint ? 2 * at : turned ? inter + at : at];
        up[i] = h[joint ? 2 * at + 1 : turned ? at : inter + at];
    }
}

static float act_value(const layer *l, const cpu_codes *out, size_t i)
{
    uint16_t u;

    if (l->unit.base.to == MXO_F32) {
        return out->f32[i];
    }
    u = out->u16[i];
    u = (uint16_t)(u - (l->glu_saturates && (u & 0x7fff) == 0x7f80));
    return l->unit.base.to == MXO_BF16 ? cpu_from_bf16(u) : cpu_from_f16(u);
}

static void activate(const fp4 *f, size_t e, const float *h, float *y)
{
    const layer *l = &f->base;
    const cpu_glu c = cpu_fp4_unit(f, e);
    float gate[CPU_RUN];
    float up[CPU_RUN];
    cpu_codes out;

    for (size_t at = 0; at < l->inter; at += CPU_RUN) {
        const size_t left = l->inter - at;
        const size_t n = left < CPU_RUN ? left : CPU_RUN;
        memset(gate, 0, sizeof gate);
        memset(up, 0, sizeof up);
        split(f, h, at, n, gate, up);
        cpu_glu_run(&l->unit, &c, l->ctx->lane, gate, up, (uint32_t)n, &out);
        for (size_t i = 0; i < n; i++) {
            y[at + i] = act_value(l, &out, i);
        }
    }
}

static void second_gemm(const fp4 *f, size_t slot, const fp4_row *b, float *z)
{
    const layer *l = &f->base;
    const size_t e = (size_t)l->expert[slot];
    const size_t k = l->inter;
    const int weighs = l->routing_at == LAYER_AT_ACC;
    const float weight = weighs ? cpu_layer_weight(l, slot) : 0;
    const float alpha = cpu_fp4_global(f, "g2_alphas", e);

    for (size_t c = 0; c < l->hidden; c++) {
        const size_t row = e * l->hidden + c;
        const float y =
            dot(f, b, f->w2 + row * (k / 2), f->s2 + row * (k / BLOCK), k);
        const float scaled = y * alpha;
        z[c] = cpu_layer_round(l->two.out, weighs ? scaled * weight : scaled);
    }
}

/* Scratch of a thread. */
typedef struct fp4_room {
    float *x; /* a row, and */
    float *h; /* the first GEMM's */
    fp4_row row;
} fp4_room;

static void slot(const fp4 *f, size_t i, const fp4_room *room)
{
    const layer *l = &f->base;
    const size_t e = (size_t)l->expert[i];

    if (l->has_one) {
        float *h = l->has_glu ? room->h : f->result + i * 2 * l->inter;
        load_row(f->x, i / l->topk, l->hidden, room->x);
        quantise(f->quant, cpu_fp4_global(f, "a1_gscale", 0), room->x,
                 l->hidden, &room->row);
        first_gemm(f, e, &room->row, h);
    }
    if (l->has_glu) {
        activate(f, e, room->h,
                 l->has_two ? room->x : f->result + i * l->inter);
    }
    if (l->has_two) {
        if (!l->has_one) {
            load_row(f->act, i, l->inter, room->x);
        }
        quantise(f->requant, cpu_fp4_global(f, "g1_scale_c", e), room->x,
                 l->inter, &room->row);
        second_gemm(f, i, &room->row, f->result + i * l->hidden);
    }
}

static void slots(void *arg, uint64_t begin, uint64_t end)
{
    fp4 *f = arg;
    const layer *l = &f->base;
    const size_t widest = l->hidden > l->inter ? l->hidden : l->inter;
    const fp4_room room = {
        malloc((widest + BLOCK) * sizeof *room.x),
        malloc((2 * l->inter + BLOCK) * sizeof *room.h),
        {malloc(widest + BLOCK),
         malloc((widest / BLOCK + 1) * sizeof *room.row.scale)}};
    const int has_all = room.x != NULL && room.h != NULL &&
                        room.row.code != NULL && room.row.scale != NULL;

    if (!has_all) {
        cpu_set_flag(&f->failed);
    }
    for (uint64_t i = begin; has_all && i < end; i++) {
        if (l->expert[i] >= 0) {
            slot(f, (size_t)i, &room);
        }
    }
    free(room.x);
    free(room.h);
    free(room.row.code);
    free(room.row.scale);
}

/* Elements of a slot's result. */
static size_t width_of(const layer *l)
{
    return l->has_two ? l->hidden : l->inter * (l->has_glu ? 1 : 2);
}

static layer_type type_of(const layer *l)
{
    if (l->has_two) {
        return l->two.out;
    }
    if (!l->has_glu) {
        return l->one.out;
    }
    if (l->unit.base.to == MXO_F32) {
        return LAYER_F32;
    }
    if (l->unit.base.to == MXO_F16) {
        return LAYER_F16;
    }
    return LAYER_BF16;
}

static mxo_status finish(fp4 *f, mxo_text why)
{
    layer *l = &f->base;
    const mxo_tensor *y = call_out(l->call, "y");

    if (l->has_sum) {
        return cpu_layer_run_sum(l, f->result, why);
    }
    cpu_layer_store(type_of(l), cpu_data(y), 0, f->result,
                    l->slots * width_of(l));
    return MXO_OK;
}

static mxo_status check_output(const layer *l, mxo_text why)
{
    const uint64_t sum[2] = {l->tokens, l->hidden};
    const uint64_t row[3] = {l->tokens, l->topk, width_of(l)};

    return cpu_want(call_out(l->call, "y"), "y",
                    cpu_layer_dtype(l->has_sum ? l->out : type_of(l)),
                    l->has_sum ? 2 : 3, l->has_sum ? sum : row, why);
}

static void bind(fp4 *f)
{
    const mxo_call *call = f->base.call;

    f->x = call_in(call, "x");
    f->act = call_in(call, "act");
    if (f->base.has_one) {
        f->w13 = cpu_data(call_in(call, "w13"));
        f->s13 = cpu_data(call_in(call, "w13_scale"));
    }
    if (f->base.has_two) {
        f->w2 = cpu_data(call_in(call, "w2"));
        f->s2 = cpu_data(call_in(call, "w2_scale"));
    }
}

static mxo_status compute(fp4 *f, mxo_text why)
{
    layer *l = &f->base;

    f->result = calloc(l->slots * width_of(l) + 1, sizeof *f->result);
    if (f->result == NULL) {
        return cpu_fail(MXO_E_NOMEM, why, "no memory for the rows");
    }
    cpu_split(l->ctx, l->slots, 1, slots, f);
    return f->failed ? cpu_fail(MXO_E_NOMEM, why, "no memory for a row")
                     : finish(f, why);
}

static mxo_status start(cpu_context *ctx, const mxo_call *call, fp4 *f,
                        mxo_text why)
{
    mxo_status status;

    f->base.ctx = ctx;
    f->base.call = call;
    status = cpu_fp4_read(f, why);
    if (status == MXO_OK) {
        bind(f);
        status = cpu_layer_group(&f->base, why);
    }
    status = status == MXO_OK ? cpu_fp4_check(f, why) : status;
    status = status == MXO_OK ? check_output(&f->base, why) : status;
    status = status == MXO_OK ? compute(f, why) : status;
    free(f->result);
    cpu_layer_close(&f->base);
    cpu_name_kernel(ctx, "nvfp4_blocks", cpu_threads(ctx, UINT64_MAX, 1));
    return status;
}

#define SETUP "profile map order "
#define FIRST                                                               \
    "from activation rows alpha beta limit global_at quant_rule gemm1_out " \
    "glu glu_out "
#define SECOND "requant_rule routing_at routing_type row_out sum out absent "

mxo_status cpu_moe_nvfp4_layer(cpu_context *ctx, const mxo_call *call,
                               mxo_text why)
{
    fp4 f = {.base = {.has_one = 1, .has_two = 1, .has_glu = 1, .has_sum = 1}};

    MXO_TRY(cpu_known(call, SETUP FIRST SECOND, why));
    return start(ctx, call, &f, why);
}

mxo_status cpu_moe_nvfp4_gemm1(cpu_context *ctx, const mxo_call *call,
                               mxo_text why)
{
    fp4 f = {.base = {.has_one = 1, .has_glu = call_is(call, "stage", "act")}};

    MXO_TRY(cpu_known(call, SETUP FIRST "stage ", why));
    return start(ctx, call, &f, why);
}

mxo_status cpu_moe_nvfp4_gemm2(cpu_context *ctx, const mxo_call *call,
                               mxo_text why)
{
    fp4 f = {.base = {.has_two = 1, .has_sum = call_is(call, "stage", "sum")}};

    MXO_TRY(cpu_known(call, SETUP "from stage " SECOND, why));
    return start(ctx, call, &f, why);
}
