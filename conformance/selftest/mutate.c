/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules with one of them wrong.  Every row is changed in every way that an
 * answer could show: steps dropped, conditions dropped or turned round,
 * priorities swapped, bits of the support tables flipped, windows moved,
 * alignments doubled.  Calls of turn() number the changes.
 */
#include "mutate.h"

#include "mutation.h"

#include <stddef.h>
#include <string.h>

static int step_conditions(mutation *m, sel_step *s, int i)
{
    const char *v = version_of(s->version);

    if (s->env != 0 && turn(m)) {
        const char *name = env_of(s->env);
        s->env = 0;
        return MADE(m, "%s, step %d does not look at %s", v, i, name);
    }
    if (s->is != SEL_IS_ANY && turn(m)) {
        s->is = (uint8_t)(SEL_IS_TRUE + SEL_IS_FALSE - s->is);
        return MADE(m, "%s, step %d turns %s round", v, i, env_of(s->env));
    }
    if ((s->where.platforms != 0 || s->where.caps[0].high != 0) && turn(m)) {
        memset(&s->where, 0, sizeof s->where);
        return MADE(m, "%s, step %d is taken on every device", v, i);
    }
    if (s->routings != 0 && turn(m)) {
        s->routings = 0;
        return MADE(m, "%s, step %d ignores the routing method", v, i);
    }
    for (unsigned bit = SEL_IF_LORA; bit <= SEL_WITH_WANTED; bit <<= 1) {
        if ((s->flags & bit) != 0 && turn(m)) {
            s->flags = (uint16_t)(s->flags & ~bit);
            return MADE(m, "%s, step %d loses its condition %u", v, i, bit);
        }
    }
    return 0;
}

static int steps(mutation *m)
{
    for (int i = 0; i < SEL_MAX_STEPS && m->r->steps[i].op != SEL_OP_END; i++) {
        sel_step *s = &m->r->steps[i];
        const char *v = version_of(s->version);
        if (s->version == MXO_SEL_2025_08 ||
            (s->op == SEL_OP_TAKE && s->backend == MXO_SEL_BACKEND_NONE)) {
            continue; /* no published decisions; what is there anyway */
        }
        if (turn(m)) {
            *s = (sel_step){.version = s->version, .op = SEL_OP_PARSE};
            return MADE(m, "%s, step %d left out", v, i);
        }
        if (s->key != MXO_SEL_KEY_NONE && turn(m)) {
            s->key = MXO_SEL_KEY_NONE;
            return MADE(m, "%s, step %d tries without a key", v, i);
        }
        if (s->error != MXO_SEL_ERROR_NONE && turn(m)) {
            s->error = MXO_SEL_ERROR_LINEAR;
            return MADE(m, "%s, step %d raises something else", v, i);
        }
        if (s->op == SEL_OP_TRY && turn(m)) {
            s->op = SEL_OP_TAKE;
            return MADE(m, "%s, step %d takes without asking", v, i);
        }
        if (step_conditions(m, s, i)) {
            return 1;
        }
    }
    return 0;
}

static int lists(mutation *m)
{
    for (int i = 0; i < SEL_MAX_LISTS && m->r->lists[i].list != 0; i++) {
        sel_list *l = &m->r->lists[i];
        const char *name = mxo_select_word(MXO_SEL_WORDS_LIST, l->list);
        if (l->high != 0 && turn(m)) {
            l->high = 0;
            return MADE(m, "%s, %s list of one device for every device",
                        version_of(l->version), name);
        }
        for (int k = 1; k < MXO_SEL_LIST_MAX && l->backends[k] != 0; k++) {
            const uint8_t before = l->backends[k - 1];
            if (turn(m)) {
                l->backends[k - 1] = l->backends[k];
                l->backends[k] = before;
                return MADE(m, "%s, %s list: %s before %s",
                            version_of(l->version), name,
                            backend_of(l->backends[k - 1]), backend_of(before));
            }
        }
        for (int k = 0; k < MXO_SEL_LIST_MAX && l->backends[k] != 0; k++) {
            if (turn(m)) {
                const uint8_t gone = l->backends[k];
                memmove(&l->backends[k], &l->backends[k + 1],
                        (size_t)(MXO_SEL_LIST_MAX - k - 1));
                l->backends[MXO_SEL_LIST_MAX - 1] = 0;
                return MADE(m, "%s, %s list without %s", version_of(l->version),
                            name, backend_of(gone));
            }
        }
    }
    return 0;
}

