/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks that every operation shares, driven by the text in ops.def:
 * a parameter's domain, an input's presence, dtype and byte count.
 */
#include "validate.h"

#include <string.h>

/* A stretch of the description text. */
typedef struct span {
    const char *ptr;
    size_t len;
} span;

static int span_is(span s, const char *text)
{
    return strlen(text) == s.len && memcmp(s.ptr, text, s.len) == 0;
}

/* Cut the part before the separator off *rest; all of it if there is none. */
static span cut(span *rest, char separator)
{
    const char *at =
        rest->len == 0 ? NULL : memchr(rest->ptr, separator, rest->len);
    const size_t len = at == NULL ? rest->len : (size_t)(at - rest->ptr);
    const span head = {rest->ptr, len};

    rest->ptr += at == NULL ? len : len + 1;
    rest->len -= at == NULL ? len : len + 1;
    return head;
}

/* Whether text is one of "a|b|c". */
static int span_lists(span list, const char *text)
{
    while (list.len > 0) {
        if (span_is(cut(&list, '|'), text)) {
            return 1;
        }
    }
    return 0;
}

static const mxo_param *param_of(const mxo_call *call, span key)
{
    for (uint32_t i = 0; i < call->n_params; i++) {
        if (span_is(key, call->params[i].key)) {
            return &call->params[i];
        }
    }
    return NULL;
}

/* Decimal digits, perhaps with a sign: other texts have the number 0. */
static int is_whole(const char *text)
{
    const char *const digits = text + (text[0] == '-');

    return digits[0] != '\0' && digits[strspn(digits, "0123456789")] == '\0';
}

static int in_domain(span domain, const mxo_param *p)
{
    if (span_is(domain, "int")) {
        /* The range test comes first: the cast is undefined outside it. */
        return is_whole(p->text) && p->number >= -2147483648.0 &&
               p->number <= 2147483647.0 &&
               p->number == (double)(int64_t)p->number;
    }
    if (span_is(domain, "bool")) {
        return strcmp(p->text, p->number != 0 ? "1" : "0") == 0;
    }
    if (span_is(domain, "real")) {
        return strcmp(p->text, "none") != 0;
    }
    if (span_is(domain, "size")) {
        return is_whole(p->text) && p->number >= 0 &&
               p->number <= 1099511627776.0 &&
               p->number == (double)(int64_t)p->number;
    }
    if (span_is(domain, "name")) {
        return p->text[0] != '\0'; /* the operation knows its names */
    }
    return span_is(domain, "real?") || span_lists(domain, p->text);
}

static int is_known(const char *text, const char *key)
{
    span rest = {text, strlen(text)};

    while (rest.len > 0) {
        span entry = cut(&rest, ' ');
        if (span_is(cut(&entry, ':'), key)) {
            return 1;
        }
    }
    return 0;
}

/* Texts that describe the parameters. */
static int n_texts(const mxo_op_info *info)
{
    int n = 0;

    while (n < MXO_PARAM_TEXTS && info->params[n] != NULL) {
        n++;
    }
    return n;
}

static mxo_status check_key(const mxo_op_info *info, const char *key,
                            mxo_text why)
{
    for (int i = 0; i < n_texts(info); i++) {
        if (is_known(info->params[i], key)) {
            return MXO_OK;
        }
    }
    return mxo_fail(MXO_E_PARAM, why, "%s has no parameter %s", info->name,
                    key);
}

/* Every parameter of the text is present, with a value of its domain. */
static mxo_status check_text(const mxo_op_info *info, const char *text,
                             const mxo_call *call, mxo_text why)
{
    span rest = {text, strlen(text)};

    while (rest.len > 0) {
        span entry = cut(&rest, ' ');
        const span key = cut(&entry, ':');
        const span domain = cut(&entry, '=');
        const mxo_param *p = param_of(call, key);

        if (p == NULL) {
            return mxo_fail(MXO_E_PARAM, why, "%s needs the parameter %.*s",
                            info->name, (int)key.len, key.ptr);
        }
        if (!in_domain(domain, p)) {
            return mxo_fail(MXO_E_PARAM, why, "%s: %s=%s is not one of %.*s",
                            info->name, p->key, p->text, (int)domain.len,
                            domain.ptr);
        }
    }
    return MXO_OK;
}

