/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole backend in one file against one header: start yours from a copy.
 * It dequantises MXFP4 blocks to BF16, on the CPU.
 *     cc -shared -fPIC $(pkg-config --cflags mxoracle) -o mine.so \
 *         example_plugin.c -lm
 *     mxoracle run --plugin=./mine.so -b example
 */
#include <mxoracle/abi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mxo_status refuse(mxo_status status, mxo_text why, const char *sentence)
{
    (void)snprintf(why.ptr, why.size, "%s", sentence);
    return status;
}

static int says(const mxo_call *call, const char *key, const char *value)
{
    for (uint32_t i = 0; i < call->n_params; i++) {
        if (strcmp(call->params[i].key, key) == 0) {
            return strcmp(call->params[i].text, value) == 0;
        }
    }
    return 0;
}

static mxo_status example_open(void **ctx, int device, mxo_text why)
{
    static char opened; /* this backend has no state: any address will do */

    *ctx = &opened;
    return device == 0 ? MXO_OK
                       : refuse(MXO_E_DEVICE, why, "there is one device, 0");
}

static void example_close(void *ctx)
{
    (void)ctx;
}

static void example_describe(void *ctx, mxo_text device, mxo_text driver)
{
    (void)ctx;
    (void)refuse(MXO_OK, device, "this CPU");
    (void)refuse(MXO_OK, driver, "none");
}

static mxo_status example_alloc(void *ctx, uint64_t n_bytes, void **buffer)
{
    (void)ctx;
    *buffer = malloc((size_t)n_bytes + 1); /* never NULL for an empty one */
    return *buffer == NULL ? MXO_E_NOMEM : MXO_OK;
}

static void example_dealloc(void *ctx, void *buffer)
{
    (void)ctx;
    free(buffer);
}

static mxo_status example_upload(void *ctx, void *buffer, uint64_t offset,
                                 const void *src, uint64_t n_bytes,
                                 mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy((char *)buffer + offset, src, (size_t)n_bytes);
    return MXO_OK;
}

static mxo_status example_download(void *ctx, void *dst, void *buffer,
                                   uint64_t offset, uint64_t n_bytes,
                                   mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy(dst, (char *)buffer + offset, (size_t)n_bytes);
    return MXO_OK;
}

static mxo_status example_synchronize(void *ctx, mxo_text why)
{
    (void)ctx;
    (void)why;
    return MXO_OK;
}

/* Exact: E2M1 has two significant bits and BF16 the exponents of binary32. */
static uint16_t bf16_of(unsigned code, unsigned scale)
{
    static const float value[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    const float x = ldexpf(value[code & 7], (int)scale - 127);
    uint32_t bits;

    memcpy(&bits, &x, 4);
    return (uint16_t)(scale == 255 ? 0x7fc0 : bits >> 16 | (code & 8) << 12);
}

static const mxo_tensor *tensor(const mxo_tensor *t, uint32_t n,
                                const char *name)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(t[i].name, name) == 0) {
            return &t[i];
        }
    }
    return NULL;
}

/* Whether t is present, of this type, with q's axes but for the last one. */
static int is_like(const mxo_tensor *t, const mxo_tensor *q, uint32_t dtype,
                   uint64_t last)
{
    uint64_t bytes = dtype == MXO_BF16 ? 2 : 1;
    int fits = t != NULL && t->dtype == dtype && t->rank == q->rank;

    for (uint32_t i = 0; fits && i < q->rank; i++) {
        const uint64_t n = i + 1 == q->rank ? last : q->shape[i];
        fits = t->shape[i] == n && n <= UINT32_MAX &&
               (n == 0 || bytes <= UINT64_MAX / n);
        bytes *= n;
    }
    return fits && t->n_bytes == bytes;
}

/* A call that was found good; its text may be gone. */
typedef struct job {
    mxo_tensor q;
    mxo_tensor scale;
    mxo_tensor y;
} job;

static mxo_status check(const mxo_call *call, job *j, mxo_text why)
{
    const mxo_tensor *codes = tensor(call->in, call->n_in, "q");
    const mxo_tensor *scales = tensor(call->in, call->n_in, "scale");
    const mxo_tensor *out = tensor(call->out, call->n_out, "y");

    if (strcmp(call->op, "dequant.mx") != 0 || !says(call, "rule", "ocp") ||
        !says(call, "element", "e2m1") || !says(call, "to", "bf16") ||
        !says(call, "axis", "-1") || !says(call, "zero", "keep")) {
        return refuse(MXO_E_UNSUPPORTED, why, "MXFP4 to BF16, OCP rule only");
    }
    if (call->n_params != 5) {
        return refuse(MXO_E_PARAM, why, "dequant.mx has five parameters");
    }
    const uint64_t last =
        codes == NULL || codes->rank == 0 ? 0 : codes->shape[codes->rank - 1];

    if (codes == NULL || codes->rank == 0 || last % 16 != 0 ||
        !is_like(codes, codes, MXO_U8, last) ||
        !is_like(scales, codes, MXO_E8M0, last / 16) ||
        !is_like(out, codes, MXO_BF16, last * 2)) {
        return refuse(MXO_E_SHAPE, why, "q, scale and y do not fit each other");
    }
    *j = (job){*codes, *scales, *out};
    return MXO_OK;
}

