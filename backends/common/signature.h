/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check of a call against its operation's row in <mxoracle/ops.def>.  All
 * parameters are present and in their domains, and no others; inputs are
 * present with their types, axes and extents; every tensor has the bytes of
 * its shape.  The operation itself checks the sizes and parameters that it can
 * do, and its outputs, unless it describes them in the same notation; and of
 * quantisers, formats and activations, whose tensors have any rank, the extents
 * too, unless they want them as described.
 */
#ifndef BACKENDS_SIGNATURE_H
#define BACKENDS_SIGNATURE_H

#include "signature_text.h"

#include <stdio.h>

/* Checks, a bit each; a caller may leave some out. */
enum {
    SIGNATURE_KEYS = 1,
    SIGNATURE_DOMAINS = 2,
    SIGNATURE_PRESENCE = 4,
    SIGNATURE_TYPES = 8,
    SIGNATURE_BYTES = 16,
    SIGNATURE_RANKS = 32,
    SIGNATURE_EXTENTS = 64,
    SIGNATURE_ALL = 127,
    SIGNATURE_AS_DESCRIBED = 128 /* no other rank is supported */
};

/* A backend hands them out as its op_info, too: these are what it checks. */
static const mxo_op_info signatures[] = {
#define MXO_OP(symbol, name, params, in, out, summary) \
    {name, summary, {params}, in, out},
#include <mxoracle/ops.def>
#undef MXO_OP
    {NULL, NULL, {NULL}, NULL, NULL},
};

static mxo_status signature_fail(mxo_status status, mxo_text why,
                                 const mxo_call *call, const char *what,
                                 const char *name)
{
    if (why.ptr != NULL && why.size > 0) {
        (void)snprintf(why.ptr, why.size, "%s: %.60s %s", call->op, name, what);
    }
    return status;
}

/* The type that a name of ops.def stands for, and its bytes. */
static uint32_t signature_dtype(const mxo_call *call, signature_text type)
{
#define MXO_DTYPE(id, name, file, bytes, nan) {name, id},
#define MXO_DTYPE_ALIAS(name, id) {name, id},
    static const struct {
        const char *name;
        uint32_t dtype;
    } rows[] = {
#include <mxoracle/dtype.def>
    };
#undef MXO_DTYPE_ALIAS
#undef MXO_DTYPE

    if (type.at < type.end && *type.at == '$') {
        type.at++;
        const mxo_param *p = signature_param(call, type);
        type = signature_from(p == NULL ? "" : p->text);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (signature_is(type, rows[i].name)) {
            return rows[i].dtype;
        }
    }
    return MXO_N_DTYPES;
}

static uint64_t signature_size(uint32_t dtype)
{
#define MXO_DTYPE(id, name, file, bytes, nan) bytes,
    static const uint8_t size[] = {
#include <mxoracle/dtype.def>
    };
#undef MXO_DTYPE

    return dtype < sizeof size ? size[dtype] : 0;
}

/* Are its bytes those of its shape, counted without a carry? */
static int signature_is_dense(const mxo_tensor *t)
{
    uint64_t n = signature_size(t->dtype);
    int fits = n > 0 && t->rank <= MXO_MAX_RANK;

    for (uint32_t i = 0; fits && i < t->rank; i++) {
        fits = t->shape[i] == 0 || n <= (uint64_t)INT64_MAX / t->shape[i];
        n *= t->shape[i];
    }
    return fits && n == t->n_bytes;
}

/* A text that is no number has the number 0: only the text tells. */
static int signature_is_whole(const mxo_param *p)
{
    const char *at = p->text[0] == '-' ? p->text + 1 : p->text;

    do {
        if (*at < '0' || *at > '9') {
            return 0;
        }
    } while (*++at != '\0');
    return p->number == (double)(int64_t)p->number;
}

static int signature_in_domain(signature_text domain, const mxo_param *p)
{
    if (signature_is(domain, "int")) {
        return p->number >= -2147483648.0 && p->number <= 2147483647.0 &&
               signature_is_whole(p);
    }
    if (signature_is(domain, "bool")) {
        return strcmp(p->text, "0") == 0 || strcmp(p->text, "1") == 0;
    }
    if (signature_is(domain, "real")) {
        return strcmp(p->text, "none") != 0;
    }
    if (signature_is(domain, "size")) {
        return p->number >= 0 && p->number <= 1099511627776.0 &&
               signature_is_whole(p);
    }
    if (signature_is(domain, "name")) {
        return p->text[0] != '\0';
    }
    return signature_is(domain, "real?") || signature_lists(domain, p->text);
}

