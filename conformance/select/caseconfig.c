/* SPDX-License-Identifier: Apache-2.0 */
/* See caseconfig.h. Tables say which key fills which field. */
#include "caseconfig.h"

#include "base/say.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef mxo_status take_value(mxo_select_config *c, const json_t *value,
                              mxo_text why);

typedef struct taker {
    const char *key;
    take_value *take;
} taker;

static mxo_status wrong(mxo_text why, const char *what, const char *wanted)
{
    return say(MXO_E_PARAM, why, "%s is not %s", what, wanted);
}

int case_word(mxo_sel_words kind, const char *what, const json_t *value,
              mxo_text why)
{
    const char *text = json_string_value(value);
    const int found = text == NULL ? -1 : mxo_select_find(kind, text);

    if (text == NULL) {
        (void)wrong(why, what, "a string");
    } else if (found < 0) {
        (void)say(MXO_E_PARAM, why, "%s \"%.60s\" is not known", what, text);
    }
    return found;
}

static mxo_status take_int(int64_t *x, const char *key, const json_t *value,
                           mxo_text why)
{
    if (!json_is_integer(value)) {
        return wrong(why, key, "a whole number");
    }
    *x = json_integer_value(value);
    return MXO_OK;
}

static mxo_status take_bool(int *x, const char *key, const json_t *value,
                            mxo_text why)
{
    if (!json_is_boolean(value)) {
        return wrong(why, key, "true or false");
    }
    *x = json_is_true(value);
    return MXO_OK;
}

/* Every key of an object to its taker; unknown ones are refused or, if
   lenient, left to others. */
static mxo_status take_object(mxo_select_config *c, const json_t *object,
                              const taker *takers, int lenient, mxo_text why)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        const taker *t = takers;
        while (t->key != NULL && strcmp(t->key, key) != 0) {
            t++;
        }
        if (t->key == NULL && !lenient) {
            return say(MXO_E_PARAM, why, "%.60s is not a known key", key);
        }
        if (t->key != NULL && t->take(c, value, why) != MXO_OK) {
            return MXO_E_PARAM;
        }
    }
    return MXO_OK;
}

static mxo_status take_kind(mxo_select_config *c, const json_t *value,
                            mxo_text why)
{
    const int found =
        case_word(MXO_SEL_WORDS_PLATFORM, "platform.kind", value, why);

    c->platform = (mxo_sel_platform)found;
    return found < 0 ? MXO_E_PARAM : MXO_OK;
}

static mxo_status take_capability(mxo_select_config *c, const json_t *value,
                                  mxo_text why)
{
    int64_t parts[2] = {0, 0};

    if (json_is_null(value)) {
        c->major = -1;
        return MXO_OK;
    }
    if (json_array_size(value) != 2) {
        return wrong(why, "platform.capability", "null or two numbers");
    }
    for (size_t i = 0; i < 2; i++) {
        if (take_int(&parts[i], "platform.capability", json_array_get(value, i),
                     why) != MXO_OK) {
            return MXO_E_PARAM;
        }
        if (parts[i] < 0 || parts[i] > 99) {
            return wrong(why, "platform.capability", "within 0 and 99");
        }
    }
    c->major = (int)parts[0];
    c->minor = (int)parts[1];
    return MXO_OK;
}

static mxo_status take_gfx(mxo_select_config *c, const json_t *value,
                           mxo_text why)
{
    c->gfx = json_string_value(value);
    return c->gfx != NULL ? MXO_OK : wrong(why, "platform.gfx", "a string");
}

static mxo_status take_platform(mxo_select_config *c, const json_t *value,
                                mxo_text why)
{
    static const taker takers[] = {{"kind", take_kind},
                                   {"capability", take_capability},
                                   {"gfx", take_gfx},
                                   {NULL, NULL}};

    if (json_object_get(value, "kind") == NULL) {
        return wrong(why, "platform", "an object with a kind");
    }
    c->major = -1;
    c->minor = 0;
    c->gfx = NULL;
    return take_object(c, value, takers, 0, why);
}

static mxo_status take_profile(mxo_select_config *c, const json_t *value,
                               mxo_text why)
{
    const int found = case_word(MXO_SEL_WORDS_VERSION, "profile", value, why);

    c->version = (mxo_sel_version)found;
    return found < 0 ? MXO_E_PARAM : MXO_OK;
}

static mxo_status take_libs(mxo_select_config *c, const json_t *value,
                            mxo_text why)
{
    const char *key;
    json_t *there;

    if (!json_is_object(value)) {
        return wrong(why, "libs", "an object");
    }
    json_object_foreach((json_t *)value, key, there)
    {
        const int found = mxo_select_find(MXO_SEL_WORDS_LIBRARY, key);
        int on = 0;
        if (found < 0) {
            return say(MXO_E_PARAM, why, "library \"%.60s\" is not known", key);
        }
        if (take_bool(&on, key, there, why) != MXO_OK) {
            return MXO_E_PARAM;
        }
        c->libraries &= ~(1u << found);
        c->libraries |= (uint32_t)on << found;
    }
    return MXO_OK;
}

