/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules with one of them wrong.  Every row is changed in every way that an
 * answer could show: steps dropped, conditions dropped or turned round,
 * priorities swapped, bits of the support tables flipped, windows moved,
 * alignments doubled.  Calls of turn() number the changes.
 */
#include "rules.h"

#include "../call.h"

#include <stddef.h>
#include <string.h>

typedef struct mutation {
    mxo_select_rules *r;
    int left; /* changes to pass over */
    mxo_text what;
} mutation;

/* Is it this change's turn? */
static int turn(mutation *m)
{
    return m->left-- == 0;
}

/* A change is made; its name. */
#define MADE(m, ...) ((void)mxo_fail(MXO_OK, (m)->what, __VA_ARGS__), 1)

static const char *version_of(int v)
{
    return mxo_select_word(MXO_SEL_WORDS_VERSION, v);
}

static const char *backend_of(int b)
{
    return mxo_select_word(MXO_SEL_WORDS_BACKEND, b);
}

static const char *experts_of(int x)
{
    return mxo_select_word(MXO_SEL_WORDS_EXPERTS, x);
}

static const char *env_of(int e)
{
    return mxo_select_word(MXO_SEL_WORDS_ENV, e);
}

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
    for (unsigned bit = SEL_IF_LORA; bit <= SEL_FILTER; bit <<= 1) {
        if ((s->flags & bit) != 0 && turn(m)) {
            s->flags = (uint8_t)(s->flags & ~bit);
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
        for (int k = 1; k < SEL_EXPERTS_MAX && n->backends[k] != 0; k++) {
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

static int class_where(mutation *m, sel_where *w, int x, const char *v,
                       const char *what)
{
    const int is_bare = w->caps[0].high == 0 && w->gfx == 0;

    for (int p = 0; p < MXO_SEL_N_PLATFORMS; p++) {
        /* More platforms would still lack the capability or the name. */
        const int shows = is_bare || (w->platforms >> p & 1) != 0;
        if (w->platforms != 0 && shows && turn(m)) {
            w->platforms = (uint8_t)(w->platforms ^ 1u << p);
            return MADE(m, "%s, %s: %s %s is wrong", v, experts_of(x), what,
                        mxo_select_word(MXO_SEL_WORDS_PLATFORM, p));
        }
    }
    for (int g = 0; g < SEL_N_GFX; g++) {
        if ((w->gfx >> g & 1) != 0 && turn(m)) {
            w->gfx = (uint8_t)(w->gfx & ~(1u << g));
            return MADE(m, "%s, %s: %s lacks a gfx name", v, experts_of(x),
                        what);
        }
    }
    for (int i = 0; i < SEL_WINDOWS && w->caps[i].high != 0; i++) {
        if (turn(m)) {
            w->caps[i].low = (int16_t)(w->caps[i].low + 1);
            return MADE(m, "%s, %s: %s begins after %d", v, experts_of(x), what,
                        w->caps[i].low - 1);
        }
        /* Beyond several windows there is no published device. */
        if (w->caps[i].high < 1000 && w->caps[1].high == 0 && turn(m)) {
            w->caps[i].high = (int16_t)(w->caps[i].high + 10);
            return MADE(m, "%s, %s: %s ends at %d", v, experts_of(x), what,
                        w->caps[i].high);
        }
    }
    return 0;
}

/* What a class asks for first of all is not asked for. */
static int class_needs(mutation *m, sel_class *k, int x, const char *v)
{
    if (k->integer != 0 && turn(m)) {
        const char *name = env_of(k->integer);
        k->integer = 0;
        return MADE(m, "%s, %s does not look at %s", v, experts_of(x), name);
    }
    if (k->library != 0 && turn(m)) {
        k->library = 0;
        return MADE(m, "%s, %s needs no library", v, experts_of(x));
    }
    for (int e = 1; e < MXO_SEL_N_ENV; e++) {
        if ((k->aiter >> e & 1) != 0 && turn(m)) {
            k->aiter = (uint16_t)(k->aiter & ~(1u << e));
            return MADE(m, "%s, %s does not look at %s", v, experts_of(x),
                        env_of(e));
        }
    }
    return 0;
}

static int class_flags(mutation *m, sel_class *k, int x, int v)
{
    /* 2026-03 asks neither for batch invariance nor for LoRA. */
    const unsigned shown =
        v == MXO_SEL_2026_05
            ? SEL_UNGATED | SEL_LORA | SEL_INVARIANT | SEL_BATCHED | SEL_HINT
            : SEL_UNGATED | SEL_BATCHED | SEL_HINT;

    for (unsigned bit = SEL_UNGATED; bit <= SEL_HINT; bit <<= 1) {
        if ((shown & bit) != 0 && turn(m)) {
            k->flags = (uint16_t)(k->flags ^ bit);
            return MADE(m, "%s, %s: flag %u is wrong", version_of(v),
                        experts_of(x), bit);
        }
    }
    return 0;
}

static int class_tables(mutation *m, sel_class *k, int x, int v)
{
    for (int a = 0; a < MXO_SEL_N_ACTIVATIONS; a++) {
        const int exists =
            v == MXO_SEL_2026_05 ||
            (a != MXO_SEL_ACT_gelu_tanh && a != MXO_SEL_ACT_gelu_tanh_no_mul);
        if (exists && turn(m)) {
            k->activations = (uint16_t)(k->activations ^ 1u << a);
            return MADE(m, "%s, %s: activation %s is wrong", version_of(v),
                        experts_of(x),
                        mxo_select_word(MXO_SEL_WORDS_ACTIVATION, a));
        }
    }
    if (k->routings != 0 && turn(m)) {
        k->routings = 0;
        return MADE(m, "%s, %s routes by every method", version_of(v),
                    experts_of(x));
    }
    if (k->routings != 0 && turn(m)) {
        k->routings = 1 << MXO_SEL_ROUTING_DeepSeekV3;
        return MADE(m, "%s, %s routes by another method", version_of(v),
                    experts_of(x));
    }
    if (turn(m)) {
        k->parallel = k->parallel == 0 ? SEL_NO_A2A : 0;
        return MADE(m, "%s, %s: the parallel rule is wrong", version_of(v),
                    experts_of(x));
    }
    return class_flags(m, k, x, v);
}

/* Is the class ever asked with the key? */
static int is_asked(const mxo_select_rules *r, int v, int x, int key)
{
    if (x == MXO_SEL_EXPERTS_OCP_MXQuantizationEmulationTritonExperts) {
        return key != MXO_SEL_KEY_kMxfp4Static;
    }
    for (int k = 0; k < MXO_SEL_N_BACKENDS; k++) {
        const sel_backend *b = &r->backends[v][k];
        for (int i = 0; b->key == key && i < SEL_EXPERTS_MAX; i++) {
            if (b->experts[i] == x) {
                return 1;
            }
        }
    }
    return 0;
}

static int one_class(mutation *m, sel_class *k, int x, int version)
{
    const char *v = version_of(version);

    if (class_needs(m, k, x, v)) {
        return 1;
    }
    for (int i = 0; i < SEL_WHERES; i++) {
        if (class_where(m, &k->device[i], x, v, "device") ||
            class_where(m, &k->scheme[i], x, v, "scheme")) {
            return 1;
        }
    }
    for (int key = 0; key < MXO_SEL_N_KEYS; key++) {
        if (is_asked(m->r, version, x, key) && turn(m)) {
            k->scheme[0].keys = (uint16_t)(k->scheme[0].keys ^ 1u << key);
            return MADE(m, "%s, %s: key %d is wrong", v, experts_of(x), key);
        }
    }
    return class_tables(m, k, x, version);
}

static int classes(mutation *m)
{
    for (int v = 0; v < MXO_SEL_N_VERSIONS; v++) {
        for (int x = 1; x < MXO_SEL_N_EXPERTS; x++) {
            sel_class *k = &m->r->classes[v][x];
            /* Rows that are there have activations, but for Humming's. */
            if (k->activations != 0 && one_class(m, k, x, v)) {
                return 1;
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
    if (b->batched != 0 && turn(m)) {
        b->batched = 0;
        return MADE(m, "%s, %s is never replaced by a batched one", v,
                    backend_of(k));
    }
    if ((b->flags & SEL_ALWAYS_KEPT) != 0 && turn(m)) {
        b->flags = (uint8_t)(b->flags & ~SEL_ALWAYS_KEPT);
        return MADE(m, "%s, the filter drops %s", v, backend_of(k));
    }
    if ((b->flags & SEL_NEEDS_PACKAGE) != 0 && turn(m)) {
        b->flags = (uint8_t)(b->flags & ~SEL_NEEDS_PACKAGE);
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
            if (known && v == MXO_SEL_2026_05 && turn(m)) {
                q->linear_scale ^= 1;
                return MADE(m, "%s, %s swizzles scales otherwise",
                            version_of(v), backend_of(k));
            }
            if (known && v == MXO_SEL_2026_05 && turn(m)) {
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
                                   &row->renormalize};
        for (int f = 0; f < 4; f++) {
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

mxo_status mxo_select_rules_mutate(void *copy, int i, mxo_text what)
{
    mutation m = {copy, i, what};

    *m.r = mxo_select_standard;
    return i >= 0 && (steps(&m) || lists(&m) || names(&m) || backends(&m) ||
                      sizes(&m) || quants(&m) || routers(&m) || switches(&m) ||
                      classes(&m))
               ? MXO_OK
               : mxo_fail(MXO_E_PARAM, what, "there is no change %d", i);
}

size_t mxo_select_rules_bytes(void)
{
    return sizeof(mxo_select_rules);
}
