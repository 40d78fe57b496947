/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expanding case templates.  A template is case text whose values are lists
 * (a|b|c), the whole domain (*) or a pool of sizes that have broken kernels
 * before: tile edges, odd tails, the dimensions of shipped models.
 */
#include "grid.h"

#include "base/cli.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/prng.h"
#include "cover.h"
#include "family.h"
#include "reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const pools[][2] = {
    {"$MALL", "1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|20|21|22|23|24|"
              "25|26|27|28|29|30|31|32|33|34|35|36|37|38|39|40|41|42|43|44|45|"
              "46|47|48|49|50|51|52|53|54|55|56|57|58|59|60|61|62|63|64|65|"
              "127|128|129|255|256|257|480|512|513|1024|1025"},
    {"$M", "1|2|3|4|5|7|8|9|15|16|17|24|31|32|33|47|48|63|64|65|96|127|128|"
           "129|130"},
    {"$N", "1|2|3|5|8|9|31|32|33|63|64|65|96|127|128|129|130|192|258|1026"},
    {"$KALL", "32|64|96|128|160|192|224|256|352|384|416|448|544|576|608|"
              "640|672|704|768|896|928|960|1408|1440|1504|1856|2688|2880|"
              "3072"},
    {"$K", "32|64|96|128|160|192|224|256|352|384|416|448|544|576|608|640|672|"
           "704|768|896|928|960|1408|1440|1504|1856|2688|2880"},
};

enum { MAX_KEYS = COVER_AXES, MAX_VALUES = 1200 };

typedef struct axis {
    char key[OP_WORD];
    char values[MAX_VALUES]; /* a|b|c */
    uint64_t n;
} axis;

typedef struct grid_template {
    char op[OP_WORD];
    int n_axes;
    axis axes[MAX_KEYS];
} grid_template;

static int refuse(mxo_text why, const char *what, const char *text)
{
    (void)snprintf(why.ptr, why.size, "%.200s: %.200s", text, what);
    return -1;
}

/* Where this case stands in the table, or the free slot that it belongs to. */
static size_t *slot_of(const case_list *l, const char *text, uint64_t seed)
{
    for (uint64_t at = seed_of(seed, text, "");; at++) {
        size_t *slot = &l->slot[at & (l->n_slots - 1)];
        if (*slot == 0 || (l->item[*slot - 1].seed == seed &&
                           strcmp(l->item[*slot - 1].text, text) == 0)) {
            return slot;
        }
    }
}

/* Room for one more, with at least two slots for each. */
static void make_room(case_list *l)
{
    const size_t capacity = l->capacity == 0 ? 256 : 2 * l->capacity;

    if (l->n < l->capacity) {
        return;
    }
    l->item = memory_need_more(l->item, capacity * sizeof *l->item);
    free(l->slot);
    l->slot = memory_need_zeros(2 * capacity, sizeof *l->slot);
    l->n_slots = 2 * capacity;
    l->capacity = capacity;
    for (size_t i = 0; i < l->n; i++) {
        *slot_of(l, l->item[i].text, l->item[i].seed) = i + 1;
    }
}

void case_list_add(case_list *l, const char *text, uint64_t seed)
{
    make_room(l);
    size_t *slot = slot_of(l, text, seed);

    if (*slot == 0) {
        l->item[l->n++] = (case_item){memory_need_text(text), seed};
        *slot = l->n;
    }
}

void case_list_clear(case_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->item[i].text);
    }
    free(l->item);
    free(l->slot);
    memset(l, 0, sizeof *l);
}

static uint64_t count_values(const char *values)
{
    uint64_t n = 1;

    for (const char *at = values; *at != '\0'; at++) {
        n += *at == '|';
    }
    return n;
}

/* All data kinds of an operation as a|b|c. */
static void data_values(const char *op, char *values, size_t size)
{
    char *to = values;

    fill_data_kinds(op, values, size);
    for (const char *from = values; *from != '\0'; from++) {
        if (*from != ' ') {
            *to++ = *from == ',' ? '|' : *from;
        }
    }
    *to = '\0';
}

