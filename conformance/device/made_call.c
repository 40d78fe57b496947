/* SPDX-License-Identifier: Apache-2.0 */
/* See made_call.h. */
#include "made_call.h"

#include "by_token/by_token.h"

#include <string.h>

int made_call_is_refusal(mxo_status status)
{
    return status == MXO_E_UNSUPPORTED || status == MXO_E_SHAPE ||
           status == MXO_E_PARAM;
}

static mxo_status add_workspace(stage *g, int run, made_call *m, mxo_text why)
{
    const subject *s = g->s;
    uint64_t n_bytes = 0;
    mxo_status status = MXO_OK;

    m->is_refused = 0;
    if (s->table->workspace == NULL) {
        return MXO_OK;
    }
    status = s->table->workspace(s->ctx, &m->call, &n_bytes, why);
    if (status != MXO_OK) {
        m->is_refused = made_call_is_refusal(status);
        return m->is_refused ? MXO_OK : status;
    }
    status = stage_place_workspace(g, n_bytes, run, why);
    if (status == MXO_OK && n_bytes > 0) {
        stage_describe_placed(&m->workspace, &g->workspace);
        m->call.workspace = &m->workspace;
    }
    return status;
}

mxo_status made_call_describe(stage *g, int run, made_call *m, mxo_text why)
{
    m->call = (mxo_call){.struct_size = sizeof m->call,
                         .n_params = g->call->n_params,
                         .n_in = g->n_in,
                         .n_out = g->n_out,
                         .op = g->call->op,
                         .params = g->call->params,
                         .in = m->in,
                         .out = m->out};
    m->stream = m->graph = m->idle = NULL;
    memset(&m->beside, 0, sizeof m->beside);
    for (uint32_t i = 0; i < g->n_in; i++) {
        stage_describe_placed(&m->in[i], &g->in[i]);
    }
    for (uint32_t i = 0; i < g->n_out; i++) {
        stage_describe_placed(&m->out[i], &g->out[i]);
    }
    return add_workspace(g, run, m, why);
}

mxo_status made_call_make(const subject *s, const made_call *m, mxo_text why)
{
    return m->graph != NULL ? s->table->launch(s->ctx, m->graph, m->stream, why)
           : s->all_cores
               ? by_token_run_all_cores(s->table, s->ctx, &m->call, why)
               : s->table->run(s->ctx, &m->call, why);
}

int made_call_is_taken(const subject *s, const made_call *m)
{
    const mxo_text unheard = {NULL, 0};
    const mxo_status status = s->table->run(s->ctx, &m->call, unheard);

    return s->table->synchronize(s->ctx, unheard) == MXO_OK && status == MXO_OK;
}
