/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle convert: a checkpoint into a backend's byte order, back, or the
 * proof that a converted file is what it says.
 */
#include "base/cli.h"
#include "base/number.h"
#include "gguf.h"
#include "job.h"
#include "run/backends.h"

#include <mxoracle/layout.h>

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LARGEST = 65536 }; /* ranks, and a size to round up to */

typedef struct options {
    const char *to;
    const char *from;
    const char *machine;
    char chosen[JOB_NAME];  /* conversion for the machine */
    char spelled[JOB_NAME]; /* the conversion, as files record it */
    const char *backend;
    const char *paths[2];
    shard part;
    int check;
    int force;
    int quiet;
} options;

static int usage(void)
{
    puts("usage: mxoracle convert --to=CONVERSION [OPTION]... IN OUT\n"
         "       mxoracle convert --for=PLATFORM[,KEY=VALUE]... IN OUT\n"
         "       mxoracle convert --from=CONVERSION [OPTION]... IN OUT\n"
         "Writes OUT, one safetensors file, with every layer of MXFP4 or\n"
         "NVFP4 experts of IN in the byte order a backend's loader makes\n"
         "(--to), or back (--from). IN is a safetensors file, an index file,\n"
         "or a folder with one. Everything else in IN is copied. Nothing is\n"
         "half written.\n\n"
         "--to=gguf and --from=gguf: the expert tensors as a GGUF file of\n"
         "llama.cpp, whole layers on one rank, and back.\n\n"
         "--for asks the selection oracle what vLLM makes of IN there, sizes\n"
         "rounded up included: --for=h100, --for=b200,tp=2; keys are those of\n"
         "mxoracle select. Without model= rows of w13 in turn are loaded as\n"
         "gpt-oss-120b, DeepSeek-V4's names as deepseek-v4, all others as\n"
         "generic; NVFP4 follows VLLM_FLASHINFER_MOE_BACKEND. A note says\n"
         "what was assumed.\n\n"
         "      --check        OUT exists: compare, write nothing\n"
         "  -f, --force        replace OUT if it exists\n"
         "      --tp=R/N       the shard of tensor-parallel rank R of N\n"
         "      --ep=R/N       the experts of expert-parallel rank R of N\n"
         "      --pad=H,I      round hidden and intermediate size up first\n"
         "  -b, --backend=NAME who moves the bytes (default cpu; emu is the\n"
         "                     oracle itself)\n"
         "  -q, --quiet        no progress line\n"
         "  -h, --help         this text\n\n"
         "mxoracle explain --conversions names the conversions. Exit status:\n"
         "0 done, 1 not written or not equal, 2 bad usage or bad input.");
    return EXIT_PASS;
}

/* "R/N" with R < N. */
static int read_rank(const char *text, uint64_t *rank, uint64_t *of)
{
    uint64_t n[2];

    if (number_list(text, "/", LARGEST, n, 2) != 2 || n[0] >= n[1]) {
        return cli_refuse("%s is not RANK/RANKS", text);
    }
    *rank = n[0];
    *of = n[1];
    return EXIT_PASS;
}

static int is_multiple(uint64_t n)
{
    return n > 0 && (n % 32 == 0 || n == 1);
}

static int read_pad(const char *text, shard *s)
{
    uint64_t n[2];

    if (number_list(text, ",", LARGEST, n, 2) != 2 || !is_multiple(n[0]) ||
        !is_multiple(n[1])) {
        return cli_refuse("--pad=%s is not H,I in multiples of 32", text);
    }
    s->round_hidden = n[0];
    s->round_inter = n[1];
    return EXIT_PASS;
}

static int take_option(options *o, int letter, const char *value)
{
    switch (letter) {
    case 't':
        o->to = value;
        return EXIT_PASS;
    case 'F':
        o->from = value;
        return EXIT_PASS;
    case 'M':
        o->machine = value;
        return EXIT_PASS;
    case 'b':
        o->backend = value;
        return EXIT_PASS;
    case 'T':
        return read_rank(value, &o->part.tp_rank, &o->part.tp);
    case 'E':
        return read_rank(value, &o->part.ep_rank, &o->part.ep);
    case 'P':
        return read_pad(value, &o->part);
    case 'C':
        o->check = 1;
        return EXIT_PASS;
    case 'f':
        o->force = 1;
        return EXIT_PASS;
    default:
        o->quiet = 1;
        return EXIT_PASS;
    }
}

