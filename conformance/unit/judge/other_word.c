/* SPDX-License-Identifier: Apache-2.0 */
/* See other_word.h. */
#include "unit/judge/other_word.h"

#include "case/opinfo.h"

#include <mxoracle/mxoracle.h>

#include <string.h>

other_word other_word_now;

static mxo_status run_other(void *ctx, const mxo_call *call, mxo_text why)
{
    mxo_param params[OP_MAX_PARAMS];
    mxo_call other = *call;

    for (uint32_t i = 0; i < call->n_params; i++) {
        params[i] = call->params[i];
        if (strcmp(params[i].key, other_word_now.key) == 0) {
            params[i].text = other_word_now.word;
        }
    }
    other.params = params;
    const mxo_status status = mxo_emulator()->run(ctx, &other, why);

    other_word_now.ran = status == MXO_OK;
    return status;
}

mxo_backend other_word_subject(void)
{
    mxo_backend subject = *mxo_emulator();

    subject.run = run_other;
    return subject;
}
