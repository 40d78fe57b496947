/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selection over a cross product of more than 100,000 configurations: what
 * must hold of every answer, whatever the rules say.
 */
#include "select/rules.h"

#include <mxoracle/profile.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

static const struct {
    mxo_sel_platform platform;
    int major, minor;
    const char *gfx;
} platforms[] = {
    {MXO_SEL_PLATFORM_cuda, 7, 0, NULL},
    {MXO_SEL_PLATFORM_cuda, 8, 9, NULL},
    {MXO_SEL_PLATFORM_cuda, 9, 0, NULL},
    {MXO_SEL_PLATFORM_cuda, 10, 0, NULL},
    {MXO_SEL_PLATFORM_cuda, 12, 1, NULL},
    {MXO_SEL_PLATFORM_cuda, -1, 0, NULL},
    {MXO_SEL_PLATFORM_rocm, -1, 0, "gfx942"},
    {MXO_SEL_PLATFORM_rocm, -1, 0, "gfx950"},
    {MXO_SEL_PLATFORM_rocm, -1, 0, "gfx1100"},
    {MXO_SEL_PLATFORM_xpu, -1, 0, NULL},
    {MXO_SEL_PLATFORM_cpu, -1, 0, NULL},
    {MXO_SEL_PLATFORM_tpu, -1, 0, NULL},
};

/* Variables and their values; the first row is none. */
static const struct {
    mxo_sel_env env;
    const char *value;
} variables[] = {
    {MXO_SEL_ENV_NONE, NULL},
    {MXO_SEL_ENV_VLLM_USE_FLASHINFER_MOE_MXFP4_BF16, "1"},
    {MXO_SEL_ENV_VLLM_USE_FLASHINFER_MOE_MXFP4_BF16, "0"},
    {MXO_SEL_ENV_VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8, "1"},
    {MXO_SEL_ENV_VLLM_MXFP4_USE_MARLIN, "1"},
    {MXO_SEL_ENV_VLLM_MXFP4_USE_MARLIN, "0"},
    {MXO_SEL_ENV_VLLM_USE_DEEP_GEMM, "x"},
    {MXO_SEL_ENV_VLLM_BATCH_INVARIANT, "1"},
    {MXO_SEL_ENV_VLLM_ROCM_USE_AITER, "1"},
    {MXO_SEL_ENV_VLLM_HUMMING_MOE_GEMM_TYPE, "grouped"},
};

static const struct {
    int dp_size, use_ep, eplb;
    const char *all2all;
} parallels[] = {{1, 0, 0, "allgather_reducescatter"},
                 {2, 1, 0, "deepep_low_latency"},
                 {2, 1, 0, "flashinfer_all2allv"},
                 {1, 0, 1, "pplx"}};

static const mxo_sel_key wishes[] = {
    MXO_SEL_KEY_NONE, MXO_SEL_KEY_kMxfp8Dynamic, MXO_SEL_KEY_kMxfp4Dynamic};

enum {
    N_PLATFORMS = sizeof platforms / sizeof platforms[0],
    N_VARIABLES = sizeof variables / sizeof variables[0],
    N_PARALLELS = sizeof parallels / sizeof parallels[0],
    N_WISHES = sizeof wishes / sizeof wishes[0],
    N_FUNCTIONS = 4, /* three oracle functions and env-2025-08 */
    N_LIBRARIES = 2
};

/* A digit of a mixed-base number. */
static int digit(size_t *n, int base)
{
    const int d = (int)(*n % (size_t)base);

    *n /= (size_t)base;
    return d;
}

