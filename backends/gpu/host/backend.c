/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ABI's table over the gpu_* functions of a runtime.  A call becomes a
 * plan (which kernel, how many blocks of work, its argument); run() launches
 * the plan once, time() many times between two events, capture() into a graph.
 */
#include "host/call_job.h"
#include "host/plans.h"
#include "host/stream.h"
#include "port/runtime.h"

#include "../../common/signature.h"

#if GPU_HAS_TIMER
#include "bench/flush_l2.h"
#endif

static mxo_status backend_open(void **ctx, int device, mxo_text why)
{
    gpu_context *const c = (gpu_context *)calloc(1, sizeof *c);

    if (c == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the context");
    }
    const mxo_status status = gpu_open(device, &c->device, why);
    if (status != MXO_OK) {
        free(c);
        return status;
    }
    c->scratch.has_tensor_cores = c->device.tensor_cores;
    c->scratch.units = c->device.units;
    *ctx = c;
    return MXO_OK;
}

static void backend_close(void *ctx)
{
    gpu_context *const c = (gpu_context *)ctx;

    scratch_close(&c->scratch);
    free(c);
}

static void backend_describe(void *ctx, mxo_text device, mxo_text driver)
{
    const gpu_context *const c = (const gpu_context *)ctx;

    (void)gpu_fail(MXO_OK, device, "%s", c->device.name);
    (void)gpu_fail(MXO_OK, driver, "%s", c->device.driver);
}

static mxo_status backend_alloc(void *ctx, uint64_t n_bytes, void **buffer)
{
    (void)ctx;
    return gpu_malloc(buffer, n_bytes);
}

static void backend_dealloc(void *ctx, void *buffer)
{
    (void)ctx;
    gpu_free(buffer);
}

static mxo_status backend_upload(void *ctx, void *buffer, uint64_t offset,
                                 const void *src, uint64_t n_bytes,
                                 mxo_text why)
{
    (void)ctx;
    return gpu_upload((uint8_t *)buffer + offset, src, n_bytes, NULL, why);
}

static mxo_status backend_download(void *ctx, void *dst, void *buffer,
                                   uint64_t offset, uint64_t n_bytes,
                                   mxo_text why)
{
    (void)ctx;
    return gpu_download(dst, (const uint8_t *)buffer + offset, n_bytes, NULL,
                        why);
}

uint32_t call_dtype(const mxo_call *call, const char *type)
{
    return signature_dtype(call, signature_from(type));
}

typedef mxo_status (*plan_fn)(const mxo_call *call, gpu_plan *plan,
                              mxo_text why);

static const struct {
    const char *op;
    plan_fn plan;
} operations[] = {
#define AS_ROW(name, plan) {name, plan},
    GPU_OPS(AS_ROW)};

static const char *const op_names[] = {
#define AS_NAME(name, plan) name,
    GPU_OPS(AS_NAME) NULL,
};

mxo_status plan_call(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (strcmp(operations[i].op, call->op) == 0) {
            const mxo_status status =
                signature_check(call, "", SIGNATURE_ALL, why);
            return status == MXO_OK ? operations[i].plan(call, plan, why)
                                    : status;
        }
    }
    return gpu_fail(MXO_E_UNSUPPORTED, why, "%s is not done on %s", call->op,
                    GPU_NAME);
}

static mxo_status backend_run(void *ctx, const mxo_call *call, mxo_text why)
{
    gpu_context *const c = (gpu_context *)ctx;
    call_job job;
    mxo_status status =
        call_job_make(c, stream_scratch(c, call->stream), call, &job, why);

    if (status == MXO_OK) {
        status = call_job_launch(&job, why);
    }
    call_job_end(&job);
    return status;
}

static mxo_status backend_workspace(void *ctx, const mxo_call *call,
                                    uint64_t *n_bytes, mxo_text why)
{
    (void)ctx;
    (void)why;
    *n_bytes = dense_call_bytes(call);
    return MXO_OK;
}

static void backend_kernel(void *ctx, mxo_text name)
{
    const gpu_context *const c = (const gpu_context *)ctx;

    (void)gpu_fail(MXO_OK, name, "%s, %u blocks of %d",
                   c->kernel == NULL ? "none" : c->kernel, (unsigned)c->grid,
                   (int)(c->threads == 0 ? (uint32_t)GPU_BLOCK : c->threads));
}

#if GPU_HAS_TIMER
/* Copies of tensors that are not as the kernels want them count, too. */
static mxo_status time_job(call_job *job, uint32_t repeat, double *seconds,
                           mxo_text why)
{
    gpu_timer timer;
    mxo_status status = call_job_put(job, why); /* warm up */

    if (status == MXO_OK) {
        status = gpu_timer_open(&timer, job->plan.cold, why);
    }
    if (status != MXO_OK) {
        return status;
    }
    if (job->plan.cold) {
        status = flush_l2(job->plan.scratch, why);
    }
    if (status != MXO_OK) {
        gpu_timer_close(&timer);
        return status;
    }
    status = gpu_timer_start(&timer, why);
    if (status != MXO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < repeat && status == MXO_OK; i++) {
        status = call_job_put(job, why);
    }
    const mxo_status stopped = gpu_timer_stop(&timer, seconds, why);
    return status == MXO_OK ? stopped : status;
}

