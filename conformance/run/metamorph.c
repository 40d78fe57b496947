/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A property is a row: which operations have it, how the second call is made
 * from the first (derive.h), and what its answer must be.  Where the call is
 * another one, that is the oracle's: rows of its first answer, or what it
 * gives to each part; under an open exponential anything between the ends of
 * the same rows.  Where it is the same call once more, it is the subject's own
 * first answer, bit for bit.
 */
#include "metamorph.h"

#include "base/cli.h"
#include "case/profile_fact.h"
#include "data/fill_loaded.h"
#include "requantise_check.h"
#include "variant_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Layers above this many products, and tensors above this many elements, are
   asked only once; parts are for layers that are cheaper still. */
enum {
    CHEAP = 1 << 19,
    CHEAP_PARTS = 1 << 18,
    FEW = 1 << 12,
    MANY = 5,
    MAX_PARTS = 6,
    BLOCK = 32
};

typedef enum relation {
    ROWS_SAME,
    ROWS_REVERSED,
    ROWS_LAST,
    ROWS_PAIRED, /* row i is row i - i % 2 */
    ROWS_AGAIN,  /* the subject's own */
    PARTS,       /* calls of their own, which add up for the oracle */
    SAME_AGAIN   /* the subject's own, where it is so for the oracle */
} relation;

/* Where parts end. */
typedef enum cut_kind {
    CUT_NONE,
    CUT_EVEN,
    CUT_FIRST,  /* the first alone, and the rest */
    CUT_EACH,   /* one by one */
    CUT_BLOCKS, /* even, on a block of 32 */
    CUT_UNEVEN  /* sizes as 1, 2, 3, ..., and never on a block */
} cut_kind;

typedef struct property {
    const char *name;
    const char *op; /* a pattern */
    const char *axis;
    derive_how how;
    cut_kind cut;
    uint64_t parts; /* 0: as many as there are entries */
    relation relation;
} property;

static const property properties[] = {
    {"experts in reverse order", "moe.layer", "experts", DERIVE_REVERSED,
     CUT_NONE, 1, ROWS_SAME},
    {"tokens in reverse order", "moe.layer*", "tokens", DERIVE_REVERSED,
     CUT_NONE, 1, ROWS_REVERSED},
    {"the last token alone", "moe.layer*", "tokens", DERIVE_LAST, CUT_NONE, 1,
     ROWS_LAST},
    {"all tokens, right after one alone", "moe.layer*", "tokens", DERIVE_WHOLE,
     CUT_NONE, 1, ROWS_AGAIN},
    {"every token twice", "moe.layer*", "tokens", DERIVE_PAIRS, CUT_NONE, 1,
     ROWS_PAIRED},
    {"rows of NaN behind the tokens", "moe.layer*", "tokens", DERIVE_GROWN,
     CUT_NONE, 1, ROWS_SAME},
    {"experts in two halves", "moe.layer*", "experts", DERIVE_SLICE, CUT_EVEN,
     2, PARTS},
    {"the first expert alone and the rest", "moe.layer*", "experts",
     DERIVE_SLICE, CUT_FIRST, 2, PARTS},
    {"every expert alone", "moe.layer*", "experts", DERIVE_SLICE, CUT_EACH, 0,
     PARTS},
    {"two shards of the intermediate", "moe.layer*", "inter", DERIVE_SHARD,
     CUT_BLOCKS, 2, PARTS},
    {"two shards that share a block", "moe.layer*", "inter", DERIVE_SHARD,
     CUT_UNEVEN, 2, PARTS},
    {"three shards of the intermediate", "moe.layer*", "inter", DERIVE_SHARD,
     CUT_BLOCKS, 3, PARTS},
    {"three shards that share blocks", "moe.layer*", "inter", DERIVE_SHARD,
     CUT_UNEVEN, 3, PARTS},
    {"five shards that share blocks", "moe.layer*", "inter", DERIVE_SHARD,
     CUT_UNEVEN, 5, PARTS},
    {"weights in the checkpoint's order", "moe.layer*", "", DERIVE_UNLOADED,
     CUT_NONE, 1, ROWS_SAME},
    {"quantised numbers quantised again", "*", "", DERIVE_WHOLE, CUT_NONE, 1,
     SAME_AGAIN},
};