/* Variables that no rule looks at do no harm. */
static mxo_status take_env(mxo_select_config *c, const json_t *value,
                           mxo_text why)
{
    const char *key;
    json_t *text;

    if (json_is_string(value) &&
        strcmp(json_string_value(value), "unset") == 0) {
        return MXO_OK;
    }
    if (!json_is_object(value)) {
        return wrong(why, "env", "an object");
    }
    json_object_foreach((json_t *)value, key, text)
    {
        const int found = mxo_select_find(MXO_SEL_WORDS_ENV, key);
        if (!json_is_string(text)) {
            return wrong(why, key, "a string");
        }
        if (found > 0) {
            c->env[found] = json_string_value(text);
        }
    }
    return MXO_OK;
}

static mxo_status take_key(mxo_select_config *c, const json_t *value,
                           mxo_text why)
{
    const int found =
        json_is_null(value)
            ? MXO_SEL_KEY_NONE
            : case_word(MXO_SEL_WORDS_KEY, "activation_key", value, why);

    c->model_key = (mxo_sel_key)found;
    return found < 0 ? MXO_E_PARAM : MXO_OK;
}

/* Only {"moe": {"activation": name}} is a wish; a plain dict never is. */
static mxo_status take_override(mxo_select_config *c, const json_t *value,
                                mxo_text why)
{
    const json_t *moe = json_object_get(value, "moe");
    const json_t *name = json_object_get(moe, "activation");
    int found;

    c->override_key = MXO_SEL_KEY_NONE;
    if (name == NULL || json_is_null(name)) {
        return MXO_OK;
    }
    found = case_word(MXO_SEL_WORDS_USER_KEY,
                      "quantization_config.moe.activation", name, why);
    c->override_key = (mxo_sel_key)found;
    return found < 0 ? MXO_E_PARAM : MXO_OK;
}

static mxo_status take_moe_backend(mxo_select_config *c, const json_t *value,
                                   mxo_text why)
{
    c->moe_backend = json_string_value(value);
    return c->moe_backend != NULL ? MXO_OK
                                  : wrong(why, "moe_backend", "a string");
}

static mxo_status take_activation(mxo_select_config *c, const json_t *value,
                                  mxo_text why)
{
    const int found =
        case_word(MXO_SEL_WORDS_ACTIVATION, "activation", value, why);

    c->activation = (mxo_sel_activation)found;
    return found < 0 ? MXO_E_PARAM : MXO_OK;
}

static mxo_status take_routing(mxo_select_config *c, const json_t *value,
                               mxo_text why)
{
    const int found =
        case_word(MXO_SEL_WORDS_ROUTING, "routing_method", value, why);

    c->routing = (mxo_sel_routing)found;
    return found < 0 ? MXO_E_PARAM : MXO_OK;
}

