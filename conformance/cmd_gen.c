/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle gen: inputs of cases as files, so that a machine where this
 * program cannot be built can fill in the outputs; verify then judges them.
 */
#include "cli.h"
#include "fill.h"
#include "grid.h"
#include "safetensors.h"
#include "say.h"
#include "subject.h"

#include <mxoracle/mxoracle.h>

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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
    puts("usage: mxoracle gen [OPTION]... -d DIR CASE|@FILE...\n"
         "Writes one file of inputs per case (safetensors: in.*, metadata op\n"
         "and params). Add the out.* tensors on any machine, then judge them\n"
         "with mxoracle verify.\n\n"
         "  -d, --directory=DIR  where to; made if it is missing\n"
         "      --seed=N         seed of the data (default 1)\n"
         "      --outputs        add the emulator's out.* tensors\n"
         "  -h, --help           this text\n\n"
         "Exit status: 0 all written, 1 a file could not be written, 2 bad\n"
         "usage. A file that exists is never replaced.");
    return EXIT_PASS;
}

/* The parameters as JSON that reads back as the same canonical texts. */
static json_t *params_object(const test_case *c)
{
    json_t *o = json_object();

    for (int i = 0; i < c->schema->n_params; i++) {
        const op_param *p = &c->schema->params[i];
        const double number = strtod(c->value[i], NULL);
        json_t *value;
        if (strcmp(c->value[i], "none") == 0 && p->kind != PARAM_CHOICE) {
            value = json_null();
        } else if (p->kind == PARAM_BOOL) {
            value = json_boolean(number != 0);
        } else if (p->kind == PARAM_INT) {
            value = json_integer((json_int_t)number);
        } else {
            /* A real as text keeps its spelling, infinities included. */
            value = json_string(c->value[i]);
        }
        json_object_set_new(o, p->key, value);
    }
    return o;
}

static json_t *metadata_of(const case_item *item, const test_case *c)
{
    json_t *params = params_object(c);
    char *text = json_dumps(params, JSON_COMPACT);
    char seed[24];
    char made_by[64];

    (void)snprintf(seed, sizeof seed, "%" PRIu64, item->seed);
    (void)snprintf(made_by, sizeof made_by, "mxoracle %s gen", mxo_version());
    json_t *metadata = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s}", "op", c->schema->info->name, "params",
        text == NULL ? "{}" : text, "source", "a case of mxoracle", "made_by",
        made_by, "case", item->text, "seed", seed);

    free(text);
    json_decref(params);
    return metadata;
}

