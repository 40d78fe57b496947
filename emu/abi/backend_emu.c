/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulator wearing the backend ABI.  Dispatch is a table made from
 * ops.def; an operation is entered only after its call has been checked.
 */
#include "validate.h"

#include <mxoracle/mxoracle.h>

#include <stdlib.h>
#include <string.h>

#ifndef MXO_VERSION
#error "MXO_VERSION comes from configure"
#endif

enum { MAX_OUTPUTS = 16 };

typedef struct operation {
    mxo_status (*infer)(const mxo_call *, mxo_tensor *, uint32_t *, mxo_text);
    mxo_status (*run)(const mxo_call *, mxo_text);
} operation;

static const operation operations[] = {
#define MXO_OP(symbol, name, params, in, out, summary) \
    {infer_##symbol, run_##symbol},
#include <mxoracle/ops.def>
#undef MXO_OP
};

static const mxo_op_info op_info[] = {
#define MXO_OP(symbol, name, params, in, out, summary) \
    {name, summary, {params}, in, out},
#include <mxoracle/ops.def>
#undef MXO_OP
    {NULL, NULL, {NULL}, NULL, NULL},
};

static const char *const op_names[] = {
#define MXO_OP(symbol, name, params, in, out, summary) name,
#include <mxoracle/ops.def>
#undef MXO_OP
    NULL,
};

static char context; /* the address stands for "open"; nothing is stored */

static mxo_status emu_open(void **ctx, int device, mxo_text why)
{
    (void)device;
    (void)why;
    *ctx = &context;
    return MXO_OK;
}

static void emu_close(void *ctx)
{
    (void)ctx;
}

static void emu_describe(void *ctx, mxo_text device, mxo_text driver)
{
    (void)ctx;
    (void)mxo_fail(MXO_OK, device, "any CPU");
    (void)mxo_fail(MXO_OK, driver, "integer arithmetic");
}

/* Memory for the harness; the operations themselves never allocate. */
static mxo_status emu_alloc(void *ctx, uint64_t n_bytes, void **buffer)
{
    (void)ctx;
    *buffer = n_bytes > SIZE_MAX - 64 ? NULL : malloc((size_t)n_bytes + 1);
    return *buffer == NULL ? MXO_E_NOMEM : MXO_OK;
}

static void emu_dealloc(void *ctx, void *buffer)
{
    (void)ctx;
    free(buffer);
}

static mxo_status emu_upload(void *ctx, void *buffer, uint64_t offset,
                             const void *src, uint64_t n_bytes, mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy((uint8_t *)buffer + offset, src, (size_t)n_bytes);
    return MXO_OK;
}

static mxo_status emu_download(void *ctx, void *dst, void *buffer,
                               uint64_t offset, uint64_t n_bytes, mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy(dst, (uint8_t *)buffer + offset, (size_t)n_bytes);
    return MXO_OK;
}

static mxo_status emu_synchronize(void *ctx, mxo_text why)
{
    (void)ctx;
    (void)why;
    return MXO_OK;
}

static int find_op(const char *name)
{
    for (int i = 0; op_names[i] != NULL; i++) {
        if (mxo_same(op_names[i], name)) {
            return i;
        }
    }
    return -1;
}

static mxo_status infer_all(void *ctx, const mxo_call *call, mxo_tensor *out,
                            uint32_t *n_out, mxo_text why)
{
    const int i = find_op(call->op);

    (void)ctx;
    if (i < 0) {
        return mxo_fail(MXO_E_UNSUPPORTED, why, "%s is not an operation",
                        call->op);
    }
    if (*n_out < MAX_OUTPUTS) {
        return mxo_fail(MXO_E_SHAPE, why, "infer needs room for %d outputs",
                        MAX_OUTPUTS);
    }
    MXO_TRY(mxo_check_params(&op_info[i], call, why));
    MXO_TRY(mxo_check_inputs(&op_info[i], call, why));
    return operations[i].infer(call, out, n_out, why);
}

/* Outputs that are the caller's; one whose name starts with a dot is scratch,
   the last of them, and lives as long as the run. */
static uint32_t visible(const mxo_tensor *out, uint32_t n)
{
    return n > 0 && out[n - 1].name[0] == '.' ? n - 1 : n;
}

static mxo_status emu_infer(void *ctx, const mxo_call *call, mxo_tensor *out,
                            uint32_t *n_out, mxo_text why)
{
    const mxo_status status = infer_all(ctx, call, out, n_out, why);

    *n_out = status == MXO_OK ? visible(out, *n_out) : *n_out;
    return status;
}

static mxo_status run_with_scratch(const mxo_call *call, mxo_tensor *scratch,
                                   mxo_text why)
{
    mxo_tensor out[MAX_OUTPUTS];
    mxo_call whole = *call;

    memcpy(out, call->out, call->n_out * sizeof out[0]);
    if (emu_alloc(NULL, scratch->n_bytes, &scratch->buffer) != MXO_OK) {
        return mxo_fail(MXO_E_NOMEM, why, "%s needs %llu bytes of scratch",
                        call->op, (unsigned long long)scratch->n_bytes);
    }
    out[whole.n_out++] = *scratch;
    whole.out = out;
    const mxo_status status = operations[find_op(call->op)].run(&whole, why);

    free(scratch->buffer);
    return status;
}

static mxo_status emu_run(void *ctx, const mxo_call *call, mxo_text why)
{
    mxo_tensor want[MAX_OUTPUTS];
    uint32_t n = MAX_OUTPUTS;

    MXO_TRY(infer_all(ctx, call, want, &n, why));
    MXO_TRY(mxo_check_outputs(call, want, visible(want, n), why));
    return visible(want, n) < n ? run_with_scratch(call, &want[n - 1], why)
                                : operations[find_op(call->op)].run(call, why);
}

static void emu_kernel(void *ctx, mxo_text name)
{
    (void)ctx;
    (void)mxo_fail(MXO_OK, name, "emulator");
}

static const mxo_backend emulator = {
    .abi_version = MXO_ABI_VERSION,
    .struct_size = sizeof(mxo_backend),
    .name = "emu",
    .version = MXO_VERSION,
    .ops = op_names,
    .op_info = op_info,
    .open = emu_open,
    .close = emu_close,
    .describe = emu_describe,
    .alloc = emu_alloc,
    .dealloc = emu_dealloc,
    .upload = emu_upload,
    .download = emu_download,
    .synchronize = emu_synchronize,
    .infer = emu_infer,
    .run = emu_run,
    .kernel = emu_kernel,
};

const mxo_backend *mxo_emulator(void)
{
    return &emulator;
}

const char *mxo_version(void)
{
    return MXO_VERSION;
}
