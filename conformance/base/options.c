/* SPDX-License-Identifier: Apache-2.0 */
/* See options.h. */
#include "options.h"

#include "cli.h"

#include <getopt.h>
#include <string.h>

enum {
    MAX_OPTIONS = 64,
    HELP_COLUMN = 28,
    HELP_WIDTH = 79,
    NARROW_COLUMN = 10
};

static const struct {
    option_group group;
    const char *id;
    char letter;
    option_value value;
    const char *value_name;
    const char *completes;
    const char *help;
} rows[] = {
#define MXO_OPTION(group, id, letter, value, name, completes, help) \
    {OPTIONS_##group, #id, letter, OPTION_##value, name, completes, help},
#include "base/options.def"
#undef MXO_OPTION
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static void make_row(int at, option_row *row)
{
    *row = (option_row){.group = rows[at].group,
                        .code = OPT_BEFORE_FIRST + 1 + at,
                        .letter = rows[at].letter,
                        .value = rows[at].value,
                        .value_name = rows[at].value_name,
                        .completes = rows[at].completes,
                        .help = rows[at].help};
    (void)snprintf(row->name, sizeof row->name, "%s", rows[at].id);
    for (char *c = row->name; *c != '\0'; c++) {
        *c = (char)(*c == '_' ? '-' : *c);
    }
}

int options_row(option_group group, int i, option_row *row)
{
    for (int at = 0; at < N_ROWS; at++) {
        if (rows[at].group == group && i-- == 0) {
            make_row(at, row);
            return 1;
        }
    }
    return 0;
}

const char *options_id(int code)
{
    return rows[code - OPT_BEFORE_FIRST - 1].id;
}

int options_same(option_group group, int code)
{
    const char *id = options_id(code);

    for (int at = 0; at < N_ROWS; at++) {
        if (rows[at].group == group && strcmp(rows[at].id, id) == 0) {
            return OPT_BEFORE_FIRST + 1 + at;
        }
    }
    return 0;
}

void options_start(void)
{
    optind = 0; /* glibc and musl: forget the last command line */
}

/* getopt's two tables for a group. */
static void fill(option_group group, option_row list[MAX_OPTIONS],
                 struct option longs[MAX_OPTIONS + 1], char *shorts)
{
    int n = 0;

    *shorts++ = ':'; /* a value that lacks is told apart */
    while (n < MAX_OPTIONS && options_row(group, n, &list[n])) {
        const option_row *row = &list[n];
        longs[n++] =
            (struct option){row->name,
                            row->value == OPTION_NONE    ? no_argument
                            : row->value == OPTION_NEEDS ? required_argument
                                                         : optional_argument,
                            NULL, row->code};
        if (row->letter != 0) {
            *shorts++ = row->letter;
            if (row->value == OPTION_NEEDS) {
                *shorts++ = ':';
            }
        }
    }
    *shorts = '\0';
    memset(&longs[n], 0, sizeof longs[n]);
}

/* The sentence for what getopt does not take; said is ':' or '?'. */
static void refuse(const struct option *longs, const char *arg, int said)
{
    const size_t n = strcspn(arg, "=");
    cli_nearest near = {NULL, 0};
    char word[64];
    char hint[80];

    (void)snprintf(word, sizeof word, "%.*s", (int)n, arg);
    if (said == ':') {
        (void)cli_refuse("option %s needs a value", word);
        return;
    }
    if (optopt > OPT_BEFORE_FIRST) {
        (void)cli_refuse("option %s takes no value", word);
        return;
    }
    for (int i = 0; longs[i].name != NULL; i++) {
        cli_offer(&near, word + strspn(word, "-"), longs[i].name);
    }
    (void)cli_refuse("unrecognized option '%.200s'%s", arg,
                     cli_suggestion(&near, hint, sizeof hint));
}

int options_next(option_group group, int argc, char **argv, char **value)
{
    option_row list[MAX_OPTIONS];
    struct option longs[MAX_OPTIONS + 1];
    char shorts[2 * MAX_OPTIONS + 2];

    fill(group, list, longs, shorts);
    opterr = 0;
    optopt = 0;
    const int code = getopt_long(argc, argv, shorts, longs, NULL);

    *value = optarg;
    if (code == ':' || code == '?') {
        refuse(longs, argv[optind - 1], code);
        return '?';
    }
    for (int i = 0; longs[i].name != NULL; i++) {
        if (code > 0 && code < OPT_BEFORE_FIRST && list[i].letter == code) {
            return list[i].code;
        }
    }
    return code;
}

/* Words from a column on. */
static void print_wrapped(const char *text, int first, int width, FILE *out)
{
    int column = first;

    while (*text != '\0') {
        const int n = (int)strcspn(text, " ");
        if (column > first && column + n + 1 > width) {
            (void)fprintf(out, "\n%*s", first, "");
            column = first;
        }
        column += fprintf(out, "%s%.*s", column > first ? " " : "", n, text);
        text += n;
        text += *text == ' ';
    }
    (void)fputc('\n', out);
}

void options_help(option_group group, FILE *out)
{
    const int is_narrow = cli_is_narrow(out);
    const int column = is_narrow ? NARROW_COLUMN : HELP_COLUMN;
    const int width = is_narrow ? cli_columns(out) : HELP_WIDTH;
    option_row row;

    for (int i = 0; options_row(group, i, &row); i++) {
        char head[96];
        char letter[8] = "    ";
        if (row.letter != 0) {
            (void)snprintf(letter, sizeof letter, "-%c, ", row.letter);
        }
        (void)snprintf(head, sizeof head, "  %s--%s%s%s%s", letter, row.name,
                       row.value == OPTION_MAY     ? "[="
                       : row.value == OPTION_NEEDS ? "="
                                                   : "",
                       row.value_name, row.value == OPTION_MAY ? "]" : "");
        (void)fputs(head, out);
        if ((int)strlen(head) + 2 > column) {
            (void)fprintf(out, "\n%*s", column, "");
        } else {
            (void)fprintf(out, "%*s", column - (int)strlen(head), "");
        }
        print_wrapped(row.help, column, width, out);
    }
}
