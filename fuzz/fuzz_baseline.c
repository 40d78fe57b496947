/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baselines, as --baseline reads them: refused by one printable sentence with a
 * line's number, or there is an entry for every line that is no comment, cut
 * out of the bytes a second time here, and it is found again.
 *
 * An input is the bytes of the file.
 */
#include "base/say.h"
#include "report/baseline.h"
#include "scratch.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *text)
{
    (void)fprintf(stderr,
                  "%s: \"%.200s\"\nrepro: mxoracle run --baseline=INPUT\n",
                  what, text);
    abort();
}

/* Lines that hold an entry: not blank, no comment, and not the first of the
   others, which names the form. */
static size_t count_entries(const char *bytes, size_t n)
{
    size_t found = 0;

    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        const size_t length = end == NULL ? n : (size_t)(end - bytes);
        size_t blanks = 0;
        while (blanks < length && strchr(" \t\r", bytes[blanks]) != NULL) {
            blanks++;
        }
        found += blanks < length && bytes[blanks] != '#';
        bytes += length + (end != NULL);
        n -= length + (end != NULL);
    }
    return found - 1;
}

static void check_entry(baseline *b, const baseline_entry *e)
{
    backend_info who = {0};
    report_result r = {
        .backend = &who, .case_text = e->case_text, .judged = e->status};
    verdict v = {.status = e->status};

    if (e->is_cover) {
        if (baseline_required(b, e->backend, e->op) == 0) {
            die("a row of coverage is not found", e->op);
        }
        return;
    }
    (void)snprintf(who.name, sizeof who.name, "%s", e->backend);
    (void)snprintf(v.kind, sizeof v.kind, "%s", e->kind);
    r.seed = e->seed;
    r.v = &v;
    baseline_judge(b, &r, &v);
    if (v.status != VERDICT_EXPECTED || !say_is_printable(v.reason)) {
        die("an expected failure is not found", e->case_text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char why[512] = "";
    baseline b;

    if (baseline_read(&b, scratch_file("base", bytes, n),
                      (mxo_text){why, sizeof why}) != 0) {
        if (strchr(why, ':') == NULL || !say_is_printable(why)) {
            die("refused by no sentence", why);
        }
    } else if (n > 0 && memchr(bytes, '\0', n) != NULL) {
        die("taken with a zero byte in it", "");
    } else if (count_entries((const char *)bytes, n) != b.n) {
        die("other entries than lines", "");
    } else {
        for (size_t i = 0; i < b.n; i++) {
            check_entry(&b, &b.entry[i]);
        }
    }
    baseline_clear(&b);
    return 0;
}
