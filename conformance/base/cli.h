/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conventions of every command of mxoracle: exit codes, sentences for bad
 * usage, near names.
 */
#ifndef MXO_CLI_H
#define MXO_CLI_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum exit_code {
    EXIT_PASS = 0,   /* something passed and nothing is red */
    EXIT_RED = 1,    /* a failure, crash, time-out, vacuous output or error */
    EXIT_USAGE = 2,  /* bad usage, or a filter that matches nothing */
    EXIT_SKIP = 77,  /* everything was skipped (Automake's number) */
    EXIT_BROKEN = 99 /* the harness itself failed (Automake's number) */
} exit_code;

#define MXO_COMMAND(name, function, help) int function(int argc, char **argv);
#include "base/commands.def"
#undef MXO_COMMAND

/* One line "mxoracle: ..." on standard error; returns EXIT_USAGE, so that a
   refusal is one statement. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
int cli_refuse(const char *format, ...);

/* head and word, that between apostrophes, as a shell reads it. */
void cli_quote(const char *head, const char *word, char *text, size_t size);
/* An option that may be given once: -1, or a refusal if *to is there already.
 */
int cli_take_once(const char **to, const char *what, const char *text);

/* Does name match a pattern of literal characters, * and ? (and [])? */
int cli_matches(const char *pattern, const char *name);

/* Width of the terminal a stream goes to: COLUMNS, else what the terminal
   says, else 80. */
int cli_columns(FILE *stream);
/* Workers write to a pipe: they learn the width of our terminal by COLUMNS. */
void cli_publish_width(void);
/* Words of a text, from a column on, and a newline: lines are broken at the
   width of the stream and go on at indent. */
void cli_fold(FILE *stream, const char *text, int column, int indent);
/* A sentence, formatted and printable, and a newline: a terminal that is
   narrower than it has it folded, all lines but the first at indent; files and
   pipes have one line.
 */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void cli_line(FILE *stream, int indent, const char *format, ...);
/* The same of each line of a text. */
void cli_lines(FILE *stream, int indent, const char *text);
/* Text for standard output, and a newline: narrow terminals have its paragraphs
   folded anew, all but lines that begin with a blank or "usage:". */
void cli_say(const char *text);
/* Narrower than what tables are made for? They then take more lines. */
int cli_is_narrow(FILE *stream);
/* Does a terminal that shows colours read this stream? TERM, NO_COLOR. */
int cli_color(FILE *stream);

/* Edits (insert, delete, replace, swap of neighbours) from a to b. */
size_t cli_distance(const char *a, const char *b);

/*
 * Remembers the name nearest to a wanted one.  Start with {0}; offer every
 * candidate; nearest is NULL unless one is near enough to be meant.
 */
typedef struct cli_nearest {
    const char *best; /* borrowed */
    size_t distance;
} cli_nearest;

void cli_offer(cli_nearest *n, const char *wanted, const char *candidate);
/* ", did you mean NAME?" or "" in buf. */
const char *cli_suggestion(const cli_nearest *n, char *buf, size_t size);

/* The value of an option --what: -1 to go on, or EXIT_USAGE after a
   sentence. */
int number_option(const char *what, const char *text, uint64_t least,
                  uint64_t most, uint64_t *n);

#endif