mxo_status mxo_check_params(const mxo_op_info *info, const mxo_call *call,
                            mxo_text why)
{
    for (uint32_t i = 0; i < call->n_params; i++) {
        MXO_TRY(check_key(info, call->params[i].key, why));
    }
    for (int i = 0; i < n_texts(info); i++) {
        MXO_TRY(check_text(info, info->params[i], call, why));
    }
    return MXO_OK;
}

/* Does the condition "key=a|b" hold?  No condition always holds. */
static int condition_holds(const mxo_call *call, span condition)
{
    if (condition.len == 0) {
        return 1;
    }
    const span key = cut(&condition, '=');
    const mxo_param *p = param_of(call, key);

    return p != NULL && span_lists(condition, p->text);
}

static uint32_t dtype_of(const mxo_call *call, span type)
{
    if (type.len > 0 && type.ptr[0] == '$') {
        const span key = {type.ptr + 1, type.len - 1};
        const mxo_param *p = param_of(call, key);
        return p == NULL ? MXO_N_DTYPES
                         : mxo_dtype_by_name(p->text, strlen(p->text));
    }
    return mxo_dtype_by_name(type.ptr, type.len);
}

/* Product of the shape times the element size; 0 with *bad on overflow. */
static uint64_t dense_bytes(const mxo_tensor *t, int *bad)
{
    uint64_t n = mxo_dtype_bytes(t->dtype);

    *bad = t->rank > MXO_MAX_RANK || n == 0;
    for (uint32_t i = 0; !*bad && i < t->rank; i++) {
        *bad = t->shape[i] != 0 && n > INT64_MAX / t->shape[i];
        n *= t->shape[i];
    }
    return n;
}

/* Whether a loader has converted the tensor; the operation knows its type. */
static int is_converted(const mxo_call *call, span key)
{
    const mxo_param *p = param_of(call, key);

    return p != NULL && strcmp(p->text, "none") != 0;
}

static mxo_status check_tensor(const mxo_op_info *info, const mxo_tensor *t,
                               uint32_t dtype, mxo_text why)
{
    int bad;
    const uint64_t bytes = dense_bytes(t, &bad);

    if (bad || bytes != t->n_bytes) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: the bytes of %s do not fit its shape", info->name,
                        t->name);
    }
    if (t->dtype != dtype) {
        return mxo_fail(MXO_E_SHAPE, why, "%s: %s has the wrong dtype",
                        info->name, t->name);
    }
    return MXO_OK;
}

mxo_status mxo_check_inputs(const mxo_op_info *info, const mxo_call *call,
                            mxo_text why)
{
    span rest = {info->in, strlen(info->in)};

    while (rest.len > 0) {
        span entry = cut(&rest, ' ');
        span head = cut(&entry, '?');
        span key = cut(&head, ':');
        const span name = cut(&key, '@');
        const span type = cut(&head, '[');
        char text[32] = "";

        if (!condition_holds(call, entry)) {
            continue;
        }
        memcpy(text, name.ptr, name.len < 31 ? name.len : 31);
        const mxo_tensor *t = mxo_call_in(call, text);
        if (t == NULL) {
            return mxo_fail(MXO_E_SHAPE, why, "%s needs the input %s",
                            info->name, text);
        }
        MXO_TRY(check_tensor(
            info, t, is_converted(call, key) ? t->dtype : dtype_of(call, type),
            why));
    }
    return MXO_OK;
}

mxo_status mxo_check_outputs(const mxo_call *call, const mxo_tensor *want,
                             uint32_t n, mxo_text why)
{
    if (call->n_out != n) {
        return mxo_fail(MXO_E_SHAPE, why, "%s has %u outputs, not %u", call->op,
                        n, call->n_out);
    }
    for (uint32_t i = 0; i < n; i++) {
        const mxo_tensor *t = mxo_call_out(call, want[i].name);
        if (t == NULL || t->dtype != want[i].dtype ||
            t->n_bytes != want[i].n_bytes || t->rank != want[i].rank ||
            memcmp(t->shape, want[i].shape, t->rank * sizeof t->shape[0]) !=
                0) {
            return mxo_fail(MXO_E_SHAPE, why,
                            "%s: the output %s is missing or has another shape",
                            call->op, want[i].name);
        }
    }
    return MXO_OK;
}
