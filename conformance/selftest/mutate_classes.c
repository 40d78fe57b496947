/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of experts with one of their cells wrong; see mutate.c. */
#include "mutation.h"

static const char *experts_of(int x)
{
    return mxo_select_word(MXO_SEL_WORDS_EXPERTS, x);
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
        if (w->caps[i].low > 0 && turn(m)) {
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

/* Leave out the first requirement of a class. */
static int class_needs(mutation *m, sel_class *k, int x, const char *v)
{
    if (k->parsed.platforms != 0 && turn(m)) {
        k->parsed.platforms = 0;
        return MADE(m, "%s, %s parses %s everywhere", v, experts_of(x),
                    env_of(k->integer));
    }
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
            k->aiter &= ~(1u << e);
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
        v <= MXO_SEL_2026_05
            ? SEL_UNGATED | SEL_LORA | SEL_INVARIANT | SEL_BATCHED | SEL_HINT
            : SEL_UNGATED | SEL_BATCHED | SEL_HINT;

    for (unsigned bit = SEL_HASH_ROUTING; bit <= SEL_MOE_EP; bit <<= 1) {
        if ((k->flags & bit) != 0 && turn(m)) {
            k->flags ^= bit;
            return MADE(m, "%s, %s loses flag %u", version_of(v), experts_of(x),
                        bit);
        }
    }
    /* Before 2026-11 the class asked last refuses for its kind only. */
    if ((k->flags & SEL_HUMMING_KIND) != 0 &&
        (x != MXO_SEL_EXPERTS_HummingIndexedExperts || v == MXO_SEL_2026_11) &&
        turn(m)) {
        k->flags ^= SEL_HUMMING_KIND;
        return MADE(m, "%s, %s takes every kind", version_of(v), experts_of(x));
    }
    if ((k->flags & SEL_HUMMING_KIND) != 0 && (k->flags & SEL_BATCHED) == 0 &&
        turn(m)) {
        k->flags ^= SEL_GROUPED;
        return MADE(m, "%s, %s is of another kind", version_of(v),
                    experts_of(x));
    }
    for (unsigned bit = SEL_UNGATED; bit <= SEL_HINT; bit <<= 1) {
        /* Refused before: ungated layers of a CPU, batches by all-to-all. */
        const int is_hidden =
            (bit == SEL_UNGATED && x == MXO_SEL_EXPERTS_CPUExpertsMxfp4 &&
             v < MXO_SEL_2026_05) ||
            (bit == SEL_BATCHED && x == MXO_SEL_EXPERTS_TrtLlmMxfp4LoRAExperts);
        if ((shown & bit) != 0 && !is_hidden && turn(m)) {
            k->flags ^= bit;
            return MADE(m, "%s, %s: flag %u is wrong", version_of(v),
                        experts_of(x), bit);
        }
    }
    return 0;
}

/* Does the version know the activation? */
static int has_activation(int v, int a)
{
    switch (a) {
    case MXO_SEL_ACT_situ:
        return v <= MXO_SEL_2026_09;
    case MXO_SEL_ACT_swigluoai_uninterleave:
        return v <= MXO_SEL_2026_07;
    case MXO_SEL_ACT_gelu_tanh:
    case MXO_SEL_ACT_gelu_tanh_no_mul:
        return v <= MXO_SEL_2026_05;
    default:
        return 1;
    }
}

/* Where the name says that a layer is ungated, a gated class says so first. */
static int shows_activation(const mxo_select_rules *r, const sel_class *k,
                            int v, int a)
{
    const int is_ungated =
        a == MXO_SEL_ACT_silu_no_mul || a == MXO_SEL_ACT_gelu_no_mul ||
        a == MXO_SEL_ACT_gelu_tanh_no_mul || a == MXO_SEL_ACT_relu2_no_mul;

    return !is_ungated || (r->switches.gates_by_name >> v & 1) == 0 ||
           (k->flags & SEL_UNGATED) != 0;
}

/* Each thing of the parallel configuration that is refused, and two more. */
static int class_parallel(mutation *m, sel_class *k, int x, int v)
{
    const unsigned more = SEL_NO_A2A | SEL_NO_EPLB;

    if ((k->parallel & SEL_NO_FLASHINFER_A2A) == SEL_NO_FLASHINFER_A2A &&
        turn(m)) {
        k->parallel = (uint16_t)(k->parallel & ~SEL_NO_FLASHINFER_A2A);
        return MADE(m, "%s, %s takes FlashInfer's all-to-all", version_of(v),
                    experts_of(x));
    }
    for (unsigned bit = SEL_NO_TWO_SIDED; bit <= SEL_NO_BATCHED; bit <<= 1) {
        /* a2a needs use_ep and, in the cases, dp. */
        const int is_both =
            (k->parallel & SEL_NO_FLASHINFER_A2A) == SEL_NO_FLASHINFER_A2A &&
            (bit & SEL_NO_FLASHINFER_A2A) != 0;
        const int is_covered =
            is_both ||
            (bit == SEL_NO_A2A &&
             (k->parallel & (SEL_NO_DP | SEL_NO_EP | SEL_NO_USE_EP)) != 0);
        if (((k->parallel | more) & bit) != 0 && !is_covered && turn(m)) {
            k->parallel = (uint16_t)(k->parallel ^ bit);
            return MADE(m, "%s, %s: parallel rule %u is wrong", version_of(v),
                        experts_of(x), bit);
        }
    }
    return 0;
}

static int class_tables(mutation *m, sel_class *k, int x, int v)
{
    for (int a = 0; a < MXO_SEL_N_ACTIVATIONS; a++) {
        if (has_activation(v, a) && shows_activation(m->r, k, v, a) &&
            turn(m)) {
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
    if (k->optional != 0 && turn(m)) {
        k->optional = 0;
        return MADE(m, "%s, %s needs no library for situ", version_of(v),
                    experts_of(x));
    }
    if (class_parallel(m, k, x, v)) {
        return 1;
    }
    return class_flags(m, k, x, v);
}

/* Whether the class is ever asked with the key. */
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

int mutate_classes(mutation *m)
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
