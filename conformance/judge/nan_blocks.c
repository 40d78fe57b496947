/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle tells the codes of a NaN block, so that no layout is known here.
 * In plain order it gives the scale bytes; on an input that is
 * 1 in the NaN blocks and 0 elsewhere it gives codes that are not zero exactly
 * where those blocks lie.
 */
#include "nan_blocks.h"

#include "base/codes.h"
#include "views.h"

#include <string.h>

enum { BLOCK = 32, SCALE_NAN = 255 };

typedef struct nan_blocks_row {
    const char *op;
    const char *input;
    const char *axis;
    const char *codes;
    const char *scale;
    const char *key;
    const char *values;
    const char *plain;
} nan_blocks_row;

static const nan_blocks_row rows[] = {
#define MXO_NAN_BLOCKS(op, input, axis, codes, scale, key, values, plain) \
    {op, input, axis, codes, scale, key, values, plain},
#include "nan_blocks.def"
#undef MXO_NAN_BLOCKS
};

static const nan_blocks_row *row_for(const test_case *c)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const word_span values = {rows[i].values, strlen(rows[i].values)};

        if (strcmp(rows[i].op, c->schema->info->name) == 0 &&
            span_lists(values, case_value(c, rows[i].key))) {
            return &rows[i];
        }
    }
    return NULL;
}

/* 0, or -1: a setting is none of the operation's. */
static int make_plain(const nan_blocks_row *r, test_case *c)
{
    word_span rest = {r->plain, strlen(r->plain)};
    char sentence[SUBJECT_TEXT];

    while (rest.len > 0) {
        word_span setting = span_cut(&rest, ' ');
        const word_span key = span_cut(&setting, '=');
        char name[OP_WORD];
        char value[OP_WORD];

        if (!span_copy(key, name) || !span_copy(setting, value) ||
            case_set(c, name, value, (mxo_text){sentence, sizeof sentence}) !=
                0) {
            return -1;
        }
    }
    return 0;
}

/* The oracle's answer to a case on given inputs; 0, or -1. */
static int ask(judge *j, const test_case *c, const tensor_set *in,
               tensor_set *out)
{
    mxo_param params[OP_MAX_PARAMS];
    char sentence[SUBJECT_TEXT];
    const mxo_text why = {sentence, sizeof sentence};
    const op_call call = {c->schema->info->name, params,
                          (uint32_t)c->schema->n_params, in};
    run_checks d;

    case_params(c, params);
    return subject_infer(&j->oracle, &call, out, why) == MXO_OK &&
                   subject_run(&j->oracle, &call, out, &d, why) == MXO_OK
               ? 0
               : -1;
}

/* Write 1 to the elements of x in NaN blocks and 0 to the others; how many
   blocks there are. */
static uint64_t mark(host_tensor *x, uint32_t axis, const host_tensor *scale)
{
    const code_format *f = dtype_format(x->dtype);
    const uint64_t one = f == NULL ? 0 : code_nearest(f, 1);
    const uint64_t len = x->shape[axis];
    const uint64_t blocks = (len + BLOCK - 1) / BLOCK;
    uint64_t inner = 1;
    uint64_t found = 0;

    for (uint32_t r = axis + 1; r < x->rank; r++) {
        inner *= x->shape[r];
    }
    for (uint64_t i = 0; i < tensor_elems(x); i++) {
        const uint64_t l = i / inner % len;
        const uint64_t b =
            (i / inner / len * blocks + l / BLOCK) * inner + i % inner;
        const int is_nan = tensor_load(scale, b) == SCALE_NAN;

        tensor_store(x, i, is_nan ? one : 0);
        found += (uint64_t)(is_nan && l % BLOCK == 0);
    }
    return found;
}

/* One code of a byte under mask: the oracle's where the mark is not zero. */
static uint64_t settle_bits(uint64_t want, uint64_t got, uint64_t marked,
                            uint64_t mask)
{
    return (marked & mask) != 0 ? (got & ~mask) | (want & mask) : got;
}

static uint64_t settle_codes(const host_tensor *want, const host_tensor *marked,
                             int pack, host_tensor *got)
{
    const uint64_t low = pack == 2 ? 0x0f : 0xff;
    uint64_t changed = 0;

    for (uint64_t i = 0; i < tensor_elems(want); i++) {
        const uint64_t was = tensor_load(got, i);
        const uint64_t w = tensor_load(want, i);
        const uint64_t m = tensor_load(marked, i);
        const uint64_t now = settle_bits(w, was, m, low);
        const uint64_t both = settle_bits(w, now, m, 0xff & ~low);

        tensor_store(got, i, both);
        changed += both != was;
    }
    return changed;
}

/* The axis that a number of the case means. */
static uint32_t axis_of(const nan_blocks_row *r, const test_case *c,
                        const host_tensor *x)
{
    const int axis =
        strcmp(r->axis, "-") == 0 ? -1 : (int)case_number(c, r->axis);

    return (uint32_t)(axis < 0 ? axis + (int)x->rank : axis);
}

/* The codes of a call on marks. 0: there are NaN blocks. */
static int ask_marks(judge *j, const nan_blocks_row *r, const test_case *c,
                     const tensor_set *in, tensor_set *marked)
{
    tensor_set plain = {0};
    tensor_set ones = {0};
    test_case linear = *c;
    const host_tensor *x = tensor_set_find(in, r->input);
    host_tensor *at;
    int bad = -1;

    if (x != NULL && make_plain(r, &linear) == 0 &&
        ask(j, &linear, in, &plain) == 0 &&
        tensor_set_find(&plain, r->scale) != NULL &&
        tensor_set_add(&ones, x->name, x->dtype, x->rank, x->shape, &at) ==
            MXO_OK &&
        mark(at, axis_of(r, c, x), tensor_set_find(&plain, r->scale)) > 0) {
        bad = ask(j, c, &ones, marked);
    }
    tensor_set_clear(&plain);
    tensor_set_clear(&ones);
    return bad;
}

uint64_t nan_blocks_settle(judge *j, const test_case *c, const op_call *call,
                           const tensor_set *want, tensor_set *got)
{
    const nan_blocks_row *r = row_for(c);
    const host_tensor *w = r == NULL ? NULL : tensor_set_find(want, r->codes);
    host_tensor *g = r == NULL ? NULL : tensor_set_find(got, r->codes);
    tensor_set marked = {0};
    uint64_t changed = 0;

    if (w == NULL || g == NULL || w->n_bytes == 0 ||
        memcmp(w->data, g->data, (size_t)w->n_bytes) == 0) {
        return 0;
    }
    if (ask_marks(j, r, c, call->in, &marked) == 0) {
        const host_tensor *m = tensor_set_find(&marked, r->codes);
        const int pack = view_pack(view_of(call->op, r->codes), c, w);

        if (m != NULL && m->n_bytes == w->n_bytes) {
            changed = settle_codes(w, m, pack, g);
        }
    }
    tensor_set_clear(&marked);
    return changed;
}
