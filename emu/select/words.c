/* SPDX-License-Identifier: Apache-2.0 */
/* Words of select.def by number and back, defaults, and what is refused. */
#include "rules.h"

#include "../call.h"

#include <stddef.h>
#include <string.h>

static const char *const versions[] = {
#define MXO_SEL_VERSION(id, name, source) name,
#include <mxoracle/select.def>
};
static const char *const sources[] = {
#define MXO_SEL_VERSION(id, name, source) source,
#include <mxoracle/select.def>
};
static const char *const entries[] = {
#define MXO_SEL_ENTRY(id, name) name,
#include <mxoracle/select.def>
};
static const char *const platforms[] = {
#define MXO_SEL_PLATFORM(id, name) name,
#include <mxoracle/select.def>
};
static const char *const libraries[] = {
#define MXO_SEL_LIBRARY(id) #id,
#include <mxoracle/select.def>
};
static const char *const variables[] = {
    "",
#define MXO_SEL_ENV(id, kind) #id,
#include <mxoracle/select.def>
};
static const char *const backends[] = {
#define MXO_SEL_BACKEND(id, printed) printed,
#include <mxoracle/select.def>
};
static const char *const experts[] = {
    "",
#define MXO_SEL_EXPERTS(id) #id,
#include <mxoracle/select.def>
};
static const char *const keys[] = {
    "",
#define MXO_SEL_KEY(id, element, scale, user) #id,
#include <mxoracle/select.def>
};
static const char *const user_keys[] = {
    "",
#define MXO_SEL_KEY(id, element, scale, user) user,
#include <mxoracle/select.def>
};
static const char *const activations[] = {
#define MXO_SEL_ACTIVATION(id, name, shout) name,
#include <mxoracle/select.def>
};
static const char *const routings[] = {
#define MXO_SEL_ROUTING(id, v2026_07, v2026_05, v2026_03) #id,
#include <mxoracle/select.def>
};
static const char *const scorings[] = {
#define MXO_SEL_SCORING(id) #id,
#include <mxoracle/select.def>
};
static const char *const dtypes[] = {
#define MXO_SEL_DTYPE(id, name) name,
#include <mxoracle/select.def>
};
static const char *const lists[] = {
    "",
#define MXO_SEL_LIST(id) #id,
#include <mxoracle/select.def>
};

#define WORDS(array)                                       \
    {                                                      \
        (array), (int)(sizeof(array) / sizeof((array)[0])) \
    }
static const struct {
    const char *const *word;
    int n;
} kinds[] = {
    [MXO_SEL_WORDS_VERSION] = WORDS(versions),
    [MXO_SEL_WORDS_ENTRY] = WORDS(entries),
    [MXO_SEL_WORDS_PLATFORM] = WORDS(platforms),
    [MXO_SEL_WORDS_LIBRARY] = WORDS(libraries),
    [MXO_SEL_WORDS_ENV] = WORDS(variables),
    [MXO_SEL_WORDS_BACKEND] = WORDS(backends),
    [MXO_SEL_WORDS_EXPERTS] = WORDS(experts),
    [MXO_SEL_WORDS_KEY] = WORDS(keys),
    [MXO_SEL_WORDS_USER_KEY] = WORDS(user_keys),
    [MXO_SEL_WORDS_ACTIVATION] = WORDS(activations),
    [MXO_SEL_WORDS_ROUTING] = WORDS(routings),
    [MXO_SEL_WORDS_SCORING] = WORDS(scorings),
    [MXO_SEL_WORDS_LIST] = WORDS(lists),
    [MXO_SEL_WORDS_DTYPE] = WORDS(dtypes),
    [MXO_SEL_WORDS_SOURCE] = WORDS(sources),
};

const char *mxo_select_word(mxo_sel_words kind, int value)
{
    const int exists = value >= 0 && value < kinds[kind].n &&
                       kinds[kind].word[value][0] != '\0';

    return exists ? kinds[kind].word[value] : NULL;
}

int mxo_select_find(mxo_sel_words kind, const char *word)
{
    for (int i = 0; i < kinds[kind].n; i++) {
        if (word[0] != '\0' && strcmp(kinds[kind].word[i], word) == 0) {
            return i;
        }
    }
    return -1;
}