static int is_gguf(const options *o)
{
    return strcmp(o->to != NULL ? o->to : o->from, "gguf") == 0;
}

static int check_conversion(const char *name)
{
    cli_nearest near = {NULL, 0};
    char hint[80];

    if (mxo_conversion_find(name) != NULL || strcmp(name, "gguf") == 0) {
        return EXIT_PASS;
    }
    for (uint32_t i = 0; mxo_conversion_at(i) != NULL; i++) {
        cli_offer(&near, name, mxo_conversion_at(i)->id);
    }
    return cli_refuse("no conversion is called %.60s%s", name,
                      cli_suggestion(&near, hint, sizeof hint));
}

static int check_paths(const options *o)
{
    struct stat in;
    struct stat out;
    const int exists = stat(o->paths[1], &out) == 0;

    if (stat(o->paths[0], &in) != 0) {
        return cli_refuse("%s: no such file", o->paths[0]);
    }
    if (exists && !o->check && !S_ISREG(out.st_mode)) {
        return cli_refuse("%s is no regular file", o->paths[1]);
    }
    if (exists && in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
        return cli_refuse("IN and OUT are the same file");
    }
    if (exists && !o->check && !o->force) {
        return cli_refuse("%s exists already; --force replaces it, --check "
                          "compares it",
                          o->paths[1]);
    }
    return exists || !o->check
               ? EXIT_PASS
               : cli_refuse("%s: no such file to check", o->paths[1]);
}

/* A folder of several files is a source, too. */
static int check_target(const options *o, const checkpoint *in)
{
    struct stat out;
    struct stat st;
    const size_t n = strlen(o->paths[1]);

    if (n > 5 && strcmp(o->paths[1] + n - 5, ".json") == 0) {
        return cli_refuse("%s: OUT is one safetensors file, no index",
                          o->paths[1]);
    }
    for (size_t i = 0; i < in->n_files; i++) {
        if (!o->check && stat(o->paths[1], &out) == 0 &&
            fstat(in->file[i].fd, &st) == 0 && st.st_dev == out.st_dev &&
            st.st_ino == out.st_ino) {
            return cli_refuse("%s is one of the files of IN", o->paths[1]);
        }
    }
    return EXIT_PASS;
}

