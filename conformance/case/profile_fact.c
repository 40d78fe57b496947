/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fact.h"

#include <string.h>

enum {
#define MXO_FIELD(id, key, group, kind, meaning) FACT_##id,
#include <mxoracle/profile/field.def>
#undef MXO_FIELD
    N_FACTS
};

static const char *const keys[N_FACTS] = {
#define MXO_FIELD(id, key, group, kind, meaning) key,
#include <mxoracle/profile/field.def>
#undef MXO_FIELD
};

static const struct {
    const char *name;
    const char *value[N_FACTS];
} profiles[] = {
#define MXO_PROFILE(name, title) \
    {                            \
        name,                    \
        {
#define MXO_FACT(field, value, source) [FACT_##field] = value,
#define MXO_PROFILE_END \
    }                   \
    }                   \
    ,
#define MXO_NOTE(name, text, source)
#include <mxoracle/profiles.def>
#undef MXO_PROFILE
#undef MXO_FACT
#undef MXO_PROFILE_END
#undef MXO_NOTE
};

const char *profile_key(int i)
{
    return i < N_FACTS ? keys[i] : NULL;
}

const char *profile_fact(const char *profile, const char *key)
{
    for (size_t p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        for (int f = 0; strcmp(profiles[p].name, profile) == 0 && f < N_FACTS;
             f++) {
            if (strcmp(keys[f], key) == 0) {
                return profiles[p].value[f];
            }
        }
    }
    return "";
}
