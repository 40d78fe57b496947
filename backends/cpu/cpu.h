/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the cpu backend: what its files share.  Operations check a call,
 * prepare tables that turn every dialect into data, and hand ranges of
 * independent outputs to a lane: the same few inner loops written once per
 * instruction set.  Whatever a lane finds hard it leaves to scalar code, so
 * all lanes give the same bits.
 */
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include "isa/isa_ops.h"

#include "../common/call_read.h"

#include <mxoracle/abi.h>

#include <stdint.h>

enum { CPU_KERNEL_TEXT = 64 };

typedef struct cpu_context {
    const cpu_isa_ops *lane;
    int n_threads; /* asked for; 0 = all */
    char kernel[CPU_KERNEL_TEXT];
} cpu_context;

/* The next multiple of to, n if it is one. */
static inline uint64_t cpu_round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* One sentence into why; returns status. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
mxo_status
cpu_fail(mxo_status status, mxo_text why, const char *format, ...);

/* A parameter that is 0 or 1, by its text; else PARAM with a sentence. */
mxo_status cpu_flag(const mxo_call *call, const char *key, int *flag,
                    mxo_text why);
/* Index of the text in the NULL-terminated list, -1 if absent. */
int cpu_choice(const mxo_call *call, const char *key, const char *const *list);

static inline void *cpu_data(const mxo_tensor *t)
{
    return tensor_address(t);
}

/* Shape and type as stated, bytes to match; else SHAPE with a sentence. */
mxo_status cpu_want(const mxo_tensor *t, const char *name, uint32_t dtype,
                    uint32_t rank, const uint64_t *shape, mxo_text why);
/* The same for an output whose shape is the emulator's to state. */
mxo_status cpu_want_bytes(const mxo_tensor *t, const char *name, uint32_t dtype,
                          uint64_t bytes, mxo_text why);
/* UNSUPPORTED if the call has a parameter that is not in "key key ...": a
   parameter added later must not be ignored. */
/* UNSUPPORTED if the call asks for bounds in place of results. */
mxo_status cpu_no_bounds(const mxo_call *call, mxo_text why);
mxo_status cpu_known(const mxo_call *call, const char *keys, mxo_text why);
uint32_t cpu_dtype_bytes(uint32_t dtype);
/* f32, bf16, f16; MXO_N_DTYPES for other texts. */
uint32_t cpu_float_dtype(const char *text);

/* Items [begin, end) of a job whose outputs do not touch other items'. */
typedef void (*cpu_span)(void *job, uint64_t begin, uint64_t end);

/* Run span over [0, items), in ranges that start at multiples of grain. */
void cpu_split(cpu_context *ctx, uint64_t items, uint64_t grain, cpu_span span,
               void *job);
/* The same, one item after the other to whichever thread is free. */
void cpu_each(cpu_context *ctx, uint64_t items, cpu_span span, void *job);
/* 1 into a flag that any thread may set. */
void cpu_set_flag(int *flag);
/* Threads that cpu_split would use. */
int cpu_threads(const cpu_context *ctx, uint64_t items, uint64_t grain);
/* "<what>_<isa> x<threads>" for kernel(). */
void cpu_name_kernel(cpu_context *ctx, const char *what, int threads);

/* Lane of a device number, NULL with a sentence if there is none. */
const cpu_isa_ops *cpu_isa_of(int device, mxo_text why);

#define CPU_OP(name, function) \
    mxo_status function(cpu_context *ctx, const mxo_call *call, mxo_text why);
#include "ops.def"
#undef CPU_OP

#endif
