/* SPDX-License-Identifier: Apache-2.0 */
/* See mutants.h. The case that killed one rule is asked first of the next. */
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

/* Whether the case is of the changed version; "" is any. */
static int concerns(const selection_cases files[SELECTION_FILES], size_t at,
                    const char *version)
{
    int f = 0;

    while (f + 1 < SELECTION_FILES && at >= selection_cases_count(&files[f])) {
        at -= selection_cases_count(&files[f]);
        f++;
    }
    const char *profile = selection_case_profile(&files[f], at);

    return version[0] == '\0' || strcmp(profile, version) == 0;
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

/* A case among those of all files. */
static int ask(const selection_cases files[SELECTION_FILES], size_t at,
               const mxo_select_rules *rules, selection_fate *fate,
               mxo_text how)
{
    int f = 0;

    while (f + 1 < SELECTION_FILES && at >= selection_cases_count(&files[f])) {
        at -= selection_cases_count(&files[f]);
        f++;
    }
    fate->file = file_names[f];
    fate->case_id = selection_case_id(&files[f], at);
    return selection_case_run(&files[f], at, rules, how);
}

static int survey(const selection_cases files[SELECTION_FILES], size_t n_cases,
                  mxo_text why)
{
    selection_fate fate = {.number = 0};

    for (size_t i = 0; i < n_cases; i++) {
        if (ask(files, i, NULL, &fate, why) != 0) {
            return -1;
        }
    }
    return 0;
}

int selection_mutants(const selection_cases files[SELECTION_FILES],
                      selection_report *report, void *ctx, size_t *n_cases,
                      mxo_text why)
{
    mxo_select_rules *copy = malloc(select_rules_bytes());
    char what[256];
    char how[512];
    size_t first = 0;

    *n_cases = 0;
    for (int f = 0; f < SELECTION_FILES; f++) {
        *n_cases += selection_cases_count(&files[f]);
    }
    if (copy == NULL || survey(files, *n_cases, why) != 0) {
        free(copy);
        return -1;
    }
    for (int i = 0;
         select_rules_mutate(copy, i, (mxo_text){what, sizeof what}) == MXO_OK;
         i++) {
        selection_fate fate = {.number = i, .what = what, .how = how};
        const char *version = version_in(what);
        for (size_t k = 0; k < *n_cases && !fate.killed; k++) {
            const size_t at = (first + k) % *n_cases;
            if (!concerns(files, at, version)) {
                continue;
            }
            fate.n_cases++;
            fate.killed =
                ask(files, at, copy, &fate, (mxo_text){how, sizeof how}) != 0;
            first = fate.killed ? at : first;
        }
        report(ctx, &fate);
    }
    free(copy);
    return 0;
}
