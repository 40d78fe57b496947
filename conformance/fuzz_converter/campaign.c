/* SPDX-License-Identifier: Apache-2.0 */
/* See campaign.h. */
#include "campaign.h"

#include "base/cli.h"
#include "base/say.h"
#include "base/stop.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_TRIES = 200, MOST_SLOW_TRIES = 12, FOLDERS_OPEN = 8 };

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static void remove_folder(const char *path)
{
    (void)nftw(path, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS);
}

int campaign_judge(converter_campaign *c, const drawn *d, conversion_fault *f,
                   mxo_text why)
{
    char folder[CONVERTER_PATH + 16];

    (void)snprintf(folder, sizeof folder, "%s/case", c->scratch);
    if (mkdir(folder, 0777) != 0) {
        (void)say(MXO_E_DEVICE, why, "%.300s: %s", folder, strerror(errno));
        return -1;
    }
    const int status = converter_judge(&c->subject, d, folder, f, why);

    remove_folder(folder);
    return status;
}

/* Whether the cause of d is still this one; -1: it could not be judged. */
static int has_cause(converter_campaign *c, const drawn *d, const char *cause,
                     mxo_text why)
{
    conversion_fault f = {.is_brief = 1};
    const int status = campaign_judge(c, d, &f, why);
    const int same = strcmp(f.cause, cause) == 0;

    conversion_fault_clear(&f);
    return status != 0 ? -1 : same;
}

int campaign_shrink(converter_campaign *c, drawn *d, const char *cause,
                    mxo_text why)
{
    const int is_slow = strncmp(cause, "hang", 4) == 0;
    int left = is_slow ? MOST_SLOW_TRIES : MOST_TRIES;
    drawn plainer;

    for (int i = 0; left > 0 && drawn_plainer(d, i, &plainer);) {
        int same = 0;
        if (drawn_is_legal(&c->subject.rules, &plainer) && !stop_requested()) {
            same = has_cause(c, &plainer, cause, why);
            left--;
        }
        if (same < 0) {
            return -1;
        }
        if (same) {
            *d = plainer;
        }
        i = same ? 0 : i + 1;
    }
    return 0;
}

/* The folder for findings, made if it is not there; its absolute name. */
static int open_keep(const converter_campaign *c, char path[CONVERTER_PATH],
                     int *is_new, mxo_text why)
{
    *is_new = mkdir(c->keep, 0777) == 0;
    if (realpath(c->keep, path) != NULL && access(path, W_OK | X_OK) == 0) {
        return 0;
    }
    (void)say(MXO_E_DEVICE, why, "findings cannot be kept in %s: %s", c->keep,
              strerror(errno));
    return -1;
}

/* Check the folder before a night is spent. */
static int check_keep(const converter_campaign *c, mxo_text why)
{
    char path[CONVERTER_PATH];
    int is_new;
    const int status = open_keep(c, path, &is_new, why);

    if (is_new) {
        (void)rmdir(c->keep);
    }
    return status;
}