typedef struct trial {
    const first_call *first;
    const property *p;
    accepted_range *room; /* of the first answer */
} trial;

/* Products of the layer; 0 for another operation. */
static uint64_t products(const test_case *c)
{
    const uint64_t slots = case_dim(c, "topk") > 0
                               ? case_dim(c, "topk")
                               : (uint64_t)case_number(c, "top_k");

    return case_dim(c, "tokens") * slots * case_dim(c, "hidden") *
           case_dim(c, "inter");
}

static uint64_t most_elements(const tensor_set *set)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < set->n; i++) {
        const uint64_t n = tensor_elems(&set->t[i]);
        most = n > most ? n : most;
    }
    return most;
}

static int is_layer(const test_case *c)
{
    return strncmp(c->schema->info->name, "moe.layer", 9) == 0;
}

/* A whole layer whose answer no order of summation changes. */
static int is_plain_layer(const test_case *c, const tensor_set *want)
{
    return is_layer(c) && strcmp(c->data, "orderfree") == 0 &&
           case_keeps_all(c) && case_value(c, "map")[0] == '0' &&
           case_value(c, "bounds")[0] == '0' && want->n == 1 &&
           case_dim(c, "tokens") > 1 && case_dim(c, "experts") > 1 &&
           case_dim(c, "hidden") > 0 && case_dim(c, "inter") > 0 &&
           products(c) <= CHEAP;
}

static uint64_t n_parts(const trial *t)
{
    return t->p->parts != 0 ? t->p->parts : case_dim(t->first->c, t->p->axis);
}

/* Where part i begins, of n entries in all; part n_parts begins at the end. */
static uint64_t begin(const trial *t, uint64_t i)
{
    const uint64_t n = case_dim(t->first->c, t->p->axis);
    const uint64_t parts = n_parts(t);
    const uint64_t uneven = n * (i * (i + 1)) / (parts * (parts + 1));

    if (i == 0 || i == parts) {
        return i == 0 ? 0 : n;
    }
    switch (t->p->cut) {
    case CUT_FIRST:
    case CUT_EACH:
        return i;
    case CUT_BLOCKS:
        return (n * i / parts + BLOCK - 1) / BLOCK * BLOCK;
    case CUT_UNEVEN:
        return uneven + (uneven % BLOCK == 0);
    default:
        return n * i / parts;
    }
}

/* Has every part something, and are they few and cheap together? */
static int is_cut_small(const trial *t)
{
    const uint64_t parts = n_parts(t);

    if (t->p->cut == CUT_NONE || t->p->cut == CUT_EVEN) {
        return 1;
    }
    for (uint64_t i = 0; parts <= MAX_PARTS && i < parts; i++) {
        if (begin(t, i) >= begin(t, i + 1)) {
            return 0;
        }
    }
    return case_dim(t->first->c, t->p->axis) > 2 && parts <= MAX_PARTS &&
           (t->p->cut == CUT_EACH ? 2 : parts) * products(t->first->c) <=
               2 * CHEAP_PARTS;
}

/* One more call of the first one's size at most. */
static int is_cheap(const property *p)
{
    return p->relation != PARTS && p->how != DERIVE_GROWN;
}

/* Whether a token's rows are in the order of the experts' numbers. */
static int sums_by_number(const test_case *c)
{
    const char *own =
        op_param_index(c->schema, "sum") < 0 ? "" : case_value(c, "sum");
    const char *sum = strcmp(own, "profile") == 0
                          ? profile_fact(case_value(c, "profile"), "sum")
                          : own;

    return strcmp(sum, "by_expert") == 0 || strcmp(sum, "experts_bf16") == 0;
}

static int applies(const trial *t)
{
    const first_call *f = t->first;

    if (!cli_matches(t->p->op, f->c->schema->info->name) ||
        (t->p->how == DERIVE_UNLOADED && !fill_has_loader(f->c)) ||
        (t->p->how == DERIVE_REVERSED && strcmp(t->p->axis, "experts") == 0 &&
         sums_by_number(f->c))) {
        return 0;
    }
    if (t->p->relation == SAME_AGAIN) {
        return idempotence_holds(f->c) && case_keeps_all(f->c) &&
               products(f->c) <= CHEAP &&
               (is_layer(f->c) || most_elements(f->in) <= FEW);
    }
    return is_plain_layer(f->c, f->want) && is_cut_small(t) &&
           (is_cheap(t->p) || case_dim(f->c, "tokens") >= MANY);
}

