/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract between the judge and everything it judges.
 *
 * A backend is one table of functions over plain data.  It needs this header
 * and nothing else: no function of libmxoracle, no C++ types, no allocator
 * shared with the judge.  The emulator wears the same table ("backend zero"),
 * so oracle and subject are driven by the same code.
 *
 * Buffers live where the backend wants them (host memory, a device).  The
 * judge only ever holds the opaque handle that alloc() returned, and moves
 * bytes with upload() and download().  A tensor is a handle plus an offset in
 * bytes, because the judge surrounds every tensor with guard bytes.  Where a
 * handle turns out to be the bytes' address in the judge's own process, it may
 * forbid all access to pages behind an input, or before it, from run() to
 * synchronize().
 */
#ifndef MXORACLE_ABI_H
#define MXORACLE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a struct below changes. */
#define MXO_ABI_VERSION 2u
#define MXO_MAX_RANK 6

#if defined(__GNUC__)
#define MXO_MUST_CHECK __attribute__((warn_unused_result))
#define MXO_EXPORT __attribute__((visibility("default")))
#else
#define MXO_MUST_CHECK
#define MXO_EXPORT
#endif

/**
 * Result of a call.  Every status but OK leaves all outputs untouched.
 * SHAPE        a tensor is missing or its shape, dtype or byte count is wrong
 * PARAM        a parameter is missing, unknown or out of its domain
 *              (either where sizes and parameters contradict each other)
 * UNSUPPORTED  legal, but this backend does not do it (not a failure)
 * NOMEM        no memory on host or device
 * DEVICE       the device or its driver failed; open(): there is no device
 */
typedef enum mxo_status {
    MXO_OK = 0,
    MXO_E_SHAPE = 1,
    MXO_E_PARAM = 2,
    MXO_E_UNSUPPORTED = 3,
    MXO_E_NOMEM = 4,
    MXO_E_DEVICE = 5
} mxo_status;

/* Leaves a function that owns nothing with the first status that is not OK. */
#define MXO_TRY(step)                    \
    do {                                 \
        const mxo_status tried = (step); \
        if (tried != MXO_OK) {           \
            return tried;                \
        }                                \
    } while (0)

/**
 * Element types of tensors.  Values are part of the ABI: append, never
 * renumber. Multi-byte elements are in the host's byte order inside buffers
 * (files are little endian; the judge converts).  E2M1 codes travel as U8, two
 * per byte, even index in the low nibble; E2M3 and E3M2 codes as U8, one per
 * byte.
 */
typedef enum mxo_dtype {
    MXO_U8 = 0,
    MXO_I8 = 1,
    MXO_U16 = 2,
    MXO_I16 = 3,
    MXO_U32 = 4,
    MXO_I32 = 5,
    MXO_U64 = 6,
    MXO_I64 = 7,
    MXO_F16 = 8,
    MXO_BF16 = 9,
    MXO_F32 = 10,
    MXO_F64 = 11,
    MXO_E4M3 = 12, /* OCP "FN": 7f/ff are NaN, no infinity */
    MXO_E5M2 = 13,
    MXO_E8M0 = 14,
    MXO_E4M3FNUZ = 15, /* 80 is the only NaN; tagged U8 in files */
    MXO_E5M2FNUZ = 16,
    MXO_BOOL = 17,
    MXO_N_DTYPES = 18
} mxo_dtype;

/** A caller's buffer for one sentence.  size 0 means "not wanted". */
typedef struct mxo_text {
    char *ptr;
    size_t size;
} mxo_text;

/**
 * One parameter.  text is its canonical spelling; number is its value when it
 * is numeric (booleans: 0 or 1), and 0 otherwise.  A real parameter that is
 * absent by intent has the text "none".  The judge always passes every
 * parameter of the operation: a backend never fills in a default.
 */
typedef struct mxo_param {
    const char *key;
    const char *text;
    double number;
} mxo_param;

/**
 * A row-major tensor.  n_bytes = product of shape times element size.
 * buffer is a handle from this backend's alloc(); the first element lies
 * offset bytes into it, aligned to 16 bytes at least (256 on devices), or as
 * the backend declares with align.
 * stride  all 0: dense.  Else, only for a tensor that the backend declares with
 *         strides: bytes from one index of each axis to the next.  Elements of
 *         the last axis lie side by side.  What is between rows, or between
 *         experts, is not the tensor's: it is neither read nor written.
 */