/* Status of bad usage or help; -1: go on. */
static int read_options(options *o, int argc, char **argv)
{
    static const struct option longs[] = {
        {"to", required_argument, NULL, 't'},
        {"from", required_argument, NULL, 'F'},
        {"for", required_argument, NULL, 'M'},
        {"backend", required_argument, NULL, 'b'},
        {"tp", required_argument, NULL, 'T'},
        {"ep", required_argument, NULL, 'E'},
        {"pad", required_argument, NULL, 'P'},
        {"check", no_argument, NULL, 'C'},
        {"force", no_argument, NULL, 'f'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int letter;

    optind = 0;
    opterr = 0;
    while ((letter = getopt_long(argc, argv, "b:fqh", longs, NULL)) >= 0) {
        if (letter == 'h') {
            return usage();
        }
        if (letter == '?') {
            return cli_refuse("convert does not know \"%s\"; try --help",
                              argv[optind - 1]);
        }
        const int status = take_option(o, letter, optarg);
        if (status != EXIT_PASS) {
            return status;
        }
    }
    if ((o->to != NULL) + (o->from != NULL) + (o->machine != NULL) != 1) {
        return cli_refuse("convert needs one of --to, --for and --from");
    }
    if (o->machine != NULL) {
        char text[400] = "";
        /* Until the checkpoint is read; see follow_checkpoint. */
        if (job_choose(o->machine, "gpt-oss-120b", o->chosen, &o->part,
                       (mxo_text){text, sizeof text}) != 0) {
            return cli_refuse("%s", text);
        }
        o->to = o->chosen;
    }
    if (argc - optind != 2) {
        return cli_refuse("convert takes IN and OUT");
    }
    o->paths[0] = argv[optind];
    o->paths[1] = argv[optind + 1];
    const char *name = o->to != NULL ? o->to : o->from;
    const int status = check_conversion(name);

    if (strlen(name) >= JOB_NAME) {
        return cli_refuse("the name of the conversion is too long");
    }
    if (!is_gguf(o)) {
        job_spell(name, o->spelled);
    }
    return status != EXIT_PASS           ? status
           : check_paths(o) != EXIT_PASS ? EXIT_USAGE
                                         : -1;
}

static void on_signal(int number)
{
    (void)number;
    job_interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    (void)sigaction(SIGQUIT, &action, NULL);
    /* A limit on file sizes is an error to report, not an end. */
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGXFSZ, &action, NULL);
}

/* A converted file says of its layers what is said of them today. */
static int check_layers(const job *j, const checkpoint *existing, mxo_text why)
{
    const char *text = checkpoint_meta(existing, META_LAYERS);
    json_t *meta = job_metadata(j);
    json_t *said = text == NULL ? NULL : json_loads(text, 0, NULL);
    json_t *right = json_loads(
        json_string_value(json_object_get(meta, META_LAYERS)), 0, NULL);
    const int same = said != NULL && json_equal(said, right);

    json_decref(said);
    json_decref(right);
    json_decref(meta);
    if (!same) {
        (void)snprintf(why.ptr, why.size,
                       "the file's metadata say other layers than it has");
    }
    return same ? 0 : -1;
}

/* A converted file says which layout it is in and where it came from. */
static int check_claims(const job *j, const checkpoint *existing, mxo_text why)
{
    const char *layout = checkpoint_meta(existing, META_LAYOUT);
    const char *digest = checkpoint_meta(existing, META_DIGEST);
    char wanted[JOB_DIGEST];

    if (!job_is_layout(j, layout)) {
        (void)snprintf(why.ptr, why.size,
                       "the file is in the layout %.100s, "
                       "not %s",
                       layout == NULL ? "nobody knows" : layout, j->conversion);
        return -1;
    }
    job_digest(j->in, wanted);
    if (digest != NULL && strcmp(digest, "none") != 0 &&
        strcmp(wanted, "none") != 0 && strcmp(digest, wanted) != 0) {
        (void)snprintf(why.ptr, why.size,
                       "the file was made from another "
                       "checkpoint: %.40s, not %s",
                       digest, wanted);
        return -1;
    }
    return check_layers(j, existing, why);
}

/* The sink of a planned job: a new file, or the one to compare with. */
static int open_sink(job *j, const options *o, checkpoint *existing,
                     mxo_text why)
{
    if (o->check) {
        return checkpoint_open(o->paths[1], existing, why) != 0 ||
                       (o->to != NULL && check_claims(j, existing, why) != 0)
                   ? -1
                   : sink_expect(&j->sink, existing, why);
    }
    json_t *metadata =
        o->to != NULL ? job_metadata(j) : json_pack("{s:s}", "format", "pt");
    const int status = sink_create(&j->sink, o->paths[1], metadata, why);

    json_decref(metadata);
    return status;
}

static int finish(job *j, const options *o, mxo_text why)
{
    job_progress(j, 1);
    if (sink_finish(&j->sink, why) != 0) {
        return EXIT_RED;
    }
    if (j->sink.n_wrong > 0) {
        (void)snprintf(why.ptr, why.size, "%s: %llu bytes differ; %s",
                       o->paths[1], (unsigned long long)j->sink.n_wrong,
                       j->sink.wrong);
        return EXIT_RED;
    }
    printf("%s %s: %zu tensors, %.1f MB, %s\n", o->check ? "checked" : "wrote",
           o->paths[1], j->sink.n, (double)j->sink.n_bytes / 1e6,
           o->to != NULL ? o->spelled : "checkpoint order");
    return EXIT_PASS;
}

static int convert(job *j, const options *o, mxo_text why)
{
    checkpoint existing = {0};
    const int forward = o->to != NULL;
    int status = EXIT_USAGE;

    if ((forward ? job_plan_forward(j, why) : job_plan_back(j, why)) == 0) {
        status = open_sink(j, o, &existing, why) != 0 ? EXIT_RED : EXIT_PASS;
    }
    j->start_s = job_now();
    if (status == EXIT_PASS &&
        (forward ? job_run_forward(j, why) : job_run_back(j, why)) != 0) {
        status = EXIT_RED;
    }
    if (status == EXIT_PASS) {
        status = finish(j, o, why);
    }
    sink_close(&j->sink);
    checkpoint_close(&existing);
    return status;
}

/* GGUF has whole layers, and no order of a backend's. */
static int convert_gguf(const options *o)
{
    const shard *s = &o->part;
    char sentence[600] = "";
    const mxo_text why = {sentence, sizeof sentence};

    if (o->check || s->tp != 1 || s->ep != 1 || s->round_hidden != 1 ||
        s->round_inter != 1) {
        return cli_refuse("gguf takes whole layers: no --check, --tp, --ep or "
                          "--pad");
    }
    if ((o->to != NULL ? gguf_from_checkpoint(o->paths[0], o->paths[1], why)
                       : gguf_read(o->paths[0], o->paths[1], why)) != 0) {
        return cli_refuse("%s", sentence);
    }
    printf("wrote %s: gguf\n", o->paths[1]);
    return EXIT_PASS;
}

static int open_backend(const options *o, const mxo_backend **table,
                        mxo_text why)
{
    backend_list *known = calloc(1, sizeof *known);
    const backend_ref *ref = NULL;

    if (known != NULL) {
        backends_known(known);
        ref = backends_find(known, o->backend);
    }
    int status = ref == NULL ? cli_refuse("no backend is called %s", o->backend)
                             : EXIT_PASS;

    if (ref != NULL && backend_load(ref, table, why) != MXO_OK) {
        status = cli_refuse("%s: %s", o->backend, why.ptr);
    }
    free(known);
    return status;
}

/* The conversion that --for asks for, and what was assumed about IN. */
static int follow_checkpoint(options *o, const checkpoint *in, mxo_text why)
{
    char assumed[JOB_ASSUMED];
    const int status =
        job_follow(o->machine, in, o->chosen, &o->part, assumed, why);

    if (status > 0) {
        return EXIT_PASS; /* the plan refuses it, in its own words */
    }
    if (status < 0) {
        return EXIT_USAGE;
    }
    job_spell(o->chosen, o->spelled);
    fprintf(stderr, "note: --for=%s chooses %s%s%s\n", o->machine, o->spelled,
            assumed[0] == '\0' ? "" : ", assumed: ", assumed);
    return EXIT_PASS;
}

int cmd_convert(int argc, char **argv)
{
    options o = {.backend = "cpu", .part = {0, 1, 0, 1, 1, 1}};
    char sentence[600] = "";
    const mxo_text why = {sentence, sizeof sentence};
    const mxo_backend *table = NULL;
    checkpoint in;
    job j = {.in = &in};
    int status = read_options(&o, argc, argv);

    if (status >= 0) {
        return status;
    }
    if (is_gguf(&o)) {
        return convert_gguf(&o);
    }
    status = open_backend(&o, &table, why);
    if (status != EXIT_PASS) {
        return status;
    }
    j.part = o.part;
    j.conversion = o.spelled;
    j.quiet = o.quiet;
    j.sink.fd = -1;
    catch_signals();
    if (checkpoint_open(o.paths[0], &in, why) != 0) {
        return cli_refuse("%s", sentence);
    }
    status = check_target(&o, &in);
    if (status == EXIT_PASS && o.machine != NULL) {
        status = follow_checkpoint(&o, &in, why);
        j.part = o.part;
    }
    if (status == EXIT_PASS) {
        status = mover_open(&j.mover, table, j.conversion, why) != 0
                     ? EXIT_BROKEN
                     : convert(&j, &o, why);
    }
    if (status != EXIT_PASS && sentence[0] != '\0') {
        fprintf(stderr, "mxoracle: %s\n", sentence);
    }
    job_clear(&j);
    checkpoint_close(&in);
    return status;
}
