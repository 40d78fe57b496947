/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiles as tables.  profiles.def is read twice: once for the facts,
 * once for the notes; fields and choices are tables of their own, so that a
 * word in a fact is checked against the list it comes from.
 */
#include <mxoracle/profile.h>

#include <string.h>

#define MXO_FACT(field, value, source) [MXO_FIELD_##field] = {value, source},
#define MXO_PROFILE(name, title) \
    {                            \
        name, title,             \
        {
#define MXO_PROFILE_END \
    }                   \
    }                   \
    ,
#define MXO_NOTE(name, text, source)
static const mxo_profile profiles[] = {
#include <mxoracle/profiles.def>
};
#undef MXO_FACT
#undef MXO_PROFILE
#undef MXO_PROFILE_END
#undef MXO_NOTE

#define MXO_FACT(field, value, source)
#define MXO_PROFILE(name, title)
#define MXO_PROFILE_END
#define MXO_NOTE(name, text, source) {name, text, source},
static const mxo_profile_note notes[] = {
#include <mxoracle/profiles.def>
};
#undef MXO_FACT
#undef MXO_PROFILE
#undef MXO_PROFILE_END
#undef MXO_NOTE

static const mxo_profile_question questions[] = {
#define MXO_FIELD(id, key, group, kind, meaning) \
    {key, group, meaning, MXO_PROFILE_##kind},
#include <mxoracle/profile/field.def>
#undef MXO_FIELD
};

typedef struct choice {
    const char *name;
    const char *meaning;
    mxo_profile_field field;
} choice;

static const choice choices[] = {
    {"unknown", "the public sources do not say", MXO_N_PROFILE_FIELDS},
#define MXO_CHOICE(field, id, name, meaning) {name, meaning, MXO_FIELD_##field},
#include <mxoracle/profile/choice.def>
#undef MXO_CHOICE
};

enum {
    N_PROFILES = sizeof profiles / sizeof profiles[0],
    N_NOTES = sizeof notes / sizeof notes[0]
};

int mxo_profile_count(void)
{
    return N_PROFILES;
}

const mxo_profile *mxo_profile_at(int i)
{
    return i >= 0 && i < N_PROFILES ? &profiles[i] : NULL;
}

const mxo_profile *mxo_profile_by_name(const char *name)
{
    for (int i = 0; i < N_PROFILES; i++) {
        if (strcmp(profiles[i].name, name) == 0) {
            return &profiles[i];
        }
    }
    return NULL;
}

const mxo_profile_question *mxo_profile_question_at(int field)
{
    return field >= 0 && field < (int)MXO_N_PROFILE_FIELDS ? &questions[field]
                                                           : NULL;
}

mxo_profile_field mxo_profile_field_by_key(const char *key)
{
    int i = 0;

    while (i < (int)MXO_N_PROFILE_FIELDS &&
           strcmp(questions[i].key, key) != 0) {
        i++;
    }
    return (mxo_profile_field)i;
}

mxo_profile_choice mxo_profile_choice_by_name(mxo_profile_field field,
                                              const char *name)
{
    for (int i = 1; i < (int)MXO_N_PROFILE_CHOICES; i++) {
        if (choices[i].field == field && strcmp(choices[i].name, name) == 0) {
            return (mxo_profile_choice)i;
        }
    }
    return MXO_CHOICE_UNKNOWN;
}

const char *mxo_profile_choice_name(mxo_profile_choice c)
{
    return choices[c].name;
}

const char *mxo_profile_choice_meaning(mxo_profile_choice c)
{
    return choices[c].meaning;
}

mxo_profile_field mxo_profile_choice_field(mxo_profile_choice c)
{
    return choices[c].field;
}

static int is_known(const mxo_profile *p, mxo_profile_field field)
{
    return strcmp(p->fact[field].value, "unknown") != 0;
}

static int is_dialect(const mxo_profile *p, mxo_profile_field field)
{
    return is_known(p, field) && strcmp(p->fact[field].value, "none") != 0;
}

const char *mxo_profile_layer(const mxo_profile *profile)
{
    return strcmp(profile->fact[MXO_FIELD_WEIGHT_RULE].value, "nvfp4") == 0
               ? "moe.nvfp4_layer"
               : "moe.layer";
}

int mxo_profile_is_known(const mxo_profile *profile)
{
    static const mxo_profile_field needed[] = {
        MXO_FIELD_WEIGHT_RULE, MXO_FIELD_SCALE_AT,   MXO_FIELD_QUANT,
        MXO_FIELD_QUANT_RULE,  MXO_FIELD_REQUANT,    MXO_FIELD_ORDER,
        MXO_FIELD_BIAS1,       MXO_FIELD_GEMM1_OUT,  MXO_FIELD_GLU_OUT,
        MXO_FIELD_BIAS2,       MXO_FIELD_ROUTING_AT, MXO_FIELD_ROUTING_TYPE,
        MXO_FIELD_ROW_OUT,     MXO_FIELD_SUM,        MXO_FIELD_OUT,
    };

    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (!is_known(profile, needed[i])) {
            return 0;
        }
    }
    return is_dialect(profile, MXO_FIELD_SWIGLU) ||
           is_dialect(profile, MXO_FIELD_SILU);
}

const mxo_profile_note *mxo_profile_note_at(int i)
{
    return i >= 0 && i < N_NOTES ? &notes[i] : NULL;
}
