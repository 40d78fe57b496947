/* SPDX-License-Identifier: Apache-2.0 */
/* How a person reads a tensor: rows of views.def. */
#include "views.h"

#include "base/cli.h"
#include "base/codes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const tensor_view views[] = {
#define MXO_VIEW(op, tensor, format, block, scale, input) \
    {op, tensor, format, block, scale, input},
#include "views.def"
#undef MXO_VIEW
};

const tensor_view *view_of(const char *op, const char *tensor)
{
    const tensor_view *v = views;

    /* The last row fits everything. */
    while (!cli_matches(v->op, op) || !cli_matches(v->tensor, tensor)) {
        v++;
    }
    return v;
}

const char *view_format(const tensor_view *v, const test_case *c,
                        const host_tensor *t)
{
    if (v->format[0] == '$') {
        return case_value(c, v->format + 1);
    }
    return v->format[0] == '\0' ? dtype_name(t->dtype) : v->format;
}

/* Codes of parameter format travel one per byte, packed ones by element. */
int view_pack(const tensor_view *v, const test_case *c, const host_tensor *t)
{
    const int unpacked = strcmp(v->format, "$format") == 0;

    return !unpacked && t->dtype == MXO_U8 &&
                   strcmp(view_format(v, c, t), "e2m1") == 0
               ? 2
               : 1;
}

void view_index(const host_tensor *t, uint64_t i, char *text, size_t size)
{
    uint64_t at[MXO_MAX_RANK] = {0};
    size_t used = 0;

    for (uint32_t r = t->rank; r > 0; r--) {
        at[r - 1] = i % t->shape[r - 1];
        i /= t->shape[r - 1];
    }
    (void)snprintf(text, size, "[]");
    for (uint32_t r = 0; r < t->rank && used < size; r++) {
        used += (size_t)snprintf(text + used, size - used, "%c%" PRIu64 "%s",
                                 r == 0 ? '[' : ',', at[r],
                                 r + 1 == t->rank ? "]" : "");
    }
}

void view_shape(const host_tensor *t, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s[", dtype_name(t->dtype));

    for (uint32_t r = 0; r < t->rank && used < size; r++) {
        used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64,
                                 r == 0 ? "" : ",", t->shape[r]);
    }
    if (used < size) {
        (void)snprintf(text + used, size - used, "]");
    }
}