static int set_values(axis *a, const op_schema *s, word_span value)
{
    const int param = op_param_index(s, a->key);
    char word[MAX_VALUES];

    if (value.len >= sizeof word) {
        return -1;
    }
    memcpy(word, value.ptr, value.len);
    word[value.len] = '\0';
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        if (strcmp(word, pools[i][0]) == 0) {
            (void)snprintf(word, sizeof word, "%s", pools[i][1]);
        }
    }
    if (strcmp(word, "*") == 0 && strcmp(a->key, "data") == 0) {
        data_values(s->info->name, word, sizeof word);
    } else if (strcmp(word, "*") == 0 && param >= 0) {
        const op_param *p = &s->params[param];
        const int is_bool = p->kind == PARAM_BOOL;
        (void)snprintf(word, sizeof word, "%.*s",
                       is_bool ? 3 : (int)p->choices.len,
                       is_bool ? "0|1" : p->choices.ptr);
    }
    memcpy(a->values, word, strlen(word) + 1);
    a->n = count_values(a->values);
    return 0;
}

static int parse_template(grid_template *t, const char *text, mxo_text why)
{
    word_span rest = {text, strlen(text)};

    t->n_axes = 0;
    if (!span_copy(span_cut(&rest, ':'), t->op) || op_by_name(t->op) == NULL) {
        return refuse(why, "no such operation", text);
    }
    while (rest.len > 0) {
        axis *a = &t->axes[t->n_axes];
        word_span value = span_cut(&rest, ',');
        if (t->n_axes == MAX_KEYS ||
            !span_copy(span_cut(&value, '='), a->key) || value.len == 0 ||
            set_values(a, op_by_name(t->op), value) != 0) {
            return refuse(why, "not a template", text);
        }
        t->n_axes++;
    }
    return 0;
}

static word_span nth_value(const axis *a, uint64_t which)
{
    word_span rest = {a->values, strlen(a->values)};
    word_span value = span_cut(&rest, '|');

    while (which-- > 0) {
        value = span_cut(&rest, '|');
    }
    return value;
}

/* Where cases go. */
typedef struct grid_sink {
    case_list *list;
    reach *reach; /* NULL: nobody asks how far they go */
    uint64_t seed;
} grid_sink;

void grid_add_stretches(case_list *l, reach *r, test_case *c, uint64_t seed)
{
    const uint64_t end = c->stretch > 0 ? c->stretch + 1 : fill_stretches(c);

    for (; c->stretch < end; c->stretch++) {
        const size_t before = l->n;
        char text[CASE_TEXT];

        case_print(c, 0, text);
        case_list_add(l, text, seed);
        if (r != NULL && l->n > before) {
            reach_note(r, c, before);
        }
    }
}

/* The case with value choice[i] on axis i, in its default spelling. */
static int add_choice(const grid_sink *to, const grid_template *t,
                      const uint64_t *choice, mxo_text why)
{
    char text[CASE_TEXT];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", t->op);
    test_case c;

    for (int i = 0; i < t->n_axes; i++) {
        const char *key = t->axes[i].key;
        const word_span v = nth_value(&t->axes[i], choice[i]);
        const size_t n_key = strlen(key);
        char *at = text + used;

        used += n_key + v.len + 2;
        if (used >= sizeof text) {
            return refuse(why, "the case is too long", t->op);
        }
        *at++ = i == 0 ? ':' : ',';
        memcpy(at, key, n_key);
        at[n_key] = '=';
        memcpy(at + n_key + 1, v.ptr, v.len);
    }
    text[used] = '\0';
    if (case_parse(&c, text, why) != 0) {
        return -1;
    }
    grid_add_stretches(to->list, to->reach, &c, to->seed);
    return 0;
}

static int expand_product(const grid_sink *to, const grid_template *t,
                          mxo_text why)
{
    uint64_t choice[MAX_KEYS] = {0};
    int i = 0;

    while (i < t->n_axes || t->n_axes == 0) {
        if (add_choice(to, t, choice, why) != 0) {
            return -1;
        }
        for (i = 0; i < t->n_axes && ++choice[i] == t->axes[i].n; i++) {
            choice[i] = 0;
        }
        if (t->n_axes == 0) {
            return 0;
        }
    }
    return 0;
}

static int expand_picks(const grid_sink *to, const grid_template *t, int picks,
                        const char *text, mxo_text why)
{
    uint64_t choice[MAX_KEYS] = {0};
    prng rng;

    prng_seed(&rng, seed_of(to->seed, text, "grid"));
    for (int k = 0; k < picks; k++) {
        for (int i = 0; i < t->n_axes; i++) {
            choice[i] = prng_below(&rng, t->axes[i].n);
        }
        if (add_choice(to, t, choice, why) != 0) {
            return -1;
        }
    }
    return 0;
}

