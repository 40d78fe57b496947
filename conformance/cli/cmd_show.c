/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle show OP|CASE|data: the keys of an operation; for a case its tensors
 * and the first values of inputs and outputs, as the emulator has them; what
 * each kind of data= is for.
 */
#include "base/cli.h"
#include "data/fill.h"
#include "diagnose/diagnose.h"
#include "runopts.h"

#include "base/codes.h"
#include "base/strbuf.h"

#include <mxoracle/mxoracle.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { VALUES_SHOWN = 8 };

/* Words from a column on; narrow terminals get more lines, begun at indent. */
static void say_words(const char *words, int column, int indent)
{
    if (cli_is_narrow(stdout)) {
        cli_fold(stdout, words, column, indent);
    } else {
        puts(words);
    }
}

/* Every kind of data=: the inputs, and the faults they are for. */
static int show_data(void)
{
#define MXO_DATA(name, inputs, faults) {name, inputs, faults},
    static const char *const kinds[][3] = {
#include "data/kinds.def"
    };
#undef MXO_DATA

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        printf("%s\n    ", kinds[i][0]);
        say_words(kinds[i][1], 4, 4);
        fputs("    sees: ", stdout);
        say_words(kinds[i][2], 10, 4);
    }
    return EXIT_PASS;
}

static const char *kind_name(const op_param *p, char *text, size_t size)
{
    static const char *const names[] = {
        [PARAM_INT] = "int",
        [PARAM_REAL] = "real",
        [PARAM_REAL_OR_NONE] = "real or none",
        [PARAM_BOOL] = "0|1",
        [PARAM_NAME] = "name",
        [PARAM_SIZE] = "a dimension",
    };

    if (p->kind == PARAM_CHOICE) {
        (void)snprintf(text, size, "%.*s", (int)p->choices.len, p->choices.ptr);
    } else {
        (void)snprintf(text, size, "%s", names[p->kind]);
    }
    return text;
}

/* Choices, or tensors: narrow terminals may break the line behind each. */
static void say_list(const char *words, char mark, int column, int indent)
{
    strbuf loose = {NULL, 0, 0};

    if (!cli_is_narrow(stdout)) {
        puts(words);
        return;
    }
    for (; *words != '\0'; words++) {
        strbuf_add(&loose, *words == mark ? "%c " : "%c", *words);
    }
    cli_fold(stdout, strbuf_text(&loose), column, indent);
    strbuf_clear(&loose);
}

static void show_schema(const op_schema *s)
{
    const int is_narrow = cli_is_narrow(stdout);
    strbuf dims = {NULL, 0, 0};
    char text[1024];

    printf("%s: ", s->info->name);
    say_words(s->info->summary, (int)strlen(s->info->name) + 2, 4);
    strbuf_add(&dims, "dimensions:");
    for (int i = 0; i < s->n_dims; i++) {
        strbuf_add(&dims, " %s", s->dims[i]);
    }
    puts("");
    say_words(strbuf_text(&dims), 0, 4);
    strbuf_clear(&dims);
    puts("parameters (default first):");
    for (int i = 0; i < s->n_params; i++) {
        printf(is_narrow ? "  %s %s\n      of " : "  %-12s %s  of ",
               s->params[i].key, s->params[i].standard);
        say_list(kind_name(&s->params[i], text, sizeof text), '|', 9, 6);
    }
    fill_data_kinds(s->info->name, text, sizeof text);
    printf(is_narrow ? "  %s\n      " : "  %-12s ", "data");
    say_words(text, 6, 6);
    printf("inputs:  ");
    say_list(s->info->in, ';', 9, 4);
    printf("outputs: ");
    say_list(s->info->out, ';', 9, 4);
}

static void show_tensor(const test_case *c, const host_tensor *t)
{
    const tensor_view *v = view_of(c->schema->info->name, t->name);
    const code_format *f = code_format_by_name(view_format(v, c, t));
    const int pack = view_pack(v, c, t);
    const uint64_t n = tensor_elems(t) * (uint64_t)pack;
    char shape[128];
    strbuf values = {NULL, 0, 0};

    view_shape(t, shape, sizeof shape);
    printf(cli_is_narrow(stdout) ? "  %s %s\n     " : "  %-12s %-16s", t->name,
           shape);
    for (uint64_t i = 0; i < n && i < VALUES_SHOWN; i++) {
        const uint64_t stored = tensor_load(t, i / (uint64_t)pack);
        const uint64_t code =
            pack == 2 ? stored >> (4 * (i % 2)) & 0xf : stored;
        const int digits = pack == 2 ? 1 : 2 * (int)dtype_bytes(t->dtype);
        strbuf_add(&values, " %0*" PRIx64 "=%.9g", digits, code,
                   f == NULL ? dtype_value(t->dtype, code)
                             : code_value(f, code));
    }
    strbuf_add(&values, "%s", n > VALUES_SHOWN ? " ..." : "");
    say_words(strbuf_text(&values), 5, 5);
    strbuf_clear(&values);
}

static int show_outputs(const test_case *c, const tensor_set *in)
{
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = {c->schema->info->name, params,
                          (uint32_t)c->schema->n_params, in};
    char why[384];
    const mxo_text text = {why, sizeof why};
    tensor_set out = {0};
    subject emulator;
    run_checks d;
    mxo_status status = subject_open(&emulator, mxo_emulator(), 0, text);

    case_params(c, params);
    if (status == MXO_OK) {
        status = subject_infer(&emulator, &call, &out, text);
    }
    if (status == MXO_OK) {
        status = subject_run(&emulator, &call, &out, &d, text);
    }
    puts("outputs, by the emulator");
    for (uint32_t i = 0; status == MXO_OK && i < out.n; i++) {
        show_tensor(c, &out.t[i]);
    }
    tensor_set_clear(&out);
    subject_close(&emulator);
    return status == MXO_OK ? EXIT_PASS
                            : cli_refuse("the emulator refuses it: %s", why);
}

static int show_case(const char *text, uint64_t seed)
{
    char why[512];
    char canonical[CASE_TEXT];
    tensor_set in = {0};
    test_case c;
    int status;

    if (case_parse(&c, text, (mxo_text){why, sizeof why}) != 0 ||
        fill_inputs(&c, seed, &in, (mxo_text){why, sizeof why}) != 0) {
        tensor_set_clear(&in);
        return cli_refuse("%s", why);
    }
    case_print(&c, 1, canonical);
    printf("%s\ninputs, seed %" PRIu64 "\n", canonical, seed);
    for (uint32_t i = 0; i < in.n; i++) {
        show_tensor(&c, &in.t[i]);
    }
    status = show_outputs(&c, &in);
    tensor_set_clear(&in);
    return status;
}

int cmd_show(int argc, char **argv)
{
    run_options o;
    int status = run_options_parse(
        &o, OPTIONS_show,
        "show [OPTION]... OP|CASE|data...\n\n"
        "The keys of an operation; of a case its inputs, and its outputs by "
        "the\nemulator; or what each kind of data is for.",
        argc, argv);

    if (status >= 0) {
        return status;
    }
    if (o.n_args == 0) {
        return cli_refuse("show needs an operation, a case, or the word data");
    }
    status = EXIT_PASS;
    for (int i = 0; status == EXIT_PASS && i < o.n_args; i++) {
        const op_schema *s = op_by_name(o.args[i]);
        if (strcmp(o.args[i], "data") == 0) {
            status = show_data();
        } else if (s != NULL) {
            show_schema(s);
        } else {
            status = show_case(o.args[i], o.seed);
        }
    }
    return status;
}