/* "quant.mx__rule-ceil_rows-3.safetensors", with a hash if it is long. */
static void file_name(const case_item *item, char *name, size_t size)
{
    char stem[CASE_TEXT + 32];
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    size_t n = (size_t)snprintf(stem, sizeof stem, "%s", item->text);

    if (item->seed != 1) {
        (void)snprintf(stem + n, sizeof stem - n, ",seed=%" PRIu64, item->seed);
    }
    char *colon = strchr(stem, ':');

    for (char *p = stem; *p != '\0'; p++) {
        hash = (hash ^ (unsigned char)*p) * 1099511628211u;
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

/* Append copies of a set's tensors under "in." or "out.". */
static int add_all(tensor_set *to, const char *prefix, const tensor_set *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        const host_tensor *t = &from->t[i];
        char name[MXO_NAME_SIZE + 8];
        host_tensor *copy;
        (void)snprintf(name, sizeof name, "%s%s", prefix, t->name);
        if (tensor_set_add(to, name, t->dtype, t->rank, t->shape, &copy) !=
            MXO_OK) {
            return -1;
        }
        if (t->n_bytes > 0) {
            memcpy(copy->data, t->data, (size_t)t->n_bytes);
        }
    }
    return 0;
}

static int add_outputs(const test_case *c, const tensor_set *in,
                       tensor_set *file, mxo_text why)
{
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = {c->schema->info->name, params,
                          (uint32_t)c->schema->n_params, in};
    tensor_set out;
    distrust doubts;
    subject emulator;

    memset(&out, 0, sizeof out);
    case_params(c, params);
    mxo_status status = subject_open(&emulator, mxo_emulator(), 0, why);

    if (status == MXO_OK) {
        status = subject_infer(&emulator, &call, &out, why);
    }
    if (status == MXO_OK) {
        status = subject_run(&emulator, &call, &out, &doubts, why);
    }
    if (status == MXO_OK && add_all(file, "out.", &out) != 0) {
        status = say(MXO_E_NOMEM, why, "no memory for the outputs");
    }
    tensor_set_clear(&out);
    subject_close(&emulator);
    return status == MXO_OK ? 0 : -1;
}

/* The file's tensors. 0, or -1 and a sentence. */
static int make_tensors(const gen_options *o, const case_item *item,
                        const test_case *c, tensor_set *file, mxo_text why)
{
    tensor_set in;

    memset(&in, 0, sizeof in);
    int bad = fill_inputs(c, item->seed, &in, why);

    if (bad == 0 && add_all(file, "in.", &in) != 0) {
        (void)say(MXO_E_NOMEM, why, "no memory for the inputs");
        bad = -1;
    }
    if (bad == 0 && o->outputs) {
        bad = add_outputs(c, &in, file, why);
    }
    tensor_set_clear(&in);
    return bad;
}

static int write_case(const gen_options *o, const case_item *item)
{
    char sentence[SENTENCE] = "";
    const mxo_text why = {sentence, sizeof sentence};
    char name[STEM + 64];
    char path[PATH_SIZE];
    tensor_set file;
    test_case c;

    file_name(item, name, sizeof name);
    const int length = snprintf(path, sizeof path, "%s/%s", o->folder, name);

    if (length < 0 || length >= PATH_SIZE) {
        (void)cli_refuse("the path of the folder is too long");
        return EXIT_RED;
    }
    if (access(path, F_OK) == 0) {
        (void)cli_refuse("%s exists already", path);
        return EXIT_RED;
    }
    memset(&file, 0, sizeof file);
    int bad = case_parse(&c, item->text, why);

    if (bad == 0) {
        bad = make_tensors(o, item, &c, &file, why);
    }
    if (bad == 0) {
        json_t *metadata = metadata_of(item, &c);
        bad = safetensors_write(path, &file, metadata, why) != MXO_OK;
        json_decref(metadata);
    }
    tensor_set_clear(&file);
    if (bad != 0) {
        (void)cli_refuse("%s", sentence);
        return EXIT_RED;
    }
    puts(path);
    return EXIT_PASS;
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
            bad = case_list_add(list, spelled, seed) != MXO_OK;
        }
        if (bad != 0) {
            return cli_refuse("%s", sentence);
        }
    }
    return list->n > 0 ? EXIT_PASS : cli_refuse("no case matches");
}

static int generate(const gen_options *o, char *const args[], int n)
{
    case_list list;
    int status;

    memset(&list, 0, sizeof list);
    status = read_cases(args, n, o->seed, &list);
    if (status == EXIT_PASS && mkdir(o->folder, 0777) != 0 && errno != EEXIST) {
        (void)cli_refuse("%s cannot be made: %s", o->folder, strerror(errno));
        status = EXIT_RED;
    }
    /* A limit on file sizes must be an error, not the end. */
    (void)signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; status == EXIT_PASS && i < list.n; i++) {
        status = write_case(o, &list.item[i]);
    }
    case_list_clear(&list);
    return status;
}

static int take_seed(const char *text, uint64_t *seed)
{
    char *end;

    errno = 0;
    *seed = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 &&
                   *seed <= INT64_MAX
               ? EXIT_PASS
               : cli_refuse("--seed=%s is no natural number", text);
}

int cmd_gen(int argc, char **argv)
{
    static const struct option known[] = {
        {"directory", required_argument, NULL, 'd'},
        {"seed", required_argument, NULL, 's'},
        {"outputs", no_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    gen_options o = {NULL, 1, 0};
    int option;

    optind = 1;
    while ((option = getopt_long(argc, argv, "d:h", known, NULL)) != -1) {
        switch (option) {
        case 'd':
            o.folder = optarg;
            break;
        case 's':
            if (take_seed(optarg, &o.seed) != EXIT_PASS) {
                return EXIT_USAGE;
            }
            break;
        case 'o':
            o.outputs = 1;
            break;
        case 'h':
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