/* Configuration number n; 0 if there is none. */
static int configuration(mxo_select_config *c, size_t n)
{
    static const mxo_sel_routing routings[] = {MXO_SEL_ROUTING_Renormalize,
                                               MXO_SEL_ROUTING_DeepSeekV3};
    const int function = digit(&n, N_FUNCTIONS);
    const int platform = digit(&n, N_PLATFORMS);
    const int variable = digit(&n, N_VARIABLES);
    const int parallel = digit(&n, N_PARALLELS);
    const int activation = digit(&n, MXO_SEL_N_ACTIVATIONS);
    const int special = digit(&n, 4);

    mxo_select_defaults(c);
    c->version = function < 2    ? MXO_SEL_2026_05
                 : function == 2 ? MXO_SEL_2026_03
                                 : MXO_SEL_2025_08;
    c->entry = function == 1 ? MXO_SEL_ENTRY_deepseek_v4 : MXO_SEL_ENTRY_mxfp4;
    c->platform = platforms[platform].platform;
    c->major = platforms[platform].major;
    c->minor = platforms[platform].minor;
    c->gfx = platforms[platform].gfx;
    c->env[variables[variable].env] = variables[variable].value;
    c->parallel.dp_size = parallels[parallel].dp_size;
    c->parallel.use_ep = parallels[parallel].use_ep;
    c->parallel.enable_eplb = parallels[parallel].eplb;
    c->parallel.all2all_backend = parallels[parallel].all2all;
    c->activation = (mxo_sel_activation)activation;
    c->is_lora_enabled = special == 1;
    c->is_act_and_mul = special != 2;
    c->routing = routings[special == 3];
    c->libraries = special == 2 ? 0 : c->libraries;
    c->hidden = (int64_t)(2880 + n % 3);
    c->intermediate = (int64_t)(1 + variable * 300);
    /* The remaining digits choose name and wish. */
    const int wish = digit(&n, N_WISHES);
    const char *name = mxo_select_name_at(c, (int)n - 1);

    if (n > 0) {
        c->moe_backend = name;
    }
    c->model_key = wishes[wish];
    return n == 0 || name != NULL;
}

static int contains(const uint8_t *list, int n, mxo_sel_backend b)
{
    for (int i = 0; i < n; i++) {
        if (list[i] == b) {
            return 1;
        }
    }
    return 0;
}

/* A sentence about what does not hold, or NULL. */
static const char *broken_error(const mxo_select_config *c,
                                const mxo_select_result *r)
{
    char text[4096];
    const size_t n =
        mxo_select_failure_text(c, &r->failure, (mxo_text){text, sizeof text});

    if (r->backend != 0 || r->experts != 0 || r->hidden != 0) {
        return "an error and a result";
    }
    if (n == 0 || n >= sizeof text || strpbrk(text, "{}") != NULL) {
        return "an error without its text";
    }
    for (uint32_t i = 0; i < r->n_trace; i++) {
        if (r->trace[i].reason == 0) {
            return "an error although a class was supported";
        }
    }
    return mxo_select_error_type(r->failure.error)[0] == '\0'
               ? "an error without a type"
               : NULL;
}

static const char *broken_sizes(const mxo_select_config *c,
                                const mxo_select_result *r)
{
    int64_t h;
    int64_t i;

    mxo_select_alignment(c, r->backend, &h, &i);
    if (r->hidden % h != 0 || r->hidden < c->hidden ||
        r->hidden >= c->hidden + h) {
        return "hidden is not rounded up to its alignment";
    }
    if (r->intermediate % i != 0 || r->intermediate < c->intermediate ||
        r->intermediate >= c->intermediate + i) {
        return "intermediate is not rounded up to its alignment";
    }
    return NULL;
}

/* Choices without a class are rows of steps.def: none, XPU, before 2026. */
static const char *broken_bare(const mxo_select_config *c,
                               const mxo_select_result *r)
{
    const int is_none = r->backend == MXO_SEL_BACKEND_NONE;

    if (is_none && c->platform != MXO_SEL_PLATFORM_tpu &&
        !(c->version == MXO_SEL_2026_03 &&
          c->platform == MXO_SEL_PLATFORM_cpu)) {
        return "NONE where it is not allowed";
    }
    return is_none || c->version == MXO_SEL_2025_08 ||
                   (c->version == MXO_SEL_2026_03 &&
                    r->backend == MXO_SEL_BACKEND_XPU)
               ? NULL
               : "no class";
}

static const char *broken_choice(const mxo_select_config *c,
                                 const mxo_select_result *r)
{
    const int by_lora = c->version == MXO_SEL_2026_03 && c->is_lora_enabled;
    mxo_sel_candidate again = {(uint8_t)r->backend, (uint8_t)r->experts,
                               (uint8_t)r->key, 0, 0};
    const sel_device d = sel_device_of(c);
    uint8_t list[MXO_SEL_LIST_MAX];
    mxo_sel_failure f;

    if (by_lora) {
        return r->n_trace == 0 ? NULL : "LoRA asks no class";
    }
    if (r->n_trace == 0 || r->trace[r->n_trace - 1].reason != 0 ||
        r->trace[r->n_trace - 1].experts != r->experts) {
        return "the choice is not the last class asked";
    }
    for (uint32_t i = 0; i + 1 < r->n_trace; i++) {
        if (r->trace[i].reason == 0) {
            return "a supported class was passed over";
        }
    }
    if (sel_ask(c, &d, &again) != 0 || again.reason != 0) {
        return "its own row refuses the choice";
    }
    const int n = mxo_select_map(c, list, &f);

    if (n > 0 && !contains(list, n, r->backend) &&
        !(r->backend == MXO_SEL_BACKEND_BATCHED_MARLIN &&
          contains(list, n, MXO_SEL_BACKEND_MARLIN))) {
        return "a backend that was not named";
    }
    return NULL;
}

