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

static const int devices[2] = {0, 1};

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
    *ctx = (void *)(uintptr_t)&devices[device];
    return MXO_OK;
}

static int is_broken(void *ctx)
{
    return *(const int *)ctx == 1;
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

/* A tensor by name; NULL if there is none. */
static uint8_t *data_of(const mxo_tensor *t, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(t[i].name, name) == 0) {
            return (uint8_t *)t[i].buffer + t[i].offset;
        }
    }
    return NULL;
}

static const mxo_tensor *input(const mxo_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (strcmp(call->in[i].name, name) == 0) {
            return &call->in[i];
        }
    }
    return NULL;
}

/* What this kernel does; everything else is the profile's. */
static int is_mine(const char *key, const char *value)
{
    /* clang-format off */
    static const char *const mine[][2] = {
        {"profile", "TRITON"},  {"from", "bf16"},     {"activation", "swiglu"},
        {"map", "0"},           {"bounds", "0"},      {"rows", "interleaved"},
        {"mul", "fma"},         {"splits", "1"},      {"input_scale", "none"},
        {"promote", "0"},       {"alpha", "1.702"},   {"conversion", "none"},
        {"beta", "1"},          {"limit", "7"},       {"per_expert", "none"}};
    /* clang-format on */

    for (size_t i = 0; i < sizeof mine / sizeof mine[0]; i++) {
        if (strcmp(mine[i][0], key) == 0) {
            return strcmp(mine[i][1], value) == 0;
        }
    }
    return strcmp(value, "profile") == 0 || strcmp(key, "stage") == 0 ||
           strcmp(key, "hidden_size") == 0 || /* as the shapes say */
           strcmp(key, "intermediate_size") == 0 ||
           (strcmp(key, "bias") == 0 && strcmp(value, "f16") != 0);
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
} layer;

/* One expert matrix: [experts, n, k]. */
typedef struct matrix {
    const uint8_t *w;
    const uint8_t *scale;
    const mxo_tensor *bias; /* NULL: none */
    uint64_t n, k;
} matrix;

static matrix matrix_of(const mxo_call *call, const char *w, const char *scale,
                        const char *bias, uint64_t n, uint64_t k)
{
    const matrix m = {data_of(call->in, call->n_in, w),
                      data_of(call->in, call->n_in, scale), input(call, bias),
                      n, k};

    return m;
}

/* The byte in the exponent field: 0 is zero, 255 infinity. */
static float scale_of(uint8_t byte)
{
    return float_of((uint32_t)byte << 23);
}

static float bias_of(const matrix *m, uint64_t i)
{
    const uint8_t *at = (uint8_t *)m->bias->buffer + m->bias->offset;

    return m->bias->dtype == MXO_BF16 ? bf16_at(at, i) : f32_at(at, i);
}

