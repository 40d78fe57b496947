/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of conversions.def. */
#include "chain.h"

#include <string.h>

const char *const conversion_tensors[CONVERSION_TENSORS] = {
    "w13", "w13_scale", "w13_bias", "w2", "w2_scale", "w2_bias",
};

static const conversion_row rows[] = {
#define MXO_CONVERSION(id, params, needs, bias, w13, w13_scale, w13_bias, w2,  \
                       w2_scale, w2_bias, source)                             \
    {id,                                                                      \
     params,                                                                  \
     needs,                                                                   \
     bias,                                                                    \
     {w13, w13_scale, w13_bias, w2, w2_scale, w2_bias},                       \
     source},
#include <mxoracle/conversions.def>
#undef MXO_CONVERSION
};

const conversion_row *conversion_at(uint32_t i)
{
    return i < sizeof rows / sizeof rows[0] ? &rows[i] : NULL;
}

const conversion_row *conversion_find(const char *name)
{
    const size_t n = strcspn(name, "/");

    for (uint32_t i = 0; conversion_at(i) != NULL; i++) {
        if (strlen(rows[i].id) == n && strncmp(rows[i].id, name, n) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}