/* "KEEP/N" that is not there yet, made. */
static int new_folder(const converter_campaign *c, char path[CONVERTER_PATH],
                      mxo_text why)
{
    char keep[CONVERTER_PATH - 8];
    char whole[CONVERTER_PATH];
    int is_new;

    if (open_keep(c, whole, &is_new, why) != 0) {
        return -1;
    }
    (void)snprintf(keep, sizeof keep, "%.4000s", whole);
    for (int i = 1; i < 1000000; i++) {
        (void)snprintf(path, CONVERTER_PATH, "%s/%d", keep, i);
        if (mkdir(path, 0777) == 0) {
            return 0;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    (void)say(MXO_E_DEVICE, why, "%.4000s: %s", path, strerror(errno));
    return -1;
}

/* In single quotes, as a shell takes it. */
static void add_word(strbuf *b, const char *word)
{
    strbuf_add(b, "'");
    for (const char *p = word; *p != '\0'; p++) {
        strbuf_add(b, *p == '\'' ? "'\\''" : "%c", *p);
    }
    strbuf_add(b, "'");
}

static void add_repro(const converter_campaign *c, const drawn *d, strbuf *b)
{
    const drawn_rules *r = &c->subject.rules;
    char text[DRAWN_TEXT];

    drawn_print(d, text);
    strbuf_add(b, "mxoracle fuzz --converter=");
    add_word(b, c->subject.command);
    strbuf_add(b, " --to=%s", r->conversion);
    if (r->round[0] != 1 || r->round[1] != 1) {
        strbuf_add(b, " --pad=%" PRIu64 ",%" PRIu64, r->round[0], r->round[1]);
    }
    strbuf_add(b, "%s --seed=%" PRIu64 " --checkpoint=%s\n",
               c->subject.experts_only ? " --experts-only" : "",
               c->subject.seed, text);
}

static int write_text(const char *folder, const char *name, const char *text,
                      mxo_text why)
{
    char path[CONVERTER_PATH + 32];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    int bad = f == NULL || fputs(text, f) == EOF;

    bad = (f != NULL && fclose(f) != 0) || bad;
    if (bad) {
        (void)say(MXO_E_DEVICE, why, "%.300s cannot be written: %s", path,
                  strerror(errno));
    }
    return bad ? -1 : 0;
}

int campaign_keep(converter_campaign *c, const drawn *d, mxo_text why)
{
    char folder[CONVERTER_PATH];
    char text[DRAWN_TEXT];
    strbuf repro = {0};
    strbuf said = {0};
    conversion_fault f = {0};
    int status = new_folder(c, folder, why);

    if (status == 0) {
        status = converter_judge(&c->subject, d, folder, &f, why);
    }
    if (status == 0) {
        char *command = converter_command(&c->subject, d, folder);
        drawn_print(d, text);
        add_repro(c, d, &repro);
        strbuf_add(&said, "FAIL converter %s\n  cause: %s\n%s", text,
                   f.word == CONVERSION_FAULT_NONE
                       ? "not seen again: it comes and goes"
                       : f.cause,
                   strbuf_text(&f.text));
        strbuf_add(&said,
                   "  kept: %s: in/, expected.safetensors, output.txt, "
                   "repro.sh and what it wrote\n  command: %s\n  repro: %s",
                   folder, command, strbuf_text(&repro));
        status =
            write_text(folder, "repro.sh", strbuf_text(&repro), why) != 0
                ? -1
                : write_text(folder, "finding.txt", strbuf_text(&said), why);
        (void)fputs(strbuf_text(&said), stdout);
        free(command);
    }
    conversion_fault_clear(&f);
    strbuf_clear(&said);
    strbuf_clear(&repro);
    return status;
}

static int is_known(const converter_campaign *c, const char *cause)
{
    for (uint64_t i = 0; i < c->n_causes; i++) {
        if (strcmp(c->cause[i], cause) == 0) {
            return 1;
        }
    }
    return 0;
}

static void see(converter_campaign *c, const drawn *d)
{
    for (int i = 0; i < DRAWN_FIELDS; i++) {
        int k = 0;
        while (k < c->n_seen[i] && c->seen[i][k] != d->field[i]) {
            k++;
        }
        if (k == c->n_seen[i] && k < CAMPAIGN_VALUES) {
            c->seen[i][c->n_seen[i]++] = d->field[i];
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void print_seen(converter_campaign *c)
{
    static const char *const names[DRAWN_FIELDS] = {
#define MXO_FIELD(name, plainest, most) #name,
#include "fields.def"
#undef MXO_FIELD
    };

    for (int i = 0; i < DRAWN_FIELDS; i++) {
        qsort(c->seen[i], (size_t)c->n_seen[i], sizeof c->seen[i][0], by_value);
        printf("%s%s", i == 0 ? "drawn: " : "; ", names[i]);
        for (int k = 0; k < c->n_seen[i]; k++) {
            printf("%s%" PRIu64, k == 0 ? " " : ",", c->seen[i][k]);
        }
    }
    puts("");
}

/* One checkpoint: judged and, if its cause is new, made small and kept. */
static int take_case(converter_campaign *c, drawn *d, int with_shrink,
                     mxo_text why)
{
    conversion_fault f = {.is_brief = 1};
    int status = campaign_judge(c, d, &f, why);

    see(c, d);
    c->n_cases++;
    if (status == 0 && f.word != CONVERSION_FAULT_NONE &&
        !is_known(c, f.cause)) {
        (void)snprintf(c->cause[c->n_causes++], CONVERSION_FAULT_CAUSE, "%s",
                       f.cause);
        if (with_shrink) {
            status = campaign_shrink(c, d, f.cause, why);
        }
        status = status == 0 ? campaign_keep(c, d, why) : status;
    }
    conversion_fault_clear(&f);
    return status;
}

static int draw_cases(converter_campaign *c, mxo_text why)
{
    while (!stop_requested() && c->n_causes < c->most_causes &&
           (c->most_cases == 0 || c->n_cases < c->most_cases)) {
        char number[32];
        prng random;
        drawn d;
        (void)snprintf(number, sizeof number, "%" PRIu64, c->n_cases);
        prng_seed(&random, seed_of(c->subject.seed, "checkpoint", number));
        if (drawn_draw(&c->subject.rules, &random, &d, why) != 0) {
            return EXIT_USAGE;
        }
        if (take_case(c, &d, 1, why) != 0) {
            return EXIT_BROKEN;
        }
    }
    return c->n_causes > 0 ? EXIT_RED : EXIT_PASS;
}

static int judge_one(converter_campaign *c, mxo_text why)
{
    drawn d = {.style = c->subject.rules.style,
               .field = {
#define MXO_FIELD(name, plainest, most) plainest,
#include "fields.def"
#undef MXO_FIELD
               }};

    if (drawn_parse(c->checkpoint, &d, NULL, why) != 0) {
        return EXIT_USAGE;
    }
    if (!drawn_is_legal(&c->subject.rules, &d)) {
        (void)say(MXO_E_SHAPE, why, "%.60s does not take %.200s",
                  c->subject.rules.conversion, c->checkpoint);
        return EXIT_USAGE;
    }
    return take_case(c, &d, 0, why) != 0 ? EXIT_BROKEN
           : c->n_causes > 0             ? EXIT_RED
                                         : EXIT_PASS;
}

int campaign_run(converter_campaign *c, mxo_text why)
{
    const char *base = getenv("TMPDIR");

    if (check_keep(c, why) != 0) {
        return EXIT_USAGE;
    }

    (void)snprintf(c->scratch, sizeof c->scratch, "%s/mxoracle-fuzz-XXXXXX",
                   base == NULL || base[0] == '\0' ? "/tmp" : base);
    if (mkdtemp(c->scratch) == NULL) {
        (void)say(MXO_E_DEVICE, why, "%s: %s", c->scratch, strerror(errno));
        return EXIT_BROKEN;
    }
    const int status =
        c->checkpoint != NULL ? judge_one(c, why) : draw_cases(c, why);

    remove_folder(c->scratch);
    if (status == EXIT_PASS || status == EXIT_RED) {
        if (!c->quiet && c->n_cases > 0) {
            print_seen(c);
        }
        printf("mxoracle: %" PRIu64 " cause%s in %" PRIu64
               " checkpoint%s (the command ran %" PRIu64 " times), seed "
               "%" PRIu64 "\n",
               c->n_causes, c->n_causes == 1 ? "" : "s", c->n_cases,
               c->n_cases == 1 ? "" : "s", c->subject.n_runs, c->subject.seed);
    }
    return status;
}
