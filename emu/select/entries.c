/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions the decision is made of, each a question of its own: names,
 * keys, filters, priorities, routing methods.
 */
#include "rules.h"

#include <stddef.h>
#include <string.h>

static mxo_sel_failure failure_of(mxo_sel_error error)
{
    mxo_sel_failure f = {.error = error};

    return f;
}

int mxo_select_map(const mxo_select_config *c, uint8_t *out,
                   mxo_sel_failure *failure)
{
    const mxo_select_rules *rules = sel_rules(c);

    *failure = failure_of(MXO_SEL_ERROR_NONE);
    memset(out, 0, MXO_SEL_LIST_MAX);
    for (int i = 0; i < SEL_MAX_NAMES && rules->names[i].name[0] != '\0'; i++) {
        const sel_name *row = &rules->names[i];
        int n = 0;
        if (row->version != c->version ||
            strcmp(row->name, c->moe_backend) != 0) {
            continue;
        }
        while (n < SEL_NAMED_MAX && row->backends[n] != 0) {
            out[n] = row->backends[n];
            n++;
        }
        return n;
    }
    *failure = failure_of(MXO_SEL_ERROR_NAME);
    return 0;
}

const char *mxo_select_name_at(const mxo_select_config *c, int i)
{
    const sel_name *names = sel_rules(c)->names;

    for (int k = 0; k < SEL_MAX_NAMES && names[k].name[0] != '\0'; k++) {
        if (names[k].version == c->version && i-- == 0) {
            return names[k].name;
        }
    }
    return NULL;
}

mxo_sel_key mxo_select_backend_key(const mxo_select_config *c,
                                   mxo_sel_backend backend)
{
    return (mxo_sel_key)sel_rules(c)->backends[c->version][backend].key;
}

int mxo_select_has_backend(const mxo_select_config *c, mxo_sel_backend backend)
{
    return (sel_rules(c)->backends[c->version][backend].flags & SEL_KNOWN) != 0;
}

mxo_sel_experts mxo_select_class_at(const mxo_select_config *c,
                                    mxo_sel_backend backend, int i)
{
    const sel_backend *row = &sel_rules(c)->backends[c->version][backend];

    return i >= 0 && i < SEL_EXPERTS_MAX ? (mxo_sel_experts)row->experts[i]
                                         : MXO_SEL_EXPERTS_NONE;
}

static int contains(const uint8_t *list, int n, uint8_t backend)
{
    for (int i = 0; i < n; i++) {
        if (list[i] == backend) {
            return 1;
        }
    }
    return 0;
}

int mxo_select_filter(const mxo_select_config *c, const uint8_t *in, int n,
                      mxo_sel_key key, uint8_t *out)
{
    const sel_backend *rows = sel_rules(c)->backends[c->version];
    int kept = 0;

    for (int i = 0; i < n; i++) {
        const sel_backend *b = &rows[in[i]];
        if (b->key == key ||
            (key != MXO_SEL_KEY_NONE && (b->flags & SEL_ALWAYS_KEPT) != 0)) {
            out[kept++] = in[i];
        }
    }
    if (kept == 0 && key == MXO_SEL_KEY_NONE) {
        memmove(out, in, (size_t)n);
        return n;
    }
    for (int i = 0; key != MXO_SEL_KEY_NONE && i < n &&
                    sel_has(c, sel_rules(c)->switches.keeps_keyless);
         i++) {
        if (rows[in[i]].key == MXO_SEL_KEY_NONE &&
            !contains(out, kept, in[i])) {
            out[kept++] = in[i];
        }
    }
    return kept;
}

