/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle: the judge.  Picks the command from commands.def; without one the
 * arguments are those of "run".
 */
#include "base/cli.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/stop.h"
#include "system/system.h"

#include <mxoracle/mxoracle.h>

#include <jansson.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct command {
    const char *name;
    int (*function)(int argc, char **argv);
    const char *help;
} command;

static const command commands[] = {
#define MXO_COMMAND(name, function, help) {#name, function, help},
#include "base/commands.def"
#undef MXO_COMMAND
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static const command *find_command(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static int help(void)
{
    cli_say("usage: mxoracle COMMAND [OPTION]... [CASE|@FILE|PATH]...\n"
            "Judges MXFP4 MoE kernels bit for bit against an emulator.\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        if (commands[i].help[0] != '\0') {
            printf("  %-9s ", commands[i].name);
            cli_fold(stdout, commands[i].help, 12, 12);
        }
    }
    cli_say(
        "\nmxoracle help COMMAND lists a command's options.\n"
        "Exit status: 0 passed, 1 red, 2 bad usage or nothing matched,\n"
        "77 everything skipped, 99 the harness itself failed, 124 the time\n"
        "budget ran out, 128 and the signal's number stopped by a signal.");
    return EXIT_PASS;
}

static int unknown(const char *name)
{
    cli_nearest near = {NULL, 0};
    char hint[80];

    for (int i = 0; i < N_COMMANDS; i++) {
        if (commands[i].help[0] != '\0') {
            cli_offer(&near, name, commands[i].name);
        }
    }
    return cli_refuse("%s is not a command%s", name,
                      cli_suggestion(&near, hint, sizeof hint));
}

/* The command, under the program's name, with which getopt begins its
   sentences; and whether all it said has arrived. */
static int call(const command *c, int argc, char **argv)
{
    static char self[] = "mxoracle";

    argv[0] = self;
    /* Whoever reads along, or what is left of a run that is killed, has whole
       lines. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    return stop_end(c->function(argc, argv));
}

static int show_help(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return help();
}

static int show_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("mxoracle %s\n", mxo_version());
    return EXIT_PASS;
}

/* "help COMMAND": what COMMAND --help says. */
static int help_for(const char *name)
{
    static char self[] = "mxoracle";
    static char option[] = "--help";
    char *args[] = {self, option, NULL};
    const command *c = find_command(name);

    return c == NULL || c->help[0] == '\0' ? unknown(name) : call(c, 2, args);
}

/* Judges share the cores with the threads of what they judge. */
static int is_judge(const command *c)
{
    static const char *const names[] = {"run", "verify", "selftest", "shrink",
                                        "fuzz"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(c->name, names[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* A standard stream that is closed is held: a report that is opened in its
   place would get what is said there.  Reads and writes fail as before. */
static void hold_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) { /* then the lowest one that is free */
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

/* What every command may take for its lists, with room to spare. */
enum { LEAST_STACK = 2 << 20 };

/* Beyond it a process ends without a word: it is asked for, or said. */
static int has_stack(void)
{
    struct rlimit most;

    if (getrlimit(RLIMIT_STACK, &most) != 0 || most.rlim_cur >= LEAST_STACK) {
        return 1;
    }
    if (most.rlim_max >= LEAST_STACK) {
        most.rlim_cur = LEAST_STACK;
        return setrlimit(RLIMIT_STACK, &most) == 0;
    }
    (void)fprintf(stderr,
                  "mxoracle: the stack may have %llu KiB (ulimit -s), %d are "
                  "needed\n",
                  (unsigned long long)most.rlim_max / 1024, LEAST_STACK / 1024);
    return 0;
}

int main(int argc, char **argv)
{
    static const command helping = {"help", show_help, ""};
    static const command telling = {"version", show_version, ""};
    const char *name = argc > 1 ? argv[1] : "run";

    number_standard();
    json_set_alloc_funcs(memory_need, free);
    hold_standard_streams();
    if (!has_stack()) {
        return EXIT_BROKEN;
    }
    /* A limit on file sizes is an error to report, not an end. */
    (void)signal(SIGXFSZ, SIG_IGN);
    /* Who starts it may ignore this one: no process's end would be told. */
    (void)signal(SIGCHLD, SIG_DFL);
    system_note_program(argv[0]);
    if (strcmp(name, "help") == 0 && argc > 2) {
        return help_for(argv[2]);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
        strcmp(name, "help") == 0) {
        return call(&helping, argc, argv);
    }
    if (strcmp(name, "--version") == 0) {
        return call(&telling, argc, argv);
    }
    /* An option or a case (they hold ':' or '@') needs no command word. */
    const int is_run = argc < 2 || name[0] == '-' || name[0] == '@' ||
                       strchr(name, ':') != NULL;
    const command *c = find_command(is_run ? "run" : name);

    if (c == NULL) {
        return unknown(name);
    }
    if (is_judge(c)) {
        system_wait_asleep(argv);
    }
    return is_run ? call(c, argc, argv) : call(c, argc - 1, argv + 1);
}