static derivation part_of(const trial *t, uint64_t part, const host_tensor *x)
{
    const uint64_t first = begin(t, part);
    const derivation d = {t->p->how, t->p->axis, first,
                          begin(t, part + 1) - first, x};

    return d;
}

static void blame(const trial *t, uint64_t part, const char *why, verdict *v)
{
    char which[64] = "";

    if (n_parts(t) > 1) {
        (void)snprintf(which, sizeof which, ", part %" PRIu64 " of %" PRIu64,
                       part + 1, n_parts(t));
    }
    verdict_conclude(v, VERDICT_FAIL, "metamorphic", "%s%s: %s", t->p->name,
                     which, why);
}

/* Two elements that should be alike: number i of got, number k of want. */
typedef struct element_pair {
    const host_tensor *got, *want;
    uint64_t i, k;
} element_pair;

/* is_open: it is beyond its ends as well. */
static void blame_element(const trial *t, uint64_t part, const element_pair *e,
                          int is_open, verdict *v)
{
    char why[SUBJECT_TEXT];
    const host_tensor *y = e->want;
    const int digits = (int)dtype_bytes(y->dtype) * 2;
    const uint64_t n =
        y->rank > 1 && y->shape[y->rank - 1] > 0 ? y->shape[y->rank - 1] : 1;

    (void)snprintf(why, sizeof why,
                   "row %" PRIu64 " of %s is not that of %s%s: column %" PRIu64
                   " has %0*" PRIx64 ", not %0*" PRIx64,
                   e->i / n, y->name,
                   t->p->relation == PARTS ? "the oracle" : "the first call",
                   is_open ? ", nor between its ends" : "", e->i % n, digits,
                   tensor_load(e->got, e->i), digits, tensor_load(y, e->k));
    blame(t, part, why, v);
}

/* The row of the first answer that row i must be. */
static uint64_t row_for(const trial *t, uint64_t i)
{
    const uint64_t last = t->first->want->t[0].shape[0] - 1;

    switch (t->p->relation) {
    case ROWS_REVERSED:
        return last - i;
    case ROWS_LAST:
        return last;
    case ROWS_PAIRED:
        return i - i % 2;
    default:
        return i;
    }
}

static void compare_rows(const trial *t, const host_tensor *got, verdict *v)
{
    const int is_own = t->p->relation == ROWS_AGAIN;
    const host_tensor *want =
        is_own ? &t->first->got->t[0] : &t->first->want->t[0];
    const uint64_t cols = want->shape[1];
    const uint64_t rows =
        got->shape[0] < want->shape[0] ? got->shape[0] : want->shape[0];

    for (uint64_t i = 0; i < rows * cols && v->status == VERDICT_PASS; i++) {
        const uint64_t k = row_for(t, i / cols) * cols + i % cols;
        if (!variant_is_equal(got, i, want, k) &&
            (is_own || !accepted_range_holds(t->room, k, got, i))) {
            const element_pair e = {got, want, i, k};
            blame_element(t, 0, &e, !is_own && t->room->is_open, v);
        }
    }
}

static void check_rows(const trial *t, verdict *v)
{
    const first_call *f = t->first;
    const derivation d = part_of(t, 0, NULL);
    variant_call s;
    tensor_set out = {0};

    if (variant_make(&s, f->j, &d, f->c, f->checkpoint) == 0) {
        if (variant_ask(&s, &f->j->subject, &out) == MXO_OK) {
            compare_rows(t, &out.t[0], v);
        } else if (s.is_red) {
            blame(t, 0, s.why, v);
        }
    }
    variant_clear(&s);
    tensor_set_clear(&out);
}

static int is_zero(const host_tensor *t, uint64_t i)
{
    return dtype_value(t->dtype, tensor_load(t, i)) == 0;
}

