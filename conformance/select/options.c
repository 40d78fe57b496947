/* SPDX-License-Identifier: Apache-2.0 */
/* See options.h. One row per key. */
#include "options.h"

#include "base/cli.h"
#include "base/number.h"
#include "base/say.h"

#include <string.h>
#include <strings.h>

static const select_model models[] = {
#define MXO_MODEL(name, entry, act, routing, h, i, e, bias) \
    {name,                                                  \
     MXO_SEL_ENTRY_##entry,                                 \
     MXO_SEL_ACT_##act,                                     \
     MXO_SEL_ROUTING_##routing,                             \
     h,                                                     \
     i,                                                     \
     e,                                                     \
     bias},
#include "models.def"
};

enum { N_MODELS = sizeof models / sizeof models[0] };

void select_question_init(select_question *q)
{
    memset(q, 0, sizeof *q);
    mxo_select_defaults(&q->config);
}

static int refuse(mxo_text why, const char *what, const char *value,
                  const char *wanted)
{
    (void)say(MXO_E_PARAM, why, "%s=%.60s is not %s", what, value, wanted);
    return -1;
}

/* An enumerator by its word, with a hint at the nearest one. */
static int take_word(mxo_sel_words kind, const char *what, const char *value,
                     mxo_text why)
{
    const int found = mxo_select_find(kind, value);
    cli_nearest near = {NULL, 0};
    char hint[96];

    for (int i = 0; found < 0 && i < MXO_SEL_N_BACKENDS; i++) {
        const char *word = mxo_select_word(kind, i);
        if (word != NULL) {
            cli_offer(&near, value, word);
        }
    }
    if (found < 0) {
        (void)say(MXO_E_PARAM, why, "%s=%.60s is not known%s", what, value,
                  cli_suggestion(&near, hint, sizeof hint));
    }
    return found;
}

static int take_size(int64_t *x, const char *what, const char *value,
                     mxo_text why)
{
    uint64_t n;

    if (!number_natural(value, 0, (uint64_t)MXO_SEL_SIZE_MAX, &n)) {
        return refuse(why, what, value, "a number from 0 to 2^40");
    }
    *x = (int64_t)n;
    return 0;
}

static int take_count(int64_t *x, const char *what, const char *value,
                      mxo_text why)
{
    return take_size(x, what, value, why) == 0 && *x > 0
               ? 0
               : refuse(why, what, value, "a number from 1 to 2^40");
}

static int take_flag(int *x, const char *what, const char *value, mxo_text why)
{
    if (strcmp(value, "1") != 0 && strcmp(value, "0") != 0) {
        return refuse(why, what, value, "0 or 1");
    }
    *x = value[0] == '1';
    return 0;
}

static int set_platform(select_question *q, const char *value, mxo_text why)
{
    return select_platform(q, value, why);
}

static int set_model(select_question *q, const char *value, mxo_text why)
{
    cli_nearest near = {NULL, 0};
    char hint[96];
    char known[160] = "; there are";

    for (int i = 0; i < N_MODELS; i++) {
        if (strcasecmp(models[i].name, value) == 0) {
            q->model = &models[i];
            return 0;
        }
        cli_offer(&near, value, models[i].name);
        const size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s %s",
                       i == 0 ? "" : ",", models[i].name);
    }
    (void)say(MXO_E_PARAM, why, "model %.60s is not known%s", value,
              near.best == NULL ? known
                                : cli_suggestion(&near, hint, sizeof hint));
    return -1;
}

const select_model *select_model_at(int i)
{
    return i >= 0 && i < N_MODELS ? &models[i] : NULL;
}

/* "oracle-2026-05" or any end of it: "2026-05" */
int select_version(const char *value, mxo_text why)
{
    const char *word;

    for (int i = 0; (word = mxo_select_word(MXO_SEL_WORDS_VERSION, i)) != NULL;
         i++) {
        const size_t n = strlen(word);
        const size_t m = strlen(value);
        if (m >= 7 && m <= n && strcmp(word + n - m, value) == 0) {
            return i;
        }
    }
    return refuse(why, "vllm", value,
                  "oracle-2026-11, oracle-2026-09, oracle-2026-07, "
                  "oracle-2026-05, oracle-2026-03 or env-2025-08");
}

