/* SPDX-License-Identifier: Apache-2.0 */
/* See converter.h. */
#include "converter.h"

#include "base/input.h"
#include "base/prng.h"
#include "base/say.h"
#include "system/process.h"

#include <mxoracle/mxoracle.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const keys[] = {"{in}",      "{out}",     "{tp}",
                                   "{ep}",      "{tp_rank}", "{tp_size}",
                                   "{ep_rank}", "{ep_size}"};

enum { N_KEYS = sizeof keys / sizeof keys[0], OUTPUT_SHOWN = 400 };

int converter_takes(const char *command, const char *key)
{
    return strstr(command, key) != NULL;
}

/* Number of the key at p, or N_KEYS. */
static int key_at(const char *p)
{
    int i = 0;

    while (i < N_KEYS && strncmp(p, keys[i], strlen(keys[i])) != 0) {
        i++;
    }
    return i;
}

int converter_check(const char *command, mxo_text why)
{
    if (converter_takes(command, "{in}") && converter_takes(command, "{out}")) {
        return 0;
    }
    (void)say(
        MXO_E_PARAM, why,
        "--converter needs {in}, a folder with the checkpoint, and {out}, "
        "the safetensors file to make");
    return -1;
}

/* In single quotes, for a shell. */
static void add_quoted(strbuf *b, const char *folder, const char *name)
{
    strbuf_add(b, "'");
    for (const char *p = folder; *p != '\0'; p++) {
        strbuf_add(b, *p == '\'' ? "'\\''" : "%c", *p);
    }
    strbuf_add(b, "/%s'", name);
}

static void add_value(strbuf *b, int key, const drawn *d, const char *folder)
{
    const uint64_t *f = d->field;
    const uint64_t rank =
        f[key == 2 || key == 4 ? DRAWN_tp_rank : DRAWN_ep_rank];
    const uint64_t of = f[key == 2 || key == 5 ? DRAWN_tp : DRAWN_ep];

    if (key < 2) {
        add_quoted(b, folder, key == 0 ? "in" : "got.safetensors");
    } else if (key < 4) {
        strbuf_add(b, "%" PRIu64 "/%" PRIu64, rank, of);
    } else {
        strbuf_add(b, "%" PRIu64, key == 4 || key == 6 ? rank : of);
    }
}

char *converter_command(const converter *c, const drawn *d, const char *folder)
{
    strbuf b = {0};

    for (const char *p = c->command; *p != '\0';) {
        const int key = key_at(p);
        if (key == N_KEYS) {
            strbuf_add(&b, "%c", *p++);
        } else {
            add_value(&b, key, d, folder);
            p += strlen(keys[key]);
        }
    }
    return b.text;
}

/* Of all files of a folder, in any order. */
static uint64_t digest_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    uint64_t sum = 0;
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[CONVERTER_PATH];
        const int n =
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && n < CONVERTER_PATH) {
            sum += input_digest(fnv_text(FNV_START, entry->d_name), path);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return sum;
}

/* The expected conversion, by the oracle. */
static int make_expected(const converter *c, const drawn *d, const char *in,
                         const char *out, mxo_text why)
{
    checkpoint from;
    job j = {.in = &from, .conversion = c->rules.conversion};

    if (checkpoint_open(in, &from, why) != 0) {
        return -1;
    }
    drawn_shard(&c->rules, d, &j.part);
    int bad = mover_open(&j.mover, mxo_emulator(), c->rules.conversion, why) ||
              job_plan_forward(&j, why) != 0 || job_digest(&j, why) != 0;
    json_t *meta = bad ? NULL : job_metadata(&j);

    bad = bad || sink_create(&j.sink, out, meta, why) != 0 ||
          job_run_forward(&j, why) != 0 || sink_finish(&j.sink, why) != 0;
    json_decref(meta);
    job_clear(&j);
    checkpoint_close(&from);
    return bad ? -1 : 0;
}

/* Of the ranks beside the one asked for, one axis at a time. */
static int make_others(const converter *c, const drawn *d, const char *folder,
                       const char *in, rank_files *others, mxo_text why)
{
    static const int axes[2][2] = {{DRAWN_tp, DRAWN_tp_rank},
                                   {DRAWN_ep, DRAWN_ep_rank}};
    char path[CONVERTER_PATH];
    int bad = 0;

    (void)snprintf(path, sizeof path, "%s/other.safetensors", folder);
    for (int a = 0; a < 2; a++) {
        const uint64_t asked = d->field[axes[a][1]];
        for (uint64_t k = 0;
             !bad && k < d->field[axes[a][0]] && others->n < RANKS_MOST; k++) {
            rank_file *r = &others->rank[others->n];
            drawn other = *d;
            if (k == asked) {
                continue;
            }
            other.field[axes[a][1]] = k;
            *r = (rank_file){.is_experts = a, .rank = k, .asked = asked};
            bad = make_expected(c, &other, in, path, why) != 0 ||
                  checkpoint_open(path, &r->file, why) != 0;
            others->n += !bad;
            (void)remove(path); /* it stays mapped */
        }
    }
    return bad ? -1 : 0;
}

/* What it wrote against what it should; where bytes are wrong, once more beside
   what other ranks should get. */
