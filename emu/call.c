/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a call: parameters, tensors, elements.  See call.h. */
#include "call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct dtype_row {
    const char *name;
    uint32_t dtype;
    uint32_t bytes;
} dtype_row;

static const dtype_row dtypes[] = {
#define MXO_DTYPE(id, name, file, bytes, nan) {name, id, bytes},
#define MXO_DTYPE_ALIAS(name, id) {name, id, 0},
#include <mxoracle/dtype.def>
#undef MXO_DTYPE_ALIAS
#undef MXO_DTYPE
};

mxo_status mxo_fail(mxo_status status, mxo_text why, const char *format, ...)
{
    va_list args;

    if (why.ptr != NULL && why.size > 0) {
        va_start(args, format);
        (void)vsnprintf(why.ptr, why.size, format, args);
        va_end(args);
    }
    return status;
}

static const mxo_param *find_param(const mxo_call *call, const char *key)
{
    for (uint32_t i = 0; i < call->n_params; i++) {
        if (mxo_same(call->params[i].key, key)) {
            return &call->params[i];
        }
    }
    return NULL;
}

const char *mxo_call_text(const mxo_call *call, const char *key)
{
    const mxo_param *p = find_param(call, key);

    return p == NULL ? "" : p->text;
}

int mxo_call_is(const mxo_call *call, const char *key, const char *value)
{
    return mxo_same(mxo_call_text(call, key), value);
}

int64_t mxo_call_int(const mxo_call *call, const char *key)
{
    return (int64_t)mxo_call_real(call, key);
}

double mxo_call_real(const mxo_call *call, const char *key)
{
    const mxo_param *p = find_param(call, key);

    return p == NULL ? 0 : p->number;
}

uint32_t mxo_call_f32(const mxo_call *call, const char *key)
{
    return mxo_f32_from_f64(mxo_call_real(call, key));
}

int mxo_call_choice(const mxo_call *call, const char *key,
                    const char *const names[], int n)
{
    int i = 0;

    while (i < n && !mxo_call_is(call, key, names[i])) {
        i++;
    }
    return i;
}

mxo_format mxo_call_format(const mxo_call *call, const char *key)
{
    return mxo_format_by_name(mxo_call_text(call, key));
}

uint32_t mxo_call_dtype(const mxo_call *call, const char *key)
{
    const char *name = mxo_call_text(call, key);

    return mxo_dtype_by_name(name, strlen(name));
}

static const mxo_tensor *find_tensor(const mxo_tensor *t, uint32_t n,
                                     const char *name)
{
    for (uint32_t i = 0; i < n; i++) {
        if (mxo_same(t[i].name, name)) {
            return &t[i];
        }
    }
    return NULL;
}

const mxo_tensor *mxo_call_in(const mxo_call *call, const char *name)
{
    return find_tensor(call->in, call->n_in, name);
}

const mxo_tensor *mxo_call_out(const mxo_call *call, const char *name)
{
    return find_tensor(call->out, call->n_out, name);
}

mxo_status mxo_call_expect(const mxo_call *call, const char *name,
                           uint32_t rank, const uint64_t *shape, mxo_text why)
{
    const mxo_tensor *t = mxo_call_in(call, name);
    int same = t == NULL || t->rank == rank;

    for (uint32_t i = 0; t != NULL && same && i < rank; i++) {
        same = t->shape[i] == shape[i];
    }
    return same ? MXO_OK
                : mxo_fail(MXO_E_SHAPE, why,
                           "%s: the shape of %s does not fit the others",
                           call->op, name);
}

void *mxo_tensor_data(const mxo_tensor *t)
{
    /* An empty tensor may lie nowhere: nothing is added to a null pointer. */
    return t->offset == 0 ? t->buffer : (uint8_t *)t->buffer + t->offset;
}

uint64_t mxo_tensor_elems(const mxo_tensor *t)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < t->rank; i++) {
        n *= t->shape[i];
    }
    return n;
}