typedef struct mxo_tensor {
    const char *name;
    uint32_t dtype; /* mxo_dtype */
    uint32_t rank;
    uint64_t shape[MXO_MAX_RANK];
    uint64_t n_bytes;
    uint64_t offset;
    void *buffer;
    uint64_t stride[MXO_MAX_RANK];
} mxo_tensor;

/**
 * One operation on given bytes: the unit that is judged.
 * workspace  bytes for this call alone, as many as workspace() asked for; they
 *            hold anything.  NULL: it asked for none.
 * stream     one of stream_open(); NULL: the backend's own order.
 */
typedef struct mxo_call {
    uint32_t struct_size; /* sizeof(mxo_call) of the caller */
    uint32_t n_params;
    uint32_t n_in;
    uint32_t n_out;
    const char *op; /* "quant.mx" */
    const mxo_param *params;
    const mxo_tensor *in;
    const mxo_tensor *out;
    const mxo_tensor *workspace;
    void *stream;
} mxo_call;

/** C promises no literal of more than 4095 characters: params has several. */
#define MXO_PARAM_TEXTS 4

/**
 * Signature of an operation, as text.  Only the emulator must fill it in; a
 * backend that checks its calls by <mxoracle/ops.def> should.
 * params  "key:domain=default ...", domain = a|b|c, int, real, real? (may be
 *         "none"), bool, name (a word of letters, digits and ._-+/=), size
 *         (the extent of the dimension that stands in the default's place);
 *         texts follow one another up to the first that is NULL
 * in      "name:dtype[dim,dim] ...", dtype = a type name or $param, dim = an
 *         identifier of the case text, a number, or identifier*number,
 *         identifier/number (exact), number*identifier; "/pack" divides by 2
 *         if the parameter element is e2m1 and by 1 otherwise, "/key" by the
 *         value of an int parameter; "?key=a|b" after the bracket: present
 *         only then; "name@key": unless the parameter key is none, the tensor
 *         is what layout.convert of that conversion makes of the one described
 *         here, type and shape as layout.convert gives them, experts first
 * out     names of the outputs, in order; infer() gives types and shapes
 */
typedef struct mxo_op_info {
    const char *name;
    const char *summary;
    const char *params[MXO_PARAM_TEXTS];
    const char *in;
    const char *out;
} mxo_op_info;

/**
 * A backend.  Functions marked (opt) may be NULL.  All are called from one
 * thread at a time per context.  why receives a sentence on any status but OK.
 */
