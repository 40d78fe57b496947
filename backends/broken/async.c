/* SPDX-License-Identifier: Apache-2.0 */
/* A call whose work is done later has to outlive its caller's arguments. */
#include "broken.h"

#include <stdio.h>

static const char *keep_text(char *to, const char *text)
{
    (void)snprintf(to, BROKEN_TEXT, "%s", text);
    return to;
}

static const mxo_tensor *keep_tensors(mxo_tensor *to, const mxo_tensor *from,
                                      uint32_t n, char (*text)[BROKEN_TEXT])
{
    for (uint32_t i = 0; i < n; i++) {
        to[i] = from[i];
        to[i].name = keep_text(text[i], from[i].name);
    }
    return to;
}

int broken_keep(broken_job *job, const mxo_call *call)
{
    char(*const text)[BROKEN_TEXT] = job->text;

    if (call->n_params > BROKEN_MAX_ARGS || call->n_in > BROKEN_MAX_ARGS ||
        call->n_out > BROKEN_MAX_ARGS) {
        return 0;
    }
    job->call = *call;
    job->call.op = keep_text(job->op, call->op);
    for (uint32_t i = 0; i < call->n_params; i++) {
        job->params[i].key =
            keep_text(text[2 * (size_t)i], call->params[i].key);
        job->params[i].text =
            keep_text(text[2 * (size_t)i + 1], call->params[i].text);
        job->params[i].number = call->params[i].number;
    }
    job->call.params = job->params;
    job->call.in = keep_tensors(job->in, call->in, call->n_in,
                                &text[2 * (size_t)BROKEN_MAX_ARGS]);
    job->call.out = keep_tensors(job->out, call->out, call->n_out,
                                 &text[3 * (size_t)BROKEN_MAX_ARGS]);
    if (call->workspace != NULL) {
        job->workspace = *call->workspace;
        job->workspace.name = "workspace";
        job->call.workspace = &job->workspace;
    }
    job->waiting = 1;
    return 1;
}