static int names(mutation *m)
{
    for (int i = 0; i < SEL_MAX_NAMES && m->r->names[i].name[0] != '\0'; i++) {
        sel_name *n = &m->r->names[i];
        if (turn(m)) {
            n->name[0] = '?';
            return MADE(m, "%s does not know moe_backend %s?",
                        version_of(n->version), n->name + 1);
        }
        if (n->env != 0 && turn(m)) {
            n->env = 0;
            return MADE(m, "%s, %s does not look at its variable",
                        version_of(n->version), n->name);
        }
        if (n->forced != 0 && turn(m)) {
            n->forced = n->backends[0];
            return MADE(m, "%s, %s forces another backend",
                        version_of(n->version), n->name);
        }
        for (int k = 1; k < SEL_NAMED_MAX && n->backends[k] != 0; k++) {
            if (turn(m)) {
                const uint8_t before = n->backends[k - 1];
                n->backends[k - 1] = n->backends[k];
                n->backends[k] = before;
                return MADE(m, "%s, %s tries number %d first",
                            version_of(n->version), n->name, k);
            }
        }
    }
    return 0;
}

static int one_backend(mutation *m, sel_backend *b, int k, const char *v)
{
    if (turn(m)) {
        b->key = b->key == MXO_SEL_KEY_NONE ? MXO_SEL_KEY_kMxfp8Dynamic
                                            : MXO_SEL_KEY_NONE;
        return MADE(m, "%s, %s has another key", v, backend_of(k));
    }
    if (b->experts[1] != 0 && turn(m)) {
        const uint8_t first = b->experts[0];
        b->experts[0] = b->experts[1];
        b->experts[1] = first;
        return MADE(m, "%s, %s asks its second class first", v, backend_of(k));
    }
    if (b->lora != 0 && turn(m)) {
        b->lora = 0;
        return MADE(m, "%s, %s has no class for LoRA", v, backend_of(k));
    }
    if ((b->flags & SEL_REFUSES_LORA) != 0 && turn(m)) {
        b->flags = (uint16_t)(b->flags & ~SEL_REFUSES_LORA);
        return MADE(m, "%s, %s asks a class for LoRA", v, backend_of(k));
    }
    if (b->batched != 0 && turn(m)) {
        b->batched = 0;
        return MADE(m, "%s, %s is never replaced by a batched one", v,
                    backend_of(k));
    }
    if ((b->flags & SEL_ALWAYS_KEPT) != 0 && turn(m)) {
        b->flags = (uint16_t)(b->flags & ~SEL_ALWAYS_KEPT);
        return MADE(m, "%s, the filter drops %s", v, backend_of(k));
    }
    if ((b->flags & SEL_NEEDS_PACKAGE) != 0 && turn(m)) {
        b->flags = (uint16_t)(b->flags & ~SEL_NEEDS_PACKAGE);
        return MADE(m, "%s, %s needs no package", v, backend_of(k));
    }
    return 0;
}

static int backends(mutation *m)
{
    for (int v = 0; v < MXO_SEL_2025_08; v++) {
        for (int k = 0; k < MXO_SEL_N_BACKENDS; k++) {
            sel_backend *b = &m->r->backends[v][k];
            if ((b->flags & SEL_KNOWN) != 0 &&
                one_backend(m, b, k, version_of(v))) {
                return 1;
            }
        }
    }
    return 0;
}

static int sizes(mutation *m)
{
    for (int i = 0; i < SEL_MAX_ROUND && m->r->rounds[i].hidden != 0; i++) {
        sel_round *row = &m->r->rounds[i];
        const char *v = version_of(row->version);
        if (turn(m)) {
            row->hidden = (uint16_t)(row->hidden + 64);
            return MADE(m, "%s, sizes row %d rounds hidden to %d", v, i,
                        row->hidden);
        }
        if (turn(m)) {
            row->intermediate = (uint16_t)(row->intermediate + 64);
            return MADE(m, "%s, sizes row %d rounds intermediate to %d", v, i,
                        row->intermediate);
        }
        if (row->platforms != 31 && row->gfx == 0 && turn(m)) {
            row->platforms = 31;
            return MADE(m, "%s, sizes row %d holds everywhere", v, i);
        }
        if (row->gfx != 0 && turn(m)) {
            row->gfx = 0;
            return MADE(m, "%s, sizes row %d holds for every gfx", v, i);
        }
        if (row->not_gfx != 0 && turn(m)) {
            row->not_gfx = 0;
            return MADE(m, "%s, sizes row %d holds for every gfx", v, i);
        }
        if (row->activations != 0 && turn(m)) {
            row->activations = 0;
            return MADE(m, "%s, sizes row %d ignores the activation", v, i);
        }
    }
    return 0;
}