typedef struct mxo_backend {
    uint32_t abi_version; /* MXO_ABI_VERSION the backend was built with */
    uint32_t struct_size; /* sizeof(mxo_backend) it was built with */
    const char *name;     /* "cpu": short, lower case, unique */
    const char *version;  /* of the implementation, free text */

    /** Operations it may support, by name; NULL-terminated; borrowed. */
    const char *const *ops;
    /**
     * (opt) Descriptions, ended by a row whose name is NULL.  A backend fills
     * them in with <mxoracle/ops.def> of its own build.  Where that of the
     * judge says otherwise of an operation in ops, the backend is refused with
     * a sentence: built before a parameter was added, it would decline every
     * call.  Without them that is only seen in what a run declines.
     */
    const mxo_op_info *op_info;

    /** Device 0..; *ctx is the backend's. MXO_E_DEVICE: no such device. */
    mxo_status (*open)(void **ctx, int device, mxo_text why);
    void (*close)(void *ctx);
    /** Device and driver in words ("NVIDIA H200", "driver 580.1"). */
    void (*describe)(void *ctx, mxo_text device, mxo_text driver);

    mxo_status (*alloc)(void *ctx, uint64_t n_bytes, void **buffer);
    void (*dealloc)(void *ctx, void *buffer);
    mxo_status (*upload)(void *ctx, void *buffer, uint64_t offset,
                         const void *src, uint64_t n_bytes, mxo_text why);
    mxo_status (*download)(void *ctx, void *dst, void *buffer, uint64_t offset,
                           uint64_t n_bytes, mxo_text why);
    mxo_status (*synchronize)(void *ctx, mxo_text why);

    /**
     * (opt) Output dtypes and shapes for call->in and call->params; out has
     * room for *n_out tensors, *n_out becomes the number used. The emulator
     * must have it: the judge allocates from it.
     */
    mxo_status (*infer)(void *ctx, const mxo_call *call, mxo_tensor *out,
                        uint32_t *n_out, mxo_text why);
    /**
     * Check, then compute. Inputs are read alone: no byte is written, not even
     * to be put back, as others may read it. May return before the device has
     * finished: then other calls may come before synchronize(), and buffers,
     * streams and graphs come and go. The call, its texts and its tensors stay
     * until then.
     */
    mxo_status (*run)(void *ctx, const mxo_call *call, mxo_text why);
    /** (opt) Which kernel served the last run(): "quant_mx_avx512 x2". */
    void (*kernel)(void *ctx, mxo_text name);
    /** (opt) Worker threads to use from now on, 0 = all. */
    void (*set_threads)(void *ctx, int n);
    /**
     * (opt) Seconds the device itself spent in repeat runs of call, for
     * bench (device events; includes no transfer).
     */
    mxo_status (*time)(void *ctx, const mxo_call *call, uint32_t repeat,
                       double *seconds, mxo_text why);
    /** (opt) Same for a plain copy of n_bytes inside the device. */
    mxo_status (*time_copy)(void *ctx, uint64_t n_bytes, uint32_t repeat,
                            double *seconds, mxo_text why);
    /**
     * (opt) What it declares instead of declining it call by call: the JSON
     * object that docs/exec-protocol.md calls limits.
     */
    const char *limits;

    /**
     * (opt) Bytes to which a tensor's first element and its strides are
     * aligned at least: a power of two, 256 at most.  Elements are aligned to
     * their own size in any case.  0: as mxo_tensor says.
     */
    uint32_t align;
    /** (opt) Tensors that may have strides, by name: "x w13 y", or "*". */
    const char *strides;
    /**
     * (opt) Bytes of the workspace that run(), capture() or time() of this
     * call wants; 0: none.  What it refuses, run() refuses too.
     */
    mxo_status (*workspace)(void *ctx, const mxo_call *call, uint64_t *n_bytes,
                            mxo_text why);

    /**
     * (opt, the three together) Work that is put on a stream is done in the
     * order of putting, beside what is on others.  stream_upload():
     * microseconds of waiting, then the bytes; src is the caller's again when
     * it returns. synchronize() waits for all streams, too.
     */
    mxo_status (*stream_open)(void *ctx, void **stream, mxo_text why);
    void (*stream_close)(void *ctx, void *stream);
    mxo_status (*stream_upload)(void *ctx, void *stream, void *buffer,
                                uint64_t offset, const void *src,
                                uint64_t n_bytes, uint32_t microseconds,
                                mxo_text why);

    /**
     * (opt, the three together) The call kept as a graph, not made: the text
     * and the tensors of call may be gone when capture() returns, their buffers
     * stay; capture() writes no byte of an output.  Sizes, tensors and
     * parameters that run() refuses are refused by it or by launch().  launch()
     * makes it with the bytes that the buffers hold by then, as often as it is
     * asked for, on a stream or (NULL) in the backend's order; other calls may
     * have been made, and other graphs captured, launched and closed,
     * meanwhile.
     */
    mxo_status (*capture)(void *ctx, const mxo_call *call, void **graph,
                          mxo_text why);
    mxo_status (*launch)(void *ctx, void *graph, void *stream, mxo_text why);
    void (*graph_close)(void *ctx, void *graph);
    /**
     * (opt) What capture() does not take: operations by name, each perhaps
     * with values of one parameter: "moe.sort act.glu:per_expert=limit|all".
     */
    const char *uncaptured;
} mxo_backend;

/**
 * The one symbol a plugin exports. abi_version is the judge's: a backend that
 * cannot speak it returns NULL. The table is borrowed for the process's life.
 */
typedef const mxo_backend *(*mxo_backend_entry_fn)(uint32_t abi_version);
#define MXO_BACKEND_ENTRY "mxo_backend_entry"

#ifdef __cplusplus
}
#endif
#endif