/* The next "key:domain=default" of *text on; *rest is what is left of it. */
static int signature_next(const char *const *texts, int *text,
                          signature_text *rest, signature_text *entry)
{
    while (rest->at == rest->end) {
        if (*text == MXO_PARAM_TEXTS || texts[*text] == NULL) {
            return 0;
        }
        *rest = signature_from(texts[(*text)++]);
    }
    *entry = signature_cut(rest, ' ');
    return 1;
}

/* Parameters mostly come in the order of the description. */
static mxo_status signature_params(const mxo_op_info *s, const mxo_call *call,
                                   int checks, mxo_text why)
{
    signature_text rest = {NULL, NULL};
    signature_text entry;
    int text = 0;
    uint32_t n = 0;

    while (signature_next(s->params, &text, &rest, &entry)) {
        const signature_text key = signature_cut(&entry, ':');
        const signature_text domain = signature_cut(&entry, '=');
        const mxo_param *p =
            n < call->n_params && signature_is(key, call->params[n].key)
                ? &call->params[n]
                : signature_param(call, key);
        char name[64] = "";

        memcpy(name, key.at,
               key.end - key.at < 63 ? (size_t)(key.end - key.at) : 63);
        if (p == NULL && (checks & SIGNATURE_KEYS) != 0) {
            return signature_fail(MXO_E_PARAM, why, call, "is not given", name);
        }
        if (p != NULL && (checks & SIGNATURE_DOMAINS) != 0 &&
            !signature_in_domain(domain, p)) {
            return signature_fail(MXO_E_PARAM, why, call,
                                  "has a value that it cannot have", name);
        }
        n += p != NULL;
    }
    return n == call->n_params || (checks & SIGNATURE_KEYS) == 0
               ? MXO_OK
               : signature_fail(MXO_E_PARAM, why, call, "are more than it has",
                                "parameters");
}

static int signature_has_any_rank(const char *op)
{
    static const char *const families[] = {"act.", "dequant.", "format.",
                                           "math.", "quant."};
    int found = 0;

    for (int i = 0; i < 5; i++) {
        found |= strncmp(op, families[i], strlen(families[i])) == 0;
    }
    return found;
}

/* axes: "tokens,hidden/2" */
static mxo_status signature_shape(const mxo_call *call, signature_text axes,
                                  const mxo_tensor *t, int checks,
                                  signature_dims *dims, mxo_text why)
{
    uint32_t rank = 0;
    int fits = 1;

    while (axes.at < axes.end) {
        const signature_extent e =
            signature_read(call, signature_cut(&axes, ','));
        if (rank < t->rank && rank < MXO_MAX_RANK) {
            fits = signature_fits(call, dims, e, t->shape[rank]) && fits;
        }
        rank++;
    }
    if (rank != t->rank && (checks & SIGNATURE_RANKS) != 0) {
        return signature_fail(
            signature_has_any_rank(call->op) ? MXO_E_UNSUPPORTED : MXO_E_SHAPE,
            why, call, "has another number of axes", t->name);
    }
    return fits || (checks & SIGNATURE_EXTENTS) == 0
               ? MXO_OK
               : signature_fail(MXO_E_SHAPE, why, call,
                                "does not fit the other shapes", t->name);
}

/* Whether the input is present: always, or for a value of its parameter. */
static int signature_holds(const mxo_call *call, signature_text condition)
{
    const signature_text key = signature_cut(&condition, '=');
    const mxo_param *p = signature_param(call, key);

    return key.at == key.end ||
           (p != NULL && signature_lists(condition, p->text));
}

/* Inputs or outputs. */
typedef struct signature_list {
    const mxo_tensor *t;
    uint32_t n;
} signature_list;

/* Whether a loader has converted the tensor.  An operation that takes it knows
   its type and its axes. */
static int signature_is_loaded(const mxo_call *call, signature_text key)
{
    const mxo_param *p = signature_param(call, key);

    return p != NULL && strcmp(p->text, "none") != 0;
}

/* entry: "x_scale:e8m0[tokens,hblocks]?from=e2m1", "w13@conversion:u8[..]";
   outputs may leave out type and axes, which are anything then. */
