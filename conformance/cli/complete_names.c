/* SPDX-License-Identifier: Apache-2.0 */
/* See complete_names.h. */
#include "complete_names.h"

#include "base/tensors.h"
#include "case/opinfo.h"
#include "data/fill.h"
#include "layout/layout_names.h"
#include "listing.h"
#include "profiles/profile_names.h"
#include "run/backends.h"
#include "select/options.h"

#include <stdio.h>
#include <string.h>

static void print_backends(void)
{
    static backend_list known;

    backends_known(&known);
    for (int i = 0; i < known.n; i++) {
        puts(known.ref[i].name);
    }
}

static void print_ops(const char *end)
{
    for (int i = 0; i < op_count(); i++) {
        printf("%s%s\n", op_at(i)->info->name, end);
    }
}

static void print_platforms(void)
{
    for (int i = 0; hardware_at(i) != NULL; i++) {
        puts(hardware_at(i)->alias);
    }
}

static void print_dtypes(void)
{
    for (uint32_t i = 0; i < MXO_N_DTYPES; i++) {
        puts(dtype_name(i));
    }
}

/* "KEY=" of select. */
static void print_select_keys(void)
{
    for (int i = 0; select_key_at(i) != NULL; i++) {
        printf("%s=\n", select_key_at(i));
    }
}

static void print_models(void)
{
    for (int i = 0; select_model_at(i) != NULL; i++) {
        puts(select_model_at(i)->name);
    }
}

/* head and each of the words that separators divide. */
static void print_each(const char *head, word_span words, const char *divide)
{
    char text[1024];
    char *rest = text;

    (void)snprintf(text, sizeof text, "%.*s", (int)words.len, words.ptr);
    for (char *w = strtok_r(text, divide, &rest); w != NULL;
         w = strtok_r(NULL, divide, &rest)) {
        printf("%s%s\n", head, w);
    }
}

/* Whether key is among the "key=value,..." that are typed already. */
static int is_given(const char *pairs, const char *end, const char *key)
{
    const size_t n = strlen(key);

    for (const char *p = pairs; p < end; p++) {
        if ((p == pairs || p[-1] == ',') && strncmp(p, key, n) == 0 &&
            p[n] == '=') {
            return 1;
        }
    }
    return 0;
}

/* The keys that are left, each behind what stands already. */
static void print_keys(const op_schema *s, const char *current,
                       const char *pairs, const char *last)
{
    const int n = (int)(last - current);

    for (int i = 0; i < s->n_dims; i++) {
        if (!is_given(pairs, last, s->dims[i])) {
            printf("%.*s%s=\n", n, current, s->dims[i]);
        }
    }
    for (int i = 0; i < s->n_params; i++) {
        if (!is_given(pairs, last, s->params[i].key)) {
            printf("%.*s%s=\n", n, current, s->params[i].key);
        }
    }
    if (!is_given(pairs, last, "data")) {
        printf("%.*sdata=\n", n, current);
    }
}

/* The values of the key that current ends in. */
static void print_values(const op_schema *s, const char *key, const char *head)
{
    const int i = op_param_index(s, key);
    char kinds[1024];

    if (strcmp(key, "data") == 0) {
        fill_data_kinds(s->info->name, kinds, sizeof kinds);
        print_each(head, (word_span){kinds, strlen(kinds)}, ", ");
    } else if (i >= 0 && s->params[i].kind == PARAM_CHOICE) {
        print_each(head, s->params[i].choices, "|");
    } else if (i >= 0 && s->params[i].kind == PARAM_BOOL) {
        printf("%s0\n%s1\n", head, head);
    }
}

/* "op:key=value,ke": an operation, then keys, then values. */
static void print_case(const char *current)
{
    const size_t colon = strcspn(current, ":");
    const char *pairs = current + colon + 1;
    char head[1024];
    char op[OP_WORD];
    char key[OP_WORD];

    if (current[colon] == '\0') {
        print_ops(":");
        return;
    }
    (void)snprintf(op, sizeof op, "%.*s", (int)colon, current);
    const op_schema *s = op_by_name(op);
    const char *comma = strrchr(pairs, ',');
    const char *last = comma == NULL ? pairs : comma + 1;
    const char *equals = strchr(last, '=');

    if (s == NULL) {
        return;
    }
    if (equals == NULL) {
        print_keys(s, current, pairs, last);
        return;
    }
    (void)snprintf(key, sizeof key, "%.*s", (int)(equals - last), last);
    (void)snprintf(head, sizeof head, "%.*s", (int)(equals + 1 - current),
                   current);
    print_values(s, key, head);
}

static void print_kind(const char *kind, const char *current)
{
    static const struct {
        const char *kind;
        void (*print)(void);
    } rows[] = {{"@backend", print_backends},
                {"@layout", layout_names_print},
                {"@platform", print_platforms},
                {"@conversion", conversion_names_print},
                {"@profile", list_profile_names},
                {"@model", print_models},
                {"@dtype", print_dtypes},
                {"@select", print_select_keys}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].kind, kind) == 0) {
            rows[i].print();
        }
    }
    for (int i = 0; kind[0] == '@' && select_key_word(kind + 1, i) != NULL;
         i++) {
        puts(select_key_word(kind + 1, i));
    }
    if (strcmp(kind, "@op") == 0) {
        print_ops("");
    } else if (strcmp(kind, "@case") == 0) {
        print_case(current);
    } else if (kind[0] != '@') {
        puts(kind);
    }
}

void complete_names(const char *what, const char *current)
{
    char text[1024];
    char *rest = text;

    (void)snprintf(text, sizeof text, "%s", what);
    for (char *word = strtok_r(text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        print_kind(word, current);
    }
}
