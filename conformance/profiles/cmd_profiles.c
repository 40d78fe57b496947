/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle profiles: what each backend does with a layer, from the same data
 * that the emulator executes: a list, a page per backend, JSON, and the
 * table in docs/profiles.md.  Nothing is judged here, so that the library is
 * called directly rather than through the ABI.
 */
#include "base/citation.h"
#include "base/cli.h"
#include "base/options.h"
#include "profile_names.h"

#include <mxoracle/profile.h>

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { FORM_TEXT, FORM_JSON, FORM_MARKDOWN };

static int n_unknown(const mxo_profile *p)
{
    int n = 0;

    for (int f = 0; f < (int)MXO_N_PROFILE_FIELDS; f++) {
        n += strcmp(p->fact[f].value, "unknown") == 0;
    }
    return n;
}

static const char *state(const mxo_profile *p)
{
    return mxo_profile_is_known(p) ? "runs" : "open";
}

void list_profile_names(void)
{
    for (int i = 0; i < mxo_profile_count(); i++) {
        puts(mxo_profile_at(i)->name);
    }
}

/* Words from a column on; narrow terminals get several lines. */
static void put_words_from(int column, int indent, const char *words)
{
    if (cli_is_narrow(stdout)) {
        cli_fold(stdout, words, column, indent);
    } else {
        puts(words);
    }
}

static void put_words(int indent, const char *words)
{
    printf("%*s", indent, "");
    put_words_from(indent, indent, words);
}

static void list_text(void)
{
    for (int i = 0; i < mxo_profile_count(); i++) {
        const mxo_profile *p = mxo_profile_at(i);
        if (cli_is_narrow(stdout)) {
            printf("%s\n    %s, %d unknown\n", p->name, state(p), n_unknown(p));
            put_words(4, p->title);
        } else {
            printf("%-30s %s, %2d unknown  %s\n", p->name, state(p),
                   n_unknown(p), p->title);
        }
    }
    put_words(0, "runs: moe.layer (NVFP4: moe.nvfp4_layer) executes it; open: "
                 "entries that it needs are unknown");
}

/* The choice's meaning, or nothing. */
static const char *meaning_of(int field, const char *value)
{
    const mxo_profile_choice c =
        mxo_profile_choice_by_name((mxo_profile_field)field, value);

    return c == MXO_CHOICE_UNKNOWN ? "" : mxo_profile_choice_meaning(c);
}

static void put_fact(const char *key, const char *value, const char *meaning)
{
    if (cli_is_narrow(stdout)) {
        printf("  %s: ", key);
        put_words_from((int)strlen(key) + 4, 6, value);
        put_words(6, meaning);
    } else {
        printf("  %-18s %-14s %s\n", key, value, meaning);
    }
}

/* A source as a page that can be opened, on a line of its own. */
static void put_source(int indent, const char *source)
{
    strbuf text = {0};

    strbuf_add(&text, "[");
    citation_add(&text, source, CITATION_PATH);
    strbuf_add(&text, "]");
    put_words(indent, strbuf_text(&text));
    strbuf_clear(&text);
}

static void put_link(const char *before, const char *source, const char *after)
{
    strbuf text = {0};

    citation_add(&text, source, CITATION_LINK);
    printf("%s%s%s", before, strbuf_text(&text), after);
    strbuf_clear(&text);
}

static void show_text(const mxo_profile *p)
{
    const char *group = "";

    printf("%s: ", p->name);
    put_words_from((int)strlen(p->name) + 2, 4, p->title);
    for (int f = 0; f < (int)MXO_N_PROFILE_FIELDS; f++) {
        const mxo_profile_question *q = mxo_profile_question_at(f);
        const char *value = p->fact[f].value;
        if (strcmp(group, q->group) != 0) {
            group = q->group;
            printf("\n%s\n", group);
        }
        put_fact(q->key, value,
                 meaning_of(f, value)[0] != '\0' ? meaning_of(f, value)
                                                 : q->meaning);
        put_source(cli_is_narrow(stdout) ? 6 : 36, p->fact[f].source);
    }
    puts("\nnotes");
    for (int i = 0; mxo_profile_note_at(i) != NULL; i++) {
        const mxo_profile_note *n = mxo_profile_note_at(i);
        if (strcmp(n->profile, p->name) == 0) {
            put_words(2, n->text);
            put_source(4, n->source);
        }
    }
}

static void show_markdown(const mxo_profile *p)
{
    const char *op = mxo_profile_layer(p);

    printf("\n## %s\n\n%s. %s`%s` %s.\n\n| fact | value | meaning | source |\n"
           "|---|---|---|---|\n",
           p->name, p->title, mxo_profile_is_known(p) ? "" : "Entries that ",
           op, mxo_profile_is_known(p) ? "executes it" : "needs are unknown");
    for (int f = 0; f < (int)MXO_N_PROFILE_FIELDS; f++) {
        const mxo_profile_question *q = mxo_profile_question_at(f);
        const char *value = p->fact[f].value;
        printf("| %s | `%s` | %s | ", q->key, value,
               meaning_of(f, value)[0] != '\0' ? meaning_of(f, value)
                                               : q->meaning);
        put_link("", p->fact[f].source, " |\n");
    }
    for (int i = 0, n = 0; mxo_profile_note_at(i) != NULL; i++) {
        const mxo_profile_note *note = mxo_profile_note_at(i);
        if (strcmp(note->profile, p->name) == 0) {
            printf("%s* %s ", n++ == 0 ? "\n" : "", note->text);
            put_link("(", note->source, ")\n");
        }
    }
}

