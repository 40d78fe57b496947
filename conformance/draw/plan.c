/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: the cases that draws start from, in groups; see draw.h. */
#include "plan.h"
#include "granule.h"

#include "base/cli.h"
#include "base/tensors.h"
#include "case/family.h"
#include "case/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a template, and of a group. */
enum { MOST_PICKS = 8, MOST_BASES = 128, MOST_BYTES = 1 << 12 };

static int refuse(mxo_text why, const char *what, const char *of)
{
    (void)snprintf(why.ptr, why.size, what, of);
    return -1;
}

static const draw_pin *pin_of(const draw_plan *p, const char *op)
{
    for (uint32_t i = 0; i < p->n_pins; i++) {
        if (strcmp(p->pin[i].op, op) == 0) {
            return &p->pin[i];
        }
    }
    return NULL;
}

/* "layout=NAME/" and a star holds the layout and leaves its parameters free:
   without the end; 1 if there was one. */
static int cut_free(word_span *value)
{
    const int is_free =
        value->len > 2 && memcmp(value->ptr + value->len - 2, "/*", 2) == 0;

    value->len -= is_free ? 2 : 0;
    return is_free;
}

int draw_is_pinned(const draw_plan *p, const test_case *c, const char *key)
{
    const draw_pin *pin = pin_of(p, c->schema->info->name);
    const char *at = pin == NULL ? "" : pin->keys;
    const size_t n = strlen(key);

    while (at[0] != key[0] || strncmp(at, key, n) != 0 || at[n] != '=') {
        at = strchr(at, ',');
        if (at == NULL) {
            return 0;
        }
        at++;
    }
    word_span value = {at + n + 1, strcspn(at + n + 1, ",")};

    return !cut_free(&value);
}

void draw_pin_keys(const draw_plan *p, test_case *c)
{
    const draw_pin *pin = pin_of(p, c->schema->info->name);
    word_span rest = {"", 0};
    char why[256];

    if (pin != NULL) {
        rest = (word_span){pin->keys, strlen(pin->keys)};
    }
    while (rest.len > 0) {
        word_span value = span_cut(&rest, ',');
        const word_span key = span_cut(&value, '=');
        char k[OP_WORD];
        char v[OP_WORD];
        (void)cut_free(&value);
        if (span_copy(key, k) && span_copy(value, v)) {
            /* Checked when the plan was made. */
            (void)case_vary(c, k, v, (mxo_text){why, sizeof why});
        }
    }
}

/* "op" or "op/layout", the layout without its parameters. */
static void group_name(const test_case *c, char *name, size_t size)
{
    const char *layout = case_value(c, "layout");

    if (layout[0] == '\0') {
        layout = case_value(c, "conversion");
    }
    (void)snprintf(name, size, "%s%s%.*s", c->schema->info->name,
                   layout[0] == '\0' ? "" : "/", (int)strcspn(layout, "/"),
                   layout);
}

uint32_t draw_group_with(const draw_plan *p, const test_case *c)
{
    char name[2 * OP_WORD];
    uint32_t i = 0;

    group_name(c, name, sizeof name);
    while (i < p->n && strcmp(p->group[i].name, name) != 0) {
        i++;
    }
    return i;
}

static draw_group *find_or_add(draw_plan *p, const char *name)
{
    /* Cases of a group mostly come one after the other. */
    for (uint32_t i = p->n; i > 0; i--) {
        if (strcmp(p->group[i - 1].name, name) == 0) {
            return &p->group[i - 1];
        }
    }
    draw_group *grown = realloc(p->group, (p->n + 1) * sizeof *grown);

    if (grown == NULL) {
        return NULL;
    }
    p->group = grown;
    memset(&grown[p->n], 0, sizeof grown[p->n]);
    (void)snprintf(grown[p->n].name, sizeof grown[p->n].name, "%s", name);
    return &grown[p->n++];
}

/* Those of the layout, if it is one. */
static void find_granules(const test_case *c, granules axis[3])
{
    const char *layout = case_value(c, "layout");
    const uint32_t dtype = dtype_by_name(case_value(c, "dtype"));

    memset(axis, 0, 3 * sizeof axis[0]);
    if (layout[0] != '\0' && op_dim_index(c->schema, "rows") >= 0) {
        granules_of(layout, dtype < MXO_N_DTYPES ? dtype_bytes(dtype) : 1,
                    axis);
    }
}

static int add_base(draw_plan *p, const test_case *c)
{
    char name[2 * OP_WORD];

    group_name(c, name, sizeof name);
    draw_group *g = find_or_add(p, name);

    if (g == NULL) {
        return -1;
    }
    if (g->n == MOST_BASES) {
        return 0;
    }
    test_case *grown = realloc(g->base, (g->n + 1) * sizeof *grown);

    if (grown == NULL) {
        return -1;
    }
    g->base = grown;
    granules *axis = realloc(g->axis, 3 * (g->n + 1) * sizeof *axis);

    if (axis == NULL) {
        return -1;
    }
    g->axis = axis;
    find_granules(c, &axis[3 * g->n]);
    fill_data_kinds(c->schema->info->name, g->kinds, sizeof g->kinds);
    grown[g->n++] = *c;
    return 0;
}

/* Whether the plan wants the case.  Keys that are given decide where the case
   has another layout. */
static int is_wanted(const draw_plan *p, const test_case *c)
{
    char own[2 * OP_WORD];
    char pinned[2 * OP_WORD];
    test_case other = *c;

    draw_pin_keys(p, &other);
    group_name(c, own, sizeof own);
    group_name(&other, pinned, sizeof pinned);
    return strcmp(own, pinned) == 0;
}

