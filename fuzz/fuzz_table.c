/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of plugins, and what operations say of themselves: a table is refused
 * by a sentence or has all that the judge will use of it, a description is
 * refused or its parts name each other.
 *
 * An input of a table is "t", two bytes of members that are missing, two of
 * the version and the size, then words that end with a zero byte: name,
 * version, an operation, and what it says of itself.  Every other input is a
 * description: parameters and inputs, between them a zero byte.
 */
#include "case/opinfo.h"
#include "run/backends.h"
#include "target.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096, N_WORDS = 7 };

static mxo_backend table;

static void die(const char *what)
{
    (void)fprintf(stderr, "%s\nrepro: a plugin with this table\n", what);
    abort();
}

static const mxo_backend *the_table(void)
{
    return &table;
}

/* A function of each type that is there and is never called. */
static mxo_status no_open(void **ctx, int device, mxo_text why)
{
    (void)ctx;
    (void)device;
    (void)why;
    abort();
}

static void no_close(void *ctx)
{
    (void)ctx;
    abort();
}

static void make_whole(const mxo_backend *emu)
{
    table = *emu;
    table.open = no_open;
    table.close = no_close;
    table.limits = NULL;
}

/* Without the members whose bits are set. */
static void leave_out(uint32_t bits)
{
    table.name = (bits & 1) != 0 ? NULL : table.name;
    table.version = (bits & 2) != 0 ? NULL : table.version;
    table.ops = (bits & 4) != 0 ? NULL : table.ops;
    table.op_info = (bits & 8) != 0 ? NULL : table.op_info;
    table.open = (bits & 16) != 0 ? NULL : table.open;
    table.close = (bits & 32) != 0 ? NULL : table.close;
    table.describe = (bits & 64) != 0 ? NULL : table.describe;
    table.alloc = (bits & 128) != 0 ? NULL : table.alloc;
    table.dealloc = (bits & 256) != 0 ? NULL : table.dealloc;
    table.upload = (bits & 512) != 0 ? NULL : table.upload;
    table.download = (bits & 1024) != 0 ? NULL : table.download;
    table.synchronize = (bits & 2048) != 0 ? NULL : table.synchronize;
    table.run = (bits & 4096) != 0 ? NULL : table.run;
}

static void check_taken(const mxo_backend *b)
{
    if (b->name == NULL || b->name[0] == '\0' ||
        strlen(b->name) >= BACKEND_NAME || b->version == NULL ||
        b->ops == NULL || b->abi_version != MXO_ABI_VERSION ||
        b->struct_size > sizeof *b) {
        die("a table without what every table has is taken");
    }
    if (b->open == NULL || b->close == NULL || b->describe == NULL ||
        b->alloc == NULL || b->dealloc == NULL || b->upload == NULL ||
        b->download == NULL || b->synchronize == NULL || b->run == NULL) {
        die("a table without a function is taken");
    }
}

/* An operation of the judge's, described otherwise, is another one. */
static void check_described(const mxo_op_info *theirs)
{
    const op_schema *ours = op_by_name(theirs->name);

    if (ours != NULL &&
        (theirs->params[0] == NULL || theirs->in == NULL ||
         theirs->out == NULL ||
         strcmp(theirs->params[0], ours->info->params[0]) != 0 ||
         strcmp(theirs->in, ours->info->in) != 0)) {
        die("an operation that is described otherwise is taken");
    }
}

/* "." leaves a word out; "=" takes the judge's own of that operation. */
static const char *word_or(const char *word, const char *ours)
{
    return strcmp(word, ".") == 0 ? NULL : strcmp(word, "=") == 0 ? ours : word;
}

static void read_table(const uint8_t head[4], const char *const word[N_WORDS])
{
    const op_schema *known = op_by_name(word[2]);
    const mxo_op_info none = {"", "", {""}, "", ""};
    const mxo_op_info *ours = known == NULL ? &none : known->info;
    const mxo_op_info info[] = {{word[2],
                                 word[3],
                                 {word_or(word[4], ours->params[0])},
                                 word_or(word[5], ours->in),
                                 word_or(word[6], ours->out)},
                                {NULL, NULL, {NULL}, NULL, NULL}};
    const char *const ops[] = {word[2], NULL};
    backend_ref ref = {.name = "table", .linked = the_table};
    const mxo_backend *taken = NULL;
    char why[512] = "";

    make_whole(mxo_emulator());
    table.name = word[0];
    table.version = word[1];
    table.ops = ops;
    table.op_info = info;
    table.abi_version += head[2];
    table.struct_size += head[3];
    leave_out(head[0] | (uint32_t)head[1] << 8);
    if (backend_load(&ref, &taken, (mxo_text){why, sizeof why}) == MXO_OK) {
        check_taken(taken);
        if (taken->op_info != NULL) {
            check_described(&info[0]);
        }
    } else if (why[0] == '\0') {
        die("a table is refused without a word");
    }
}

static void check_extent(const op_schema *s, const op_extent *e)
{
    if (e->dim >= s->n_dims || e->by >= s->n_params || e->divisor == 0 ||
        e->multiple == 0 ||
        (e->by >= 0 && s->params[e->by].kind != PARAM_INT)) {
        die("an extent of nothing");
    }
}

static void check_schema(const op_schema *s)
{
    if (s->n_params > OP_MAX_PARAMS || s->n_inputs > OP_MAX_INPUTS ||
        s->n_dims > OP_MAX_DIMS) {
        die("more than there is room for");
    }
    for (int i = 0; i < s->n_params; i++) {
        const op_param *p = &s->params[i];
        if ((p->kind == PARAM_CHOICE && !span_lists(p->choices, p->standard)) ||
            (p->kind == PARAM_SIZE && op_dim_index(s, p->standard) < 0)) {
            die("a default that is no value");
        }
    }
    for (int i = 0; i < s->n_inputs; i++) {
        const op_input *in = &s->inputs[i];
        if (in->rank > MXO_MAX_RANK || in->when >= s->n_params ||
            in->conversion >= s->n_params) {
            die("an input of other parameters");
        }
        for (uint32_t k = 0; k < in->rank; k++) {
            check_extent(s, &in->shape[k]);
        }
    }
}

static void read_schema(const char *params, const char *in)
{
    static op_schema s;
    const mxo_op_info info = {"input", "", {params}, in, ""};
    char why[512] = "";

    if (op_schema_parse(&s, &info, (mxo_text){why, sizeof why}) == 0) {
        check_schema(&s);
    } else if (why[0] == '\0') {
        die("a description is refused without a word");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char text[LONGEST + N_WORDS] = "";
    const char *word[N_WORDS];
    const int is_table = n >= 5 && bytes[0] == 't';
    const size_t from = is_table ? 5 : 0;

    if (n > from) {
        memcpy(text, bytes + from, n - from < LONGEST ? n - from : LONGEST - 1);
    }
    word[0] = text;
    for (int i = 1; i < N_WORDS; i++) {
        const char *end = word[i - 1] + strlen(word[i - 1]);
        word[i] = end < text + LONGEST ? end + 1 : end;
    }
    if (is_table) {
        read_table(bytes + 1, word);
    } else {
        read_schema(word[0], word[1]);
    }
    return 0;
}