static int expand_cover(const grid_sink *to, const grid_template *t,
                        int strength, mxo_text why)
{
    uint64_t choice[MAX_KEYS] = {0};
    uint64_t size[MAX_KEYS];
    int status = 0;

    if (strength > COVER_MOST || strength > t->n_axes) {
        return refuse(why, "too few keys to be covered", t->op);
    }
    for (int i = 0; i < t->n_axes; i++) {
        size[i] = t->axes[i].n;
    }
    cover *c = cover_new(strength, t->n_axes, size);

    if (c == NULL) {
        return refuse(why, "out of memory", t->op);
    }
    while (status == 0 && cover_next(c, choice)) {
        status = add_choice(to, t, choice, why);
    }
    cover_free(c);
    return status;
}

static int expand(const grid_sink *to, const char *text, int picks,
                  mxo_text why)
{
    grid_template t;

    if (parse_template(&t, text, why) != 0) {
        return -1;
    }
    return picks == 0  ? expand_product(to, &t, why)
           : picks < 0 ? expand_cover(to, &t, -picks, why)
                       : expand_picks(to, &t, picks, text, why);
}

int grid_expand(case_list *l, const char *text, int picks, uint64_t seed,
                mxo_text why)
{
    return expand(&(grid_sink){l, NULL, seed}, text, picks, why);
}

static int op_wanted(const char *template_text, char *const patterns[],
                     size_t n)
{
    word_span rest = {template_text, strlen(template_text)};
    char op[OP_WORD] = "";

    (void)span_copy(span_cut(&rest, ':'), op);
    for (size_t i = 0; i < n; i++) {
        if (cli_matches(patterns[i], op)) {
            return 1;
        }
    }
    return n == 0;
}

static int append_families(const grid_sink *to, int level,
                           char *const patterns[], size_t n_patterns,
                           mxo_text why)
{
    for (int f = 0; f < family_count(); f++) {
        /* Calls that are refused reach nothing. */
        const grid_sink here = {
            to->list, family_is_refused(f) ? NULL : to->reach, to->seed};

        for (const grid_row *r = family_at(f)->grid; r->text != NULL; r++) {
            if (r->level <= level && op_wanted(r->text, patterns, n_patterns) &&
                expand(&here, r->text, r->picks, why) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

int grid_append(case_list *l, int level, char *const patterns[],
                size_t n_patterns, uint64_t seed, mxo_text why)
{
    const grid_sink to = {l, level >= 2 ? reach_new() : NULL, seed};
    const int status = append_families(&to, level, patterns, n_patterns, why);

    if (to.reach != NULL) {
        if (status == 0) {
            reach_append(to.reach, l);
        }
        reach_free(to.reach);
    }
    return status;
}

static int add_line(case_list *l, char *line, uint64_t seed, mxo_text why)
{
    test_case c;
    char text[CASE_TEXT];

    line += strspn(line, " \t");
    char *const end = line + strcspn(line, " \t\r#");
    const char *const rest = end + strspn(end, " \t\r");

    if (*rest != '\0' && *rest != '#') {
        return refuse(why, "behind the case only # may begin", rest);
    }
    *end = '\0';
    if (line[0] == '\0') {
        return 0;
    }
    if (case_parse(&c, line, why) != 0) {
        return -1;
    }
    case_print(&c, 0, text);
    case_list_add(l, text, seed);
    return 0;
}

/* A line without its end: 1; 0: there is none; -1: it is none of text. */
static int read_line(FILE *f, char *line, size_t room)
{
    size_t n = 0;
    int c;

    while ((c = getc(f)) != EOF && c != '\n') {
        if (c == '\0' || n + 1 == room) {
            return -1;
        }
        line[n++] = (char)c;
    }
    line[n] = '\0';
    return c != EOF || n > 0;
}

int grid_read_file(case_list *l, const char *path, uint64_t seed, mxo_text why)
{
    FILE *f = input_open(path);
    char line[CASE_TEXT + 8];
    char inner[512] = "too long, or with a zero byte";
    int number = 0;
    int status = 0;
    int more = 1;

    if (f == NULL) {
        return refuse(why, input_error(), path);
    }
    while (status == 0 && (more = read_line(f, line, sizeof line)) != 0) {
        number++;
        status = more < 0
                     ? -1
                     : add_line(l, line, seed, (mxo_text){inner, sizeof inner});
    }
    if (status != 0) {
        (void)snprintf(why.ptr, why.size, "%.300s, line %d: %s", path, number,
                       inner);
    } else if (ferror(f)) {
        status = refuse(why, "cannot be read", path);
    }
    fclose(f);
    return status;
}
