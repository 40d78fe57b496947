/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a call to a plan: reads parameters, checks tensors, picks the kernel.
 * A plan is only asked for when the call is what its operation's description
 * says (signature.h); outputs and what sizes mean are checked by the plans.
 */
#ifndef GPU_CALL_H
#define GPU_CALL_H

#include "port/device_types.h"
#include "port/runtime.h"

#include "../../common/call_read.h"

typedef struct gpu_room {
    void *p;
    uint64_t n;
} gpu_room;

/* A stream, and the device memory that calls on it keep from one to the next:
   calls of two streams run side by side.  A plan finds it in call->stream. */
typedef struct gpu_scratch {
    gpu_lanes lanes;    /* lane 0 is the stream */
    int captures;       /* the call becomes a graph, whose memory this is */
    gpu_room routed[2]; /* a router's outputs, and its scratch */
    gpu_room loaded[2]; /* weights brought back, and their chains' scratch */
    void *p;
    uint64_t n;
    int has_tensor_cores;    /* the ones that the layer's kernels are for */
    uint32_t units;          /* multiprocessors */
    void *published[2];      /* data that blocks of small_batch.h publish; NULL
                           before the first need; launches take turns */
    uint32_t n_published[2]; /* not blank, in sixteen bytes */
    uint32_t turn;
    void *heap;    /* of flush_l2.h, likewise */
    void *copy[2]; /* buffers of the yardstick's copy */
    uint64_t n_copy;
} gpu_scratch;

/* One launch of a call, and what comes after it. */
typedef struct gpu_plan {
    struct gpu_plan *next;
    gpu_scratch *scratch;
    const gpu_kernel *kernel; /* NULL: only clears */
    uint64_t blocks;          /* of work */
    uint32_t grid;            /* blocks of the launch */
    uint32_t threads;         /* of a block; 0: GPU_BLOCK */
    uint32_t shared;          /* bytes that the launch gives to a block */
    int overlaps;   /* kernels that say themselves when they need the one
                       before: the first of a plan waits all the same, as all
                       of a graph do */
    int together;   /* blocks wait for each other: all must be there at once */
    uint32_t waves; /* a launch has at most so many times the blocks that the
                       device holds, and they loop; 0: it has them all */
    int lane;       /* those of other lanes may run beside it, once all before
                       the first that is not of lane 0 is done */
    void (*turn)(
        struct gpu_plan *plan); /* arguments that each launch has anew */
    int cold;                   /* timed with nothing of it in the cache */
    void *clear;                /* bytes to set before the launch */
    uint64_t n_clear;
    int clear_to;
    const uint8_t *odd; /* a byte that the launch sets if it meets an element
                           that it has no answer for: nothing follows then */
    union {
        uint64_t align[2];
        uint8_t bytes[GPU_ARGS_BYTES];
    } args; /* the kernel's, see PLAN_ARGS */
} gpu_plan;

/* The argument of a plan's kernel as its type; zeros at first. */
#define PLAN_ARGS(plan, type)              \
    ((type *)(void *)((plan)->args.bytes + \
                      0 * sizeof(          \
                              char[sizeof(type) <= GPU_ARGS_BYTES ? 1 : -1])))

#define KERNEL(name, meets)             \
    {                                   \
#name, GPU_ADDRESS(name), meets \
    }

/* With 2^(l-1) < by <= 2^l, factor = floor(2^(31+l) / by) + 1 is too large by
   less than 2^l / by parts of 2^(31+l): too little for any i < 2^31. */
static inline gpu_divisor divisor_of(uint32_t by)
{
    gpu_divisor d = {by, 0, 31};

    while (by > 1u << (d.shift - 31)) {
        d.shift++;
    }
    if (by != 0) {
        d.factor = (uint32_t)(((uint64_t)1 << d.shift) / by + 1);
    }
    return d;
}

/* Another launch behind `plan`, or NULL. */
static inline gpu_plan *plan_append(gpu_plan *plan)
{
    while (plan->next != NULL) {
        plan = plan->next;
    }
    plan->next = (gpu_plan *)calloc(1, sizeof *plan);
    if (plan->next != NULL) {
        plan->next->scratch = plan->scratch;
    }
    return plan->next;
}

/* The first launch of a plan, or one behind it, with a thread for each output;
   NULL: no memory, which a first one never needs. */
static inline gpu_plan *plan_step(gpu_plan *plan, const gpu_kernel *kernel,
                                  uint64_t outputs)
{
    gpu_plan *const step = plan->kernel == NULL ? plan : plan_append(plan);

    if (step != NULL) {
        step->kernel = kernel;
        step->blocks = (outputs + GPU_BLOCK - 1) / GPU_BLOCK;
        step->waves = 4;
    }
    return step;
}

/* At least n bytes, aligned; what a call before had there is gone.  Where it
   must grow, the stream is waited for. */