/* A NaN: what is not given. */
static double not_given(void)
{
    const uint64_t bits = UINT64_C(0x7ff8000000000000);
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

void mxo_select_defaults(mxo_select_config *c)
{
    const double nothing = not_given();

    *c = (mxo_select_config){
        .version = MXO_SEL_2026_11,
        .entry = MXO_SEL_ENTRY_mxfp4,
        .platform = MXO_SEL_PLATFORM_cuda,
        .major = 9,
        /* Unknown: the devices that the compiled operator takes. */
        .libraries = ((1u << MXO_SEL_N_LIBRARIES) - 1) &
                     ~(1u << MXO_SEL_LIB_cutlass_mxfp4),
        .moe_backend = "auto",
        .activation = MXO_SEL_ACT_swigluoai,
        .routing = MXO_SEL_ROUTING_Renormalize,
        .is_act_and_mul = 1,
        .num_experts = 32,
        .situ_beta = nothing,
        .situ_linear_beta = nothing,
        .swiglu_alpha = nothing,
        .swiglu_beta = nothing,
        .parallel = {.tp_size = 1,
                     .pcp_size = 1,
                     .dp_size = 1,
                     .ep_size = 1,
                     .sp_size = 1,
                     .all2all_backend = "allgather_reducescatter"}};
}

static mxo_status check_parallel(const mxo_sel_parallel *p, mxo_text why)
{
    const struct {
        const char *name;
        int64_t size, rank;
    } groups[] = {{"tp", p->tp_size, p->tp_rank},
                  {"pcp", p->pcp_size, p->pcp_rank},
                  {"dp", p->dp_size, p->dp_rank},
                  {"ep", p->ep_size, p->ep_rank},
                  {"sp", p->sp_size, 0}};

    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (groups[i].size < 1 || groups[i].size > 1 << 20) {
            return mxo_fail(MXO_E_PARAM, why,
                            "%s_size=%lld is not within 1 and 2^20",
                            groups[i].name, (long long)groups[i].size);
        }
        if (groups[i].rank < 0 || groups[i].rank > 1 << 20) {
            return mxo_fail(MXO_E_PARAM, why,
                            "%s_rank=%lld is not within 0 and 2^20",
                            groups[i].name, (long long)groups[i].rank);
        }
    }
    return p->all2all_backend != NULL
               ? MXO_OK
               : mxo_fail(MXO_E_PARAM, why, "all2all_backend is missing");
}

static mxo_status check_platform(const mxo_select_config *c, mxo_text why)
{
    if (c->major >= 0 && (c->major > 99 || c->minor < 0 || c->minor > 9)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "capability %d.%d is not within 0.0 and 99.9", c->major,
                        c->minor);
    }
    if (c->platform == MXO_SEL_PLATFORM_rocm && c->gfx != NULL &&
        sel_device_of(c).cap < 0) {
        return mxo_fail(MXO_E_PARAM, why,
                        "gfx name %.40s is not gfx and two or more digits",
                        c->gfx);
    }
    return MXO_OK;
}

static mxo_status check_size(const char *name, int64_t size, mxo_text why)
{
    return size >= 0 && size <= MXO_SEL_SIZE_MAX
               ? MXO_OK
               : mxo_fail(MXO_E_PARAM, why, "%s=%lld is not within 0 and 2^40",
                          name, (long long)size);
}

static mxo_status check_enumerators(const mxo_select_config *c, mxo_text why)
{
    const struct {
        const char *name;
        int value, end;
    } fields[] = {
        {"version", (int)c->version, MXO_SEL_N_VERSIONS},
        {"entry", (int)c->entry, MXO_SEL_N_ENTRIES},
        {"platform", (int)c->platform, MXO_SEL_N_PLATFORMS},
        {"activation key", (int)c->model_key, MXO_SEL_N_KEYS},
        {"override", (int)c->override_key, MXO_SEL_N_KEYS},
        {"activation", (int)c->activation, MXO_SEL_N_ACTIVATIONS},
        {"routing method", (int)c->routing, MXO_SEL_N_ROUTINGS},
        {"input dtype", (int)c->in_dtype, MXO_SEL_N_DTYPES},
    };

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].value < 0 || fields[i].value >= fields[i].end) {
            return mxo_fail(MXO_E_PARAM, why, "there is no %s %d",
                            fields[i].name, fields[i].value);
        }
    }
    return MXO_OK;
}

mxo_status mxo_select_check(const mxo_select_config *c, mxo_text why)
{
    MXO_TRY(check_enumerators(c, why));
    MXO_TRY(check_platform(c, why));
    MXO_TRY(check_parallel(&c->parallel, why));
    MXO_TRY(check_size("hidden", c->hidden, why));
    MXO_TRY(check_size("intermediate", c->intermediate, why));
    MXO_TRY(check_size("num_experts", c->num_experts, why));
    MXO_TRY(check_size("num_local_experts", c->num_local_experts, why));
    MXO_TRY(check_size("intermediate_unpadded", c->intermediate_unpadded, why));
    if (mxo_select_routing_value(c, c->routing) < 0) {
        return mxo_fail(MXO_E_PARAM, why, "%s has no routing method %s",
                        versions[c->version], routings[c->routing]);
    }
    if (c->entry == MXO_SEL_ENTRY_deepseek_v4 && c->version > MXO_SEL_2026_05) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s has one function for all models, select_mxfp4",
                        versions[c->version]);
    }
    return c->moe_backend == NULL
               ? mxo_fail(MXO_E_PARAM, why, "moe_backend is missing")
               : MXO_OK;
}
