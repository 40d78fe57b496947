/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookup of a name: a layout, or the chain of layouts that a conversion
 * has for one of the six tensors, each with its change of values.
 */
#ifndef GPU_LAYOUT_CHAIN_H
#define GPU_LAYOUT_CHAIN_H

#include "layout/layout_values.h"
#include "layout_plan/layout_fold.h"
#include "layout_plan/layout_map.h"
#include "layout_plan/layout_text.h"
#include "port/runtime.h"

/* Rows of values.def: the way there and the way back. */
static const struct {
    const char *name;
    uint32_t there;
    uint32_t back;
    uint32_t add;
} value_kinds[] = {
    {"bf16_to_f32", VALUES_WIDEN, VALUES_NARROW, 0},
    {"e4m3_magnitude", VALUES_MAGNITUDE, VALUES_POSITIVE, 0},
    {"e8m0_plus_6", VALUES_ADD, VALUES_ADD, 6},
    {"e8m0_to_f32", VALUES_SHIFT, VALUES_FIELD, 0},
    {"e8m0_unbiased", VALUES_TURN, VALUES_TURN, 129},
    {"f32_reciprocal", VALUES_RECIPROCAL, VALUES_RECIPROCAL, 0},
    {"f32_times_2688", VALUES_TIMES, VALUES_OVER, 0},
    {"f32_to_e8m0", VALUES_FIELD, VALUES_SHIFT, 0},
};

#define MXO_VALUES(name, from, to, rule, source) {#name, from, to},
static const struct {
    const char *name;
    const char *from;
    const char *to;
} value_rows[] = {
#include <mxoracle/values.def>
};
#undef MXO_VALUES

static const struct {
    const char *name;
    uint32_t type;
    uint32_t bytes;
} layout_types[] = {
    {"u8", MXO_U8, 1},     {"i8", MXO_I8, 1},     {"e8m0", MXO_E8M0, 1},
    {"e4m3", MXO_E4M3, 1}, {"e5m2", MXO_E5M2, 1}, {"bf16", MXO_BF16, 2},
    {"f16", MXO_F16, 2},   {"u16", MXO_U16, 2},   {"i16", MXO_I16, 2},
    {"f32", MXO_F32, 4},   {"i32", MXO_I32, 4},   {"u32", MXO_U32, 4},
};

/* Bytes of an element, 0: not one that moves. */
static uint32_t type_bytes(uint32_t type)
{
    for (size_t i = 0; i < sizeof layout_types / sizeof layout_types[0]; i++) {
        if (layout_types[i].type == type) {
            return layout_types[i].bytes;
        }
    }
    return 0;
}

static uint32_t type_named(const char *name)
{
    for (size_t i = 0; i < sizeof layout_types / sizeof layout_types[0]; i++) {
        if (strcmp(layout_types[i].name, name) == 0) {
            return layout_types[i].type;
        }
    }
    return MXO_N_DTYPES;
}

/* How elements change on their way; *kind is -1 if they do not. */
typedef struct value_change {
    int kind;
    uint32_t add;
    uint32_t from; /* types of input and output */
    uint32_t to;
} value_change;

static mxo_status values_of(const char *name, int back, uint32_t type,
                            value_change *v, mxo_text why)
{
    const value_change same = {-1, 0, type, type};

    *v = same;
    if (strcmp(name, "keep") == 0) {
        return MXO_OK;
    }
    for (size_t i = 0; i < sizeof value_kinds / sizeof value_kinds[0]; i++) {
        if (strcmp(value_kinds[i].name, name) == 0) {
            v->kind = (int)(back ? value_kinds[i].back : value_kinds[i].there);
            v->add = back ? 0 - value_kinds[i].add : value_kinds[i].add;
        }
    }
    for (size_t i = 0; i < sizeof value_rows / sizeof value_rows[0]; i++) {
        if (strcmp(value_rows[i].name, name) == 0) {
            v->from = type_named(back ? value_rows[i].to : value_rows[i].from);
            v->to = type_named(back ? value_rows[i].from : value_rows[i].to);
        }
    }
    if (v->kind < 0) {
        return gpu_fail(MXO_E_UNSUPPORTED, why, "%s does not know values=%s",
                        GPU_NAME, name);
    }
    return v->from == type ? MXO_OK
                           : gpu_fail(MXO_E_SHAPE, why,
                                      "values=%s wants other elements", name);
}

enum { CHAIN_STEPS = 4, CHAIN_TEXT = 512, CHAIN_TENSORS = 6 };

static const char *const chain_tensors[CHAIN_TENSORS] = {
    "w13", "w13_scale", "w13_bias", "w2", "w2_scale", "w2_bias"};

typedef struct conversion_row {
    const char *id;
    const char *params;
    const char *needs;
    const char *bias;
    const char *chain[CHAIN_TENSORS];
} conversion_row;

#define MXO_CONVERSION(id, params, needs, bias, w13, w13_scale, w13_bias, w2, \
                       w2_scale, w2_bias, source)                             \
    {id,                                                                      \
     params,                                                                  \
     needs,                                                                   \
     bias,                                                                    \
     {w13, w13_scale, w13_bias, w2, w2_scale, w2_bias}},
static const conversion_row conversion_rows[] = {
#include <mxoracle/conversions.def>
};
#undef MXO_CONVERSION

typedef struct layout_step {
    layout_map map;
    value_change values;
    int folded; /* with the step before: its axes are others */
} layout_step;

typedef struct layout_chain {
    uint32_t n;
    layout_step step[CHAIN_STEPS];
    layout_map last; /* the last step's as it is written */
} layout_chain;

