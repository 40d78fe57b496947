/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles, read from <mxoracle/profiles.def>: a row per profile,
 * a word per fact.
 */
#include "layer.h"

#include <string.h>

typedef struct profile {
    const char *name;
    const char *word[LAYER_N_FIELDS];
} profile;

static const char *const keys[LAYER_N_FIELDS] = {
#define MXO_FIELD(id, key, group, kind, meaning) key,
#include <mxoracle/profile/field.def>
#undef MXO_FIELD
};

#define MXO_PROFILE(name, title) \
    {                            \
        name,                    \
        {
#define MXO_FACT(field, value, source) [LAYER_##field] = value,
#define MXO_PROFILE_END \
    }                   \
    }                   \
    ,
#define MXO_NOTE(name, text, source)
static const profile profiles[] = {
#include <mxoracle/profiles.def>
};
#undef MXO_PROFILE
#undef MXO_FACT
#undef MXO_PROFILE_END
#undef MXO_NOTE

const char *cpu_layer_key(layer_field field)
{
    return keys[field];
}

const char *cpu_layer_fact(const mxo_call *call, layer_field field)
{
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        if (call_is(call, "profile", profiles[i].name)) {
            return profiles[i].word[field];
        }
    }
    return "unknown";
}

const char *cpu_layer_word(const mxo_call *call, layer_field field)
{
    const char *own = call_text(call, keys[field]);

    return own[0] == '\0' || strcmp(own, "profile") == 0
               ? cpu_layer_fact(call, field)
               : own;
}
