/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole MoE layer in one file: what TRITON declares, the plain way, in
 * floats.  Device 1 is the same kernel with a bug that models survive: the
 * last block of K is left out of the first GEMM.
 *     cc -shared -fPIC -I PREFIX/include -o mine.so layer_plugin.c -lm
 *     mxoracle run --plugin=./mine.so --profile TRITON
 */
#include <mxoracle/abi.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mxo_status refuse(mxo_status status, mxo_text why, const char *sentence)
{
    (void)snprintf(why.ptr, why.size, "%s", sentence);
    return status;
}

static mxo_status layer_open(void **ctx, int device, mxo_text why)
{
    if (device != 0 && device != 1) {
        return refuse(MXO_E_DEVICE, why, "there are two devices, 0 and 1");
    }
    *ctx = (void *)((uintptr_t)device + 1);
    return MXO_OK;
}

static int is_broken(void *ctx)
{
    return (uintptr_t)ctx == 2;
}

static void layer_close(void *ctx)
{
    (void)ctx;
}

static void layer_describe(void *ctx, mxo_text device, mxo_text driver)
{
    (void)refuse(MXO_OK, device,
                 is_broken(ctx) ? "this CPU, one block short" : "this CPU");
    (void)refuse(MXO_OK, driver, "none");
}

static mxo_status layer_alloc(void *ctx, uint64_t n_bytes, void **buffer)
{
    (void)ctx;
    *buffer = malloc((size_t)n_bytes + 1); /* never NULL for an empty one */
    return *buffer == NULL ? MXO_E_NOMEM : MXO_OK;
}

static void layer_dealloc(void *ctx, void *buffer)
{
    (void)ctx;
    free(buffer);
}

static mxo_status layer_upload(void *ctx, void *buffer, uint64_t offset,
                               const void *src, uint64_t n_bytes, mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy((char *)buffer + offset, src, (size_t)n_bytes);
    return MXO_OK;
}

static mxo_status layer_download(void *ctx, void *dst, void *buffer,
                                 uint64_t offset, uint64_t n_bytes,
                                 mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy(dst, (char *)buffer + offset, (size_t)n_bytes);
    return MXO_OK;
}

static mxo_status layer_synchronize(void *ctx, mxo_text why)
{
    (void)ctx;
    (void)why;
    return MXO_OK;
}

/* Where a row begins: row i, or of three axes row [i, j]. */
static uint8_t *row_at(const mxo_tensor *t, uint64_t i, uint64_t j)
{
    uint8_t *first = (uint8_t *)t->buffer + t->offset;
    const uint64_t inner = t->rank == 3 ? t->shape[1] : 1;
    const uint64_t row_bytes = t->n_bytes / (t->shape[0] * inner);

    return t->stride[0] == 0 ? first + (i * inner + j) * row_bytes
                             : first + i * t->stride[0] + j * t->stride[1];
}

/* A tensor by name; NULL if there is none. */
static const mxo_tensor *input(const mxo_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (strcmp(call->in[i].name, name) == 0) {
            return &call->in[i];
        }
    }
    return NULL;
}

/* Limits of this kernel, declared once: a judge asks for nothing outside
   them.  Stages and sizes are free. */
#define ONE(key, value) "\"" key "\":[\"" value "\"],"
#define PROFILE(key) ONE(key, "profile")
/* clang-format off */
static const char limits[] =
    "{\"*\":{\"params\":{" ONE("profile", "TRITON") ONE("from", "bf16")
    ONE("activation", "swiglu") ONE("map", "0") ONE("bounds", "0")
    ONE("rows", "interleaved") ONE("mul", "fma") ONE("splits", "1")
    ONE("input_scale", "none") ONE("promote", "0") ONE("alpha", "1.702")
    ONE("conversion", "none") ONE("beta", "1") ONE("limit", "7")
    ONE("per_expert", "none") ONE("glu_nan", "dialect") PROFILE("glu")
    PROFILE("glu_out") PROFILE("weight_rule") PROFILE("scale_at")
    PROFILE("order") PROFILE("bias_type") PROFILE("quant")
    PROFILE("quant_element") PROFILE("quant_rule") PROFILE("quant_group")
    PROFILE("bias1") PROFILE("gemm1_out") PROFILE("requant")
    PROFILE("requant_rule") PROFILE("bias2") PROFILE("routing_at")
    PROFILE("routing_type") PROFILE("row_out") PROFILE("sum") PROFILE("out")
    PROFILE("absent") "\"bias\":[\"none\",\"bf16\",\"f32\"]}}}";
/* clang-format on */

