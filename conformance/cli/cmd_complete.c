/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle complete: the words that the completions of bash, zsh and fish
 * offer, one a line.  Not for people.
 *
 *     complete commands
 *     complete options COMMAND
 *     complete values COMMAND OPTION
 *     complete arguments COMMAND BEGINNING
 */
#include "base/cli.h"
#include "base/options.h"
#include "complete_names.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *help;
} commands[] = {
#define MXO_COMMAND(name, function, help) {#name, help},
#include "base/commands.def"
#undef MXO_COMMAND
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void print_commands(void)
{
    for (int i = 0; i < N_COMMANDS; i++) {
        if (commands[i].help[0] != '\0') {
            puts(commands[i].name);
        }
    }
    puts("help");
}

/* -1: there is no such command, or it takes no option. */
static int group_of(const char *command)
{
    static const struct {
        const char *command;
        option_group group;
    } rows[] = {{"run", OPTIONS_run},           {"list", OPTIONS_list},
                {"show", OPTIONS_show},         {"shrink", OPTIONS_shrink},
                {"verify", OPTIONS_verify},     {"selftest", OPTIONS_selftest},
                {"report", OPTIONS_report},     {"baseline", OPTIONS_baseline},
                {"fuzz", OPTIONS_fuzz},         {"audit", OPTIONS_audit},
                {"convert", OPTIONS_convert},   {"explain", OPTIONS_explain},
                {"diagnose", OPTIONS_diagnose}, {"gen", OPTIONS_gen},
                {"bench", OPTIONS_bench},       {"profiles", OPTIONS_profiles},
                {"select", OPTIONS_select}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].command, command) == 0) {
            return (int)rows[i].group;
        }
    }
    return -1;
}

static void print_options(int group)
{
    option_row row;

    for (int i = 0; group >= 0 && options_row((option_group)group, i, &row);
         i++) {
        printf("--%s%s\n", row.name, row.value == OPTION_NEEDS ? "=" : "");
        if (row.letter != 0) {
            printf("-%c\n", row.letter);
        }
    }
}

/* option: its name, its letter, or "" for the arguments. */
static void print_values(const char *command, const char *option,
                         const char *current)
{
#define MXO_COMPLETES(command, what) {command, what},
    static const char *const arguments[][2] = {
#include "completes.def"
    };
    const int group = group_of(command);
    option_row row;

    for (int i = 0; group >= 0 && options_row((option_group)group, i, &row);
         i++) {
        if (strcmp(row.name, option) == 0 ||
            (option[0] != '\0' && option[1] == '\0' &&
             option[0] == row.letter)) {
            complete_names(row.completes, current);
        }
    }
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        if (option[0] == '\0' && strcmp(arguments[i][0], command) == 0) {
            complete_names(arguments[i][1], current);
        }
    }
}

int cmd_complete(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "commands") == 0 && argc == 2) {
        print_commands();
    } else if (strcmp(what, "options") == 0 && argc == 3) {
        print_options(group_of(argv[2]));
    } else if (strcmp(what, "values") == 0 && argc == 4) {
        print_values(argv[2], argv[3], "");
    } else if (strcmp(what, "arguments") == 0 && argc == 4) {
        print_values(argv[2], "", argv[3]);
    } else {
        return cli_refuse("complete is asked by shells, not by hand");
    }
    return EXIT_PASS;
}
