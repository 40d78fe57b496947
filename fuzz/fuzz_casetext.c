/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Case text: a text is refused by a sentence, or printing what was parsed and
 * parsing it again gives the same case, short and with every default.
 */
#include "case/case_text.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096 };

static void die(const char *text, const char *what)
{
    (void)fprintf(stderr,
                  "case text \"%s\": %s\nrepro: mxoracle run -b emu '%s'\n",
                  text, what, text);
    abort();
}

static int same(const test_case *a, const test_case *b)
{
    for (int i = 0; i < a->schema->n_params; i++) {
        if (strcmp(a->value[i], b->value[i]) != 0) {
            return 0;
        }
    }
    for (int i = 0; i < a->schema->n_dims; i++) {
        if (case_uses_dim(a, i) && a->dim[i] != b->dim[i]) {
            return 0;
        }
    }
    return a->schema == b->schema && strcmp(a->data, b->data) == 0;
}

static void check(const test_case *c, const char *text, int canonical)
{
    char once[CASE_TEXT];
    char twice[CASE_TEXT];
    char why[512] = "";
    test_case again;

    case_print(c, canonical, once);
    if (case_parse(&again, once, (mxo_text){why, sizeof why}) != 0) {
        die(text, why);
    }
    case_print(&again, canonical, twice);
    if (strcmp(once, twice) != 0 || !same(c, &again)) {
        die(text, "printing and parsing changes it");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char text[LONGEST];
    char why[512] = "";
    test_case c;

    n = n < LONGEST ? n : LONGEST - 1;
    if (n > 0) {
        memcpy(text, bytes, n);
    }
    text[n] = '\0';
    if (case_parse(&c, text, (mxo_text){why, sizeof why}) != 0) {
        if (why[0] == '\0') {
            die(text, "refused without a word");
        }
        return 0;
    }
    check(&c, text, 0);
    check(&c, text, 1);
    return 0;
}
