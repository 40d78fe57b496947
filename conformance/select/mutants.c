/* SPDX-License-Identifier: Apache-2.0 */
/* See mutants.h. Cases that killed rules before are asked first, the last one
   of all. */
#include "mutants.h"

#include "base/say.h"
#include "selftest/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MXO_VECTORS_DIR
#define MXO_VECTORS_DIR "vectors"
#endif

static const char *const file_names[SELECTION_FILES] = {
    "vllm/selection.json", "vllm/selection_more.json",
    "vllm/selection_2026_07.json", "vllm/selection_2026_09.json",
    "vllm/selection_2026_11.json"};

int selection_files_open(selection_cases files[SELECTION_FILES], mxo_text why)
{
    const char *const folders[] = {getenv("MXORACLE_VECTORS"), "vectors",
                                   "../vectors", MXO_VECTORS_DIR};
    char path[1024];

    memset(files, 0, SELECTION_FILES * sizeof files[0]);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        int n = 0;
        while (folders[i] != NULL && n < SELECTION_FILES) {
            (void)snprintf(path, sizeof path, "%s/%s", folders[i],
                           file_names[n]);
            if (selection_cases_open(&files[n], path, why) != 0) {
                break;
            }
            n++;
        }
        if (n == SELECTION_FILES) {
            return 0;
        }
        selection_files_close(files);
    }
    (void)say(MXO_E_PARAM, why,
              "no %s in $MXORACLE_VECTORS, vectors, ../vectors or %s",
              file_names[0], MXO_VECTORS_DIR);
    return -1;
}

void selection_files_close(selection_cases files[SELECTION_FILES])
{
    for (int i = 0; i < SELECTION_FILES; i++) {
        selection_cases_close(&files[i]);
    }
}

/* A case that is asked of many rules: its tree stays. */
typedef struct published {
    const selection_cases *of;
    const char *file;
    json_t *object;      /* owned */
    const char *profile; /* its own */
} published;

static void release(published *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_decref(cases[i].object);
    }
    free(cases);
}

/* The cases of all files; NULL: out of memory. */
static published *collect(const selection_cases files[SELECTION_FILES],
                          size_t *n)
{
    size_t at = 0;

    *n = 0;
    for (int f = 0; f < SELECTION_FILES; f++) {
        *n += selection_cases_count(&files[f]);
    }
    published *cases = calloc(*n + 1, sizeof *cases);

    for (int f = 0; cases != NULL && f < SELECTION_FILES; f++) {
        for (size_t i = 0; i < selection_cases_count(&files[f]); i++) {
            json_t *const object = selection_case(&files[f], i);
            cases[at++] = (published){&files[f], file_names[f], object,
                                      selection_case_profile(object)};
        }
    }
    return cases;
}

/* Whether the case is of the changed version; "" is any. */
static int concerns(const published *c, const char *version)
{
    return version[0] == '\0' || strcmp(c->profile, version) == 0;
}

/* The version that a change's name begins with, or "". */
static const char *version_in(const char *what)
{
    const char *word;

    for (int v = 0; (word = mxo_select_word(MXO_SEL_WORDS_VERSION, v)) != NULL;
         v++) {
        if (strncmp(what, word, strlen(word)) == 0) {
            return word;
        }
    }
    return "";
}

static int ask(const published *c, const mxo_select_rules *rules,
               selection_fate *fate, mxo_text how)
{
    fate->file = c->file;
    fate->case_id = selection_case_id(c->object);
    return selection_case_run(c->of, c->object, rules, how);
}

static int survey(const published *cases, size_t n, mxo_text why)
{
    selection_fate fate = {.number = 0};

    for (size_t i = 0; i < n; i++) {
        if (ask(&cases[i], NULL, &fate, why) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The case at place k comes to the front. */
static void ask_first(published *cases, size_t k)
{
    const published killer = cases[k];

    memmove(cases + 1, cases, k * sizeof *cases);
    cases[0] = killer;
}

int selection_mutants(const selection_cases files[SELECTION_FILES],
                      selection_report *report, void *ctx, size_t *n_cases,
                      mxo_text why)
{
    mxo_select_rules *copy = malloc(select_rules_bytes());
    published *cases = collect(files, n_cases);
    char what[256];
    char how[512];
    const int is_good =
        copy != NULL && cases != NULL && survey(cases, *n_cases, why) == 0;

    for (int i = 0;
         is_good &&
         select_rules_mutate(copy, i, (mxo_text){what, sizeof what}) == MXO_OK;
         i++) {
        selection_fate fate = {.number = i, .what = what, .how = how};
        const char *version = version_in(what);
        for (size_t k = 0; k < *n_cases && !fate.killed; k++) {
            if (!concerns(&cases[k], version)) {
                continue;
            }
            fate.n_cases++;
            fate.killed =
                ask(&cases[k], copy, &fate, (mxo_text){how, sizeof how}) != 0;
            if (fate.killed) {
                ask_first(cases, k);
            }
        }
        report(ctx, &fate);
    }
    release(cases, cases == NULL ? 0 : *n_cases);
    free(copy);
    return is_good ? 0 : -1;
}
