/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.convert: the six tensors of a layer through the chains of a row of
 * conversions.def.
 */
#include "layout_chain.h"

#include <stdlib.h>
#include <string.h>

enum { TENSORS = 6 };

static const char *const tensor_names[TENSORS] = {
    "w13", "w13_scale", "w13_bias", "w2", "w2_scale", "w2_bias",
};
static const char *const valid_names[TENSORS] = {
    "w13_valid", "w13_scale_valid", "w13_bias_valid",
    "w2_valid",  "w2_scale_valid",  "w2_bias_valid",
};

typedef struct conversion {
    const char *id;
    const char *params;
    const char *needs;
    const char *bias;
    const char *chain[TENSORS];
} conversion;

static const conversion rows[] = {
#define MXO_CONVERSION(id, params, needs, bias, w13, w13_scale, w13_bias, w2, \
                       w2_scale, w2_bias, source)                             \
    {id,                                                                      \
     params,                                                                  \
     needs,                                                                   \
     bias,                                                                    \
     {w13, w13_scale, w13_bias, w2, w2_scale, w2_bias}},
#include <mxoracle/conversions.def>
#undef MXO_CONVERSION
};

/* The row whose id is name, up to a '.' or '/'. */
static const conversion *conversion_of(const char *name)
{
    const size_t n = strcspn(name, "./");

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strlen(rows[i].id) == n && memcmp(rows[i].id, name, n) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

int cpu_conversion_tensor(const char *name)
{
    const char *dot = name + strcspn(name, "./");
    const size_t n = *dot == '.' ? strcspn(dot + 1, "/") : 0;

    for (int i = 0; i < TENSORS && conversion_of(name) != NULL; i++) {
        if (strlen(tensor_names[i]) == n &&
            memcmp(tensor_names[i], dot + 1, n) == 0) {
            return i;
        }
    }
    return -1;
}

static size_t word_length(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
}

/* Text of parameter key in "key=text<separator>..."; NULL if absent. */
static const char *text_of(const char *list, char separator, const char *key,
                           size_t key_length, size_t *length)
{
    const char both[] = {separator, '\0'};

    while (list != NULL && *list != '\0') {
        list += strspn(list, both);
        const size_t n = strcspn(list, both);
        if (n > key_length && memcmp(list, key, key_length) == 0 &&
            list[key_length] == '=') {
            *length = n - key_length - 1;
            return list + key_length + 1;
        }
        list += n;
    }
    return NULL;
}

/* Every "/key=text" of the name is a parameter of the row. */
static mxo_status check_params(const conversion *row, const char *name,
                               mxo_text why)
{
    for (const char *p = strchr(name, '/'); p != NULL; p = strchr(p, '/')) {
        size_t unused = 0;
        const size_t key = word_length(++p);
        if (key == 0 || p[key] != '=' ||
            text_of(row->params, ' ', p, key, &unused) == NULL) {
            return cpu_fail(MXO_E_PARAM, why,
                            "the conversion %s has no parameter \"%.*s\"",
                            row->id, (int)key, p);
        }
        if (cpu_is_given_again(p, key)) {
            return cpu_fail(MXO_E_PARAM, why, "%.*s is given twice", (int)key,
                            p);
        }
    }
    return MXO_OK;
}

/* A row's chain with each $name as the text that it stands for. */
mxo_status cpu_conversion_chain(const char *name, int tensor, char *text,
                                mxo_text why)
{
    const conversion *row = conversion_of(name);
    const char *at = row->chain[tensor];
    size_t used = 0;

    MXO_TRY(check_params(row, name, why));
    while (*at != '\0') {
        const size_t key = *at == '$' ? word_length(at + 1) : 0;
        size_t length = 1;
        const char *from = at;

        if (*at == '$') {
            from = text_of(strchr(name, '/'), '/', at + 1, key, &length);
            from = from != NULL
                       ? from
                       : text_of(row->params, ' ', at + 1, key, &length);
        }
        if (from == NULL || used + length >= CPU_CHAIN_TEXT) {
            return cpu_fail(MXO_E_PARAM, why,
                            "the chain of %s cannot be filled in", row->id);
        }
        memcpy(text + used, from, length);
        used += length;
        at += 1 + key;
    }
    text[used] = '\0';
    return MXO_OK;
}

static int leaves(const conversion *row, int i)
{
    return i % 3 != 2 || strcmp(row->bias, "none") != 0;
}

int cpu_conversion_leaves(const char *name, int tensor)
{
    return leaves(conversion_of(name), tensor);
}

/* One tensor: all is checked, values too, or all is done. */
static mxo_status convert_one(cpu_context *ctx, const mxo_call *call,
                              const conversion *row, int i, cpu_chain *c,
                              int check, mxo_text why)
{
    const mxo_tensor *in = call_in(call, tensor_names[i]);
    const mxo_tensor *out = call_out(call, tensor_names[i]);
    const mxo_tensor *valid = call_out(call, valid_names[i]);
    char text[CPU_CHAIN_TEXT];

    if (in == NULL || !leaves(row, i)) {
        return MXO_OK;
    }
    const uint64_t extent[3] = {in->shape[0], in->shape[1],
                                in->rank == 2 ? 1 : in->shape[2]};

    MXO_TRY(cpu_conversion_chain(call_text(call, "conversion"), i, text, why));
    MXO_TRY(cpu_chain_of(c, text, in->dtype, extent, why));
    const cpu_stage *last = &c->stage[c->n - 1];

    if (last->map.n_records > 0) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend converts no layer to records");
    }
    if (!check) {
        MXO_TRY(cpu_chain_run(ctx, c, 1, cpu_data(out), cpu_data(in), why));
        return valid != NULL ? cpu_chain_valid(ctx, c, cpu_data(valid), why)
                             : MXO_OK;
    }
    const uint64_t n = last->map.physical_bits / last->map.elem_bits;

    MXO_TRY(cpu_want_bytes(out, tensor_names[i], last->physical,
                           n * cpu_dtype_bytes(last->physical), why));
    if (valid != NULL) {
        MXO_TRY(cpu_want_bytes(valid, valid_names[i], MXO_U8, n, why));
    }
    return cpu_chain_check(ctx, c, cpu_data(in), why);
}