static mxo_status signature_tensor(const mxo_call *call, signature_list list,
                                   signature_text entry, int checks,
                                   signature_dims *dims, mxo_text why)
{
    signature_text head = signature_cut(&entry, '?');
    signature_text key = signature_cut(&head, ':');
    const signature_text name = signature_cut(&key, '@');
    const signature_text type = signature_cut(&head, '[');
    const signature_text axes = signature_cut(&head, ']');
    const mxo_tensor *t = NULL;

    for (uint32_t i = 0; i < list.n && t == NULL; i++) {
        t = signature_is(name, list.t[i].name) ? &list.t[i] : NULL;
    }
    while (entry.at < entry.end) {
        if (!signature_holds(call, signature_cut(&entry, '?'))) {
            return MXO_OK;
        }
    }
    if (t == NULL) {
        return (checks & SIGNATURE_PRESENCE) == 0
                   ? MXO_OK
                   : signature_fail(MXO_E_SHAPE, why, call, "is missing",
                                    "a tensor");
    }
    if (signature_is_loaded(call, key)) {
        return MXO_OK;
    }
    if (type.at < type.end && t->dtype != signature_dtype(call, type) &&
        (checks & SIGNATURE_TYPES) != 0) {
        return signature_fail(MXO_E_SHAPE, why, call, "has another type",
                              t->name);
    }
    return axes.at == axes.end || (signature_has_any_rank(call->op) &&
                                   (checks & SIGNATURE_AS_DESCRIBED) == 0)
               ? MXO_OK
               : signature_shape(call, axes, t, checks, dims, why);
}

/* Dimensions that a parameter says, "hidden_size:size=hidden", where loaders
   have left tensors that do not tell them. */
static void signature_sizes(const mxo_op_info *s, const mxo_call *call,
                            signature_dims *dims)
{
    signature_text rest = {NULL, NULL};
    signature_text entry;
    int text = 0;

    dims->n = 0;
    while (signature_is_loaded(call, signature_from("conversion")) &&
           signature_next(s->params, &text, &rest, &entry)) {
        const mxo_param *p = signature_param(call, signature_cut(&entry, ':'));
        if (signature_is(signature_cut(&entry, '='), "size") && p != NULL &&
            p->number >= 1) {
            dims->name[dims->n] = entry;
            dims->size[dims->n++] = (uint64_t)p->number;
        }
    }
}

static mxo_status signature_bytes(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *const lists[2] = {call->in, call->out};
    const uint32_t n[2] = {call->n_in, call->n_out};

    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < n[k]; i++) {
            if (!signature_is_dense(&lists[k][i])) {
                return signature_fail(MXO_E_SHAPE, why, call,
                                      "has not the bytes of its shape",
                                      lists[k][i].name);
            }
        }
    }
    return MXO_OK;
}

static mxo_status signature_tensors(const mxo_call *call, signature_list list,
                                    const char *text, int checks,
                                    signature_dims *dims, mxo_text why)
{
    signature_text rest = signature_from(text);
    mxo_status status = MXO_OK;

    while (status == MXO_OK && rest.at < rest.end) {
        const signature_text entry = signature_cut(&rest, ' ');
        if (entry.at < entry.end) {
            status = signature_tensor(call, list, entry, checks, dims, why);
        }
    }
    return status;
}

/* The whole of it, or some of the checks; outputs: what is known of them. */
static mxo_status signature_check(const mxo_call *call, const char *outputs,
                                  int checks, mxo_text why)
{
    const signature_list in = {call->in, call->n_in};
    const signature_list out = {call->out, call->n_out};
    const mxo_op_info *s = NULL;
    signature_dims dims;

    for (size_t i = 0; signatures[i].name != NULL; i++) {
        s = strcmp(signatures[i].name, call->op) == 0 ? &signatures[i] : s;
    }
    if (s == NULL) {
        return signature_fail(MXO_E_UNSUPPORTED, why, call, "is unknown",
                              "the operation");
    }
    signature_sizes(s, call, &dims);
    MXO_TRY(signature_params(s, call, checks, why));
    if ((checks & SIGNATURE_BYTES) != 0) {
        MXO_TRY(signature_bytes(call, why));
    }
    MXO_TRY(signature_tensors(call, in, s->in, checks, &dims, why));
    return signature_tensors(call, out, outputs, checks, &dims, why);
}

#endif
