/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call's parameters and tensors by name, for the native backends.  Plain C
 * that is C++ too.
 */
#ifndef BACKENDS_CALL_READ_H
#define BACKENDS_CALL_READ_H

#include <mxoracle/abi.h>

#include <stdio.h>
#include <string.h>

static inline const mxo_param *call_param(const mxo_call *call, const char *key)
{
    for (uint32_t i = 0; i < call->n_params; i++) {
        if (strcmp(call->params[i].key, key) == 0) {
            return &call->params[i];
        }
    }
    return NULL;
}

/* A missing key reads as "" and 0. */
static inline const char *call_text(const mxo_call *call, const char *key)
{
    const mxo_param *const p = call_param(call, key);

    return p == NULL ? "" : p->text;
}

static inline int call_is(const mxo_call *call, const char *key,
                          const char *value)
{
    return strcmp(call_text(call, key), value) == 0;
}

static inline double call_number(const mxo_call *call, const char *key)
{
    const mxo_param *const p = call_param(call, key);

    return p == NULL ? 0 : p->number;
}

static inline const mxo_tensor *find_tensor(const mxo_tensor *t, uint32_t n,
                                            const char *name)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(t[i].name, name) == 0) {
            return &t[i];
        }
    }
    return NULL;
}

static inline const mxo_tensor *call_in(const mxo_call *call, const char *name)
{
    return find_tensor(call->in, call->n_in, name);
}

static inline const mxo_tensor *call_out(const mxo_call *call, const char *name)
{
    return find_tensor(call->out, call->n_out, name);
}

static inline uint8_t *tensor_address(const mxo_tensor *t)
{
    return (uint8_t *)t->buffer + t->offset;
}

/* "operation: sentence" into why; returns status. */
static inline mxo_status call_refuse(const mxo_call *call, mxo_status status,
                                     mxo_text why, const char *sentence)
{
    if (why.ptr != NULL && why.size > 0) {
        (void)snprintf(why.ptr, why.size, "%s: %s", call->op, sentence);
    }
    return status;
}

#endif
