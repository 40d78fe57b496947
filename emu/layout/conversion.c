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
#define MXO_CONVERSION(id, params, needs, bias, w13, w13_scale, w13_bias, w2, \
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

mxo_status conversion_row(const char *name, const mxo_conversion_row **row,
                          mxo_text why)
{
    *row = mxo_conversion_find(name);
    return *row != NULL ? MXO_OK
                        : mxo_fail(MXO_E_PARAM, why,
                                   "no conversion is called %.60s", name);
}

mxo_status conversion_check(const mxo_conversion_row *row, uint64_t experts,
                            uint64_t hidden, uint64_t inter, int has_bias,
                            mxo_text why)
{
    const mxo_layout_row as_layout = {row->id,
                                      "8",
                                      "keep",
                                      "",
                                      "hidden=$cols*2 inter=$rows/2",
                                      row->needs,
                                      "E R C -> E R C",
                                      "",
                                      ""};
    const uint64_t extent[3] = {experts, 2 * inter, hidden / 2};
    mxo_layout l;

    if (!has_bias && strcmp(row->bias, "required") == 0) {
        return mxo_fail(MXO_E_SHAPE, why, "conversion %s needs both biases",
                        row->id);
    }
    return mxo_layout_bind(&l, &as_layout, row->id, 1, extent, why);
}

int conversion_leaves(const mxo_conversion_row *row, int i)
{
    return strstr(mxo_conversion_tensor((uint32_t)i), "bias") == NULL ||
           strcmp(row->bias, "none") != 0;
}