static const char *broken(const mxo_select_config *c,
                          const mxo_select_result *r)
{
    const char *what;

    if (r->failure.error != MXO_SEL_ERROR_NONE) {
        return broken_error(c, r);
    }
    what = broken_sizes(c, r);
    if (what != NULL) {
        return what;
    }
    return r->experts == MXO_SEL_EXPERTS_NONE ? broken_bare(c, r)
                                              : broken_choice(c, r);
}

START_TEST(every_answer_is_sound)
{
    static mxo_select_result r[2];
    char why[256] = "";
    size_t n_asked = 0;
    size_t n_chosen = 0;
    const size_t end = (size_t)N_FUNCTIONS * N_PLATFORMS * N_VARIABLES *
                       N_PARALLELS * MXO_SEL_N_ACTIVATIONS * 4 * N_WISHES * 16;

    /* A stride prime to every base visits each digit with every other. */
    for (size_t k = 0; k < end; k += 7) {
        mxo_select_config c;
        if (!configuration(&c, k)) {
            continue;
        }
        n_asked++;
        ck_assert_msg(mxo_select_check(&c, (mxo_text){why, sizeof why}) ==
                          MXO_OK,
                      "configuration %zu: %s", k, why);
        memset(r, 0, sizeof r);
        mxo_select(&c, &r[0]);
        mxo_select(&c, &r[1]);
        ck_assert_msg(memcmp(&r[0], &r[1], sizeof r[0]) == 0,
                      "configuration %zu: a second answer differs", k);
        const char *what = broken(&c, &r[0]);
        ck_assert_msg(what == NULL, "configuration %zu: %s", k, what);
        n_chosen += r[0].failure.error == MXO_SEL_ERROR_NONE;
    }
    ck_assert_msg(n_asked >= 100000, "only %zu configurations", n_asked);
    ck_assert_msg(n_chosen * 20 > n_asked && n_chosen < n_asked,
                  "%zu of %zu chose a backend", n_chosen, n_asked);
}
END_TEST

/* The oracle's own table of backends, version by version. */
static const struct {
    const char *version;
    const char *backend;
} chosen[] = {
#define MXO_SEL_ROW(version, backend, ...) {#version, #backend},
#define MXO_SEL_LORA_ROW(version, backend, ...) {#version, #backend},
#include "select/backends.def"
};

/* Before there was an oracle a profile may have other sources. */
START_TEST(versions_are_those_that_have_the_backend)
{
    const mxo_profile *p = mxo_profile_at(_i);
    const size_t n = strcspn(p->name, "/");

    for (size_t k = 0; k < sizeof chosen / sizeof chosen[0]; k++) {
        char version[8];
        int has = 0;
        int is_known = 0;

        (void)snprintf(version, sizeof version, "%.4s-%.2s", chosen[k].version,
                       chosen[k].version + 5);
        for (size_t j = 0; j < sizeof chosen / sizeof chosen[0]; j++) {
            const int is_it = strlen(chosen[j].backend) == n &&
                              strncmp(chosen[j].backend, p->name, n) == 0;
            is_known |= is_it;
            has |= is_it && strcmp(chosen[j].version, chosen[k].version) == 0;
        }
        ck_assert_msg(!is_known || strcmp(version, "2025-08") == 0 ||
                          has == (strstr(p->fact[MXO_FIELD_VERSIONS].value,
                                         version) != NULL),
                      "%s in %s", p->name, version);
    }
}
END_TEST

Suite *suite_select_product(void);
Suite *suite_select_product(void)
{
    Suite *s = suite_create("select_product");
    TCase *t = tcase_create("select_product");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, versions_are_those_that_have_the_backend, 0,
                        mxo_profile_count());
    tcase_add_test(t, every_answer_is_sound);
    suite_add_tcase(s, t);
    return s;
}
