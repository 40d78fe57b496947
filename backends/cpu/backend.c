/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cpu backend's table for <mxoracle/abi.h>.  The device number chooses
 * the instruction set, so a judge can run every lane of one binary without
 * any environment variable.
 */
#include "strides.h"

#include "../common/signature.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

typedef struct operation {
    const char *name;
    mxo_status (*run)(cpu_context *, const mxo_call *, mxo_text);
} operation;

#define CPU_OP(name, function) {name, function},
static const operation operations[] = {
#include "ops.def"
};
#undef CPU_OP
enum { N_OPERATIONS = sizeof operations / sizeof operations[0] };

#define CPU_OP(name, function) name,
static const char *const op_names[] = {
#include "ops.def"
    NULL,
};
#undef CPU_OP

static mxo_status backend_open(void **ctx, int device, mxo_text why)
{
    const cpu_isa_ops *lane = cpu_isa_of(device, why);

    if (lane == NULL) {
        return MXO_E_DEVICE;
    }
    if (FLT_EVAL_METHOD != 0) {
        return cpu_fail(MXO_E_DEVICE, why,
                        "this build rounds float arithmetic wider than float");
    }
    cpu_context *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return cpu_fail(MXO_E_NOMEM, why, "no memory for a context");
    }
    c->lane = lane;
    *ctx = c;
    return MXO_OK;
}

static void backend_close(void *ctx)
{
    free(ctx);
}

static void backend_describe(void *ctx, mxo_text device, mxo_text driver)
{
    cpu_context *c = ctx;

    (void)cpu_fail(MXO_OK, device, "CPU, %s", c->lane->isa);
    (void)cpu_fail(MXO_OK, driver, "%d threads", cpu_threads(c, UINT64_MAX, 1));
}

static mxo_status backend_alloc(void *ctx, uint64_t n_bytes, void **buffer)
{
    (void)ctx;
    *buffer = n_bytes > SIZE_MAX - 128
                  ? NULL
                  : aligned_alloc(64, ((size_t)n_bytes + 64) / 64 * 64);
    return *buffer == NULL ? MXO_E_NOMEM : MXO_OK;
}

static void backend_dealloc(void *ctx, void *buffer)
{
    (void)ctx;
    free(buffer);
}

static mxo_status backend_upload(void *ctx, void *buffer, uint64_t offset,
                                 const void *src, uint64_t n_bytes,
                                 mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy((uint8_t *)buffer + offset, src, (size_t)n_bytes);
    return MXO_OK;
}

static mxo_status backend_download(void *ctx, void *dst, void *buffer,
                                   uint64_t offset, uint64_t n_bytes,
                                   mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy(dst, (const uint8_t *)buffer + offset, (size_t)n_bytes);
    return MXO_OK;
}

static mxo_status backend_synchronize(void *ctx, mxo_text why)
{
    (void)ctx;
    (void)why;
    return MXO_OK;
}

static mxo_status run_dense(void *ctx, const mxo_call *call, mxo_text why)
{
    if (call->struct_size != sizeof *call) {
        return cpu_fail(MXO_E_PARAM, why, "the call has another struct size");
    }
    for (int i = 0; i < N_OPERATIONS; i++) {
        if (strcmp(operations[i].name, call->op) == 0) {
            const mxo_status status =
                signature_check(call, "", SIGNATURE_ALL, why);
            return status == MXO_OK ? operations[i].run(ctx, call, why)
                                    : status;
        }
    }
    return cpu_fail(MXO_E_UNSUPPORTED, why, "the cpu backend has no %s",
                    call->op);
}

static mxo_status backend_run(void *ctx, const mxo_call *call, mxo_text why)
{
    return cpu_strides_bytes(call) == 0
               ? run_dense(ctx, call, why)
               : cpu_strides_run(ctx, call, run_dense, why);
}

static mxo_status backend_workspace(void *ctx, const mxo_call *call,
                                    uint64_t *n_bytes, mxo_text why)
{
    (void)ctx;
    (void)why;
    *n_bytes = cpu_strides_bytes(call);
    return MXO_OK;
}

static void backend_kernel(void *ctx, mxo_text name)
{
    const cpu_context *c = ctx;

    (void)cpu_fail(MXO_OK, name, "%s", c->kernel);
}

static void backend_set_threads(void *ctx, int n)
{
    cpu_context *c = ctx;

    c->n_threads = n < 0 ? 0 : n;
}

static const mxo_backend backend = {
    .abi_version = MXO_ABI_VERSION,
    .struct_size = sizeof(mxo_backend),
    .name = "cpu",
    .version = MXO_VERSION,
    .ops = op_names,
    .open = backend_open,
    .close = backend_close,
    .describe = backend_describe,
    .alloc = backend_alloc,
    .dealloc = backend_dealloc,
    .upload = backend_upload,
    .download = backend_download,
    .synchronize = backend_synchronize,
    .run = backend_run,
    .kernel = backend_kernel,
    .set_threads = backend_set_threads,
    .align = 1,
    .strides = "*",
    .workspace = backend_workspace,
};

const mxo_backend *cpu_backend(void);

const mxo_backend *cpu_backend(void)
{
    return &backend;
}
