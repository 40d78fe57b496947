/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the notation of mxo_op_info, which <mxoracle/abi.h> describes:
 * stretches of text, and extents that are written with dimensions.  Plain C
 * that is C++ too.
 */
#ifndef BACKENDS_SIGNATURE_TEXT_H
#define BACKENDS_SIGNATURE_TEXT_H

#include <mxoracle/abi.h>

#include <stdlib.h>
#include <string.h>

/* [at, end) */
typedef struct signature_text {
    const char *at;
    const char *end;
} signature_text;

static signature_text signature_from(const char *text)
{
    const signature_text s = {text, text + strlen(text)};

    return s;
}

static int signature_is(signature_text s, const char *word)
{
    const size_t n = (size_t)(s.end - s.at);

    return strlen(word) == n && memcmp(s.at, word, n) == 0;
}

/* Take the text before the separator from *rest; all if there is none. */
static signature_text signature_cut(signature_text *rest, char separator)
{
    const char *stop = rest->at;

    while (stop < rest->end && *stop != separator) {
        stop++;
    }
    const signature_text head = {rest->at, stop};

    rest->at = stop < rest->end ? stop + 1 : stop;
    return head;
}

/* Whether the word is one of a|b|c. */
static int signature_lists(signature_text list, const char *word)
{
    int found = 0;

    while (list.at < list.end && !found) {
        found = signature_is(signature_cut(&list, '|'), word);
    }
    return found;
}

static const mxo_param *signature_param(const mxo_call *call,
                                        signature_text key)
{
    for (uint32_t i = 0; i < call->n_params; i++) {
        if (signature_is(key, call->params[i].key)) {
            return &call->params[i];
        }
    }
    return NULL;
}

enum { SIGNATURE_DIMS = 16 };

/* Dimensions that an extent has told. */
typedef struct signature_dims {
    signature_text name[SIGNATURE_DIMS];
    uint64_t size[SIGNATURE_DIMS];
    int n;
} signature_dims;

/* "2*cols", "k/32", "cols/pack", "inter", "1": multiple * name / divisor. */
typedef struct signature_extent {
    signature_text name; /* empty: the number alone */
    uint64_t multiple;
    uint64_t divisor;
} signature_extent;

static int signature_digit(signature_text s)
{
    return s.at < s.end && *s.at >= '0' && *s.at <= '9';
}

static uint64_t signature_divisor(const mxo_call *call, signature_text s)
{
    const signature_text element = {"element", &"element"[7]};
    const mxo_param *p =
        signature_param(call, signature_is(s, "pack") ? element : s);

    if (signature_digit(s)) {
        return strtoull(s.at, NULL, 10);
    }
    if (signature_is(s, "pack")) {
        return p != NULL && strcmp(p->text, "e2m1") == 0 ? 2 : 1;
    }
    return p != NULL && p->number >= 1 ? (uint64_t)p->number : 1;
}

static signature_extent signature_read(const mxo_call *call, signature_text s)
{
    signature_text left = signature_cut(&s, '/');
    signature_text first = signature_cut(&left, '*');
    signature_extent e = {first, 1, 1};

    if (signature_digit(first)) {
        e.multiple = strtoull(first.at, NULL, 10);
        e.name = left;
    } else if (signature_digit(left)) {
        e.multiple = strtoull(left.at, NULL, 10);
    }
    if (s.at < s.end) {
        e.divisor = signature_divisor(call, s);
    }
    return e;
}

/* A parameter that counts is a dimension too. */
static void signature_tell(const mxo_call *call, signature_dims *dims,
                           signature_text name)
{
    const mxo_param *p = signature_param(call, name);

    if (p != NULL && p->number >= 1 && p->number <= 2147483647.0) {
        dims->name[dims->n] = name;
        dims->size[dims->n] = (uint64_t)p->number;
        dims->n++;
    }
}

/* Does n fit what other extents have told of the dimension?  The first tells
   it; blocks at the end may be short, so that quotients are rounded up. */
static int signature_fits(const mxo_call *call, signature_dims *dims,
                          signature_extent e, uint64_t n)
{
    int i = 0;

    while (i < dims->n &&
           (dims->name[i].end - dims->name[i].at != e.name.end - e.name.at ||
            memcmp(dims->name[i].at, e.name.at,
                   (size_t)(e.name.end - e.name.at)) != 0)) {
        i++;
    }
    if (e.name.at == e.name.end) {
        return n == e.multiple;
    }
    if (n > UINT64_C(1) << 48 || i == SIGNATURE_DIMS) {
        return 0;
    }
    if (i == dims->n) {
        signature_tell(call, dims, e.name);
    }
    if (i < dims->n) {
        return n == (dims->size[i] * e.multiple + e.divisor - 1) / e.divisor;
    }
    dims->name[i] = e.name;
    dims->size[i] = n * e.divisor / e.multiple;
    dims->n++;
    return n * e.divisor % e.multiple == 0;
}

#endif
