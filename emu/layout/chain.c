/* SPDX-License-Identifier: Apache-2.0 */
/* From a name to the maps of a chain; see chain.h. */
#include "chain.h"

#include <string.h>

const layout_step *chain_last(const layout_chain *c)
{
    return &c->step[c->n - 1];
}

void chain_describe(const layout_chain *c, int is_bias, mxo_tensor *t,
                    uint32_t i, const char *name)
{
    const layout_step *last = chain_last(c);
    const uint64_t experts = c->step[0].map.extent[0];
    const uint64_t matrix[2] = {experts,
                                experts == 0 ? 0 : last->map.n_units / experts};

    if (is_bias) {
        mxo_out(t, i, name, last->to, 2, matrix);
    } else {
        mxo_out(t, i, name, last->to, last->map.rank, last->map.shape);
    }
}

/* Shape of a step's result as the next step sees it: the result's own if it
   has three dimensions, else the padded tensor's. */
static void next_extent(const layout_step *s, uint64_t extent[3])
{
    const uint64_t *shape = s->map.rank == 3 ? s->map.shape : s->map.padded;

    memcpy(extent, shape, 3 * sizeof extent[0]);
}

static mxo_status add_step(layout_chain *c, const char *name, uint32_t *dtype,
                           uint64_t extent[3], mxo_text why)
{
    layout_step *s = &c->step[c->n];

    if (c->n == CHAIN_STEPS) {
        return mxo_fail(MXO_E_PARAM, why, "a chain has %d steps at most",
                        CHAIN_STEPS);
    }
    if (c->n > 0 && chain_last(c)->map.units > 1) {
        return mxo_fail(MXO_E_PARAM, why,
                        "only the last layout of a chain splits bytes, not %s",
                        chain_last(c)->map.row->id);
    }
    MXO_TRY(layout_step_bind(s, name, *dtype, extent, why));
    c->n++;
    *dtype = s->to;
    next_extent(s, extent);
    return MXO_OK;
}

/* "a + b": the chain's text, parameters filled in. */
static mxo_status bind_text(layout_chain *c, char *text, uint32_t dtype,
                            const uint64_t extent[3], mxo_text why)
{
    uint64_t at[3];

    memcpy(at, extent, sizeof at);
    memset(c, 0, sizeof *c);
    for (char *rest = text; rest != NULL;) {
        char *plus = strstr(rest, " + ");
        if (plus != NULL) {
            *plus = '\0';
        }
        MXO_TRY(add_step(c, rest, &dtype, at, why));
        rest = plus == NULL ? NULL : plus + 3;
    }
    return MXO_OK;
}

/* Value of a parameter: what name sets, else the row's default; 0: none. */
static int param_text(const mxo_conversion_row *row, const char *name,
                      const char *key, size_t key_len, char value[32])
{
    const char *texts[2] = {strchr(name, '/'), row->params};
    const char *separators[2] = {"/", " "};

    for (int i = 0; i < 2; i++) {
        for (const char *p = texts[i]; p != NULL && *p != '\0';) {
            p += strspn(p, separators[i]);
            const size_t len = strcspn(p, separators[i]);
            if (len > key_len + 1 && len - key_len - 1 < 32 &&
                memcmp(p, key, key_len) == 0 && p[key_len] == '=') {
                memcpy(value, p + key_len + 1, len - key_len - 1);
                value[len - key_len - 1] = '\0';
                return 1;
            }
            p += len;
        }
    }
    return 0;
}

static size_t word_length(const char *p)
{
    return strspn(p, "abcdefghijklmnopqrstuvwxyz_0123456789");
}

