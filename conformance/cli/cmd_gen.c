/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle gen: inputs of cases as files, so that a machine where this
 * program cannot be built can fill in the outputs; verify then judges them.
 */
#include "base/cli.h"
#include "base/number.h"
#include "base/options.h"
#include "base/prng.h"
#include "base/progress.h"
#include "case/grid.h"
#include "data/fill.h"
#include "run/native.h"
#include "runopts.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SENTENCE = 512, PATH_SIZE = 4096, STEM = 160 };

typedef struct gen_options {
    const char *folder;
    uint64_t seed;
    int outputs;
} gen_options;

static int usage(void)
{
    cli_say(
        "usage: mxoracle gen [OPTION]... -d DIR CASE|@FILE...\n"
        "Writes one file of inputs per case (safetensors: in.*, metadata op,\n"
        "params, params_text and outputs: names, types, shapes). Add the\n"
        "out.* tensors on any machine, then judge them with mxoracle\n"
        "verify.\n");
    options_help(OPTIONS_gen, stdout);
    cli_say(
        "\nExit status: 0 all written, 1 a file could not be written, 2 bad\n"
        "usage. A file that exists is never replaced.");
    return EXIT_PASS;
}

/* "quant.mx__rule-ceil_rows-3.safetensors", with a hash if it is long. */
static void file_name(const case_item *item, char *name, size_t size)
{
    char stem[CASE_TEXT + 32];
    size_t n = (size_t)snprintf(stem, sizeof stem, "%s", item->text);

    if (item->seed != 1) {
        (void)snprintf(stem + n, sizeof stem - n, ",seed=%" PRIu64, item->seed);
    }
    const uint64_t hash = fnv_bytes(FNV_START, stem, strlen(stem));
    char *colon = strchr(stem, ':');

    for (char *p = stem; *p != '\0'; p++) {
        *p = *p == '=' || *p == '+'                                 ? '-'
             : isalnum((unsigned char)*p) || *p == '.' || *p == '-' ? *p
                                                                    : '_';
    }
    const size_t op = colon == NULL ? strlen(stem) : (size_t)(colon - stem);
    const char *rest = colon == NULL ? "" : colon + 1;

    if (strlen(stem) > STEM) {
        (void)snprintf(name, size, "%.*s__%.100s_%016" PRIx64 ".safetensors",
                       (int)op, stem, rest, hash);
    } else {
        (void)snprintf(name, size, "%.*s__%s.safetensors", (int)op, stem, rest);
    }
}

static int make_file(const gen_options *o, const case_item *item,
                     const char *path, mxo_text why)
{
    tensor_set in;
    native_answer answer;
    test_case c;

    memset(&in, 0, sizeof in);
    memset(&answer, 0, sizeof answer);
    answer.has_bytes = o->outputs;
    int bad = case_parse(&c, item->text, why);

    if (bad == 0) {
        bad = fill_inputs(&c, item->seed, &in, why);
    }
    if (bad == 0) {
        bad = o->outputs ? native_outputs(&c, &in, &answer.out, why)
                         : native_shapes(&c, &in, &answer.out, why);
    }
    if (bad == 0) {
        bad = native_write(path, &c, item->seed, &in, &answer, why);
    }
    tensor_set_clear(&in);
    tensor_set_clear(&answer.out);
    return bad;
}

static int write_case(const gen_options *o, const case_item *item, progress *p)
{
    char sentence[SENTENCE] = "";
    char name[STEM + 64];
    char path[PATH_SIZE];

    file_name(item, name, sizeof name);
    const int length = snprintf(path, sizeof path, "%s/%s", o->folder, name);

    if (length < 0 || length >= PATH_SIZE) {
        (void)cli_refuse("the path of the folder is too long");
        return EXIT_RED;
    }
    if (access(path, F_OK) == 0) {
        progress_wipe(p);
        (void)cli_refuse("%s exists already", path);
        return EXIT_RED;
    }
    if (make_file(o, item, path, (mxo_text){sentence, sizeof sentence}) != 0) {
        progress_wipe(p);
        (void)cli_refuse("%s", sentence);
        return EXIT_RED;
    }
    progress_wipe(p);
    cli_line(stdout, 0, "%s", path);
    return EXIT_PASS;
}

/* What makes a call invalid is in no tensor's bytes: its file would be that of
   a good one. */
static int check_invalid(const case_list *list)
{
    char sentence[SENTENCE];
    int status = list->n > 0 ? EXIT_PASS : cli_refuse("no case matches");

    for (size_t i = 0; status == EXIT_PASS && i < list->n; i++) {
        const char *text = list->item[i].text;
        test_case c;
        if (case_parse(&c, text, (mxo_text){sentence, sizeof sentence}) != 0) {
            status = cli_refuse("%s", sentence);
        } else if (c.flaw[0] != '\0') {
            status =
                cli_refuse("%s must be refused: there is no file of it", text);
        }
    }
    return status;
}

static int read_cases(char *const args[], int n, uint64_t seed, case_list *list)
{
    char sentence[SENTENCE];
    const mxo_text why = {sentence, sizeof sentence};

    for (int i = 0; i < n; i++) {
        char spelled[CASE_TEXT];
        test_case c;
        int bad = 0;
        if (args[i][0] == '@') {
            bad = grid_read_file(list, args[i] + 1, seed, why);
        } else if ((bad = case_parse(&c, args[i], why)) == 0) {
            case_print(&c, 0, spelled);
            case_list_add(list, spelled, seed);
        }
        if (bad != 0) {
            return cli_refuse("%s", sentence);
        }
    }
    return check_invalid(list);
}

static int generate(const gen_options *o, char *const args[], int n)
{
    progress p;
    case_list list;
    int status;

    memset(&list, 0, sizeof list);
    status = read_cases(args, n, o->seed, &list);
    if (status == EXIT_PASS && mkdir(o->folder, 0777) != 0 && errno != EEXIST) {
        (void)cli_refuse("%s cannot be made: %s", o->folder, strerror(errno));
        status = EXIT_RED;
    }
    progress_begin(&p, list.n, 1);
    progress_tick(&p);
    for (size_t i = 0; status == EXIT_PASS && i < list.n; i++) {
        progress_show(&p, i, 0, list.item[i].text);
        status = write_case(o, &list.item[i], &p);
    }
    progress_end(&p);
    case_list_clear(&list);
    return status;
}

int cmd_gen(int argc, char **argv)
{
    gen_options o = {NULL, 1, 0};
    char *value;
    int code;

    options_start();
    while ((code = options_next(OPTIONS_gen, argc, argv, &value)) != -1) {
        switch (code) {
        case OPT_gen_directory:
            o.folder = value;
            break;
        case OPT_gen_seed:
            if (number_option("seed", value, 0, RUN_MAX_SEED, &o.seed) >= 0) {
                return EXIT_USAGE;
            }
            break;
        case OPT_gen_outputs:
            o.outputs = 1;
            break;
        case OPT_gen_help:
            return usage();
        default:
            return EXIT_USAGE;
        }
    }
    if (o.folder == NULL || o.folder[0] == '\0') {
        return cli_refuse("gen needs a folder to write to: -d DIR");
    }
    if (optind == argc) {
        return cli_refuse("gen needs a case or @FILE");
    }
    return generate(&o, argv + optind, argc - optind);
}
