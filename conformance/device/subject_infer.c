/* SPDX-License-Identifier: Apache-2.0 */
/* Which outputs a call has, as a backend says; see device_under_test.h. */
#include "device_buffers.h"
#include "device_under_test.h"
#include "system/system.h"

#include <inttypes.h>
#include <stdio.h>

static mxo_call plain_call(const op_call *call)
{
    const mxo_call c = {
        .struct_size = sizeof(mxo_call),
        .n_params = call->n_params,
        .n_in = call->in->n,
        .op = call->op,
        .params = call->params,
    };

    return c;
}

int subject_has_room(uint64_t n_bytes, mxo_text why)
{
    const uint64_t small = (uint64_t)256 << 20;
    const uint64_t left = n_bytes <= small ? small : system_free_memory();

    if (n_bytes <= left) {
        return 1;
    }
    (void)snprintf(why.ptr, why.size,
                   "it takes some %" PRIu64 " MiB to judge, and %" PRIu64
                   " MiB of memory are free",
                   n_bytes >> 20, left >> 20);
    return 0;
}

mxo_status subject_infer(subject *s, const op_call *call, tensor_set *out,
                         mxo_text why)
{
    mxo_tensor in[MXO_MAX_TENSORS];
    mxo_tensor want[MAX_OUT];
    uint32_t n = MAX_OUT;
    mxo_call c = plain_call(call);

    for (uint32_t i = 0; i < call->in->n; i++) {
        stage_describe(&in[i], &call->in->t[i], call->in->t[i].data, 0);
    }
    c.in = in;
    if (s->table->infer == NULL) {
        (void)snprintf(why.ptr, why.size, "%s has no infer()", s->table->name);
        return MXO_E_UNSUPPORTED;
    }
    mxo_status status = s->table->infer(s->ctx, &c, want, &n, why);

    for (uint32_t i = 0; status == MXO_OK && i < n; i++) {
        status = tensor_set_add(out, want[i].name, want[i].dtype, want[i].rank,
                                want[i].shape, NULL);
        if (status != MXO_OK) {
            (void)snprintf(why.ptr, why.size, "no memory for %s", want[i].name);
        }
    }
    /* Inputs are in a buffer once more; outputs are the oracle's, the
       subject's, in a buffer, and kept while it is called again. */
    return status == MXO_OK && !subject_has_room(tensor_set_bytes(call->in) +
                                                     4 * tensor_set_bytes(out),
                                                 why)
               ? MXO_E_NOMEM
               : status;
}