/* Every parameter that name sets is one of the row's. */
static mxo_status check_params(const mxo_conversion_row *row, const char *name,
                               mxo_text why)
{
    const char *p = strchr(name, '/');

    while (p != NULL && *p == '/') {
        const size_t key = word_length(++p);
        const char *at = row->params;
        int known = 0;

        while (*at != '\0' && !known) {
            at += strspn(at, " ");
            known = key > 0 && strncmp(at, p, key) == 0 && at[key] == '=';
            at += strcspn(at, " ");
        }
        if (!known || p[key] != '=') {
            return mxo_fail(MXO_E_PARAM, why,
                            "conversion %s has no parameter \"%.*s\"", row->id,
                            (int)key, p);
        }
        for (const char *q = strchr(p, '/'); q != NULL; q = strchr(q, '/')) {
            if (strncmp(++q, p, key) == 0 && q[key] == '=') {
                return mxo_fail(MXO_E_PARAM, why,
                                "conversion %s: %.*s is given twice", row->id,
                                (int)key, p);
            }
        }
        p += strcspn(p, "/");
    }
    return MXO_OK;
}

/* chain with $name replaced. */
static mxo_status fill_in(const mxo_conversion_row *row, const char *name,
                          const char *chain, char text[CHAIN_TEXT],
                          mxo_text why)
{
    size_t used = 0;

    while (*chain != '\0' && used + 33 < CHAIN_TEXT) {
        char value[32];
        if (*chain != '$') {
            text[used++] = *chain++;
            continue;
        }
        const size_t len = word_length(++chain);
        if (!param_text(row, name, chain, len, value)) {
            return mxo_fail(MXO_E_PARAM, why,
                            "conversion %s: no parameter is called %.*s",
                            row->id, (int)len, chain);
        }
        memcpy(text + used, value, strlen(value));
        used += strlen(value);
        chain += len;
    }
    text[used] = '\0';
    return *chain == '\0'
               ? MXO_OK
               : mxo_fail(MXO_E_PARAM, why,
                          "conversion %s: the chain is too long", row->id);
}

mxo_status chain_bind_tensor(layout_chain *c, const mxo_conversion_row *row,
                             const char *name, int i, uint32_t dtype,
                             const uint64_t extent[3], mxo_text why)
{
    char text[CHAIN_TEXT];

    MXO_TRY(check_params(row, name, why));
    MXO_TRY(fill_in(row, name, row->chain[i], text, why));
    return bind_text(c, text, dtype, extent, why);
}

/* What follows "ID." in the name; NULL if it begins otherwise. */
static const char *behind_id(const char *name, const char *id)
{
    while (*id != '\0' && *id == *name) {
        id++;
        name++;
    }
    return *id == '\0' && *name == '.' ? name + 1 : NULL;
}

/* "CONVERSION.TENSOR/..." : the row and the tensor's number; NULL. */
static const mxo_conversion_row *tensor_of(const char *name, int *tensor)
{
    for (uint32_t i = 0; mxo_conversion_at(i) != NULL; i++) {
        const mxo_conversion_row *row = mxo_conversion_at(i);
        const char *const rest = behind_id(name, row->id);

        for (int k = 0; rest != NULL && k < MXO_CONVERSION_TENSORS; k++) {
            const char *tail = mxo_conversion_tensor((uint32_t)k);
            const size_t n = strlen(tail);
            if (strcspn(rest, "/") == n && strncmp(tail, rest, n) == 0) {
                *tensor = k;
                return row;
            }
        }
    }
    return NULL;
}

mxo_status chain_bind(layout_chain *c, const char *name, uint32_t dtype,
                      const uint64_t extent[3], mxo_text why)
{
    uint64_t at[3];
    int tensor = 0;
    const mxo_conversion_row *row = tensor_of(name, &tensor);

    if (row != NULL) {
        return chain_bind_tensor(c, row, name, tensor, dtype, extent, why);
    }
    memcpy(at, extent, sizeof at);
    memset(c, 0, sizeof *c);
    return add_step(c, name, &dtype, at, why);
}

static mxo_status refuse_seen(const char *name, mxo_text why)
{
    return mxo_fail(MXO_E_SHAPE, why,
                    "layout %s: memory is seen as the padded tensor, and "
                    "this is not its shape or dtype",
                    name);
}