void mxo_tensor_split(const mxo_tensor *t, int axis, uint64_t *outer,
                      uint64_t *len, uint64_t *inner)
{
    const uint32_t at = (uint32_t)(axis < 0 ? axis + (int)t->rank : axis);

    *outer = 1;
    *inner = 1;
    *len = t->shape[at];
    for (uint32_t i = 0; i < t->rank; i++) {
        *outer *= i < at ? t->shape[i] : 1;
        *inner *= i > at ? t->shape[i] : 1;
    }
}

uint32_t mxo_dtype_bytes(uint32_t dtype)
{
    return dtype < MXO_N_DTYPES ? dtypes[dtype].bytes : 0;
}

uint32_t mxo_dtype_by_name(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (strlen(dtypes[i].name) == len &&
            memcmp(dtypes[i].name, name, len) == 0) {
            return dtypes[i].dtype;
        }
    }
    return MXO_N_DTYPES;
}

mxo_format mxo_dtype_format(uint32_t dtype)
{
    switch (dtype) {
    case MXO_F16:
        return MXO_FMT_F16;
    case MXO_BF16:
        return MXO_FMT_BF16;
    case MXO_F32:
        return MXO_FMT_F32;
    case MXO_F64:
        return MXO_FMT_F64;
    case MXO_E4M3:
        return MXO_FMT_E4M3FN;
    case MXO_E5M2:
        return MXO_FMT_E5M2;
    case MXO_E4M3FNUZ:
        return MXO_FMT_E4M3FNUZ;
    case MXO_E5M2FNUZ:
        return MXO_FMT_E5M2FNUZ;
    default:
        return MXO_N_FORMATS;
    }
}

uint64_t mxo_load(const mxo_tensor *t, uint64_t i)
{
    const uint8_t *base = mxo_tensor_data(t);
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;

    switch (mxo_dtype_bytes(t->dtype)) {
    case 1:
        return base[i];
    case 2:
        memcpy(&u16, base + 2 * i, 2);
        return u16;
    case 4:
        memcpy(&u32, base + 4 * i, 4);
        return u32;
    default:
        memcpy(&u64, base + 8 * i, 8);
        return u64;
    }
}

void mxo_store(const mxo_tensor *t, uint64_t i, uint64_t code)
{
    uint8_t *base = mxo_tensor_data(t);
    const uint16_t u16 = (uint16_t)code;
    const uint32_t u32 = (uint32_t)code;

    switch (mxo_dtype_bytes(t->dtype)) {
    case 1:
        base[i] = (uint8_t)code;
        break;
    case 2:
        memcpy(base + 2 * i, &u16, 2);
        break;
    case 4:
        memcpy(base + 4 * i, &u32, 4);
        break;
    default:
        memcpy(base + 8 * i, &code, 8);
        break;
    }
}

uint8_t mxo_load_nibble(const uint8_t *packed, uint64_t i)
{
    return (uint8_t)(packed[i / 2] >> (4 * (i % 2)) & 0xf);
}

void mxo_store_nibble(uint8_t *packed, uint64_t i, uint8_t code)
{
    const unsigned shift = 4 * (unsigned)(i % 2);

    packed[i / 2] =
        (uint8_t)((packed[i / 2] & ~(0xfu << shift)) | (unsigned)code << shift);
}

void mxo_out(mxo_tensor *out, uint32_t i, const char *name, uint32_t dtype,
             uint32_t rank, const uint64_t *shape)
{
    mxo_tensor *t = &out[i];

    memset(t, 0, sizeof *t);
    t->name = name;
    t->dtype = dtype;
    t->rank = rank;
    memcpy(t->shape, shape, rank * sizeof shape[0]);
    t->n_bytes = mxo_tensor_elems(t) * mxo_dtype_bytes(dtype);
}

mxo_status mxo_infer_like(const mxo_call *call, const char *in,
                          mxo_tensor *out_tensor, uint32_t *n_out,
                          const char *name, uint32_t dtype)
{
    const mxo_tensor *t = mxo_call_in(call, in);

    mxo_out(out_tensor, 0, name, dtype, t->rank, t->shape);
    *n_out = 1;
    return MXO_OK;
}