#define TAKE_INT(name, field)                                                \
    static mxo_status take_##name(mxo_select_config *c, const json_t *value, \
                                  mxo_text why)                              \
    {                                                                        \
        return take_int(&c->field, #name, value, why);                       \
    }
#define TAKE_BOOL(name, field)                                               \
    static mxo_status take_##name(mxo_select_config *c, const json_t *value, \
                                  mxo_text why)                              \
    {                                                                        \
        return take_bool(&c->field, #name, value, why);                      \
    }

TAKE_INT(hidden, hidden)
TAKE_INT(intermediate, intermediate)
TAKE_INT(tp_size, parallel.tp_size)
TAKE_INT(pcp_size, parallel.pcp_size)
TAKE_INT(dp_size, parallel.dp_size)
TAKE_INT(ep_size, parallel.ep_size)
TAKE_INT(tp_rank, parallel.tp_rank)
TAKE_INT(pcp_rank, parallel.pcp_rank)
TAKE_INT(dp_rank, parallel.dp_rank)
TAKE_INT(ep_rank, parallel.ep_rank)
TAKE_INT(sp_size, parallel.sp_size)
TAKE_BOOL(use_ep, parallel.use_ep)
TAKE_BOOL(enable_eplb, parallel.enable_eplb)
TAKE_BOOL(is_act_and_mul, is_act_and_mul)
TAKE_BOOL(is_lora_enabled, is_lora_enabled)
TAKE_BOOL(has_bias, has_bias)
TAKE_BOOL(disable_inplace, disable_inplace)
TAKE_BOOL(has_hash_routing, has_hash_routing)
TAKE_BOOL(require_decomposed_backend, require_decomposed_backend)
TAKE_BOOL(skip_final_all_reduce, skip_final_all_reduce)
TAKE_INT(num_experts, num_experts)

/* Numbers that may be none: 0 or NaN then. */
#define TAKE_OPTIONAL_INT(name)                                              \
    static mxo_status take_##name(mxo_select_config *c, const json_t *value, \
                                  mxo_text why)                              \
    {                                                                        \
        c->name = 0;                                                         \
        return json_is_null(value) ? MXO_OK                                  \
                                   : take_int(&c->name, #name, value, why);  \
    }
#define TAKE_OPTIONAL(name)                                                  \
    static mxo_status take_##name(mxo_select_config *c, const json_t *value, \
                                  mxo_text why)                              \
    {                                                                        \
        if (!json_is_null(value) && !json_is_number(value)) {                \
            return wrong(why, #name, "a number or null");                    \
        }                                                                    \
        c->name =                                                            \
            json_is_null(value) ? (double)NAN : json_number_value(value);    \
        return MXO_OK;                                                       \
    }
TAKE_OPTIONAL_INT(num_local_experts)
TAKE_OPTIONAL_INT(intermediate_unpadded)
TAKE_OPTIONAL(situ_beta)
TAKE_OPTIONAL(situ_linear_beta)
TAKE_OPTIONAL(swiglu_alpha)
TAKE_OPTIONAL(swiglu_beta)

static mxo_status take_in_dtype(mxo_select_config *c, const json_t *value,
                                mxo_text why)
{
    static const char *const names[] = {
#define MXO_SEL_DTYPE(id, name) #id,
#include <mxoracle/select.def>
    };
    const char *text = json_string_value(value);

    for (int i = 0; text != NULL && i < MXO_SEL_N_DTYPES; i++) {
        if (strcmp(names[i], text) == 0) {
            c->in_dtype = (mxo_sel_dtype)i;
            return MXO_OK;
        }
    }
    return wrong(why, "in_dtype", "bf16, f16 or f32");
}

static mxo_status take_a2a(mxo_select_config *c, const json_t *value,
                           mxo_text why)
{
    c->parallel.all2all_backend = json_string_value(value);
    return c->parallel.all2all_backend != NULL
               ? MXO_OK
               : wrong(why, "all2all_backend", "a string");
}

static mxo_status take_parallel(mxo_select_config *c, const json_t *value,
                                mxo_text why)
{
    static const taker takers[] = {{"tp_size", take_tp_size},
                                   {"pcp_size", take_pcp_size},
                                   {"dp_size", take_dp_size},
                                   {"ep_size", take_ep_size},
                                   {"tp_rank", take_tp_rank},
                                   {"pcp_rank", take_pcp_rank},
                                   {"dp_rank", take_dp_rank},
                                   {"ep_rank", take_ep_rank},
                                   {"sp_size", take_sp_size},
                                   {"use_ep", take_use_ep},
                                   {"all2all_backend", take_a2a},
                                   {"enable_eplb", take_enable_eplb},
                                   {NULL, NULL}};

    return json_is_object(value) ? take_object(c, value, takers, 0, why)
                                 : wrong(why, "parallel", "an object");
}

static mxo_status take_config(mxo_select_config *c, const json_t *value,
                              mxo_text why)
{
    static const taker takers[] = {{"moe_backend", take_moe_backend},
                                   {"activation", take_activation},
                                   {"is_act_and_mul", take_is_act_and_mul},
                                   {"routing_method", take_routing},
                                   {"is_lora_enabled", take_is_lora_enabled},
                                   {"has_bias", take_has_bias},
                                   {"disable_inplace", take_disable_inplace},
                                   {"hidden", take_hidden},
                                   {"intermediate", take_intermediate},
                                   {"parallel", take_parallel},
#define ROW(name) {#name, take_##name}
                                   ROW(has_hash_routing),
                                   ROW(require_decomposed_backend),
                                   ROW(skip_final_all_reduce),
                                   ROW(num_experts),
                                   ROW(num_local_experts),
                                   ROW(intermediate_unpadded),
                                   ROW(situ_beta),
                                   ROW(situ_linear_beta),
                                   ROW(swiglu_alpha),
                                   ROW(swiglu_beta),
                                   ROW(in_dtype),
#undef ROW
                                   {NULL, NULL}};

    return json_is_object(value) ? take_object(c, value, takers, 0, why)
                                 : wrong(why, "config", "an object");
}

/* Of round_up: none where none is handed in. */
static mxo_status take_top_activation(mxo_select_config *c, const json_t *value,
                                      mxo_text why)
{
    return json_is_null(value) ? MXO_OK : take_activation(c, value, why);
}

mxo_status case_config(mxo_select_config *config, const json_t *object,
                       mxo_text why)
{
    static const taker takers[] = {{"profile", take_profile},
                                   {"platform", take_platform},
                                   {"libs", take_libs},
                                   {"env", take_env},
                                   {"config", take_config},
                                   {"parallel", take_parallel},
                                   {"activation_key", take_key},
                                   {"quantization_config", take_override},
                                   {"hidden", take_hidden},
                                   {"intermediate", take_intermediate},
                                   {"moe_backend", take_moe_backend},
                                   {"activation", take_top_activation},
                                   {NULL, NULL}};

    if (!json_is_object(object)) {
        return say(MXO_E_PARAM, why, "it is not an object");
    }
    return take_object(config, object, takers, 1, why);
}

mxo_status case_defaults(mxo_select_config *config, const json_t *defaults,
                         mxo_text why)
{
    mxo_select_defaults(config);
    return defaults == NULL ? MXO_OK : case_config(config, defaults, why);
}
