/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an operation of the emulator reads its call.  By the time run_<symbol>
 * is entered, backend_emu.c has checked every parameter against ops.def,
 * every input's dtype, and every output against infer_<symbol>.
 */
#ifndef MXO_EMU_CALL_H
#define MXO_EMU_CALL_H

#include <mxoracle/abi.h>
#include <mxoracle/format.h>

#include <string.h>

#if defined(__FAST_MATH__) || \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "-ffast-math, -Ofast or a part of them: no bit would be sure"
#endif

/* One sentence into why; returns status, so that a check is one statement. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
mxo_status
mxo_fail(mxo_status status, mxo_text why, const char *format, ...);

/* Equal texts?  Most pairs differ in their first letter, and small calls ask
   this more often than they do anything else. */
static inline int mxo_same(const char *a, const char *b)
{
    return a[0] == b[0] && strcmp(a, b) == 0;
}

/* Parameters; the key exists (checked). */
const char *mxo_call_text(const mxo_call *call, const char *key);
int mxo_call_is(const mxo_call *call, const char *key, const char *value);
int64_t mxo_call_int(const mxo_call *call, const char *key);
double mxo_call_real(const mxo_call *call, const char *key);
/* Binary32 pattern of a real parameter, nearest even. */
uint32_t mxo_call_f32(const mxo_call *call, const char *key);
/* Index of the parameter's text in names[0..n-1], n if absent. */
int mxo_call_choice(const mxo_call *call, const char *key,
                    const char *const names[], int n);
/* Format named by a parameter ("element", "to"). */
mxo_format mxo_call_format(const mxo_call *call, const char *key);
/* Tensor type named by a parameter. */
uint32_t mxo_call_dtype(const mxo_call *call, const char *key);

/* Tensors by name; NULL if absent. */
const mxo_tensor *mxo_call_in(const mxo_call *call, const char *name);
const mxo_tensor *mxo_call_out(const mxo_call *call, const char *name);
/* The shape of an input, if the call has it; SHAPE and a sentence. */
mxo_status mxo_call_expect(const mxo_call *call, const char *name,
                           uint32_t rank, const uint64_t *shape, mxo_text why);

/* First byte of a tensor of the emulator (its buffers are host memory); NULL
   for an empty one that lies nowhere. */
void *mxo_tensor_data(const mxo_tensor *t);
uint64_t mxo_tensor_elems(const mxo_tensor *t);
/* Elements before, at and after axis (negative: from the end), as a product. */
void mxo_tensor_split(const mxo_tensor *t, int axis, uint64_t *outer,
                      uint64_t *len, uint64_t *inner);

/* Bytes of an element; 0 for an unknown type. */
uint32_t mxo_dtype_bytes(uint32_t dtype);
/* Type whose codes a format name travels in; MXO_N_DTYPES if unknown. */
uint32_t mxo_dtype_by_name(const char *name, size_t len);
mxo_format mxo_dtype_format(uint32_t dtype);

/* Element i as a bit pattern, host byte order. */
uint64_t mxo_load(const mxo_tensor *t, uint64_t i);
void mxo_store(const mxo_tensor *t, uint64_t i, uint64_t code);
/* E2M1 code i of packed bytes. */
uint8_t mxo_load_nibble(const uint8_t *packed, uint64_t i);
void mxo_store_nibble(uint8_t *packed, uint64_t i, uint8_t code);

/* Describe output number i: a dense tensor of this type and shape. */
void mxo_out(mxo_tensor *out, uint32_t i, const char *name, uint32_t dtype,
             uint32_t rank, const uint64_t *shape);

/* The one output of an elementwise operation: shaped like the input in. */
mxo_status mxo_infer_like(const mxo_call *call, const char *in,
                          mxo_tensor *out_tensor, uint32_t *n_out,
                          const char *name, uint32_t dtype);

#define MXO_OP(symbol, name, params, in, out, summary)                      \
    mxo_status infer_##symbol(const mxo_call *call, mxo_tensor *out_tensor, \
                              uint32_t *n_out, mxo_text why);               \
    mxo_status run_##symbol(const mxo_call *call, mxo_text why);
#include <mxoracle/ops.def>
#undef MXO_OP

#endif
