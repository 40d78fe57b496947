/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts one after the other; see steps.h. */
#include "steps.h"

#include <stdio.h>
#include <string.h>

static int refuse(mxo_text why, const char *what, const char *name, size_t n)
{
    (void)snprintf(why.ptr, why.size, "%s%.*s", what, (int)(n < 60 ? n : 60),
                   name);
    return -1;
}

/* "key=value" among words; NULL. */
static const char *entry(const char *words, char separator, const char *key,
                         size_t n)
{
    const char *p = words;

    while (p != NULL && *p != '\0') {
        p += *p == separator;
        if (strncmp(p, key, n) == 0 && p[n] == '=') {
            return p + n + 1;
        }
        p = strchr(p, separator);
    }
    return NULL;
}

/* Every parameter in name is one of the row's. */
static int check_params(const mxo_conversion_row *row, const char *name,
                        mxo_text why)
{
    for (const char *p = strchr(name, '/'); p != NULL; p = strchr(p, '/')) {
        const size_t n = strcspn(++p, "=/");
        if (p[n] != '=' || entry(row->params, ' ', p, n) == NULL) {
            return refuse(why, "the conversion has no parameter ", p, n);
        }
        if (entry(strchr(p, '/'), '/', p, n) != NULL) {
            return refuse(why, "given twice: ", p, n);
        }
    }
    return 0;
}

static size_t value_length(const char *p)
{
    return strcspn(p, "/ ");
}

int steps_chain(const mxo_conversion_row *row, const char *name, uint32_t i,
                char text[2 * STEP_NAME], mxo_text why)
{
    const char *p = row->chain[i];
    size_t used = 0;

    if (check_params(row, name, why) != 0) {
        return -1;
    }
    while (*p != '\0' && used + STEP_NAME < 2 * STEP_NAME) {
        if (*p != '$') {
            text[used++] = *p++;
            continue;
        }
        const size_t n = strspn(++p, "abcdefghijklmnopqrstuvwxyz_");
        const char *value = entry(strchr(name, '/'), '/', p, n);
        value = value == NULL ? entry(row->params, ' ', p, n) : value;
        if (value == NULL || value_length(value) > 32) {
            return refuse(why, "no value for ", p, n);
        }
        memcpy(text + used, value, value_length(value));
        used += value_length(value);
        p += n;
    }
    text[used] = '\0';
    return 0;
}

/* Conversion and tensor of "id.tensor[/...]"; NULL. */
static const mxo_conversion_row *tensor_of(const char *name, uint32_t *tensor)
{
    const size_t dot = strcspn(name, ".");
    const size_t end = strcspn(name, "/");

    for (uint32_t i = 0; dot < end && mxo_conversion_at(i) != NULL; i++) {
        const mxo_conversion_row *row = mxo_conversion_at(i);
        if (strlen(row->id) != dot || strncmp(row->id, name, dot) != 0) {
            continue;
        }
        for (*tensor = 0; mxo_conversion_tensor(*tensor) != NULL; (*tensor)++) {
            const char *tail = mxo_conversion_tensor(*tensor);
            if (strlen(tail) == end - dot - 1 &&
                strncmp(tail, name + dot + 1, end - dot - 1) == 0) {
                return row;
            }
        }
    }
    return NULL;
}

int steps_find(steps *s, const char *name, mxo_text why)
{
    uint32_t tensor = 0;
    const mxo_conversion_row *row = tensor_of(name, &tensor);
    char text[2 * STEP_NAME];

    memset(s, 0, sizeof *s);
    if (strlen(name) >= STEP_NAME) {
        return refuse(why, "too long a name: ", name, 60);
    }
    (void)snprintf(text, sizeof text, "%s", name);
    if (row != NULL && steps_chain(row, name, tensor, text, why) != 0) {
        return -1;
    }
    for (char *p = text; p != NULL && s->n < MOST_STEPS; s->n++) {
        char *plus = strstr(p, " + ");
        if (plus != NULL) {
            *plus = '\0';
        }
        (void)snprintf(s->name[s->n], STEP_NAME, "%.127s", p);
        if (mxo_layout_find(p) == NULL) {
            return refuse(why, "no layout is called ", p, strlen(p));
        }
        p = plus == NULL ? NULL : plus + 3;
    }
    return 0;
}