static const sel_name *name_row(const mxo_select_config *c)
{
    const sel_name *rows = sel_rules(c)->names;

    for (int i = 0; i < SEL_MAX_NAMES && rows[i].name[0] != '\0'; i++) {
        if (rows[i].version == c->version &&
            strcmp(rows[i].name, c->moe_backend) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

int sel_requested(const mxo_select_config *c, mxo_sel_key key, int filters,
                  uint8_t *out, mxo_sel_failure *failure)
{
    uint8_t named[MXO_SEL_LIST_MAX];
    const sel_name *row = name_row(c);
    const int n = mxo_select_map(c, named, failure);
    int forced = 0;

    memcpy(out, named, sizeof named);
    if (row == NULL) {
        return 0;
    }
    if (row->env != 0 && c->env[row->env] != NULL) {
        forced = sel_int_bool(c->env[row->env]);
    }
    if (forced < 0) {
        *failure = failure_of(MXO_SEL_ERROR_INTEGER);
        failure->env = (mxo_sel_env)row->env;
        return 0;
    }
    if (forced > 0) {
        out[0] = row->forced;
        return 1;
    }
    return !filters || (row->env != 0 && key == MXO_SEL_KEY_NONE)
               ? n
               : mxo_select_filter(c, named, n, key, out);
}

int mxo_select_requested(const mxo_select_config *c, mxo_sel_key key,
                         uint8_t *out, mxo_sel_failure *failure)
{
    return sel_requested(c, key, 1, out, failure);
}

mxo_sel_key mxo_select_resolve(const mxo_select_config *c,
                               mxo_sel_failure *failure)
{
    *failure = failure_of(MXO_SEL_ERROR_NONE);
    if (c->override_key == MXO_SEL_KEY_NONE) {
        return c->model_key;
    }
    if (c->model_key == MXO_SEL_KEY_NONE || c->model_key == c->override_key) {
        return c->override_key;
    }
    *failure = failure_of(MXO_SEL_ERROR_CONFLICT);
    failure->keys[0] = c->model_key;
    failure->keys[1] = c->override_key;
    return MXO_SEL_KEY_NONE;
}

int mxo_select_priority(const mxo_select_config *c, mxo_sel_list list,
                        uint8_t *out)
{
    const sel_list *rows = sel_rules(c)->lists;
    const sel_device d = sel_device_of(c);
    int n = 0;

    memset(out, 0, MXO_SEL_LIST_MAX);
    for (int i = 0; i < SEL_MAX_LISTS && rows[i].list != 0; i++) {
        if (rows[i].version == c->version && rows[i].list == list &&
            (rows[i].platforms >> c->platform & 1) != 0 &&
            (rows[i].high == 0 ||
             (d.cap >= rows[i].low && d.cap < rows[i].high))) {
            while (n < MXO_SEL_LIST_MAX && rows[i].backends[n] != 0) {
                out[n] = rows[i].backends[n];
                n++;
            }
            return n;
        }
    }
    return 0;
}

static int fits(uint8_t wanted, int is)
{
    return wanted == SEL_ANY || wanted == (is != 0);
}

mxo_sel_routing mxo_select_routing(const mxo_select_config *c,
                                   mxo_sel_scoring scoring, int64_t top_k,
                                   int renormalize, int64_t num_expert_group,
                                   int has_e_score_bias, int is_scaled)
{
    const sel_router *rows = sel_rules(c)->routers;

    for (int i = 0; i < SEL_MAX_ROUTING && rows[i].versions != 0; i++) {
        const sel_router *row = &rows[i];
        if ((row->versions >> c->version & 1) != 0 &&
            (row->scorings >> scoring & 1) != 0 &&
            fits(row->bias, has_e_score_bias) &&
            fits(row->group, num_expert_group > 0) &&
            fits(row->single, top_k == 1) && fits(row->unscaled, !is_scaled) &&
            fits(row->renormalize, renormalize)) {
            return (mxo_sel_routing)row->routing;
        }
    }
    return MXO_SEL_ROUTING_Unspecified;
}

int mxo_select_routing_value(const mxo_select_config *c,
                             mxo_sel_routing routing)
{
    static const int16_t values[][3] = {
#define MXO_SEL_ROUTING(id, v2026_07, v2026_05, v2026_03) \
    {v2026_07, v2026_05, v2026_03},
#include <mxoracle/select.def>
    };

    return values[routing][c->version < MXO_SEL_2026_05    ? 0
                           : c->version == MXO_SEL_2026_05 ? 1
                                                           : 2];
}
