/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of conversions.def. */
#include "chain.h"

#include <string.h>

const char *mxo_conversion_tensor(uint32_t i)
{
    static const char *const names[MXO_CONVERSION_TENSORS] = {
        "w13", "w13_scale", "w13_bias", "w2", "w2_scale", "w2_bias",
    };

    return i < MXO_CONVERSION_TENSORS ? names[i] : NULL;
}

static const mxo_conversion_row rows[] = {
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

const mxo_conversion_row *mxo_conversion_at(uint32_t i)
{
    return i < sizeof rows / sizeof rows[0] ? &rows[i] : NULL;
}

const mxo_conversion_row *mxo_conversion_find(const char *name)
{
    const size_t n = strcspn(name, "/");

    for (uint32_t i = 0; mxo_conversion_at(i) != NULL; i++) {
        if (strlen(rows[i].id) == n && strncmp(rows[i].id, name, n) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}
