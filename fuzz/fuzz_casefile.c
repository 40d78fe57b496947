/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of cases, as "mxoracle run @FILE" reads them: refused by a sentence
 * that names a line, or the list has the case of every line, cut out of the
 * bytes a second time here, and no other.
 */
#include "case/grid.h"
#include "scratch.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 14 };

static void die(const char *what, const char *line)
{
    (void)fprintf(stderr, "%s: \"%s\"\nrepro: mxoracle list cases @INPUT\n",
                  what, line);
    abort();
}

/* Whether there is an item of this text. */
static int has(const case_list *l, const char *text)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->item[i].seed == 7 && strcmp(l->item[i].text, text) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The case that a line holds, in its default spelling: 1; 0: none, as in a
   comment; -1: no case. */
static int case_of(const char *line, size_t n, char text[CASE_TEXT])
{
    char word[LONGEST];
    char why[512];
    test_case c;
    size_t from = 0;
    size_t end;

    while (from < n && (line[from] == ' ' || line[from] == '\t')) {
        from++;
    }
    for (end = from; end < n && strchr(" \t\r#", line[end]) == NULL;) {
        end++;
    }
    if (end == from) {
        return 0;
    }
    memcpy(word, line + from, end - from);
    word[end - from] = '\0';
    if (case_parse(&c, word, (mxo_text){why, sizeof why}) != 0) {
        return -1;
    }
    case_print(&c, 0, text);
    return 1;
}

/* Every line against the list; the number of lines that hold a case. */
static size_t check_lines(const case_list *l, const char *bytes, size_t n)
{
    char text[CASE_TEXT];
    size_t found = 0;

    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        const size_t length = end == NULL ? n : (size_t)(end - bytes);
        const int is = case_of(bytes, length, text);
        if (is < 0) {
            die("taken, yet no case", bytes);
        }
        if (is > 0 && !has(l, text)) {
            die("left out", text);
        }
        found += is > 0;
        bytes += end == NULL ? length : length + 1;
        n -= end == NULL ? length : length + 1;
    }
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    case_list list;
    char why[1024] = "";
    char text[LONGEST + 1];

    n = n < LONGEST ? n : LONGEST;
    if (n > 0) {
        memcpy(text, bytes, n);
    }
    text[n] = '\0';
    memset(&list, 0, sizeof list);
    const char *path = scratch_file("cases", text, n);

    if (grid_read_file(&list, path, 7, (mxo_text){why, sizeof why}) != 0) {
        if (strstr(why, ", line ") == NULL) {
            die("refused, and no line is named", why);
        }
    } else if (memchr(text, 0, n) != NULL) {
        die("taken with a zero byte in it", text);
    } else if (list.n > check_lines(&list, text, n)) {
        die("more cases than lines", text);
    }
    case_list_clear(&list);
    return 0;
}