/* Row a against column col of expert e, of the first end elements of K. */
static float dot(const matrix *m, const float *a, uint64_t e, uint64_t col,
                 uint64_t end)
{
    static const float value[16] = {0, 0.5f,  1,  1.5f,  2,  3,  4,  6,
                                    0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
    const uint64_t row = e * m->n + col;
    const uint8_t *w = m->w + row * (m->k / 2);
    const uint8_t *scale = m->scale + row * ((m->k + 31) / 32);
    float sum = 0;

    for (uint64_t k = 0; k < end; k++) {
        const unsigned code = w[k / 2] >> 4 * (k % 2) & 15;
        const float weight = rounded(value[code] * scale_of(scale[k / 32]));
        const float product = a[k] * weight;
        sum = sum + product;
    }
    return m->bias == NULL ? sum : sum + bias_of(m, row);
}

/* A NaN gate becomes the limit, a NaN up minus the limit, as by tl.clamp. */
static float gated(float gate, float up)
{
    const float g = gate < 7.0f ? gate : 7.0f;
    const float u = up < 7.0f   ? (up > -7.0f ? up : -7.0f)
                    : isnan(up) ? -7.0f
                                : 7.0f;
    const float t = 1.702f * g;
    const float e = (float)exp(-(double)t);
    const float d = 1.0f + e;
    const float s = g / d;

    return fmaf(s, u, s);
}

/* One token and slot: the first half into act[inter], or the sums of the
   first GEMM into y. */
static void first_half(const layer *l, uint64_t slot, int32_t e, float *act,
                       uint8_t *y)
{
    const matrix m = matrix_of(l->call, "w13", "w13_scale", "w13_bias",
                               2 * l->inter, l->hidden);
    const uint8_t *x = data_of(l->call->in, l->call->n_in, "x");
    const uint64_t end =
        l->broken && l->hidden > 32 ? (l->hidden - 1) / 32 * 32 : l->hidden;
    float *row = malloc(l->hidden * sizeof *row + 1);

    for (uint64_t k = 0; row != NULL && k < l->hidden; k++) {
        row[k] = bf16_at(x, slot / l->topk * l->hidden + k);
    }
    for (uint64_t c = 0; row != NULL && c < l->inter; c++) {
        const float gate = dot(&m, row, (uint64_t)e, 2 * c, end);
        const float up = dot(&m, row, (uint64_t)e, 2 * c + 1, end);
        if (l->only_gemm) {
            memcpy(y + 8 * (slot * l->inter + c), &gate, 4);
            memcpy(y + 8 * (slot * l->inter + c) + 4, &up, 4);
        } else {
            act[c] = rounded(gated(gate, up));
        }
    }
    free(row);
}

/* Weighted rows of a token are added in binary32, then rounded. */
static void second_half(const layer *l, uint64_t token, const int32_t *ids,
                        const float *act, uint8_t *y)
{
    const matrix m =
        matrix_of(l->call, "w2", "w2_scale", "w2_bias", l->hidden, l->inter);
    const uint8_t *weights =
        data_of(l->call->in, l->call->n_in, "topk_weights");

    for (uint64_t c = 0; c < l->hidden; c++) {
        float sum = 0;
        for (uint64_t j = 0; j < l->topk; j++) {
            const float w = rounded(f32_at(weights, token * l->topk + j));
            if (ids[j] >= 0) {
                const float z =
                    dot(&m, act + j * l->inter, (uint64_t)ids[j], c, l->inter);
                sum = sum + rounded(z * w);
            }
        }
        const uint16_t out = to_bf16(sum);
        memcpy(y + 2 * (token * l->hidden + c), &out, 2);
    }
}

static void put_act(const layer *l, uint64_t slot, const float *act, uint8_t *y)
{
    for (uint64_t c = 0; c < l->inter; c++) {
        const uint16_t x = to_bf16(act[c]);
        memcpy(y + 2 * (slot * l->inter + c), &x, 2);
    }
}

static mxo_status run_tokens(const layer *l, int whole, mxo_text why)
{
    const uint8_t *all = data_of(l->call->in, l->call->n_in, "topk_ids");
    uint8_t *y = data_of(l->call->out, l->call->n_out, "y");
    float *act = malloc((l->topk * l->inter + 1) * sizeof *act);
    int32_t *ids = malloc((l->topk + 1) * sizeof *ids);
    const int has_memory = act != NULL && ids != NULL;

    for (uint64_t t = 0; has_memory && t < l->tokens; t++) {
        memcpy(ids, all + 4 * t * l->topk, 4 * l->topk);
        for (uint64_t j = 0; j < l->topk; j++) {
            float *mine = act + j * l->inter;
            memset(mine, 0, l->inter * sizeof *mine);
            if (ids[j] >= 0) {
                first_half(l, t * l->topk + j, ids[j], mine, y);
            }
            if (!whole && !l->only_gemm) {
                put_act(l, t * l->topk + j, mine, y);
            }
        }
        if (whole) {
            second_half(l, t, ids, act, y);
        }
    }
    free(act);
    free(ids);
    return has_memory ? MXO_OK : refuse(MXO_E_NOMEM, why, "no memory");
}

/* Is it there, of this type and shape, and has it the bytes of that? */
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

static int says(const mxo_call *call, const char *key, const char *value)
{
    int found = 0;

    for (uint32_t i = 0; i < call->n_params; i++) {
        found |= strcmp(call->params[i].key, key) == 0 &&
                 strcmp(call->params[i].text, value) == 0;
    }
    return found;
}

static int is_matrix(const mxo_call *call, const char *w, uint64_t experts,
                     uint64_t n, uint64_t k)
{
    char name[32];

    (void)snprintf(name, sizeof name, "%s_scale", w);
    const int fits =
        k % 2 == 0 && is_shaped(input(call, w), MXO_U8, 3, experts, n, k / 2) &&
        is_shaped(input(call, name), MXO_E8M0, 3, experts, n, (k + 31) / 32);
    (void)snprintf(name, sizeof name, "%s_bias", w);
    const mxo_tensor *bias = input(call, name);

    return fits && (says(call, "bias", "f32")
                        ? is_shaped(bias, MXO_F32, 2, experts, n, 0)
                    : says(call, "bias", "bf16")
                        ? is_shaped(bias, MXO_BF16, 2, experts, n, 0)
                        : bias == NULL);
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
           is_matrix(c, "w13", experts, 2 * l->inter, l->hidden) &&
           (whole ? is_shaped(y, MXO_BF16, 2, l->tokens, l->hidden, 0) &&
                        is_matrix(c, "w2", experts, l->hidden, l->inter) &&
                        is_shaped(input(c, "topk_weights"), MXO_F32, 2,
                                  l->tokens, l->topk, 0)
                  : is_shaped(y, l->only_gemm ? MXO_F32 : MXO_BF16, 3,
                              l->tokens, l->topk, cols));
}

/* Parameters as of this build: a judge that has others says so. */
static const mxo_op_info op_info[] = {
#define MXO_OP(symbol, name, params, in, out, summary) \
    {name, summary, params, in, out},
#include <mxoracle/ops.def>
#undef MXO_OP
    {NULL, NULL, NULL, NULL, NULL},
};

/* Was every parameter given?  Each has a colon in its description. */
static int has_params(const mxo_call *call)
{
    const mxo_op_info *info = op_info;
    uint32_t n = 0;

    while (strcmp(info->name, call->op) != 0) {
        info++;
    }
    for (const char *at = info->params; *at != '\0'; at++) {
        n += *at == ':';
    }
    return call->n_params == n;
}

static mxo_status layer_run(void *ctx, const mxo_call *call, mxo_text why)
{
    const int whole = strcmp(call->op, "moe.layer") == 0;
    const mxo_tensor *ids = input(call, "topk_ids");
    const mxo_tensor *w13 = input(call, "w13");
    layer l = {.call = call, .broken = is_broken(ctx)};

    for (uint32_t i = 0; i < call->n_params; i++) {
        if (!is_mine(call->params[i].key, call->params[i].text)) {
            (void)snprintf(why.ptr, why.size, "there is no %s=%s here",
                           call->params[i].key, call->params[i].text);
            return MXO_E_UNSUPPORTED;
        }
        l.only_gemm |= strcmp(call->params[i].text, "gemm") == 0;
    }
    if (!has_params(call)) {
        return refuse(MXO_E_PARAM, why, "a parameter is missing");
    }
    if (ids == NULL || w13 == NULL || ids->rank != 2 || w13->rank != 3) {
        return refuse(MXO_E_SHAPE, why,
                      "topk_ids has not two axes or w13 not three");
    }
    l.tokens = ids->shape[0];
    l.topk = ids->shape[1];
    l.inter = w13->shape[1] / 2;
    l.hidden = 2 * w13->shape[2];
    if (w13->shape[1] % 2 != 0 || !is_whole(&l, w13->shape[0], whole)) {
        return refuse(MXO_E_SHAPE, why, "the tensors do not fit each other");
    }
    for (uint64_t i = 0; i < l.tokens * l.topk; i++) {
        int32_t id;
        memcpy(&id, (uint8_t *)ids->buffer + ids->offset + 4 * i, sizeof id);
        if (id >= 0 && (uint64_t)id >= w13->shape[0]) {
            return refuse(MXO_E_PARAM, why, "an id is beyond the last expert");
        }
    }
    if (!whole) {
        memset(data_of(call->out, call->n_out, "y"), 0, call->out[0].n_bytes);
    }
    return run_tokens(&l, whole, why);
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
    };

    return abi_version == MXO_ABI_VERSION ? &table : NULL;
}