/* The checkpoint's dtype of a tensor whose dtype in memory is given. */
static uint32_t checkpoint_dtype(int tensor, uint32_t dtype)
{
    const char *name = mxo_conversion_tensor((uint32_t)tensor);

    if (strstr(name, "bias") != NULL) {
        return MXO_BF16;
    }
    return strstr(name, "scale") != NULL && dtype == MXO_F32 ? MXO_E8M0 : dtype;
}

/* Memory as it is seen: the padded tensor, rows as long as records make them.
 */
static void seen_extent(const mxo_layout *l, uint64_t seen[3])
{
    memcpy(seen, l->padded, 3 * sizeof seen[0]);
    for (uint8_t i = 0; i < l->n_records; i++) {
        seen[2] = seen[2] * l->record[i].every / l->record[i].body;
    }
}

/* The chain, bound to what is kept, leaves this memory. */
static mxo_status check_seen(const layout_chain *c, const char *name,
                             uint32_t dtype, const uint64_t seen[3],
                             mxo_text why)
{
    uint64_t want[3];

    seen_extent(&chain_last(c)->map, want);
    return chain_last(c)->to == dtype && memcmp(want, seen, sizeof want) == 0
               ? MXO_OK
               : refuse_seen(name, why);
}

/* How many columns lie in rows of records that are so long.  What a record
   holds does not depend on the shape, so that any other shape tells. */
static uint64_t record_cols(const char *name, uint32_t dtype, uint64_t seen)
{
    const uint64_t extent[3] = {1, 1024, 1024};
    char text[128];
    const mxo_text why = {text, sizeof text};
    layout_chain c;

    if (chain_bind(&c, name, dtype, extent, why) != MXO_OK) {
        return seen;
    }
    const mxo_layout *l = &chain_last(&c)->map;

    uint64_t cols = seen;

    for (int i = l->n_records - 1; i >= 0; i--) {
        cols = cols * l->record[i].body / l->record[i].every;
    }
    return cols;
}

/* Records are longer than what they hold, so that their layout is bound to
   what is kept; any other one to what is seen. */
static mxo_status bind_layout_back(layout_chain *c, const char *name,
                                   uint32_t dtype, const uint64_t seen[3],
                                   const uint64_t kept[3], mxo_text why)
{
    const mxo_layout_row *row = mxo_layout_find(name);
    uint32_t from = dtype;

    if (row == NULL || strchr(row->map, '@') == NULL) {
        memset(c, 0, sizeof *c);
        c->n = 1;
        return layout_step_bind_back(&c->step[0], name, dtype, seen, why);
    }
    from = layout_values_from(layout_values_find(row->values), dtype);
    uint64_t extent[3] = {kept[0], kept[1], kept[2]};

    if (kept[2] == seen[2]) {
        extent[2] = record_cols(name, from, seen[2]);
    }
    MXO_TRY(chain_bind(c, name, from, extent, why));
    return check_seen(c, name, dtype, seen, why);
}

/* A layout is bound to what is seen, a conversion's chain to what is kept. */
mxo_status chain_bind_back(layout_chain *c, const char *name, uint32_t dtype,
                           const uint64_t seen[3], const uint64_t kept[3],
                           mxo_text why)
{
    int tensor = 0;

    if (tensor_of(name, &tensor) == NULL) {
        return bind_layout_back(c, name, dtype, seen, kept, why);
    }
    MXO_TRY(chain_bind(c, name, checkpoint_dtype(tensor, dtype), kept, why));
    return check_seen(c, name, dtype, seen, why);
}

mxo_status mxo_layout_padded(const char *name, uint32_t dtype,
                             const uint64_t extent[3], uint64_t padded[3],
                             mxo_text why)
{
    layout_chain c;

    MXO_TRY(chain_bind(&c, name, dtype, extent, why));
    seen_extent(&chain_last(&c)->map, padded);
    return MXO_OK;
}