static int add_template(draw_plan *p, const grid_row *row, mxo_text why)
{
    case_list l = {0};
    const int picks =
        row->picks > 0 && row->picks < MOST_PICKS ? row->picks : MOST_PICKS;
    int status = grid_expand(&l, row->text, picks, 1, why);

    for (size_t i = 0; status == 0 && i < l.n; i++) {
        test_case c;
        status = case_parse(&c, l.item[i].text, why);
        if (status == 0 && is_wanted(p, &c) && draw_bytes(&c) <= MOST_BYTES) {
            draw_pin_keys(p, &c);
            status = add_base(p, &c) == 0
                         ? 0
                         : refuse(why, "%s: out of memory", row->text);
        }
    }
    case_list_clear(&l);
    return status;
}

/* Every template of an operation; without a small one all at their
   defaults. */
static int add_operation(draw_plan *p, const op_schema *s, mxo_text why)
{
    const uint32_t before = p->n;
    const char *op = s->info->name;
    const size_t n = strlen(op);

    for (int f = 0; f < family_count(); f++) {
        for (const grid_row *r = family_at(f)->grid; r->text != NULL; r++) {
            if (r->level <= 2 && strncmp(r->text, op, n) == 0 &&
                (r->text[n] == ':' || r->text[n] == '\0') &&
                add_template(p, r, why) != 0) {
                return -1;
            }
        }
    }
    if (p->n == before) {
        test_case c;
        case_begin(&c, s);
        for (int i = 0; i < s->n_dims; i++) {
            case_resize(&c, i, 32);
        }
        draw_pin_keys(p, &c);
        return add_base(p, &c) == 0 ? 0 : refuse(why, "%s: out of memory", op);
    }
    return 0;
}

/* "op:key=value,..." as keys that stay; checked here. */
static int add_pin(draw_plan *p, const char *text, mxo_text why)
{
    test_case c;
    draw_pin *grown = realloc(p->pin, (p->n_pins + 1) * sizeof *grown);

    if (grown == NULL) {
        return refuse(why, "%s: out of memory", text);
    }
    p->pin = grown;
    word_span rest = {text, strlen(text)};
    draw_pin *pin = &p->pin[p->n_pins];

    memset(pin, 0, sizeof *pin);
    if (!span_copy(span_cut(&rest, ':'), pin->op) ||
        op_by_name(pin->op) == NULL) {
        return refuse(why, "%s: there is no such operation", text);
    }
    if (rest.len >= sizeof pin->keys) {
        return refuse(why, "%.60s...: too many keys", text);
    }
    memcpy(pin->keys, rest.ptr, rest.len);
    p->n_pins++;
    case_begin(&c, op_by_name(pin->op));
    while (rest.len > 0) {
        word_span value = span_cut(&rest, ',');
        const word_span key = span_cut(&value, '=');
        char k[OP_WORD];
        char v[OP_WORD];
        (void)cut_free(&value);
        if (!span_copy(key, k) || !span_copy(value, v)) {
            return refuse(why, "%s: a key or value is too long", text);
        }
        if (case_set(&c, k, v, why) != 0) {
            return -1;
        }
    }
    return 0;
}

static int add_matching(draw_plan *p, const char *pattern, uint8_t *taken,
                        mxo_text why)
{
    int found = 0;

    for (int i = 0; i < op_count(); i++) {
        if (!cli_matches(pattern, op_at(i)->info->name)) {
            continue;
        }
        found = 1;
        if (!taken[i] && add_operation(p, op_at(i), why) != 0) {
            return -1;
        }
        taken[i] = 1;
    }
    return found ? 0 : refuse(why, "%s matches no operation", pattern);
}

static int add_wanted(draw_plan *p, const char *text, uint8_t *taken,
                      mxo_text why)
{
    char op[OP_WORD] = "";

    if (strchr(text, ':') == NULL) {
        return add_matching(p, text, taken, why);
    }
    if (add_pin(p, text, why) != 0) {
        return -1;
    }
    (void)snprintf(op, sizeof op, "%s", p->pin[p->n_pins - 1].op);
    return add_matching(p, op, taken, why);
}

/* Operations alike, however many layouts one has. */
static void share_weights(draw_plan *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < p->n; k++) {
            n += p->group[k].base[0].schema == p->group[i].base[0].schema;
        }
        p->group[i].weight = DRAW_WEIGHT / n + 1;
    }
}

int draw_plan_make(draw_plan *p, char *const wanted[], size_t n, mxo_text why)
{
    uint8_t *taken = calloc((size_t)op_count() + 1, 1);
    int status = taken == NULL ? refuse(why, "%s", "out of memory") : 0;

    memset(p, 0, sizeof *p);
    p->most_bytes = MOST_BYTES;
    for (size_t i = 0; status == 0 && i < n; i++) {
        status = add_wanted(p, wanted[i], taken, why);
    }
    if (status == 0 && n == 0) {
        status = add_matching(p, "*", taken, why);
    }
    free(taken);
    if (status != 0) {
        draw_plan_clear(p);
    } else {
        share_weights(p);
    }
    return status;
}

void draw_plan_clear(draw_plan *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        free(p->group[i].base);
        free(p->group[i].axis);
    }
    free(p->group);
    free(p->pin);
    memset(p, 0, sizeof *p);
}