/* Row r of n_rows, however many axes they are counted by. */
static uint8_t *row_of(const mxo_tensor *t, uint64_t r, uint64_t n_rows)
{
    uint8_t *at = (uint8_t *)t->buffer + t->offset;

    if (t->stride[0] == 0) {
        return at + r * (t->n_bytes / n_rows);
    }
    for (uint32_t a = t->rank - 1; a-- > 0; r /= t->shape[a]) {
        at += r % t->shape[a] * t->stride[a];
    }
    return at;
}

static void work(const job *j)
{
    const uint64_t last = j->y.shape[j->y.rank - 1];
    const uint64_t n_rows = last == 0 ? 0 : j->y.n_bytes / 2 / last;

    for (uint64_t r = 0; r < n_rows; r++) {
        const uint8_t *q = row_of(&j->q, r, n_rows);
        const uint8_t *scale = row_of(&j->scale, r, n_rows);
        uint8_t *y = row_of(&j->y, r, n_rows);
        for (uint64_t i = 0; i < last; i++) {
            const uint16_t x =
                bf16_of(q[i / 2] >> 4 * (i % 2) & 15, scale[i / 32]);
            memcpy(y + 2 * i, &x, 2);
        }
    }
}

static mxo_status example_run(void *ctx, const mxo_call *call, mxo_text why)
{
    job j;
    const mxo_status status = check(call, &j, why);

    (void)ctx;
    if (status == MXO_OK) {
        work(&j);
    }
    return status;
}

/* Work is done when it is put on a stream, so any address is one. */
static mxo_status example_stream_open(void *ctx, void **stream, mxo_text why)
{
    (void)why;
    *stream = ctx;
    return MXO_OK;
}

static void example_stream_close(void *ctx, void *stream)
{
    (void)ctx;
    (void)stream;
}

static mxo_status example_stream_upload(void *ctx, void *stream, void *buffer,
                                        uint64_t offset, const void *src,
                                        uint64_t n_bytes, uint32_t microseconds,
                                        mxo_text why)
{
    (void)stream;
    (void)microseconds;
    return example_upload(ctx, buffer, offset, src, n_bytes, why);
}

static mxo_status example_capture(void *ctx, const mxo_call *call, void **graph,
                                  mxo_text why)
{
    job *j = malloc(sizeof *j);

    (void)ctx;
    if (j == NULL) {
        return refuse(MXO_E_NOMEM, why, "no memory for a graph");
    }
    const mxo_status status = check(call, j, why);

    if (status != MXO_OK) {
        free(j);
        return status;
    }
    *graph = j;
    return MXO_OK;
}

static mxo_status example_launch(void *ctx, void *graph, void *stream,
                                 mxo_text why)
{
    (void)ctx;
    (void)stream;
    (void)why;
    work(graph);
    return MXO_OK;
}

static void example_graph_close(void *ctx, void *graph)
{
    (void)ctx;
    free(graph);
}

static void example_kernel(void *ctx, mxo_text name)
{
    (void)ctx;
    (void)refuse(MXO_OK, name, "bf16_of");
}

MXO_EXPORT const mxo_backend *mxo_backend_entry(uint32_t abi_version);

const mxo_backend *mxo_backend_entry(uint32_t abi_version)
{
    static const char *const ops[] = {"dequant.mx", NULL};
    static const mxo_backend table = {
        .abi_version = MXO_ABI_VERSION,
        .struct_size = sizeof(mxo_backend),
        .name = "example",
        .version = "1",
        .ops = ops,
        .open = example_open,
        .close = example_close,
        .describe = example_describe,
        .alloc = example_alloc,
        .dealloc = example_dealloc,
        .upload = example_upload,
        .download = example_download,
        .synchronize = example_synchronize,
        .run = example_run,
        .kernel = example_kernel,
        .limits = "{\"dequant.mx\":{\"params\":{\"rule\":[\"ocp\"],"
                  "\"element\":[\"e2m1\"],\"to\":[\"bf16\"],"
                  "\"axis\":[\"-1\"],\"zero\":[\"keep\"]}}}",
        .align = 1,
        .strides = "*",
        .stream_open = example_stream_open,
        .stream_close = example_stream_close,
        .stream_upload = example_stream_upload,
        .capture = example_capture,
        .launch = example_launch,
        .graph_close = example_graph_close,
    };

    return abi_version == MXO_ABI_VERSION ? &table : NULL;
}
