/* SPDX-License-Identifier: Apache-2.0 */
/* See call_json.h. */
#include "call_json.h"

#include "base/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *json_u64(uint64_t n)
{
    char text[24];

    if (n <= INT64_MAX) {
        return json_integer((json_int_t)n);
    }
    (void)snprintf(text, sizeof text, "%" PRIu64, n);
    return json_string(text);
}

int json_to_u64(const json_t *value, uint64_t *n)
{
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *n = (uint64_t)json_integer_value(value);
        return 1;
    }
    return json_is_string(value) &&
           number_natural(json_string_value(value), 0, UINT64_MAX, n);
}

static json_t *tensor_to_json(const mxo_tensor *t, call_place *place)
{
    json_t *shape = json_array();
    json_t *o = json_object();

    for (uint32_t i = 0; i < t->rank && i < MXO_MAX_RANK; i++) {
        (void)json_array_append_new(shape, json_u64(t->shape[i]));
    }
    (void)json_object_set_new(o, "name", json_string(t->name));
    (void)json_object_set_new(o, "dtype", json_string(dtype_name(t->dtype)));
    (void)json_object_set_new(o, "shape", shape);
    (void)json_object_set_new(o, "bytes", json_u64(t->n_bytes));
    if (t->rank > 0 && t->stride[0] != 0) {
        json_t *strides = json_array();
        for (uint32_t i = 0; i < t->rank && i < MXO_MAX_RANK; i++) {
            (void)json_array_append_new(strides, json_u64(t->stride[i]));
        }
        (void)json_object_set_new(o, "strides", strides);
    }
    place(t, o);
    return o;
}

static json_t *tensors_to_json(const mxo_tensor *t, uint32_t n,
                               call_place *place)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < n; i++) {
        (void)json_array_append_new(list, tensor_to_json(&t[i], place));
    }
    return list;
}

void call_to_json(const mxo_call *call, call_place *place, json_t *object)
{
    json_t *params = json_object();

    for (uint32_t i = 0; i < call->n_params; i++) {
        (void)json_object_set_new(params, call->params[i].key,
                                  json_string(call->params[i].text));
    }
    (void)json_object_set_new(object, "op", json_string(call->op));
    (void)json_object_set_new(object, "params", params);
    (void)json_object_set_new(object, "in",
                              tensors_to_json(call->in, call->n_in, place));
    (void)json_object_set_new(object, "out",
                              tensors_to_json(call->out, call->n_out, place));
    if (call->workspace != NULL) {
        (void)json_object_set_new(object, "workspace",
                                  tensor_to_json(call->workspace, place));
    }
    if (call->stream != NULL) {
        (void)json_object_set_new(object, "stream",
                                  json_u64((uint64_t)(uintptr_t)call->stream));
    }
}

/* A parameter's number, which may be NaN: 0 unless all of the text is one. */
static double number_of(const char *text)
{
    char *end;
    const double x = number_decimal(text, &end);

    return end != text && *end == '\0' ? x : 0;
}

static int read_params(read_call *r, const json_t *params)
{
    const char *key;
    json_t *value;
    uint32_t n = 0;

    json_object_foreach((json_t *)params, key, value)
    {
        const char *text = json_string_value(value);
        if (text == NULL || n == CALL_PARAMS) {
            return -1;
        }
        r->params[n++] = (mxo_param){key, text, number_of(text)};
    }
    r->call.n_params = n;
    return json_is_object(params) ? 0 : -1;
}

/* One number for each axis, or nothing where it is dense. */
static int read_strides(mxo_tensor *t, const json_t *strides)
{
    int good = strides == NULL || json_array_size(strides) == t->rank;

    for (uint32_t i = 0; strides != NULL && good && i < t->rank; i++) {
        good = json_to_u64(json_array_get(strides, i), &t->stride[i]);
    }
    return good;
}

static int read_tensor(mxo_tensor *t, const json_t *o)
{
    const json_t *shape = json_object_get(o, "shape");
    const char *dtype = json_string_value(json_object_get(o, "dtype"));
    uint64_t buffer = 0;
    int good = 1;

    memset(t, 0, sizeof *t);
    t->name = json_string_value(json_object_get(o, "name"));
    if (t->name == NULL || dtype == NULL || !json_is_array(shape) ||
        json_array_size(shape) > MXO_MAX_RANK) {
        return -1;
    }
    t->dtype = dtype_by_name(dtype);
    t->rank = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < t->rank; i++) {
        good &= json_to_u64(json_array_get(shape, i), &t->shape[i]);
    }
    good &= json_to_u64(json_object_get(o, "bytes"), &t->n_bytes) &&
            json_to_u64(json_object_get(o, "offset"), &t->offset) &&
            read_strides(t, json_object_get(o, "strides"));
    (void)json_to_u64(json_object_get(o, "buffer"), &buffer);
    t->buffer = (void *)(uintptr_t)buffer;
    return good ? 0 : -1;
}

static int read_tensors(mxo_tensor *t, uint32_t *n, const json_t *list)
{
    const size_t size = json_array_size(list);
    int status = json_is_array(list) && size <= MXO_MAX_TENSORS ? 0 : -1;

    for (size_t i = 0; status == 0 && i < size; i++) {
        status = read_tensor(&t[i], json_array_get(list, i));
    }
    *n = (uint32_t)size;
    return status;
}

int call_from_json(read_call *r, const json_t *object)
{
    const json_t *workspace = json_object_get(object, "workspace");
    uint64_t stream = 0;

    memset(&r->call, 0, sizeof r->call);
    if (workspace != NULL && read_tensor(&r->workspace, workspace) == 0) {
        r->call.workspace = &r->workspace;
    }
    (void)json_to_u64(json_object_get(object, "stream"), &stream);
    r->call.stream = (void *)(uintptr_t)stream;
    r->call.struct_size = sizeof r->call;
    r->call.op = json_string_value(json_object_get(object, "op"));
    r->call.params = r->params;
    r->call.in = r->in;
    r->call.out = r->out;
    return r->call.op != NULL &&
                   read_params(r, json_object_get(object, "params")) == 0 &&
                   read_tensors(r->in, &r->call.n_in,
                                json_object_get(object, "in")) == 0 &&
                   read_tensors(r->out, &r->call.n_out,
                                json_object_get(object, "out")) == 0
               ? 0
               : -1;
}