/* The conversion whose id are the first n bytes of name. */
static const conversion_row *conversion_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof conversion_rows / sizeof conversion_rows[0];
         i++) {
        if (strlen(conversion_rows[i].id) == n &&
            memcmp(conversion_rows[i].id, name, n) == 0) {
            return &conversion_rows[i];
        }
    }
    return NULL;
}

/* CONVERSION.TENSOR/...: the row, and which tensor. */
static const conversion_row *conversion_tensor(const char *name, int *tensor)
{
    const size_t n = strcspn(name, "/");

    for (int i = 0; i < CHAIN_TENSORS; i++) {
        const size_t tail = strlen(chain_tensors[i]);

        if (n > tail + 1 && name[n - tail - 1] == '.' &&
            memcmp(name + n - tail, chain_tensors[i], tail) == 0) {
            *tensor = i;
            return conversion_find(name, n - tail - 1);
        }
    }
    return NULL;
}

/* The text behind key= in a list of such, up to a separator; its length. */
static size_t param_text(const char *list, char separator, const char *key,
                         size_t n_key, const char **value)
{
    const char *at = list;

    while (at != NULL && *at != '\0') {
        const char *const end = strchr(at, separator);
        const size_t n = end == NULL ? strlen(at) : (size_t)(end - at);

        if (n > n_key && memcmp(at, key, n_key) == 0 && at[n_key] == '=') {
            *value = at + n_key + 1;
            return n - n_key - 1;
        }
        at = end == NULL ? NULL : end + 1;
    }
    return 0;
}

/* /name=text/name=text: only names that the row has, each once. */
static int params_are_known(const conversion_row *row, const char *set)
{
    while (set != NULL && *set == '/') {
        const char *const name = set + 1;
        const char *unused;
        const size_t n = strcspn(name, "=/");

        set = name + strcspn(name, "/");
        if (name[n] != '=' ||
            param_text(row->params, ' ', name, n, &unused) == 0 ||
            is_set_in(set, name, n)) {
            return 0;
        }
    }
    return 1;
}

/* A chain with each $name replaced by what the caller or the row sets. */
static int chain_fill(const conversion_row *row, const char *name,
                      const char *chain, char text[CHAIN_TEXT])
{
    const char *const set = strchr(name, '/');
    size_t n = 0;

    if (!params_are_known(row, set)) {
        return 0;
    }
    while (*chain != '\0') {
        const char *from = chain;
        size_t length = 1;

        if (*chain == '$') {
            size_t n_key = 0;
            chain++;
            while (is_letter(chain[n_key]) || is_digit(chain[n_key])) {
                n_key++;
            }
            length =
                set == NULL ? 0 : param_text(set + 1, '/', chain, n_key, &from);
            if (length == 0) {
                length = param_text(row->params, ' ', chain, n_key, &from);
            }
            chain += n_key;
        } else {
            chain++;
        }
        if (length == 0 || n + length >= CHAIN_TEXT) {
            return 0;
        }
        memcpy(text + n, from, length);
        n += length;
    }
    text[n] = '\0';
    return 1;
}

/* One more layout, of the tensor that the steps so far left. */
static mxo_status chain_add(layout_chain *c, const char *name, size_t n,
                            int back, uint32_t *type, uint64_t shape[3],
                            mxo_text why)
{
    const char *const slash = (const char *)memchr(name, '/', n);
    const layout_row *const row =
        layout_find(name, slash == NULL ? n : (size_t)(slash - name));

    if (row == NULL || c->n == CHAIN_STEPS) {
        return gpu_fail(MXO_E_PARAM, why, "no layout is called %.*s", (int)n,
                        name);
    }
    layout_step *const s = &c->step[c->n++];

    MXO_TRY(values_of(row->values, back, *type, &s->values, why));
    MXO_TRY(map_read(&s->map, name, n, shape,
                     type_bytes(back ? *type : s->values.to), why));
    *type = s->values.to;
    for (int i = 0; i < 3; i++) {
        shape[i] = s->map.rank == 3 ? s->map.shape[i] : s->map.axis[i].padded;
    }
    s->folded = 0;
    c->last = s->map;
    if (c->n > 1 && s->values.kind < 0 && s[-1].values.kind < 0 &&
        map_fold(&s[-1].map, &s->map)) {
        s->folded = 1;
        s[-1] = *s;
        c->n--;
    }
    return MXO_OK;
}

static mxo_status chain_of_tensor(layout_chain *c, const conversion_row *row,
                                  const char *name, int tensor, uint32_t type,
                                  const uint64_t shape[3], mxo_text why)
{
    char text[CHAIN_TEXT];
    uint64_t at[3] = {shape[0], shape[1], shape[2]};

    c->n = 0;
    if (!chain_fill(row, name, row->chain[tensor], text)) {
        return gpu_fail(MXO_E_PARAM, why, "%s: a parameter is wrong", row->id);
    }
    for (const char *rest = text; rest != NULL;) {
        const char *const plus = strstr(rest, " + ");

        MXO_TRY(chain_add(c, rest,
                          plus == NULL ? strlen(rest) : (size_t)(plus - rest),
                          0, &type, at, why));
        rest = plus == NULL ? NULL : plus + 3;
    }
    return MXO_OK;
}

/* In the order of the text: digits, sizes, and no pads. */
static int map_is_plain(const layout_map *m)
{
    for (uint32_t i = 0; i < m->n_groups; i++) {
        if (m->group[i].n_members != 1 || m->group[i].member[0] != i ||
            m->group[i].table >= 0) {
            return 0;
        }
    }
    return !map_has_pads(m) && m->n_records == 0;
}

#endif