static mxo_status backend_time(void *ctx, const mxo_call *call, uint32_t repeat,
                               double *seconds, mxo_text why)
{
    gpu_context *const c = (gpu_context *)ctx;
    call_job job;

#if GPU_HAS_FUSED
    if (strcmp(call->op, "yardstick.gemm_bf16") == 0) {
        return time_library(call, repeat, seconds, why);
    }
#endif
    mxo_status status = call_job_make(c, &c->scratch, call, &job, why);

    if (status == MXO_OK) {
        status = time_job(&job, repeat, seconds, why);
    }
    call_job_end(&job);
    return status;
}

static void copy_end(gpu_scratch *s)
{
    gpu_free(s->copy[0]);
    gpu_free(s->copy[1]);
    s->copy[0] = NULL;
    s->copy[1] = NULL;
    s->n_copy = 0;
}

/* Two buffers that have been written: fresh pages may share one.  They are
   kept: memory that comes and goes between samples makes the device look up
   anew where the operation's is. */
static mxo_status copy_begin(gpu_scratch *s, uint64_t n_bytes, mxo_text why)
{
    mxo_status status = MXO_OK;

    if (s->n_copy == n_bytes) {
        return MXO_OK;
    }
    copy_end(s);
    for (int i = 0; i < 2 && status == MXO_OK; i++) {
        status = gpu_malloc(&s->copy[i], n_bytes);
    }
    if (status != MXO_OK) {
        copy_end(s);
        return gpu_fail(status, why, "no room for two buffers of that size");
    }
    s->n_copy = n_bytes;
    return gpu_fill(s->copy[0], 0x5a, n_bytes, NULL, why);
}

static mxo_status backend_time_copy(void *ctx, uint64_t n_bytes,
                                    uint32_t repeat, double *seconds,
                                    mxo_text why)
{
    gpu_scratch *const s = &((gpu_context *)ctx)->scratch;
    gpu_timer timer;
    mxo_status status = copy_begin(s, n_bytes, why);

    if (status == MXO_OK) {
        status =
            gpu_copy(s->copy[1], s->copy[0], n_bytes, NULL, why); /* warm up */
    }
    if (status == MXO_OK) {
        status = gpu_timer_begin(&timer, why);
    }
    if (status != MXO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < repeat && status == MXO_OK; i++) {
        status = gpu_copy(s->copy[1], s->copy[0], n_bytes, NULL, why);
    }
    const mxo_status stopped = gpu_timer_stop(&timer, seconds, why);
    return status == MXO_OK ? stopped : status;
}
#else
#define backend_time NULL
#define backend_time_copy NULL
#endif

/* In the order of the struct: C++ before 20 has no designated initialisers. */
static const mxo_backend backend = {
    MXO_ABI_VERSION,
    sizeof(mxo_backend),
    GPU_NAME,
    "0.1 " GPU_LABEL,
    op_names,
    signatures, /* op_info */
    backend_open,
    backend_close,
    backend_describe,
    backend_alloc,
    backend_dealloc,
    backend_upload,
    backend_download,
    backend_synchronize,
    NULL, /* infer */
    backend_run,
    backend_kernel,
    NULL, /* set_threads */
    backend_time,
    backend_time_copy,
    NULL, /* limits */
    1,    /* align */
    "*",  /* strides */
    backend_workspace,
    backend_stream_open,
    backend_stream_close,
    backend_stream_upload,
    backend_capture,
    backend_launch,
    backend_graph_close,
    "act.glu:per_expert=limit|all act.glu:gather=1 "
    "layout.grouped layout.groups "
    "moe.gemm1:per_expert=alpha|beta|limit|all "
    "moe.layer:per_expert=alpha|beta|limit|all "
    "moe.layer_routed:per_expert=alpha|beta|limit|all "
    "moe.nvfp4_gemm1 moe.nvfp4_layer quant.mxfp4_to_nvfp4",
};

#if defined(SIMT_WARP)
/* simt32_backend() or simt64_backend() */
const mxo_backend *SIMT_GLOBAL(backend)(void);

const mxo_backend *SIMT_GLOBAL(backend)(void)
{
    return &backend;
}
#else
extern "C" MXO_EXPORT const mxo_backend *mxo_backend_entry(uint32_t version);

extern "C" const mxo_backend *mxo_backend_entry(uint32_t version)
{
    return version == MXO_ABI_VERSION ? &backend : NULL;
}
#endif