static int quants(mutation *m)
{
    for (int v = 0; v < MXO_SEL_2025_08; v++) {
        for (int k = 0; k < MXO_SEL_N_BACKENDS; k++) {
            sel_quant *q = &m->r->quants[v][k];
            const int known = (m->r->backends[v][k].flags & SEL_KNOWN) != 0 &&
                              q->kind != SEL_QUANT_LAYER &&
                              k != MXO_SEL_BACKEND_NONE;
            if (known && turn(m)) {
                q->kind = (uint8_t)((q->kind + 1) % SEL_QUANT_LAYER);
                return MADE(m, "%s, %s quantises otherwise", version_of(v),
                            backend_of(k));
            }
            if (known && v <= MXO_SEL_2026_05 && turn(m)) {
                q->linear_scale ^= 1;
                return MADE(m, "%s, %s swizzles scales otherwise",
                            version_of(v), backend_of(k));
            }
            if (known && v <= MXO_SEL_2026_05 && turn(m)) {
                q->alignment = (uint16_t)(q->alignment + 32);
                return MADE(m, "%s, %s has another mx_alignment", version_of(v),
                            backend_of(k));
            }
        }
    }
    return 0;
}

static int routers(mutation *m)
{
    for (int i = 0; i < SEL_MAX_ROUTING && m->r->routers[i].versions != 0;
         i++) {
        sel_router *row = &m->r->routers[i];
        if ((row->versions >> MXO_SEL_2025_08 & 1) != 0) {
            continue;
        }
        if (turn(m)) {
            row->routing = row->routing == MXO_SEL_ROUTING_Unspecified
                               ? MXO_SEL_ROUTING_TopK
                               : MXO_SEL_ROUTING_Unspecified;
            return MADE(m, "routing row %d names another method", i);
        }
        uint8_t *const fields[] = {&row->bias, &row->group, &row->single,
                                   &row->renormalize, &row->unscaled};
        for (int f = 0; f < 5; f++) {
            if (*fields[f] != SEL_ANY && turn(m)) {
                *fields[f] = !*fields[f];
                return MADE(m, "routing row %d, condition %d turned round", i,
                            f);
            }
        }
    }
    return 0;
}

static int switches(mutation *m)
{
    sel_switches *s = &m->r->switches;

    for (unsigned bit = SEL_A2A_DEEPEP_LL; bit <= SEL_A2A_DEEPEP_HT;
         bit <<= 1) {
        for (int v = 0; v < MXO_SEL_2025_08; v++) {
            if (turn(m)) {
                s->batched_a2a[v] = (uint8_t)(s->batched_a2a[v] ^ bit);
                return MADE(m, "%s, all-to-all %u is batched or not",
                            version_of(v), bit);
            }
        }
    }
    for (int f = 0; f < 7; f++) {
        static const char *const words[] = {
            "gates",           "all-to-all",   "asked routes",      "kept keys",
            "Humming's kinds", "gemm1 fields", "handed activations"};
        uint8_t *const fields[] = {&s->gates_by_name,   &s->wide_a2a,
                                   &s->asks_routes,     &s->keeps_keyless,
                                   &s->humming_kinds,   &s->gemm1_fields,
                                   &s->hands_activation};
        for (int v = 0; v < MXO_SEL_2025_08; v++) {
            const int is_old = v == MXO_SEL_2026_03;
            if (!is_old && (*fields[f] >> v & 1) != 0 && turn(m)) {
                *fields[f] = (uint8_t)(*fields[f] ^ 1u << v);
                return MADE(m, "%s, %s as before", version_of(v), words[f]);
            }
        }
    }
    if (turn(m)) {
        s->shape.hidden = 0;
        return MADE(m, "no shape is singled out");
    }
    if (turn(m)) {
        s->fnuz_gfx = 0;
        return MADE(m, "gfx94 has e4m3fn");
    }
    if (turn(m)) {
        s->triton_low = 89;
        return MADE(m, "LoRA: triton from 8.9");
    }
    if (turn(m)) {
        s->triton_high = 120;
        return MADE(m, "LoRA: triton below 12.0");
    }
    return 0;
}

mxo_status select_rules_mutate(void *copy, int i, mxo_text what)
{
    mutation m = {copy, i, what};

    *m.r = mxo_select_standard;
    return i >= 0 && (steps(&m) || lists(&m) || names(&m) || backends(&m) ||
                      sizes(&m) || quants(&m) || routers(&m) || switches(&m) ||
                      mutate_classes(&m))
               ? MXO_OK
               : mxo_fail(MXO_E_PARAM, what, "there is no change %d", i);
}

size_t select_rules_bytes(void)
{
    return sizeof(mxo_select_rules);
}