static void list_markdown(void)
{
    puts("<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
         "<!-- made by: mxoracle profiles --markdown -->\n"
         "# What each backend does with a layer\n\n"
         "Data: `emu/include/mxoracle/profiles.def`; `mxoracle profiles show "
         "NAME` prints one "
         "page. `unknown` means\nthat no public source says it: the emulator "
         "refuses rather than guesses, and a parameter of\n`moe.layer` of the "
         "same name can declare it.\n\n"
         "| profile | runs | unknown | first GEMM | activation | row | sum |\n"
         "|---|---|---|---|---|---|---|");
    for (int i = 0; i < mxo_profile_count(); i++) {
        const mxo_profile *p = mxo_profile_at(i);
        printf("| %s | %s | %d | %s, %s | %s, %s | %s | %s |\n", p->name,
               mxo_profile_is_known(p) ? "yes" : "no", n_unknown(p),
               p->fact[MXO_FIELD_ORDER].value,
               p->fact[MXO_FIELD_GEMM1_OUT].value,
               p->fact[MXO_FIELD_SWIGLU].value, p->fact[MXO_FIELD_SILU].value,
               p->fact[MXO_FIELD_ROW_OUT].value, p->fact[MXO_FIELD_SUM].value);
    }
    for (int i = 0; i < mxo_profile_count(); i++) {
        show_markdown(mxo_profile_at(i));
    }
}

static json_t *json_notes(const mxo_profile *p)
{
    json_t *list = json_array();

    for (int i = 0; mxo_profile_note_at(i) != NULL; i++) {
        const mxo_profile_note *n = mxo_profile_note_at(i);
        if (strcmp(n->profile, p->name) == 0) {
            json_array_append_new(list, json_pack("{s:s, s:s}", "text", n->text,
                                                  "source", n->source));
        }
    }
    return list;
}

static void show_json(const mxo_profile *p)
{
    json_t *facts = json_object();

    for (int f = 0; f < (int)MXO_N_PROFILE_FIELDS; f++) {
        json_object_set_new(facts, mxo_profile_question_at(f)->key,
                            json_pack("{s:s, s:s}", "value", p->fact[f].value,
                                      "source", p->fact[f].source));
    }
    json_t *o = json_pack("{s:s, s:s, s:b, s:o, s:o}", "name", p->name, "title",
                          p->title, "runs", mxo_profile_is_known(p), "facts",
                          facts, "notes", json_notes(p));

    if (o != NULL) {
        (void)json_dumpf(o, stdout, JSON_COMPACT);
        putchar('\n');
    }
    json_decref(o);
}

static void show(const mxo_profile *p, int form)
{
    if (form == FORM_JSON) {
        show_json(p);
    } else if (form == FORM_MARKDOWN) {
        show_markdown(p);
    } else {
        show_text(p);
    }
}

static void list(int form)
{
    if (form == FORM_MARKDOWN) {
        list_markdown();
    } else if (form == FORM_TEXT) {
        list_text();
    } else {
        for (int i = 0; i < mxo_profile_count(); i++) {
            show_json(mxo_profile_at(i));
        }
    }
}

static int show_named(int n, char **names, int form)
{
    if (n == 0) {
        return cli_refuse("profiles show needs the name of a profile");
    }
    for (int i = 0; i < n; i++) {
        cli_nearest near = {NULL, 0};
        char hint[80];
        for (int k = 0; k < mxo_profile_count(); k++) {
            cli_offer(&near, names[i], mxo_profile_at(k)->name);
        }
        if (mxo_profile_by_name(names[i]) == NULL) {
            return cli_refuse("%s is not a profile%s", names[i],
                              cli_suggestion(&near, hint, sizeof hint));
        }
    }
    for (int i = 0; i < n; i++) {
        show(mxo_profile_by_name(names[i]), form);
    }
    return EXIT_PASS;
}

static int usage(void)
{
    cli_say("usage: mxoracle profiles [OPTION]... [show NAME...]\n"
            "What each backend does with a layer, with sources; without show, "
            "the list.\n");
    options_help(OPTIONS_profiles, stdout);
    return EXIT_PASS;
}

int cmd_profiles(int argc, char **argv)
{
    int form = FORM_TEXT;
    char *value;
    int code;

    options_start();
    while ((code = options_next(OPTIONS_profiles, argc, argv, &value)) != -1) {
        switch (code) {
        case OPT_profiles_json:
        case OPT_profiles_markdown:
            if (form != FORM_TEXT) {
                return cli_refuse("profiles takes one of --json and "
                                  "--markdown");
            }
            form = code == OPT_profiles_json ? FORM_JSON : FORM_MARKDOWN;
            break;
        case OPT_profiles_help:
            return usage();
        default:
            return EXIT_USAGE;
        }
    }
    argc -= optind;
    argv += optind;
    if (argc > 0 && strcmp(argv[0], "show") == 0) {
        return show_named(argc - 1, argv + 1, form);
    }
    if (argc > 0) {
        return cli_refuse("profiles knows show NAME, not %s", argv[0]);
    }
    list(form);
    return EXIT_PASS;
}