static int set_vllm(select_question *q, const char *value, mxo_text why)
{
    const int found = select_version(value, why);

    if (found < 0) {
        return -1;
    }
    q->config.version = (mxo_sel_version)found;
    q->has_version = 1;
    return 0;
}

static int set_moe_backend(select_question *q, const char *value, mxo_text why)
{
    (void)why;
    q->config.moe_backend = value;
    return 0;
}

static int set_activation(select_question *q, const char *value, mxo_text why)
{
    const int found =
        take_word(MXO_SEL_WORDS_ACTIVATION, "activation", value, why);

    q->config.activation = (mxo_sel_activation)found;
    q->has_activation = 1;
    return found < 0 ? -1 : 0;
}

static int set_routing(select_question *q, const char *value, mxo_text why)
{
    const int found = take_word(MXO_SEL_WORDS_ROUTING, "routing", value, why);

    q->config.routing = (mxo_sel_routing)found;
    q->has_routing = 1;
    return found < 0 ? -1 : 0;
}

/* A key by vLLM's name, by the user's, or "none". */
static int take_key(mxo_sel_key *key, const char *what, const char *value,
                    mxo_text why)
{
    int found = strcmp(value, "none") == 0
                    ? MXO_SEL_KEY_NONE
                    : mxo_select_find(MXO_SEL_WORDS_KEY, value);

    if (found < 0) {
        found = take_word(MXO_SEL_WORDS_USER_KEY, what, value, why);
    }
    *key = (mxo_sel_key)found;
    return found < 0 ? -1 : 0;
}

static int set_key(select_question *q, const char *value, mxo_text why)
{
    return take_key(&q->config.model_key, "activation-key", value, why);
}

static int set_override(select_question *q, const char *value, mxo_text why)
{
    return take_key(&q->config.override_key, "override", value, why);
}

static int set_a2a(select_question *q, const char *value, mxo_text why)
{
    (void)why;
    q->config.parallel.all2all_backend = value;
    return 0;
}

static int set_without(select_question *q, const char *value, mxo_text why)
{
    const int found = take_word(MXO_SEL_WORDS_LIBRARY, "without", value, why);

    if (found >= 0) {
        q->config.libraries &= ~(1u << found);
    }
    return found < 0 ? -1 : 0;
}

/* The reverse of without: what is not taken as installed unless it is said. */
static int set_with(select_question *q, const char *value, mxo_text why)
{
    const int found = take_word(MXO_SEL_WORDS_LIBRARY, "with", value, why);

    if (found >= 0) {
        q->config.libraries |= 1u << found;
    }
    return found < 0 ? -1 : 0;
}

static int set_bias(select_question *q, const char *value, mxo_text why)
{
    q->has_bias = 1;
    return take_flag(&q->config.has_bias, "bias", value, why);
}

static int set_hidden(select_question *q, const char *value, mxo_text why)
{
    q->has_hidden = 1;
    return take_size(&q->config.hidden, "hidden", value, why);
}

static int set_intermediate(select_question *q, const char *value, mxo_text why)
{
    q->has_intermediate = 1;
    return take_size(&q->config.intermediate, "intermediate", value, why);
}

/* The rest is numbers and switches: SIZE(key, field), FLAG(key, field). */
#define SIZES(X)                          \
    X(tp, config.parallel.tp_size)        \
    X(pcp, config.parallel.pcp_size)      \
    X(dp, config.parallel.dp_size)        \
    X(ep_size, config.parallel.ep_size)   \
    X(sp, config.parallel.sp_size)        \
    X(tp_rank, config.parallel.tp_rank)   \
    X(pcp_rank, config.parallel.pcp_rank) \
    X(dp_rank, config.parallel.dp_rank)   \
    X(ep_rank, config.parallel.ep_rank)
