/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu of rows that a vector picks, by constants of their experts.  The
 * vectors are read back and looked at before anything is launched.
 */
#ifndef GPU_GLU_CHOOSERS_H
#define GPU_GLU_CHOOSERS_H

#include "host/call.h"
#include "host/plans.h"
#include "ops/glu.h"

/* A vector of 4-byte elements on the host; n of them, owned by the caller. */
static mxo_status glu_chosen_vector(const mxo_call *call, const char *name,
                                    uint32_t dtype, void **to, uint64_t *n,
                                    mxo_text why)
{
    const mxo_tensor *const t = call_in(call, name);

    if (t == NULL || t->rank != 1 || t->dtype != dtype) {
        return gpu_fail(MXO_E_SHAPE, why, "act.glu: %s is not a vector", name);
    }
    *n = t->shape[0];
    *to = malloc((size_t)(4 * *n + 1));
    return *to == NULL ? gpu_fail(MXO_E_NOMEM, why, "no memory for %s", name)
                       : call_fetch(call, *to, tensor_address(t), 4 * *n, why);
}

enum { GLU_ROW, GLU_EXPERT, GLU_LIMITS, GLU_ALPHAS, GLU_BETAS, GLU_VECTORS };

/* The vectors that choose rows and constants, looked at on the host. */
typedef struct glu_chosen {
    void *v[GLU_VECTORS];
    uint64_t n[GLU_VECTORS];
    uint64_t rows, tile; /* of the input */
} glu_chosen;

static mxo_status glu_read_chosen(const mxo_call *call, glu_chosen *c,
                                  mxo_text why)
{
    static const char *const names[] = {"row", "expert", "limit", "alpha",
                                        "beta"};
    const int all = call_is(call, "per_expert", "all");
    const int own = all || call_is(call, "per_expert", "limit");

    for (int i = 0; i < GLU_VECTORS; i++) {
        const int wanted = i == GLU_ROW      ? call_is(call, "gather", "1")
                           : i <= GLU_LIMITS ? own
                                             : all;
        if (wanted) {
            MXO_TRY(glu_chosen_vector(call, names[i],
                                      i <= GLU_EXPERT ? MXO_I32 : MXO_F32,
                                      &c->v[i], &c->n[i], why));
        }
    }
    if (all && (c->n[GLU_ALPHAS] != c->n[GLU_LIMITS] ||
                c->n[GLU_BETAS] != c->n[GLU_LIMITS])) {
        return gpu_fail(MXO_E_SHAPE, why, "alpha, beta and limit differ");
    }
    return MXO_OK;
}

/* Every row that is asked for is there, and so is its expert. */
static mxo_status glu_check_chosen(const glu_chosen *c, uint64_t outputs,
                                   mxo_text why)
{
    const int32_t *const row = (const int32_t *)c->v[GLU_ROW];
    const int32_t *const expert = (const int32_t *)c->v[GLU_EXPERT];

    for (uint64_t i = 0; i < outputs; i++) {
        const uint64_t r = row == NULL ? i : (uint64_t)(uint32_t)row[i];
        if (r >= c->rows ||
            (expert != NULL &&
             (r / c->tile >= c->n[GLU_EXPERT] ||
              (uint64_t)(uint32_t)expert[r / c->tile] >= c->n[GLU_LIMITS]))) {
            return gpu_fail(MXO_E_PARAM, why,
                            "act.glu: row %llu or its expert is out of range",
                            (unsigned long long)i);
        }
    }
    return MXO_OK;
}

static mxo_status glu_put_table(const mxo_call *call, glu_args *a,
                                gpu_scratch *scratch, const glu_chosen *c,
                                mxo_text why)
{
    const glu_own own = {(const float *)c->v[GLU_ALPHAS],
                         (const float *)c->v[GLU_BETAS],
                         (const float *)c->v[GLU_LIMITS], NULL};
    const uint64_t bytes = c->n[GLU_LIMITS] * sizeof(glu_constants);
    glu_constants *const table = (glu_constants *)malloc((size_t)bytes + 1);
    mxo_status status =
        table == NULL
            ? gpu_fail(MXO_E_NOMEM, why, "no memory for constants")
            : glu_per_expert(call, a, &own, c->n[GLU_LIMITS], table, why);

    if (status == MXO_OK) {
        status = scratch_need(scratch, bytes + 1, why);
    }
    if (status == MXO_OK) {
        status = call_send(call, scratch->p, table, bytes, why);
        a->table = (const glu_constants *)scratch->p;
    }
    free(table);
    return status;
}

static mxo_status glu_choosers(const mxo_call *call, glu_args *a,
                               gpu_scratch *scratch, mxo_text why)
{
    glu_chosen c;

    memset(&c, 0, sizeof c);
    c.rows = a->cols == 0 ? 0 : a->outputs / a->cols;
    c.tile = (uint64_t)call_number(call, "tile");
    mxo_status status = glu_read_chosen(call, &c, why);
    const uint64_t rows = c.v[GLU_ROW] != NULL ? c.n[GLU_ROW] : c.rows;

    if (status == MXO_OK) {
        status = glu_check_chosen(&c, rows, why);
    }
    a->outputs = rows * a->cols;
    a->tile = (uint32_t)c.tile;
    if (c.v[GLU_ROW] != NULL) {
        a->pick =
            (const int32_t *)(const void *)tensor_address(call_in(call, "row"));
    }
    if (status == MXO_OK && c.v[GLU_EXPERT] != NULL) {
        a->expert = (const int32_t *)(const void *)tensor_address(
            call_in(call, "expert"));
        status = glu_put_table(call, a, scratch, &c, why);
    }
    for (int i = 0; i < GLU_VECTORS; i++) {
        free(c.v[i]);
    }
    return status;
}

#endif
