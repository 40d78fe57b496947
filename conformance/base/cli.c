/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals, patterns and near names, shared by the commands. */
#include "cli.h"

#include "number.h"
#include "say.h"
#include "strbuf.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int cli_refuse(const char *format, ...)
{
    va_list args;
    char sentence[8192]; /* some name everything that there is */

    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    cli_line(stderr, 2, "mxoracle: %s", sentence);
    return EXIT_USAGE;
}

void cli_quote(const char *head, const char *word, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s'", head);

    for (; *word != '\0' && used + 8 < size; word++) {
        used += (size_t)snprintf(text + used, size - used,
                                 *word == '\'' ? "'\\%c'" : "%c", *word);
    }
    if (used + 2 <= size) {
        memcpy(text + used, "'", 2);
    }
}

static int is_special(char c)
{
    return c == '*' || c == '?' || c == '[' || c == '\\';
}

/* Most patterns are names or end in a star, and this is asked for every row of
   many tables: what begins alike is passed over before fnmatch is asked. */
int cli_matches(const char *pattern, const char *name)
{
    while (*pattern != '\0' && *pattern == *name && !is_special(*pattern)) {
        pattern++;
        name++;
    }
    if (!is_special(*pattern)) {
        return *pattern == *name;
    }
    return (pattern[0] == '*' && pattern[1] == '\0') ||
           fnmatch(pattern, name, 0) == 0;
}

int cli_columns(FILE *stream)
{
    const char *given = getenv("COLUMNS");
    uint64_t columns;
    struct winsize size;

    if (given != NULL && number_natural(given, 1, INT16_MAX, &columns)) {
        return (int)columns;
    }
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0
               ? size.ws_col
               : 80;
}

void cli_publish_width(void)
{
    char width[16];

    if (isatty(STDOUT_FILENO)) {
        (void)snprintf(width, sizeof width, "%d", cli_columns(stdout));
        (void)setenv("COLUMNS", width, 0);
    }
}

void cli_fold(FILE *stream, const char *text, int column, int indent)
{
    const int width = cli_columns(stream);
    int is_first = 1;

    while (*text != '\0') {
        const int n = (int)strcspn(text, " ");
        if (column > indent && column + !is_first + n > width) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
            is_first = 1;
        }
        column += fprintf(stream, "%s%.*s", is_first ? "" : " ", n, text);
        is_first = 0;
        text += n;
        text += *text == ' ';
    }
    fputc('\n', stream);
}

void cli_line(FILE *stream, int indent, const char *format, ...)
{
    strbuf text = {NULL, 0, 0};
    va_list args;

    va_start(args, format);
    strbuf_add_list(&text, format, args);
    va_end(args);
    say_printable(text.text);
    if (isatty(fileno(stream))) {
        cli_fold(stream, strbuf_text(&text), 0, indent);
    } else {
        fprintf(stream, "%s\n", strbuf_text(&text));
    }
    strbuf_clear(&text);
}

void cli_lines(FILE *stream, int indent, const char *text)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, "\n");
        cli_line(stream, indent, "%.*s", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void end_paragraph(strbuf *paragraph)
{
    if (strbuf_text(paragraph)[0] != '\0') {
        cli_fold(stdout, strbuf_text(paragraph), 0, 0);
    }
    strbuf_clear(paragraph);
}

void cli_say(const char *text)
{
    strbuf paragraph = {NULL, 0, 0};

    if (!cli_is_narrow(stdout)) {
        (void)puts(text);
        return;
    }
    while (*text != '\0') {
        const int n = (int)strcspn(text, "\n");
        const int is_apart =
            n == 0 || *text == ' ' || strncmp(text, "usage:", 6) == 0;
        if (is_apart) {
            end_paragraph(&paragraph);
        }
        strbuf_add(&paragraph, "%s%.*s",
                   strbuf_text(&paragraph)[0] == '\0' ? "" : " ", n, text);
        if (is_apart) {
            end_paragraph(&paragraph);
        }
        if (n == 0) {
            (void)putchar('\n');
        }
        text += n;
        text += *text == '\n';
    }
    end_paragraph(&paragraph);
}

int cli_is_narrow(FILE *stream)
{
    return cli_columns(stream) < 80;
}

int cli_color(FILE *stream)
{
    const char *term = getenv("TERM");
    const char *no = getenv("NO_COLOR");

    return isatty(fileno(stream)) && term != NULL &&
           strcmp(term, "dumb") != 0 && (no == NULL || no[0] == '\0');
}

enum { LONGEST = 64 };

static size_t min3(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Optimal string alignment, three rows at a time. */
size_t cli_distance(const char *a, const char *b)
{
    size_t rows[3][LONGEST + 1];
    const size_t n = strlen(b);

    if (n > LONGEST || strlen(a) > LONGEST) {
        return LONGEST;
    }
    for (size_t j = 0; j <= n; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            row[j] = min3(above[j] + 1, row[j - 1] + 1,
                          above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1]) {
                const size_t swap = rows[(i + 1) % 3][j - 2] + 1;
                row[j] = swap < row[j] ? swap : row[j];
            }
        }
    }
    return rows[strlen(a) % 3][n];
}

void cli_offer(cli_nearest *n, const char *wanted, const char *candidate)
{
    const size_t distance = cli_distance(wanted, candidate);
    const size_t limit = strlen(wanted) / 3 + 1;

    if (distance <= limit && distance < LONGEST &&
        (n->best == NULL || distance < n->distance)) {
        n->best = candidate;
        n->distance = distance;
    }
}

const char *cli_suggestion(const cli_nearest *n, char *buf, size_t size)
{
    buf[0] = '\0';
    if (n->best != NULL) {
        (void)snprintf(buf, size, "; did you mean %s?", n->best);
    }
    return buf;
}

int cli_take_once(const char **to, const char *what, const char *text)
{
    if (*to != NULL) {
        return cli_refuse("--%s is given twice", what);
    }
    *to = text;
    return -1;
}

int number_option(const char *what, const char *text, uint64_t least,
                  uint64_t most, uint64_t *n)
{
    return number_natural(text, least, most, n)
               ? -1
               : cli_refuse("--%s=%s is not a number from %llu to %llu", what,
                            text, (unsigned long long)least,
                            (unsigned long long)most);
}