/* Nothing to default to when somebody says 0. */
#define COUNTS(X)       \
    X(experts, experts) \
    X(tokens, tokens)   \
    X(top_k, top_k)
#define FLAGS(X)                         \
    X(ep, config.parallel.use_ep)        \
    X(eplb, config.parallel.enable_eplb) \
    X(gated, config.is_act_and_mul)      \
    X(lora, config.is_lora_enabled)      \
    X(disable_inplace, config.disable_inplace)
#define SET_SIZE(key, field)                                                  \
    static int set_##key(select_question *q, const char *value, mxo_text why) \
    {                                                                         \
        return take_size(&q->field, #key, value, why);                        \
    }
#define SET_COUNT(key, field)                                                 \
    static int set_##key(select_question *q, const char *value, mxo_text why) \
    {                                                                         \
        return take_count(&q->field, #key, value, why);                       \
    }
#define SET_FLAG(key, field)                                                  \
    static int set_##key(select_question *q, const char *value, mxo_text why) \
    {                                                                         \
        return take_flag(&q->field, #key, value, why);                        \
    }
SIZES(SET_SIZE)
COUNTS(SET_COUNT)
FLAGS(SET_FLAG)

static const struct {
    const char *key;
    int (*set)(select_question *q, const char *value, mxo_text why);
} keys[] = {{"platform", set_platform},
            {"model", set_model},
            {"vllm", set_vllm},
            {"moe-backend", set_moe_backend},
            {"activation", set_activation},
            {"routing", set_routing},
            {"activation-key", set_key},
            {"override", set_override},
            {"all2all", set_a2a},
            {"without", set_without},
            {"with", set_with},
            {"bias", set_bias},
            {"hidden", set_hidden},
            {"intermediate", set_intermediate},
#define ROW(key, field) {#key, set_##key},
            SIZES(ROW) COUNTS(ROW) FLAGS(ROW)
#undef ROW
};

enum { N_KEYS = sizeof keys / sizeof keys[0] };

const char *select_key_at(int i)
{
    return i >= 0 && i < N_KEYS ? keys[i].key : NULL;
}

const char *select_key_word(const char *key, int i)
{
    static const struct {
        const char *key;
        mxo_sel_words kind;
    } rows[] = {{"vllm", MXO_SEL_WORDS_VERSION},
                {"activation", MXO_SEL_WORDS_ACTIVATION},
                {"routing", MXO_SEL_WORDS_ROUTING},
                {"key", MXO_SEL_WORDS_USER_KEY},
                {"library", MXO_SEL_WORDS_LIBRARY}};

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        if (strcmp(rows[k].key, key) == 0) {
            const int has_none = mxo_select_word(rows[k].kind, 0) == NULL;
            return mxo_select_word(rows[k].kind, i + has_none);
        }
    }
    return NULL;
}

/* A key is spelled with - or _. */
static int is_key(const char *key, const char *text)
{
    for (; *key != '\0' && *text != '\0'; key++, text++) {
        if (*key != *text && !(*key == '_' && *text == '-') &&
            !(*key == '-' && *text == '_')) {
            return 0;
        }
    }
    return *key == *text;
}

/* Its number; -1 if there is none. */
static int find_key(const char *text)
{
    for (int i = 0; i < N_KEYS; i++) {
        if (is_key(keys[i].key, text)) {
            return i;
        }
    }
    return -1;
}

int select_knows(const char *key, mxo_text why)
{
    cli_nearest near = {NULL, 0};
    char hint[96];

    if (mxo_select_find(MXO_SEL_WORDS_ENV, key) > 0 || find_key(key) >= 0) {
        return 0;
    }
    for (int i = 0; i < N_KEYS; i++) {
        cli_offer(&near, key, keys[i].key);
    }
    (void)say(MXO_E_PARAM, why, "%.60s is not a key of select%s", key,
              cli_suggestion(&near, hint, sizeof hint));
    return -1;
}

int select_set(select_question *q, const char *key, const char *value,
               mxo_text why)
{
    const int variable = mxo_select_find(MXO_SEL_WORDS_ENV, key);

    if (strlen(value) > 200) {
        (void)say(MXO_E_PARAM, why, "%.60s is longer than 200 characters", key);
        return -1;
    }
    if (variable > 0) {
        q->config.env[variable] = value;
        return 0;
    }
    return select_knows(key, why) == 0 ? keys[find_key(key)].set(q, value, why)
                                       : -1;
}

/* The model's sizes, divided among the ranks that share a layer. */
static int size_by_model(select_question *q, mxo_text why)
{
    const select_model *m = q->model;
    const mxo_sel_parallel *p = &q->config.parallel;
    const int64_t parts = p->use_ep ? 1 : p->tp_size;

    if (!q->has_hidden) {
        q->config.hidden = m->hidden;
    }
    if (q->has_intermediate || m->intermediate == 0) {
        return 0;
    }
    if (parts > 0 && m->intermediate % parts != 0) {
        (void)say(MXO_E_PARAM, why,
                  "intermediate=%lld of %s is not a multiple of tp=%lld",
                  (long long)m->intermediate, m->name, (long long)parts);
        return -1;
    }
    q->config.intermediate = parts > 0 ? m->intermediate / parts : 0;
    return 0;
}

static int take_model(select_question *q, mxo_text why)
{
    const select_model *m = q->model;

    if (m == NULL) {
        return 0;
    }
    if (q->config.version <= MXO_SEL_2026_05) {
        q->config.entry = m->entry;
    }
    if (!q->has_activation) {
        q->config.activation = m->activation;
    }
    if (!q->has_routing) {
        q->config.routing = m->routing;
    }
    if (mxo_select_routing_value(&q->config, q->config.routing) < 0 &&
        !q->has_routing) {
        q->config.routing = MXO_SEL_ROUTING_Unspecified;
    }
    if (!q->has_bias) {
        q->config.has_bias = m->has_bias;
    }
    q->config.num_experts = m->experts > 0 ? m->experts : 32;
    q->experts = q->experts == 0 ? m->experts : q->experts;
    return size_by_model(q, why);
}

static int check_ranks(const mxo_sel_parallel *p, mxo_text why)
{
    const struct {
        const char *name;
        int64_t rank, size;
    } rows[] = {{"tp", p->tp_rank, p->tp_size},
                {"pcp", p->pcp_rank, p->pcp_size},
                {"dp", p->dp_rank, p->dp_size},
                {"ep", p->ep_rank, p->ep_size}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].rank >= rows[i].size) {
            (void)say(MXO_E_PARAM, why, "%s_rank=%lld is not below %s=%lld",
                      rows[i].name, (long long)rows[i].rank, rows[i].name,
                      (long long)rows[i].size);
            return -1;
        }
    }
    return 0;
}

/* Before the oracle: what its Mxfp4Config says of itself. */
static int check_old(const mxo_select_config *c, mxo_text why)
{
    if (c->version != MXO_SEL_2025_08) {
        return 0;
    }
    if (strcmp(c->moe_backend, "auto") != 0) {
        (void)say(MXO_E_PARAM, why,
                  "env-2025-08 has no moe_backend: its variables decide");
        return -1;
    }
    if (c->platform == MXO_SEL_PLATFORM_cuda && c->major >= 0 && c->major < 9) {
        (void)say(MXO_E_PARAM, why,
                  "env-2025-08 asks for capability 9.0 or more, not %d.%d",
                  c->major, c->minor);
        return -1;
    }
    return 0;
}

int select_finish(select_question *q, mxo_text why)
{
    if (take_model(q, why) != 0 ||
        mxo_select_check(&q->config, why) != MXO_OK ||
        check_old(&q->config, why) != 0) {
        return -1;
    }
    return check_ranks(&q->config.parallel, why);
}
