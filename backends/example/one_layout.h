/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend around one function that brings bytes into a layout, for C and
 * C++:
 *
 *     static int mine(uint8_t *dst, uint64_t n_dst, const uint8_t *src,
 *                     uint64_t rows, uint64_t cols);
 *     ONE_LAYOUT("mine", "flashinfer.128x4", mine)
 *
 * src is [rows, cols] bytes, dst has the bytes of the layout, pads included,
 * and is to be written in full.  The function returns 1, or 0 with nothing
 * written: it takes no such sizes.  Built as a shared object it is a subject of
 * mxoracle run and mxoracle fuzz (docs/fuzzing.md).
 */
#ifndef ONE_LAYOUT_H
#define ONE_LAYOUT_H

#include <mxoracle/abi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int one_layout_fn(uint8_t *dst, uint64_t n_dst, const uint8_t *src,
                          uint64_t rows, uint64_t cols);

static mxo_status one_layout_refuse(mxo_status status, mxo_text why,
                                    const char *sentence)
{
    (void)snprintf(why.ptr, why.size, "%s", sentence);
    return status;
}

static mxo_status one_layout_open(void **ctx, int device, mxo_text why)
{
    static char opened;

    *ctx = &opened;
    return device == 0
               ? MXO_OK
               : one_layout_refuse(MXO_E_DEVICE, why, "there is one device, 0");
}

static void one_layout_close(void *ctx)
{
    (void)ctx;
}

static void one_layout_describe(void *ctx, mxo_text device, mxo_text driver)
{
    (void)ctx;
    (void)one_layout_refuse(MXO_OK, device, "this CPU");
    (void)one_layout_refuse(MXO_OK, driver, "none");
}

static mxo_status one_layout_alloc(void *ctx, uint64_t n_bytes, void **buffer)
{
    (void)ctx;
    *buffer = malloc((size_t)n_bytes + 1);
    return *buffer == NULL ? MXO_E_NOMEM : MXO_OK;
}

static void one_layout_dealloc(void *ctx, void *buffer)
{
    (void)ctx;
    free(buffer);
}

static mxo_status one_layout_upload(void *ctx, void *buffer, uint64_t offset,
                                    const void *src, uint64_t n, mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy((char *)buffer + offset, src, (size_t)n);
    return MXO_OK;
}

static mxo_status one_layout_download(void *ctx, void *dst, void *buffer,
                                      uint64_t offset, uint64_t n, mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy(dst, (const char *)buffer + offset, (size_t)n);
    return MXO_OK;
}

static mxo_status one_layout_synchronize(void *ctx, mxo_text why)
{
    (void)ctx;
    (void)why;
    return MXO_OK;
}

static void one_layout_kernel(void *ctx, mxo_text name)
{
    (void)ctx;
    (void)one_layout_refuse(MXO_OK, name, "the function");
}

static uint8_t *one_layout_bytes(const mxo_tensor *t)
{
    return (uint8_t *)t->buffer + t->offset;
}

static int one_layout_says(const mxo_call *call, const char *key,
                           const char *value)
{
    for (uint32_t i = 0; i < call->n_params; i++) {
        if (strcmp(call->params[i].key, key) == 0) {
            return strcmp(call->params[i].text, value) == 0;
        }
    }
    return 0;
}

/* Whether t has this name and holds bytes: as many as its shape, and some. */
static int one_layout_is_whole(const mxo_tensor *t, const char *name)
{
    uint64_t left = t->n_bytes;

    if (strcmp(t->name, name) != 0 || t->dtype != MXO_U8) {
        return 0;
    }
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->shape[i] == 0 || left % t->shape[i] != 0) {
            return 0;
        }
        left /= t->shape[i];
    }
    return left == 1;
}

/* One expert's bytes forward, nothing cut; all else is declined. */
static mxo_status one_layout_run(const mxo_call *call, const char *layout,
                                 one_layout_fn *function, mxo_text why)
{
    if (strcmp(call->op, "layout.apply") != 0 ||
        !one_layout_says(call, "layout", layout) ||
        !one_layout_says(call, "dtype", "u8") ||
        !one_layout_says(call, "dir", "forward") ||
        !one_layout_says(call, "keep_rows", "0") ||
        !one_layout_says(call, "keep_cols", "0")) {
        return one_layout_refuse(MXO_E_UNSUPPORTED, why,
                                 "one layout of bytes, forward");
    }
    if (call->n_params != 5) {
        return one_layout_refuse(MXO_E_PARAM, why,
                                 "layout.apply has five parameters");
    }
    if (call->n_in != 1 || call->n_out != 2 ||
        !one_layout_is_whole(&call->in[0], "x") ||
        !one_layout_is_whole(&call->out[0], "y") ||
        !one_layout_is_whole(&call->out[1], "valid") || call->in[0].rank != 3 ||
        call->out[0].n_bytes != call->out[1].n_bytes) {
        return one_layout_refuse(MXO_E_SHAPE, why,
                                 "x, y and valid are no tensors of bytes");
    }
    if (call->in[0].shape[0] != 1) {
        return one_layout_refuse(MXO_E_UNSUPPORTED, why, "one expert");
    }
    if (!function(one_layout_bytes(&call->out[0]), call->out[0].n_bytes,
                  one_layout_bytes(&call->in[0]), call->in[0].shape[1],
                  call->in[0].shape[2])) {
        return one_layout_refuse(MXO_E_SHAPE, why,
                                 "the function takes no such sizes");
    }
    /* Every byte is defined. */
    memset(one_layout_bytes(&call->out[1]), 1, (size_t)call->out[1].n_bytes);
    return MXO_OK;
}

#ifdef __cplusplus
#define ONE_LAYOUT_LINKAGE extern "C"
#else
#define ONE_LAYOUT_LINKAGE
#endif

#define ONE_LAYOUT(backend, layout, function)                                 \
    static mxo_status one_layout_call(void *ctx, const mxo_call *call,        \
                                      mxo_text why)                           \
    {                                                                         \
        (void)ctx;                                                            \
        return one_layout_run(call, layout, function, why);                   \
    }                                                                         \
    ONE_LAYOUT_LINKAGE MXO_EXPORT const mxo_backend *mxo_backend_entry(       \
        uint32_t version);                                                    \
    const mxo_backend *mxo_backend_entry(uint32_t version)                    \
    {                                                                         \
        static const char *const ops[] = {"layout.apply", NULL};              \
        static mxo_backend table;                                             \
        table.abi_version = MXO_ABI_VERSION;                                  \
        table.struct_size = sizeof table;                                     \
        table.name = backend;                                                 \
        table.version = "1";                                                  \
        table.ops = ops;                                                      \
        table.open = one_layout_open;                                         \
        table.close = one_layout_close;                                       \
        table.describe = one_layout_describe;                                 \
        table.alloc = one_layout_alloc;                                       \
        table.dealloc = one_layout_dealloc;                                   \
        table.upload = one_layout_upload;                                     \
        table.download = one_layout_download;                                 \
        table.synchronize = one_layout_synchronize;                           \
        table.run = one_layout_call;                                          \
        table.kernel = one_layout_kernel;                                     \
        table.limits = "{\"layout.apply\":{\"params\":{\"layout\":[\"" layout \
                       "\"],\"dtype\":[\"u8\"],\"dir\":[\"forward\"],"        \
                       "\"keep_rows\":[\"0\"],\"keep_cols\":[\"0\"]},"        \
                       "\"dims\":{\"experts\":{\"in\":[1]}}}}";               \
        return version == MXO_ABI_VERSION ? &table : NULL;                    \
    }

#endif