/* The three axes that the next step sees. */
static void next_extent(const mxo_layout *l, uint64_t extent[3])
{
    memcpy(extent, l->rank == 3 ? l->shape : l->padded, 3 * sizeof extent[0]);
}

static int bind_all(steps *s, uint32_t elem_bytes, const uint64_t extent[3],
                    mxo_text why)
{
    uint64_t at[3];

    memcpy(at, extent, sizeof at);
    s->units = 1;
    for (int i = 0; i < s->n; i++) {
        if (explain_bind(&s->step[i], s->name[i], elem_bytes, at, why) != 0) {
            return -1;
        }
        const uint32_t units = s->step[i].l.units;
        s->units = units > s->units ? units : s->units;
        next_extent(&s->step[i].l, at);
    }
    return 0;
}

int steps_bind(steps *s, uint32_t elem_bytes, const uint64_t extent[3],
               mxo_text why)
{
    const uint32_t bytes[] = {elem_bytes, 1, 2, 4};

    for (size_t i = elem_bytes == 0; i < 4; i++) {
        why.ptr[0] = '\0';
        if (bind_all(s, bytes[i], extent, why) == 0) {
            return 0;
        }
        if (elem_bytes != 0 || strstr(why.ptr, "moves elements") == NULL) {
            break;
        }
    }
    return -1;
}

uint64_t steps_forward(const steps *s, uint64_t unit)
{
    for (int i = 0; i < s->n; i++) {
        const mxo_layout *l = &s->step[i].l;
        const uint64_t finer = s->units / l->units;
        unit = mxo_layout_forward(l, mxo_layout_padded_index(l, unit / finer)) *
                   finer +
               unit % finer;
    }
    return unit;
}

mxo_layout_content steps_content_at(const steps *s, uint64_t unit,
                                    uint64_t *logical, uint8_t *byte)
{
    for (int i = s->n; i-- > 0;) {
        const mxo_layout *l = &s->step[i].l;
        const uint64_t finer = s->units / l->units;
        const mxo_layout_content content =
            mxo_layout_content_at(l, unit / finer, logical, byte);
        if (content != MXO_LAYOUT_LIVE) {
            return content;
        }
        unit = *logical * finer + unit % finer;
    }
    *logical = unit;
    return MXO_LAYOUT_LIVE;
}

static int open_steps(steps *s, const char *name, uint32_t elem_bytes,
                      const uint64_t extent[3])
{
    char text[256];
    const mxo_text why = {text, sizeof text};

    return steps_find(s, name, why) == 0 &&
           (steps_bind(s, elem_bytes, extent, why) == 0 ||
            steps_bind(s, 0, extent, why) == 0);
}

/* Units of memory, so many in an element. */
static uint64_t n_units(const steps *s, uint32_t units)
{
    const mxo_layout *last = &s->step[s->n - 1].l;

    return last->n_units * (units / last->units);
}

/* As steps_content_at(), of these units. */
static mxo_layout_content content_at(const steps *s, uint32_t units,
                                     uint64_t unit, uint64_t *logical,
                                     uint8_t *byte)
{
    const uint64_t finer = units / s->units;
    const mxo_layout_content content =
        steps_content_at(s, unit / finer, logical, byte);

    *logical = *logical * finer + unit % finer;
    return content;
}

int steps_agree(const char *name, const char *other, uint32_t elem_bytes,
                const uint64_t extent[3])
{
    steps s[2];

    if (!open_steps(&s[0], name, elem_bytes, extent) ||
        !open_steps(&s[1], other, elem_bytes, extent)) {
        return 0;
    }
    const uint32_t units = s[0].units > s[1].units ? s[0].units : s[1].units;
    const uint64_t n = n_units(&s[0], units);
    int agree = n == n_units(&s[1], units);

    for (uint64_t i = 0; agree && i < n; i++) {
        uint64_t logical[2];
        uint8_t byte[2];
        const mxo_layout_content a =
            content_at(&s[0], units, i, &logical[0], &byte[0]);
        agree = a == content_at(&s[1], units, i, &logical[1], &byte[1]) &&
                (a != MXO_LAYOUT_LIVE || logical[0] == logical[1]) &&
                (a != MXO_LAYOUT_PAD || byte[0] == byte[1]);
    }
    return agree;
}