/* Check the loader's requirements on the whole layer. */
static mxo_status check_needs(const conversion *row, const uint64_t w13[3],
                              int has_bias, mxo_text why)
{
    const cpu_row layer = {
        row->id,    "8", "keep", "", "hidden=$cols*2 inter=$rows/2",
        row->needs, ""};
    cpu_names names;

    if (strcmp(row->bias, "required") == 0 && !has_bias) {
        return cpu_fail(MXO_E_SHAPE, why, "conversion %s needs both biases",
                        row->id);
    }
    return cpu_names_of(&names, &layer, row->id, w13, 1, why);
}

/* The row of a whole conversion, not of one tensor of it. */
static mxo_status row_of(const char *name, const conversion **row, mxo_text why)
{
    *row = strchr(name, '.') == NULL ? conversion_of(name) : NULL;
    return *row != NULL ? MXO_OK
                        : cpu_fail(MXO_E_PARAM, why,
                                   "no conversion is called %.60s", name);
}

mxo_status cpu_conversion_takes(const char *name, const uint64_t w13[3],
                                int has_bias, mxo_text why)
{
    const conversion *row;

    MXO_TRY(row_of(name, &row, why));
    return check_needs(row, w13, has_bias, why);
}

static mxo_status check_layer(const mxo_call *call, const conversion *row,
                              mxo_text why)
{
    const mxo_tensor *w13 = call_in(call, "w13");
    const mxo_tensor *w2 = call_in(call, "w2");

    if (w13 == NULL || w2 == NULL || w13->rank != 3 || w2->rank != 3) {
        return cpu_fail(MXO_E_SHAPE, why, "w13 and w2 have three axes");
    }
    for (int i = 1; i < TENSORS; i++) {
        const mxo_tensor *t = call_in(call, tensor_names[i]);
        if (t != NULL &&
            (t->rank < 2 || t->rank > 3 || t->shape[0] != w13->shape[0])) {
            return cpu_fail(MXO_E_SHAPE, why, "%s has other experts than w13",
                            tensor_names[i]);
        }
    }
    return check_needs(row, w13->shape, call_is(call, "bias", "1"), why);
}

/* Patterns of positive floats are ordered as the floats are. */
static mxo_status keep_largest(const mxo_call *call, const char *from,
                               const char *to, int check, mxo_text why)
{
    const mxo_tensor *x = call_in(call, from);
    const mxo_tensor *y = call_out(call, to);
    uint32_t largest = 0;

    if (check) {
        return x == NULL ? cpu_fail(MXO_E_SHAPE, why,
                                    "the tensor %s is missing", from)
                         : cpu_want_bytes(y, to, MXO_F32, 4, why);
    }
    for (uint64_t i = 0; i < x->n_bytes / 4; i++) {
        uint32_t code;
        memcpy(&code, (const uint8_t *)cpu_data(x) + 4 * i, 4);
        largest = code > largest ? code : largest;
    }
    memcpy(cpu_data(y), &largest, 4);
    return MXO_OK;
}

static mxo_status convert_all(cpu_context *ctx, const mxo_call *call,
                              const conversion *row, cpu_chain *c, mxo_text why)
{
    MXO_TRY(check_layer(call, row, why));
    for (int check = 1; check >= 0; check--) {
        for (int i = 0; i < TENSORS; i++) {
            MXO_TRY(convert_one(ctx, call, row, i, c, check, why));
        }
        if (call_is(call, "input_scale", "1")) {
            MXO_TRY(keep_largest(call, "w13_input_scale", "w13_lhs_scale",
                                 check, why));
            MXO_TRY(keep_largest(call, "w2_input_scale", "w2_lhs_scale", check,
                                 why));
        }
    }
    return MXO_OK;
}

mxo_status cpu_layout_convert(cpu_context *ctx, const mxo_call *call,
                              mxo_text why)
{
    const conversion *row;
    mxo_status status =
        cpu_known(call, "conversion scale group bias input_scale", why);

    if (status == MXO_OK) {
        status = row_of(call_text(call, "conversion"), &row, why);
    }
    if (status != MXO_OK) {
        return status;
    }
    cpu_chain *c = malloc(sizeof *c);
    if (c == NULL) {
        return cpu_fail(MXO_E_NOMEM, why, "no memory for a chain");
    }
    status = convert_all(ctx, call, row, c, why);
    free(c);
    return status;
}
