/* SPDX-License-Identifier: Apache-2.0 */
/* See variant_call.h. */
#include "variant_call.h"

#include "data/fill_loaded.h"

#include <stdio.h>
#include <string.h>

int variant_make(variant_call *s, judge *j, const derivation *d,
                 const test_case *c, const tensor_set *in)
{
    memset(s, 0, sizeof *s);
    s->j = j;
    const mxo_text why = {s->why, sizeof s->why};

    return derive_call(d, c, in, &s->c, &s->in, why) == 0
               ? fill_load(&s->c, &s->in, why)
               : -1;
}

void variant_clear(variant_call *s)
{
    tensor_set_clear(&s->in);
}

static mxo_status run_cold(subject *by, const op_call *call, tensor_set *out,
                           run_checks *doubts, mxo_text why)
{
    const int decoy = by->decoy;

    by->decoy = 0;
    const mxo_status status = subject_run(by, call, out, doubts, why);
    by->decoy = decoy;
    return status;
}

mxo_status variant_ask(variant_call *s, subject *by, tensor_set *out)
{
    mxo_param params[OP_MAX_PARAMS];
    const mxo_text why = {s->why, sizeof s->why};
    const op_call call = {s->c.schema->info->name, params,
                          (uint32_t)s->c.schema->n_params, &s->in};
    run_checks doubts;

    case_params(&s->c, params);
    mxo_status status = subject_infer(&s->j->oracle, &call, out, why);

    if (status != MXO_OK) {
        return status;
    }
    status = run_cold(by, &call, out, &doubts, why);
    if ((status == MXO_OK || doubts.gone[0] != '\0') &&
        judge_doubts(&doubts, why)) {
        s->is_red = by == &s->j->subject;
        status = MXO_E_PARAM;
    } else if (by == &s->j->subject && status != MXO_OK &&
               status != MXO_E_UNSUPPORTED) {
        s->is_red = 1;
        (void)snprintf(why.ptr, why.size, "it refused an equivalent call");
    }
    return status;
}

static int ask_ends(accepted_range *r)
{
    mxo_param params[OP_MAX_PARAMS];
    char text[SUBJECT_TEXT];
    const op_call call = {r->c->schema->info->name, params,
                          (uint32_t)r->c->schema->n_params, r->in};
    const evidence e = {.j = r->j, .c = r->c, .call = &call};
    const bound_row *row = bound_row_for(r->c, r->want->name);

    case_params(r->c, params);
    return bound_is_spare(row, r->c) &&
           bound_ask(&r->ends, &e, row, r->want,
                     (mxo_text){text, sizeof text}) == 0;
}

int accepted_range_holds(accepted_range *r, uint64_t k, const host_tensor *got,
                         uint64_t i)
{
    if (!r->is_asked) {
        r->is_asked = 1;
        r->is_open = ask_ends(r);
    }
    return r->is_open &&
           bound_holds(&r->ends, k, got->dtype, tensor_load(got, i));
}

int variant_is_equal(const host_tensor *a, uint64_t i, const host_tensor *b,
                     uint64_t k)
{
    const uint64_t x = tensor_load(a, i);
    const uint64_t y = tensor_load(b, k);

    return x == y || (dtype_is_nan(a->dtype, x) && dtype_is_nan(b->dtype, y));
}