static inline mxo_status room_need(gpu_scratch *s, void **p, uint64_t *size,
                                   uint64_t n, mxo_text why)
{
    if (*size >= n) {
        return MXO_OK;
    }
    if (*p != NULL) {
        MXO_TRY(gpu_stream_wait(s->lanes.stream[0], why));
    }
    gpu_free(*p);
    *p = NULL;
    *size = 0;
    const mxo_status status = gpu_malloc(p, n);
    if (status != MXO_OK) {
        *p = NULL;
        return gpu_fail(status, why, "no memory for what lies between steps");
    }
    *size = n;
    return MXO_OK;
}

static inline mxo_status scratch_need(gpu_scratch *s, uint64_t n, mxo_text why)
{
    return room_need(s, &s->p, &s->n, n, why);
}

/* The scratch becomes room, and room the scratch. */
static inline void scratch_swap(gpu_scratch *s, gpu_room *room)
{
    const gpu_room own = {s->p, s->n};

    s->p = room->p;
    s->n = room->n;
    *room = own;
}

/* Does the call become a graph?  Then nothing is known of what its tensors will
   hold, and what the host would refuse for that is the caller's to avoid. */
static inline int call_is_captured(const mxo_call *call)
{
    return ((const gpu_scratch *)call->stream)->captures;
}

/* To the device, in the order of the call's stream, which is waited for. */
static inline mxo_status call_send(const mxo_call *call, void *dst,
                                   const void *src, uint64_t n, mxo_text why)
{
    const gpu_scratch *const s = (const gpu_scratch *)call->stream;

    return gpu_upload(dst, src, n, s->lanes.stream[0], why);
}

/* The same from there, for what launches depend on: no graph has it. */
static inline mxo_status call_fetch(const mxo_call *call, void *dst,
                                    const void *src, uint64_t n, mxo_text why)
{
    const gpu_scratch *const s = (const gpu_scratch *)call->stream;

    return s->captures
               ? gpu_fail(MXO_E_UNSUPPORTED, why,
                          "%s on %s: no graph has what the host must read",
                          call->op, GPU_NAME)
               : gpu_download(dst, src, n, s->lanes.stream[0], why);
}

/* A parameter that is 0 or 1, by its text: no other text has a number. */
static inline mxo_status call_flag(const mxo_call *call, const char *key,
                                   uint32_t *flag, mxo_text why)
{
    *flag = (uint32_t)call_is(call, key, "1");
    return *flag != 0 || call_is(call, key, "0")
               ? MXO_OK
               : gpu_fail(MXO_E_PARAM, why, "%s: %s=%s is not 0 or 1", call->op,
                          key, call_text(call, key));
}

/* An input or output with this many bytes, or a sentence. */
static inline mxo_status need_tensor(const mxo_call *call, int is_output,
                                     const char *name, uint64_t n_bytes,
                                     uint8_t **address, mxo_text why)
{
    const mxo_tensor *const t =
        is_output ? call_out(call, name) : call_in(call, name);

    if (t == NULL) {
        return gpu_fail(MXO_E_SHAPE, why, "%s needs the tensor %s", call->op,
                        name);
    }
    if (t->n_bytes != n_bytes) {
        return gpu_fail(MXO_E_SHAPE, why, "%s: %s has the wrong size", call->op,
                        name);
    }
    *address = tensor_address(t);
    return MXO_OK;
}

/* Required type and shape of a tensor. */
typedef struct gpu_want {
    uint32_t dtype;
    uint32_t rank;
    uint64_t shape[MXO_MAX_RANK];
} gpu_want;

static inline gpu_want want_vector(uint32_t dtype, uint64_t n)
{
    const gpu_want w = {dtype, 1, {n}};

    return w;
}

/* The axes of t, but for the last. */
static inline gpu_want want_beside(const mxo_tensor *t, uint32_t dtype,
                                   uint64_t last)
{
    gpu_want w = {dtype, t->rank, {0}};

    memcpy(w.shape, t->shape, sizeof w.shape);
    w.shape[t->rank - 1] = last;
    return w;
}

/* need_tensor() for one whose type and extents are known. */
static inline mxo_status need_shaped(const mxo_call *call, int is_output,
                                     const char *name, const gpu_want *want,
                                     uint8_t **address, mxo_text why)
{
    const mxo_tensor *const t =
        is_output ? call_out(call, name) : call_in(call, name);

    if (t == NULL || t->dtype != want->dtype || t->rank != want->rank ||
        memcmp(t->shape, want->shape, t->rank * sizeof t->shape[0]) != 0) {
        return gpu_fail(MXO_E_SHAPE, why, "%s: %s is missing or not in shape",
                        call->op, name);
    }
    *address = tensor_address(t);
    return MXO_OK;
}

/* The same for a memory, which has elements of a type and no axes. */
static inline mxo_status need_memory(const mxo_call *call, const char *name,
                                     uint32_t dtype, uint64_t n,
                                     uint8_t **address, mxo_text why)
{
    const mxo_tensor *const t = call_out(call, name);

    if (t != NULL && t->dtype != dtype) {
        return gpu_fail(MXO_E_SHAPE, why, "%s: %s has another type", call->op,
                        name);
    }
    return need_tensor(call, 1, name, n, address, why);
}

#endif