static int judge_output(const converter *c, const drawn *d, const char *folder,
                        conversion_fault *f, mxo_text why)
{
    char in[CONVERTER_PATH];
    char expected[CONVERTER_PATH];
    char got[CONVERTER_PATH];
    rank_files others = {.n = 0};
    const int is_brief = f->is_brief;

    (void)snprintf(in, sizeof in, "%s/in", folder);
    (void)snprintf(expected, sizeof expected, "%s/expected.safetensors",
                   folder);
    (void)snprintf(got, sizeof got, "%s/got.safetensors", folder);
    if (access(got, F_OK) != 0) {
        conversion_fault_add(f, CONVERSION_FAULT_NO_OUTPUT, "", "",
                             "it ended well, and {out} is not there");
        return 0;
    }
    int status = conversion_fault_compare(f, expected, got, &others,
                                          c->experts_only, why);

    if (status == 0 && f->word == CONVERSION_FAULT_WRONG_BYTES &&
        (d->field[DRAWN_tp] > 1 || d->field[DRAWN_ep] > 1)) {
        conversion_fault_clear(f);
        f->is_brief = is_brief;
        status = make_others(c, d, folder, in, &others, why) != 0
                     ? -1
                     : conversion_fault_compare(f, expected, got, &others,
                                                c->experts_only, why);
        ranks_clear(&others);
    }
    return status;
}

/* The last words of the command. */
static void read_output(const char *path, char text[OUTPUT_SHOWN])
{
    FILE *f = input_open(path); /* it may have put a FIFO there */
    size_t n = 0;

    if (f != NULL) {
        if (fseek(f, -(OUTPUT_SHOWN - 1), SEEK_END) != 0) {
            rewind(f);
        }
        n = fread(text, 1, OUTPUT_SHOWN - 1, f);
        (void)fclose(f);
    }
    while (n > 0 && text[n - 1] == '\n') {
        n--;
    }
    text[n] = '\0';
    const char *line = strrchr(text, '\n');

    if (line != NULL) {
        memmove(text, line + 1, strlen(line));
    }
    say_printable(text);
}

/* Start it and wait; how it ended, and whether it was too slow. */
static int run_command(const converter *c, const drawn *d, const char *folder,
                       char *end, size_t size, int *is_slow, mxo_text why)
{
    char path[CONVERTER_PATH];
    char shell[] = "sh";
    char option[] = "-c";
    char *command = converter_command(c, d, folder);
    char *const args[] = {shell, option, command, NULL};

    (void)snprintf(path, sizeof path, "%s/output.txt", folder);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const process_plan plan = {.file = "/bin/sh",
                               .args = args,
                               .own_group = 1,
                               .n_files = 2,
                               .files = {fd, fd}};
    const double start = process_clock();
    pid_t pid;
    const int bad =
        fd < 0 || command == NULL || process_start(&plan, &pid) != 0;

    if (bad) {
        (void)say(MXO_E_DEVICE, why, "the command cannot be started in %s: %s",
                  folder, strerror(errno));
    } else {
        process_end(pid, 1, c->timeout_s, end, size);
        *is_slow = process_clock() - start >= c->timeout_s;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    free(command);
    return bad ? -1 : 0;
}

/* How the command ended; what it wrote is looked at if it ended well. */
static void judge_end(const converter *c, const char *folder, const char *end,
                      int is_slow, conversion_fault *f)
{
    char path[CONVERTER_PATH];
    char words[OUTPUT_SHOWN];
    char line[OUTPUT_SHOWN + 200];

    if (is_slow) {
        (void)snprintf(line, sizeof line, "it did not end within %.0f s",
                       c->timeout_s);
        conversion_fault_add(f, CONVERSION_FAULT_HANG, "", "", line);
        return;
    }
    (void)snprintf(path, sizeof path, "%s/output.txt", folder);
    read_output(path, words);
    (void)snprintf(line, sizeof line, "it %s%s%s", end,
                   words[0] == '\0' ? "" : ": ", words);
    if (strncmp(end, "killed", 6) == 0) {
        conversion_fault_add(f, CONVERSION_FAULT_CRASH, end, "", line);
    } else if (strcmp(end, "exited with status 0") != 0) {
        conversion_fault_add(f, CONVERSION_FAULT_REFUSED, end, "", line);
    }
}

int converter_judge(converter *c, const drawn *d, const char *folder,
                    conversion_fault *f, mxo_text why)
{
    char in[CONVERTER_PATH];
    char expected[CONVERTER_PATH];
    char end[120];
    int is_slow = 0;

    (void)snprintf(in, sizeof in, "%s/in", folder);
    (void)snprintf(expected, sizeof expected, "%s/expected.safetensors",
                   folder);
    if (mkdir(in, 0777) != 0) {
        (void)say(MXO_E_DEVICE, why, "%s: %s", in, strerror(errno));
        return -1;
    }
    if (drawn_write(d, c->seed, in, why) != 0) {
        return -1;
    }
    const uint64_t before = digest_folder(in);

    c->n_runs++;
    if (run_command(c, d, folder, end, sizeof end, &is_slow, why) != 0) {
        return -1;
    }
    judge_end(c, folder, end, is_slow, f);
    if (digest_folder(in) != before) {
        conversion_fault_add(f, CONVERSION_FAULT_CHANGED_INPUT, "", "",
                             "the files of {in} are not what they were");
        return 0;
    }
    /* Only now: the command must not find the answer. */
    if (make_expected(c, d, in, expected, why) != 0) {
        return -1;
    }
    return f->word == CONVERSION_FAULT_NONE ? judge_output(c, d, folder, f, why)
                                            : 0;
}
