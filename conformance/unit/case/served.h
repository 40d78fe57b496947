/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MXO_UNIT_SERVED_H
#define MXO_UNIT_SERVED_H

#include "data/fill.h"
#include "device/device_under_test.h"

#include <check.h>

/* Does the emulator take the call? */
static int is_served(subject *emu, const test_case *c)
{
    mxo_param params[OP_MAX_PARAMS];
    tensor_set in = {0};
    tensor_set out = {0};
    char text[400];
    const mxo_text why = {text, sizeof text};
    const op_call call = {c->schema->info->name, params,
                          (uint32_t)c->schema->n_params, &in};

    case_params(c, params);
    ck_assert_msg(fill_inputs(c, 1, &in, why) == 0, "%s", text);
    const int served = subject_infer(emu, &call, &out, why) == MXO_OK;

    tensor_set_clear(&in);
    tensor_set_clear(&out);
    return served;
}

#endif
