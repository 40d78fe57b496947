/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of a platform and of its environment: capability, gfx
 * patterns, all-to-all backends, and variables parsed as vLLM parses them.
 */
#include "rules.h"

#include <stdint.h>
#include <string.h>

static const char *const gfx_patterns[] = {
#define MXO_SEL_GFX(id, text) text,
#include <mxoracle/select.def>
};

static int digit(const char *s, int i)
{
    return s[i] >= '0' && s[i] <= '9' ? s[i] - '0' : -1;
}

/* gfx90a is (9, 0), gfx942 (9, 4), gfx1030 (10, 3); -1: unknown. */
static int gfx_capability(const char *gfx)
{
    int n = 0;

    if (strncmp(gfx, "gfx", 3) != 0) {
        return -1;
    }
    gfx += 3;
    while (digit(gfx, n) >= 0) {
        n++;
    }
    if (n < 2) {
        return -1;
    }
    return n < 4 ? 10 * digit(gfx, 0) + digit(gfx, 1)
                 : 100 * digit(gfx, 0) + 10 * digit(gfx, 1) + digit(gfx, 2);
}

sel_device sel_device_of(const mxo_select_config *c)
{
    sel_device d = {(uint8_t)(1u << c->platform), 0, -1};

    if (c->platform == MXO_SEL_PLATFORM_cuda && c->major >= 0) {
        d.cap = (int16_t)(10 * c->major + c->minor);
    }
    if (c->platform == MXO_SEL_PLATFORM_rocm && c->gfx != NULL) {
        d.cap = (int16_t)gfx_capability(c->gfx);
        for (int i = 0; i < SEL_N_GFX; i++) {
            if (strstr(c->gfx, gfx_patterns[i]) != NULL) {
                d.gfx |= (uint8_t)(1u << i);
            }
        }
    }
    return d;
}

int sel_where_holds(const sel_where *w, const sel_device *d)
{
    if ((w->platforms != 0 && (w->platforms & d->platform) == 0) ||
        (w->gfx != 0 && (w->gfx & d->gfx) == 0) || (w->not_gfx & d->gfx) != 0) {
        return 0;
    }
    for (int i = 0; i < SEL_WINDOWS && w->caps[i].high != 0; i++) {
        if (d->cap >= w->caps[i].low && d->cap < w->caps[i].high) {
            return 1;
        }
    }
    return w->caps[0].high == 0;
}

/* Characters of ASCII that Python's int() strips. */
static int is_blank(char ch)
{
    return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

int sel_int_bool(const char *text)
{
    const char *end = text + strlen(text);
    int is_true = 0;
    int was_digit = 0;

    while (end > text && is_blank(end[-1])) {
        end--;
    }
    while (text < end && is_blank(*text)) {
        text++;
    }
    text += text < end && (*text == '+' || *text == '-');
    for (; text < end; text++) {
        const int d = digit(text, 0);
        if (d < 0 && (*text != '_' || !was_digit)) {
            return -1;
        }
        was_digit = d >= 0;
        is_true |= d > 0;
    }
    return was_digit ? is_true : -1;
}

int sel_equals_lower(const char *text, const char *word)
{
    for (; *text != '\0'; text++, word++) {
        const char lower =
            (char)(*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text);
        if (lower != *word) {
            return 0;
        }
    }
    return *word == '\0';
}

int sel_aiter_bool(const char *text)
{
    return sel_equals_lower(text, "true") || sel_equals_lower(text, "1");
}

int sel_aiter_on(const mxo_select_config *c, mxo_sel_env env)
{
    /* AITER as a whole is off unless asked for, its MoE is on. */
    return c->env[env] == NULL ? env == MXO_SEL_ENV_VLLM_ROCM_USE_AITER_MOE
                               : sel_aiter_bool(c->env[env]);
}

int sel_all_to_all(const mxo_select_config *c)
{
    static const struct {
        const char *name;
        int bit;
    } known[] = {
        {"deepep_low_latency", SEL_A2A_DEEPEP_LL},
        {"deepep_high_throughput", SEL_A2A_DEEPEP_HT},
        {"nixl_ep", SEL_A2A_NIXL},
        {"deepep_v2", SEL_A2A_DEEPEP_V2},
        {"flashinfer_all2allv", SEL_A2A_TWO_SIDED},
        {"flashinfer_nvlink_one_sided", SEL_A2A_ONE_SIDED},
        {"flashinfer_nvlink_two_sided", SEL_A2A_TWO_SIDED},
    };
    const mxo_sel_parallel *p = &c->parallel;
    const int is_wide = sel_has(c, sel_rules(c)->switches.wide_a2a) &&
                        (p->pcp_size > 1 || p->sp_size > 1);

    if (!p->use_ep || (p->dp_size <= 1 && !is_wide)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(c->parallel.all2all_backend, known[i].name) == 0) {
            return SEL_A2A | known[i].bit;
        }
    }
    return SEL_A2A;
}

int sel_is_gated(const mxo_select_config *c)
{
    const unsigned ungated =
        1u << MXO_SEL_ACT_silu_no_mul | 1u << MXO_SEL_ACT_gelu_no_mul |
        1u << MXO_SEL_ACT_gelu_tanh_no_mul | 1u << MXO_SEL_ACT_relu2_no_mul;

    return sel_has(c, sel_rules(c)->switches.gates_by_name)
               ? (ungated >> c->activation & 1) == 0
               : c->is_act_and_mul;
}

int sel_is_batched(const mxo_select_config *c)
{
    return (sel_all_to_all(c) &
            sel_rules(c)->switches.batched_a2a[c->version]) != 0;
}