/* An empty sum, of one row or none, is zero of either sign. */
static void compare_part(const trial *t, uint64_t part, const variant_call *s,
                         const host_tensor *want, const host_tensor *got,
                         verdict *v)
{
    accepted_range room = {.j = s->j, .c = &s->c, .in = &s->in, .want = want};

    for (uint64_t i = 0; i < tensor_elems(want) && v->status == VERDICT_PASS;
         i++) {
        if (!variant_is_equal(got, i, want, i) &&
            !(is_zero(got, i) && is_zero(want, i)) &&
            !accepted_range_holds(&room, i, got, i)) {
            const element_pair e = {got, want, i, i};
            blame_element(t, part, &e, room.is_open, v);
        }
    }
    bound_clear(&room.ends);
}

static void check_part(const trial *t, uint64_t part, verdict *v)
{
    const first_call *f = t->first;
    const derivation d = part_of(t, part, NULL);
    variant_call s;
    tensor_set want = {0};
    tensor_set got = {0};

    if (variant_make(&s, f->j, &d, f->c, f->checkpoint) == 0 &&
        variant_ask(&s, &f->j->oracle, &want) == MXO_OK) {
        if (variant_ask(&s, &f->j->subject, &got) == MXO_OK) {
            compare_part(t, part, &s, &want.t[0], &got.t[0], v);
        } else if (s.is_red) {
            blame(t, part, s.why, v);
        }
    }
    variant_clear(&s);
    tensor_set_clear(&want);
    tensor_set_clear(&got);
}

static void compare_again(const trial *t, const tensor_set *good,
                          const tensor_set *got, verdict *v)
{
    for (uint32_t o = 0; o < t->first->want->n; o++) {
        const host_tensor *want = &t->first->want->t[o];
        for (uint64_t i = 0;
             i < tensor_elems(want) && v->status == VERDICT_PASS; i++) {
            if (variant_is_equal(&good->t[o], i, want, i) &&
                !variant_is_equal(&got->t[o], i, &t->first->got->t[o], i)) {
                const element_pair e = {&got->t[o], &t->first->got->t[o], i, i};
                blame_element(t, 0, &e, 0, v);
            }
        }
    }
}

static void check_again(const trial *t, verdict *v)
{
    const first_call *f = t->first;
    variant_call s = {0};
    tensor_set given = {0};
    tensor_set good = {0};
    tensor_set got = {0};

    if (idempotence_inputs(&f->j->oracle, f->c, f->in, f->want, &given)) {
        const derivation d = part_of(t, 0, &given.t[0]);
        if (variant_make(&s, f->j, &d, f->c, f->checkpoint) == 0 &&
            variant_ask(&s, &f->j->oracle, &good) == MXO_OK &&
            variant_ask(&s, &f->j->subject, &got) == MXO_OK) {
            compare_again(t, &good, &got, v);
        } else if (s.is_red) {
            blame(t, 0, s.why, v);
        }
    }
    variant_clear(&s);
    tensor_set_clear(&given);
    tensor_set_clear(&good);
    tensor_set_clear(&got);
}

static void check(const trial *t, verdict *v)
{
    switch (t->p->relation) {
    case PARTS:
        for (uint64_t i = 0; i < n_parts(t) && v->status == VERDICT_PASS; i++) {
            check_part(t, i, v);
        }
        break;
    case SAME_AGAIN:
        check_again(t, v);
        break;
    default:
        check_rows(t, v);
        break;
    }
}

/* Was the first answer equal, but for the bits of a NaN, or all that it may
   be off by the room of an open exponential?  Sums that the order rounds may
   come out another way for the same numbers in other bytes. */
static int is_settled(const first_call *f, const verdict *v)
{
    return strcmp(v->rule, "bits") == 0 || strcmp(v->rule, "exact_nan") == 0 ||
           (f->want->n > 0 &&
            bound_is_spare(bound_row_for(f->c, f->want->t[0].name), f->c));
}

void metamorph_check(const first_call *f, verdict *v)
{
    const size_t n = sizeof properties / sizeof properties[0];
    accepted_range room = {
        .j = f->j, .c = f->c, .in = f->in, .want = f->want->t};

    for (size_t i = 0; i < n && v->status == VERDICT_PASS && is_settled(f, v);
         i++) {
        const trial t = {f, &properties[i], &room};
        if (applies(&t)) {
            check(&t, v);
        }
    }
    bound_clear(&room.ends);
}
