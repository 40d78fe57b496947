/* SPDX-License-Identifier: Apache-2.0 */
/* layout.record: the codes and the scales of blocks into one buffer. */
#include "layout_chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The chain of NAME_codes or NAME_scale on its tensor. */
static mxo_status part_chain(const mxo_call *call, const char *part,
                             cpu_chain *c, mxo_text why)
{
    const char *name = call_text(call, "record");
    const mxo_tensor *x = call_in(call, part);
    const int id = (int)strcspn(name, "/");
    char text[CPU_CHAIN_TEXT];

    if (x == NULL || x->rank != 3) {
        return cpu_fail(MXO_E_SHAPE, why, "%s has three axes", part);
    }
    (void)snprintf(text, sizeof text, "%.*s_%s%.64s", id < 100 ? id : 100, name,
                   part, name + id);
    const mxo_status status = cpu_chain_of(c, text, x->dtype, x->shape, why);

    return status != MXO_OK || c->stage[c->n - 1].map.n_records > 0
               ? status
               : cpu_fail(MXO_E_PARAM, why, "%.60s has no records", text);
}

/* One part through a tensor without gaps. */
static mxo_status put_part(cpu_context *ctx, const cpu_chain *c, uint8_t *y,
                           const mxo_tensor *x, mxo_text why)
{
    const cpu_map *m = &c->stage[c->n - 1].map;
    const size_t n = (size_t)(m->physical_bits / 8);
    uint8_t *dense = malloc(n == 0 ? 1 : n);
    const mxo_status status =
        dense == NULL ? cpu_fail(MXO_E_NOMEM, why, "no memory for %zu bytes", n)
                      : cpu_chain_run(ctx, c, 1, dense, cpu_data(x), why);

    if (status == MXO_OK) {
        cpu_record_put(m, y, dense);
    }
    free(dense);
    return status;
}

static mxo_status run(cpu_context *ctx, const mxo_call *call, cpu_chain *c,
                      mxo_text why)
{
    const mxo_tensor *y = call_out(call, "y");

    MXO_TRY(part_chain(call, "codes", &c[0], why));
    MXO_TRY(part_chain(call, "scale", &c[1], why));
    const uint64_t n = cpu_memory_bytes(&c[0].stage[c[0].n - 1].map);

    if (cpu_memory_bytes(&c[1].stage[c[1].n - 1].map) != n) {
        return cpu_fail(MXO_E_SHAPE, why, "codes and scales do not fit");
    }
    MXO_TRY(cpu_want_bytes(y, "y", MXO_U8, n, why));
    if (n > 0) {
        memset(cpu_data(y), 0, (size_t)n);
    }
    for (int i = 0; i < 2; i++) {
        MXO_TRY(put_part(ctx, &c[i], cpu_data(y),
                         call_in(call, i == 0 ? "codes" : "scale"), why));
    }
    return MXO_OK;
}

mxo_status cpu_layout_record(cpu_context *ctx, const mxo_call *call,
                             mxo_text why)
{
    cpu_chain *c = calloc(2, sizeof *c);
    mxo_status status = cpu_known(call, "record codes scale", why);

    if (status == MXO_OK && c == NULL) {
        status = cpu_fail(MXO_E_NOMEM, why, "no memory for two chains");
    }
    status = status == MXO_OK ? run(ctx, call, c, why) : status;
    free(c);
    cpu_name_kernel(ctx, "layout_record", 1);
    return status;
}
