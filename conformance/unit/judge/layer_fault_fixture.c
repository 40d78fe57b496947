/* SPDX-License-Identifier: Apache-2.0 */
/* See layer_fault_fixture.h. */
#include "unit/judge/layer_fault_fixture.h"

#include "data/fill.h"

#include <check.h>
#include <string.h>

const layer_fault *layer_fault_named(const char *says)
{
    const layer_fault *f = layer_faults;

    while (f->edit != NULL && strcmp(f->says, says) != 0) {
        f++;
    }
    ck_assert_msg(f->edit != NULL, "%s", says);
    return f;
}

void layer_call_begin(layer_call *call, const char *case_text)
{
    char sentence[256] = "";
    const mxo_text why = {sentence, sizeof sentence};

    memset(call, 0, sizeof *call);
    ck_assert_msg(case_parse(&call->c, case_text, why) == 0, "%s", sentence);
    ck_assert_msg(fill_inputs(&call->c, 1, &call->in, why) == 0, "%s",
                  sentence);
}
