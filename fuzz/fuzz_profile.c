/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of --profile: refused with status 2, or it expands to cases of that
 * profile, and each of them has every entry as it was declared.
 */
#include "base/cli.h"
#include "case/grid.h"
#include "profiles/profile_cases.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1024, MOST_CHOICES = 3 };

static void die(const char *text, const char *what)
{
    (void)fprintf(stderr, "%s\nrepro: mxoracle list cases --profile='%s'\n",
                  what, text);
    abort();
}

/* Refusals go nowhere while fuzzing; what a sanitizer says goes on.  Where
   stderr cannot be set, as it can be in glibc, they are printed. */
static int silent_append(case_list *l, const char *text)
{
#if defined(__GLIBC__)
    static FILE *nowhere;
    FILE *kept = stderr;

    if (nowhere == NULL && (nowhere = fopen("/dev/null", "w")) == NULL) {
        abort();
    }
    stderr = nowhere;
    const int status = profile_cases_append(l, text, 1);

    stderr = kept;
    return status;
#else
    return profile_cases_append(l, text, 1);
#endif
}

/* The last value that the text declares for a key, 0 if it declares none. */
static int declared(const char *text, const char *key, char value[LONGEST])
{
    const size_t n = strlen(key);
    int found = 0;

    for (const char *at = strchr(text, ','); at != NULL;
         at = strchr(at + 1, ',')) {
        const size_t length = strcspn(at + 1, ",");
        if (length > n && strncmp(at + 1, key, n) == 0 && at[1 + n] == '=') {
            memcpy(value, at + 2 + n, length - n - 1);
            value[length - n - 1] = '\0';
            found = 1;
        }
    }
    return found;
}

/* As it was declared: words alike, numbers of one value. */
static int is_same(const op_param *p, const char *wanted, const char *got)
{
    char *end;

    if (p->kind == PARAM_CHOICE || p->kind == PARAM_NAME) {
        return strcmp(wanted, got) == 0;
    }
    const double x = strtod(wanted, &end);

    return *end != '\0' || x == strtod(got, NULL);
}

/* Lists are many values: each of them is in a case of its own. */
static void check_case(const char *text, const char *case_text)
{
    char value[LONGEST];
    char why[512] = "";
    test_case c;

    if (case_parse(&c, case_text, (mxo_text){why, sizeof why}) != 0) {
        die(text, why);
    }
    for (int i = 0; i < c.schema->n_params; i++) {
        const op_param *p = &c.schema->params[i];
        if (strcmp(p->key, "profile") != 0 && declared(text, p->key, value) &&
            strpbrk(value, "|*$") == NULL && !is_same(p, value, c.value[i])) {
            die(text, case_text);
        }
    }
}

/* Products of many lists take long, and say no more. */
static int is_small(const char *text)
{
    int choices = 0;

    for (; *text != '\0'; text++) {
        choices += *text == '|' ? 1 : *text == '*' || *text == '$' ? 4 : 0;
    }
    return choices <= MOST_CHOICES;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    case_list list;
    char text[LONGEST];

    n = n < LONGEST ? n : LONGEST - 1;
    if (n > 0) {
        memcpy(text, bytes, n);
    }
    text[n] = '\0';
    if (!is_small(text)) {
        return 0;
    }
    memset(&list, 0, sizeof list);
    const int status = silent_append(&list, text);

    if (status != EXIT_PASS && status != EXIT_USAGE) {
        die(text, "a text that breaks the harness");
    }
    if (status == EXIT_PASS && list.n == 0) {
        die(text, "a profile without a case");
    }
    for (size_t i = 0; status == EXIT_PASS && i < list.n; i++) {
        check_case(text, list.item[i].text);
    }
    case_list_clear(&list);
    return 0;
}
