/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a call of the ABI: parameters, tensors, checks.  Everything a
 * caller can get wrong is answered here or in the operation, before the first
 * byte is written.
 */
#include "cpu.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

mxo_status cpu_fail(mxo_status status, mxo_text why, const char *format, ...)
{
    va_list args;

    if (why.ptr != NULL && why.size > 0) {
        va_start(args, format);
        (void)vsnprintf(why.ptr, why.size, format, args);
        va_end(args);
    }
    return status;
}

mxo_status cpu_flag(const mxo_call *call, const char *key, int *flag,
                    mxo_text why)
{
    *flag = call_is(call, key, "1");
    return *flag || call_is(call, key, "0")
               ? MXO_OK
               : cpu_fail(MXO_E_PARAM, why, "%s: %s=%s is not 0 or 1", call->op,
                          key, call_text(call, key));
}

int cpu_choice(const mxo_call *call, const char *key, const char *const *list)
{
    for (int i = 0; list[i] != NULL; i++) {
        if (call_is(call, key, list[i])) {
            return i;
        }
    }
    return -1;
}

uint32_t cpu_dtype_bytes(uint32_t dtype)
{
    switch (dtype) {
    case MXO_U16:
    case MXO_I16:
    case MXO_F16:
    case MXO_BF16:
        return 2;
    case MXO_U32:
    case MXO_I32:
    case MXO_F32:
        return 4;
    case MXO_U64:
    case MXO_I64:
    case MXO_F64:
        return 8;
    default:
        return 1;
    }
}

uint32_t cpu_float_dtype(const char *text)
{
    static const struct {
        const char *text;
        uint32_t dtype;
    } rows[] = {{"f32", MXO_F32}, {"bf16", MXO_BF16}, {"f16", MXO_F16}};

    for (int i = 0; i < 3; i++) {
        if (strcmp(rows[i].text, text) == 0) {
            return rows[i].dtype;
        }
    }
    return MXO_N_DTYPES;
}

mxo_status cpu_want(const mxo_tensor *t, const char *name, uint32_t dtype,
                    uint32_t rank, const uint64_t *shape, mxo_text why)
{
    uint64_t bytes = cpu_dtype_bytes(dtype);

    if (t == NULL) {
        return cpu_fail(MXO_E_SHAPE, why, "the tensor %s is missing", name);
    }
    if (t->dtype != dtype || t->rank != rank) {
        return cpu_fail(MXO_E_SHAPE, why, "%s has the wrong type or rank",
                        name);
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (t->shape[i] != shape[i] ||
            (shape[i] != 0 && bytes > INT64_MAX / shape[i])) {
            return cpu_fail(MXO_E_SHAPE, why, "%s has the wrong shape", name);
        }
        bytes *= shape[i];
    }
    if (t->n_bytes != bytes || (bytes > 0 && t->buffer == NULL)) {
        return cpu_fail(MXO_E_SHAPE, why, "the bytes of %s do not fit", name);
    }
    return MXO_OK;
}

mxo_status cpu_want_bytes(const mxo_tensor *t, const char *name, uint32_t dtype,
                          uint64_t bytes, mxo_text why)
{
    if (t == NULL) {
        return cpu_fail(MXO_E_SHAPE, why, "the tensor %s is missing", name);
    }
    if (t->dtype != dtype || t->n_bytes != bytes ||
        (bytes > 0 && t->buffer == NULL)) {
        return cpu_fail(MXO_E_SHAPE, why, "%s has the wrong type or size",
                        name);
    }
    return MXO_OK;
}

mxo_status cpu_no_bounds(const mxo_call *call, mxo_text why)
{
    return call_is(call, "bounds", "0")
               ? MXO_OK
               : cpu_fail(MXO_E_UNSUPPORTED, why,
                          "the cpu backend computes results, not their bounds");
}

mxo_status cpu_known(const mxo_call *call, const char *keys, mxo_text why)
{
    for (uint32_t i = 0; i < call->n_params; i++) {
        const char *key = call->params[i].key;
        const size_t n = strlen(key);
        const char *at = keys;

        while (at != NULL &&
               (strncmp(at, key, n) != 0 || (at[n] != ' ' && at[n] != '\0'))) {
            at = strchr(at, ' ');
            at = at == NULL ? NULL : at + 1;
        }
        if (at == NULL) {
            return cpu_fail(MXO_E_UNSUPPORTED, why,
                            "the cpu backend does not know the parameter %s",
                            key);
        }
    }
    return MXO_OK;
}