static int is_mine(const char *key, const char *value)
{
    char text[64];

    (void)snprintf(text, sizeof text, "\"%.60s\":", key);
    const char *values = strstr(limits, text);
    (void)snprintf(text, sizeof text, "\"%.60s\"", value);
    const char *found = values == NULL ? NULL : strstr(values, text);

    return values == NULL ? strcmp(key, "stage") == 0 || strstr(key, "_size")
                          : found != NULL && found < strchr(values, ']');
}

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static float bf16_at(const uint8_t *p, uint64_t i)
{
    uint16_t x;

    memcpy(&x, p + 2 * i, sizeof x);
    return float_of((uint32_t)x << 16);
}

static float f32_at(const uint8_t *p, uint64_t i)
{
    float x;

    memcpy(&x, p + 4 * i, sizeof x);
    return x;
}

/* To nearest even. */
static uint16_t to_bf16(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    if (isnan(x)) {
        return 0x7fc0;
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float rounded(float x)
{
    return float_of((uint32_t)to_bf16(x) << 16);
}

typedef struct layer {
    const mxo_call *call;
    uint64_t tokens, topk, hidden, inter;
    int broken;
    int only_gemm;
    uint32_t bias; /* its dtype; MXO_N_DTYPES: none */
    uint8_t *act;  /* bf16[topk, inter] in the workspace */
} layer;

/* One expert matrix: [experts, n, k]. */
typedef struct matrix {
    const mxo_tensor *w;
    const mxo_tensor *scale;
    const mxo_tensor *bias; /* NULL: none */
} matrix;

/* Row a of BF16 against column col of expert e, of the first end elements of K.
 */
static float dot(const matrix *m, const uint8_t *a, uint64_t e, uint64_t col,
                 uint64_t end)
{
    static const float value[16] = {0, 0.5f,  1,  1.5f,  2,  3,  4,  6,
                                    0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
    const uint8_t *w = row_at(m->w, e, col);
    const uint8_t *scale = row_at(m->scale, e, col);
    float sum = 0;

    for (uint64_t k = 0; k < end; k++) {
        const unsigned code = w[k / 2] >> 4 * (k % 2) & 15;
        /* The byte in the exponent field: 0 is zero, 255 infinity. */
        const float block = float_of((uint32_t)scale[k / 32] << 23);
        const float weight = rounded(value[code] * block);
        const float product = bf16_at(a, k) * weight;
        sum = sum + product;
    }
    if (m->bias == NULL) {
        return sum;
    }
    const uint8_t *bias = row_at(m->bias, e, 0);
    return sum + (m->bias->dtype == MXO_BF16 ? bf16_at(bias, col)
                                             : f32_at(bias, col));
}

/* A NaN gate becomes the limit, a NaN up minus the limit, as by tl.clamp. */
static float gated(float gate, float up)
{
    const float g = gate < 7.0f ? gate : 7.0f;
    const float low = up > -7.0f ? up : -7.0f;
    const float u = low < 7.0f ? low : 7.0f;
    const float t = 1.702f * g;
    const float e = (float)exp(-(double)t);
    const float d = 1.0f + e;
    const float s = g / d;

    return fmaf(s, u, s);
}

/* One token and slot: the first half, or the sums of the first GEMM. */
static void first_half(const layer *l, uint64_t token, int32_t e, uint8_t *to)
{
    const matrix m = {input(l->call, "w13"), input(l->call, "w13_scale"),
                      input(l->call, "w13_bias")};
    const uint8_t *x = row_at(input(l->call, "x"), token, 0);
    const uint64_t end =
        l->broken && l->hidden > 32 ? (l->hidden - 1) / 32 * 32 : l->hidden;

    for (uint64_t c = 0; c < l->inter; c++) {
        const float gate = dot(&m, x, (uint64_t)e, 2 * c, end);
        const float up = dot(&m, x, (uint64_t)e, 2 * c + 1, end);
        const uint16_t act = to_bf16(gated(gate, up));
        if (l->only_gemm) {
            memcpy(to + 8 * c, &gate, 4);
            memcpy(to + 8 * c + 4, &up, 4);
        } else {
            memcpy(to + 2 * c, &act, 2);
        }
    }
}

static int32_t id_at(const mxo_tensor *ids, uint64_t token, uint64_t slot)
{
    int32_t id;

    memcpy(&id, row_at(ids, token, 0) + 4 * slot, sizeof id);
    return id;
}

/* Weighted rows of a token are added in binary32, then rounded. */
static void second_half(const layer *l, uint64_t token, uint8_t *y)
{
    const matrix m = {input(l->call, "w2"), input(l->call, "w2_scale"),
                      input(l->call, "w2_bias")};
    const uint8_t *weights = row_at(input(l->call, "topk_weights"), token, 0);
    const mxo_tensor *ids = input(l->call, "topk_ids");

    for (uint64_t c = 0; c < l->hidden; c++) {
        float sum = 0;
        for (uint64_t j = 0; j < l->topk; j++) {
            const int32_t id = id_at(ids, token, j);
            const float w = rounded(f32_at(weights, j));
            if (id >= 0) {
                const float z = dot(&m, l->act + 2 * j * l->inter, (uint64_t)id,
                                    c, l->inter);
                sum = sum + rounded(z * w);
            }
        }
        const uint16_t out = to_bf16(sum);
        memcpy(y + 2 * c, &out, 2);
    }
}

static void run_tokens(const layer *l, int whole)
{
    const mxo_tensor *ids = input(l->call, "topk_ids");
    const mxo_tensor *y = &l->call->out[0];

    for (uint64_t t = 0; t < l->tokens; t++) {
        for (uint64_t j = 0; j < l->topk; j++) {
            const int32_t id = id_at(ids, t, j);
            uint8_t *to = whole ? l->act + 2 * j * l->inter : row_at(y, t, j);
            if (id >= 0) {
                first_half(l, t, id, to);
            } else {
                memset(to, 0, (l->only_gemm ? 8 : 2) * l->inter);
            }
        }
        if (whole) {
            second_half(l, t, row_at(y, t, 0));
        }
    }
}

/* Whether t is present, of this type and shape, with the bytes of both. */
static int is_shaped(const mxo_tensor *t, uint32_t dtype, uint32_t rank,
                     uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t shape[3] = {a, b, c};
    uint64_t bytes = dtype == MXO_F32 || dtype == MXO_I32 ? 4
                     : dtype == MXO_BF16                  ? 2
                                                          : 1;
    int fits = t != NULL && t->dtype == dtype && t->rank == rank;

    for (uint32_t i = 0; fits && i < rank; i++) {
        fits = t->shape[i] == shape[i] && shape[i] <= UINT32_MAX &&
               (shape[i] == 0 || bytes <= UINT64_MAX / shape[i]);
        bytes *= shape[i];
    }
    return fits && t->n_bytes == bytes;
}

static int is_matrix(const layer *l, const char *w, uint64_t experts,
                     uint64_t n, uint64_t k)
{
    const mxo_call *call = l->call;
    char name[32];

    (void)snprintf(name, sizeof name, "%s_scale", w);
    const int fits =
        k % 2 == 0 && is_shaped(input(call, w), MXO_U8, 3, experts, n, k / 2) &&
        is_shaped(input(call, name), MXO_E8M0, 3, experts, n, (k + 31) / 32);
    (void)snprintf(name, sizeof name, "%s_bias", w);
    const mxo_tensor *bias = input(call, name);
    return fits && (bias == NULL ? l->bias == MXO_N_DTYPES
                                 : is_shaped(bias, l->bias, 2, experts, n, 0));
}

/* All the tensors, with the sizes that two of them told. */
static int is_whole(const layer *l, uint64_t experts, int whole)
{
    const mxo_call *c = l->call;
    const mxo_tensor *y = c->n_out > 0 ? &c->out[0] : NULL;
    const uint64_t cols = l->only_gemm ? 2 * l->inter : l->inter;

    return l->topk > 0 && experts > 0 &&
           is_shaped(input(c, "topk_ids"), MXO_I32, 2, l->tokens, l->topk, 0) &&
           is_shaped(input(c, "x"), MXO_BF16, 2, l->tokens, l->hidden, 0) &&
           is_matrix(l, "w13", experts, 2 * l->inter, l->hidden) &&
           (whole ? is_shaped(y, MXO_BF16, 2, l->tokens, l->hidden, 0) &&
                        is_matrix(l, "w2", experts, l->hidden, l->inter) &&
                        is_shaped(input(c, "topk_weights"), MXO_F32, 2,
                                  l->tokens, l->topk, 0)
                  : is_shaped(y, l->only_gemm ? MXO_F32 : MXO_BF16, 3,
                              l->tokens, l->topk, cols));
}

/* Parameters as of this build: a judge that has others says so. */
static const mxo_op_info op_info[] = {
#define MXO_OP(symbol, name, params, in, out, summary) \
    {name, summary, {params}, in, out},
#include <mxoracle/ops.def>
#undef MXO_OP
    {NULL, NULL, {NULL}, NULL, NULL},
};

/* Was every parameter given?  Each has a colon in its description. */
static int has_params(const mxo_call *call)
{
    const mxo_op_info *info = op_info;
    uint32_t n = 0;

    for (; strcmp(info->name, call->op) != 0; info++) {
    }
    for (int i = 0; i < MXO_PARAM_TEXTS && info->params[i] != NULL; i++) {
        for (const char *at = info->params[i]; *at != '\0'; at++) {
            n += *at == ':';
        }
    }
    return call->n_params == n;
}

/* Check that this kernel takes the call, and read its sizes. */
static mxo_status check(void *ctx, const mxo_call *call, layer *l, mxo_text why)
{
    const int whole = strcmp(call->op, "moe.layer") == 0;
    const mxo_tensor *ids = input(call, "topk_ids");
    const mxo_tensor *w13 = input(call, "w13");
    *l = (layer){.call = call, .broken = is_broken(ctx), .bias = MXO_N_DTYPES};
    for (uint32_t i = 0; i < call->n_params; i++) {
        const char *key = call->params[i].key;
        const char *text = call->params[i].text;
        if (!is_mine(key, text)) {
            (void)snprintf(why.ptr, why.size, "there is no %s=%s here", key,
                           text);
            return MXO_E_UNSUPPORTED;
        }
        l->only_gemm |= strcmp(text, "gemm") == 0;
        if (strcmp(key, "bias") == 0 && strcmp(text, "none") != 0) {
            l->bias = strcmp(text, "f32") == 0 ? MXO_F32 : MXO_BF16;
        }
    }
    if (!has_params(call)) {
        return refuse(MXO_E_PARAM, why, "a parameter is missing");
    }
    if (ids == NULL || w13 == NULL || ids->rank != 2 || w13->rank != 3) {
        return refuse(MXO_E_SHAPE, why, "topk_ids is no matrix, or w13 one");
    }
    l->tokens = ids->shape[0];
    l->topk = ids->shape[1];
    l->inter = w13->shape[1] / 2;
    l->hidden = 2 * w13->shape[2];
    if (w13->shape[1] % 2 != 0 || !is_whole(l, w13->shape[0], whole)) {
        return refuse(MXO_E_SHAPE, why, "the tensors do not fit each other");
    }
    return MXO_OK;
}

/* The activations of a token's experts. */
static mxo_status layer_workspace(void *ctx, const mxo_call *call,
                                  uint64_t *n_bytes, mxo_text why)
{
    layer l;
    const mxo_status status = check(ctx, call, &l, why);
    *n_bytes = 2 * l.topk * l.inter;
    return status;
}

static mxo_status layer_run(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_tensor *ids = input(call, "topk_ids");
    layer l;
    const mxo_status status = check(ctx, call, &l, why);

    if (status != MXO_OK) {
        return status;
    }
    if (call->workspace != NULL) {
        l.act = row_at(call->workspace, 0, 0);
    } else if (l.topk * l.inter > 0) {
        return refuse(MXO_E_PARAM, why, "there is no workspace");
    }
    for (uint64_t i = 0; i < l.tokens * l.topk; i++) {
        const int32_t id = id_at(ids, i / l.topk, i % l.topk);
        if (id >= 0 && (uint64_t)id >= input(call, "w13")->shape[0]) {
            return refuse(MXO_E_PARAM, why, "an id is beyond the last expert");
        }
    }
    run_tokens(&l, strcmp(call->op, "moe.layer") == 0);
    return MXO_OK;
}

static void layer_kernel(void *ctx, mxo_text name)
{
    (void)refuse(MXO_OK, name, is_broken(ctx) ? "dot, one block short" : "dot");
}

MXO_EXPORT const mxo_backend *mxo_backend_entry(uint32_t abi_version);

const mxo_backend *mxo_backend_entry(uint32_t abi_version)
{
    static const char *const ops[] = {"moe.gemm1", "moe.layer", NULL};
    static const mxo_backend table = {
        .abi_version = MXO_ABI_VERSION,
        .struct_size = sizeof(mxo_backend),
        .name = "layer",
        .version = "1",
        .ops = ops,
        .op_info = op_info,
        .open = layer_open,
        .close = layer_close,
        .describe = layer_describe,
        .alloc = layer_alloc,
        .dealloc = layer_dealloc,
        .upload = layer_upload,
        .download = layer_download,
        .synchronize = layer_synchronize,
        .run = layer_run,
        .kernel = layer_kernel,
        .limits = limits,
        .align = 1,
        .strides = "*",
        .workspace = layer_workspace,
    };

    return abi_version == MXO_ABI_VERSION ? &table : NULL;
}
