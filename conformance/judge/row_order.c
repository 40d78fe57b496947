/* SPDX-License-Identifier: Apache-2.0 */
/* See row_order.h. */
#include "row_order.h"

#include <stdlib.h>
#include <string.h>

typedef struct row_order {
    const char *op;
    const char *layout;
    const char *rows;
    const char *inverse;
    const char *moved;
    const char *ids;
    int has_slots;
} row_order;

static const row_order orders[] = {
#define MXO_ROW_ORDER(op, layout, rows, inverse, moved, ids, slots) \
    {op, layout, rows, inverse, moved, ids, slots},
#include "row_order.def"
#undef MXO_ROW_ORDER
};

/* One call on its way. */
typedef struct settling {
    const row_order *o;
    const host_tensor *ids;
    const host_tensor *want;
    host_tensor *got;
    host_tensor *inverse; /* NULL: none */
    host_tensor *moved;   /* NULL: none */
    uint64_t *place;      /* row of the subject that names each pair */
    uint64_t *from;       /* row of the subject for each row of the oracle */
    uint64_t *kept;       /* former content of moved */
} settling;

static const row_order *order_for(const test_case *c)
{
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        if (strcmp(orders[i].op, c->schema->info->name) == 0 &&
            strcmp(orders[i].layout, case_value(c, "layout")) == 0) {
            return &orders[i];
        }
    }
    return NULL;
}

int row_order_is_free(const test_case *c)
{
    return order_for(c) != NULL;
}

/* The pair that a word of a row names; UINT64_MAX: none. */
static uint64_t pair_of(const settling *s, uint64_t word)
{
    const uint64_t slots = s->ids->shape[1];
    const uint64_t pair =
        s->o->has_slots ? (word & 0xffffff) * slots + (word >> 24) : word;
    const int is_pad = s->o->has_slots && word >> 24 >= slots;

    return is_pad || pair >= tensor_elems(s->ids) ? UINT64_MAX : pair;
}

/* One past the rows from a on that the oracle gives to the same expert; a if
   row a is a pad. */
static uint64_t end_of(const settling *s, uint64_t a)
{
    const uint64_t first = pair_of(s, tensor_load(s->want, a));
    uint64_t b = a;

    if (first == UINT64_MAX) {
        return a;
    }
    while (b < tensor_elems(s->want)) {
        const uint64_t pair = pair_of(s, tensor_load(s->want, b));
        if (pair == UINT64_MAX ||
            tensor_load(s->ids, pair) != tensor_load(s->ids, first)) {
            break;
        }
        b++;
    }
    return b;
}

/* Where the subject has the rows a .. b - 1 of the oracle; 0: it has other
   pairs there, or says otherwise of a pair.  Of two rows with one pair the
   first counts; what place says of pairs that are elsewhere is outside. */
static int find_rows(const settling *s, uint64_t a, uint64_t b)
{
    for (uint64_t at = b; at-- > a;) {
        const uint64_t pair = pair_of(s, tensor_load(s->got, at));

        if (pair != UINT64_MAX) {
            s->place[pair] = at;
        }
    }
    for (uint64_t i = a; i < b; i++) {
        const uint64_t pair = pair_of(s, tensor_load(s->want, i));
        const uint64_t at = s->place[pair];

        if (at < a || at >= b ||
            (s->inverse != NULL && tensor_load(s->inverse, pair) != at)) {
            return 0;
        }
        s->from[i] = at;
    }
    return 1;
}

/* Rows a .. b - 1 in the oracle's order; how many moved. */
static uint64_t reorder(settling *s, uint64_t a, uint64_t b)
{
    uint64_t n = 0;

    for (uint64_t i = a; i < b && s->moved != NULL; i++) {
        s->kept[i] = tensor_load(s->moved, s->from[i]);
    }
    for (uint64_t i = a; i < b; i++) {
        const uint64_t word = tensor_load(s->want, i);

        n += s->from[i] != i;
        tensor_store(s->got, i, word);
        if (s->inverse != NULL) {
            tensor_store(s->inverse, pair_of(s, word), i);
        }
        if (s->moved != NULL) {
            tensor_store(s->moved, i, s->kept[i]);
        }
    }
    return n;
}

static uint64_t settle(settling *s)
{
    const uint64_t rows = tensor_elems(s->want);
    uint64_t n = 0;

    for (uint64_t a = 0; a < rows;) {
        const uint64_t b = end_of(s, a);

        n += b > a && find_rows(s, a, b) ? reorder(s, a, b) : 0;
        a = b > a ? b : a + 1;
    }
    return n;
}

uint64_t row_order_settle(const test_case *c, const op_call *call,
                          const tensor_set *want, tensor_set *got)
{
    const row_order *o = order_for(c);
    settling s = {.o = o};
    uint64_t n = 0;

    if (o == NULL) {
        return 0;
    }
    s.ids = tensor_set_find(call->in, o->ids);
    s.want = tensor_set_find(want, o->rows);
    s.got = tensor_set_find(got, o->rows);
    s.inverse = tensor_set_find(got, o->inverse);
    s.moved = tensor_set_find(got, o->moved);
    if (s.ids == NULL || s.want == NULL || s.got == NULL ||
        s.want->n_bytes == 0 ||
        memcmp(s.want->data, s.got->data, (size_t)s.want->n_bytes) == 0) {
        return 0;
    }
    s.place = malloc((tensor_elems(s.ids) + 1) * sizeof *s.place);
    for (uint64_t i = 0; s.place != NULL && i < tensor_elems(s.ids); i++) {
        s.place[i] = UINT64_MAX;
    }
    s.from = calloc(tensor_elems(s.want), sizeof *s.from);
    s.kept = calloc(tensor_elems(s.want), sizeof *s.kept);
    n = s.place == NULL || s.from == NULL || s.kept == NULL ? 0 : settle(&s);
    free(s.place);
    free(s.from);
    free(s.kept);
    return n;
}
