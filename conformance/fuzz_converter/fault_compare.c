/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A converted file, tensor by tensor, against the one that convert makes.
 * Tensors of experts are bits: another name of a type of the same width, or a
 * view of another rank, is no fault.  All other tensors are copies.
 */
#include "base/tensors.h"
#include "fault.h"
#include "layout/converted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1200, SHAPE = 96 };

/* Both files, those of other ranks, and which tensors of the right one belong
   to layers. */
typedef struct files {
    checkpoint expected;
    checkpoint actual;
    const rank_files *others;
    uint8_t *is_expert; /* owned */
} files;

static void print_shape(const checkpoint_tensor *t, char text[SHAPE])
{
    int n = snprintf(text, SHAPE, "%.20s[", t->dtype);

    for (uint32_t i = 0; i < t->rank && n < SHAPE - 24; i++) {
        n += snprintf(text + n, SHAPE - (size_t)n, "%s%" PRIu64,
                      i == 0 ? "" : ",", t->shape[i]);
    }
    (void)snprintf(text + n, SHAPE - (size_t)n, "]");
}

static int same_shape(const checkpoint_tensor *a, const checkpoint_tensor *b)
{
    return a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

/* CONVERSION_FAULT_NONE if b may stand for a. */
static int form_fault(const checkpoint_tensor *a, const checkpoint_tensor *b,
                      int is_expert)
{
    if (!same_shape(a, b) && !(is_expert && converted_has_shape(a, b))) {
        return CONVERSION_FAULT_WRONG_SHAPE;
    }
    if (strcmp(a->dtype, b->dtype) != 0 &&
        !(is_expert && converted_has_width(a, b))) {
        return CONVERSION_FAULT_WRONG_TYPE;
    }
    return CONVERSION_FAULT_NONE;
}

/* 1 if b is there and has the form of a; else the finding is told. */
static int has_form(conversion_fault *f, const checkpoint_tensor *a,
                    const checkpoint_tensor *b, const char *role)
{
    char line[LINE];
    char is[SHAPE];
    char wanted[SHAPE];
    const int is_expert = strcmp(role, "copied tensor") != 0;

    if (b == NULL) {
        conversion_fault_add(f, CONVERSION_FAULT_MISSING_TENSOR, role, "",
                             a->name);
        return 0;
    }
    const int fault = form_fault(a, b, is_expert);

    if (fault != CONVERSION_FAULT_NONE) {
        print_shape(a, wanted);
        print_shape(b, is);
        (void)snprintf(line, sizeof line, "%.600s is %s, not %s", a->name, is,
                       wanted);
        conversion_fault_add(f, fault, role, "", line);
    }
    return fault == CONVERSION_FAULT_NONE;
}

/* Bytes of a layer's tensor: which mistake is it? */
static void compare_bytes(conversion_fault *f, converted_tensor *t,
                          const char *role)
{
    pair *p = &t->pair;
    char text[400] = "";
    strbuf said = {0};

    if ((f->is_brief && f->word == CONVERSION_FAULT_WRONG_BYTES) ||
        memcmp(p->expected, p->actual, (size_t)p->n) == 0) {
        return;
    }
    if (!t->has_extent || !pair_is_whole(p, (mxo_text){text, sizeof text})) {
        conversion_fault_add(f, CONVERSION_FAULT_WRONG_BYTES, role, "",
                             t->name);
    } else if (pair_compare(p, &said, text, sizeof text)) {
        conversion_fault_add(f, CONVERSION_FAULT_WRONG_BYTES, role, text,
                             strbuf_text(&said));
    }
    strbuf_clear(&said);
}

/* 1 if it is wrong and what another rank's should be. */
static int compare_ranks(conversion_fault *f, const files *c,
                         const checkpoint_tensor *a, const checkpoint_tensor *b,
                         int i)
{
    char line[LINE];
    char text[160];

    if (memcmp(a->bytes, b->bytes, (size_t)a->n_bytes) == 0 ||
        !ranks_name(c->others, b, i, text, sizeof text)) {
        return 0;
    }
    (void)snprintf(line, sizeof line, "%.600s: %s", a->name, text);
    conversion_fault_add(f, CONVERSION_FAULT_WRONG_BYTES, converted_role(i),
                         text, line);
    return 1;
}

static void compare_expert(conversion_fault *f, files *c, converted_tensor *t,
                           int i)
{
    const checkpoint_tensor *a = checkpoint_find(&c->expected, t->name);
    const checkpoint_tensor *b = checkpoint_find(&c->actual, t->name);

    if (a == NULL) {
        return; /* a conversion that leaves the biases out */
    }
    c->is_expert[a - c->expected.tensor] = 1;
    if (has_form(f, a, b, converted_role(i)) && !compare_ranks(f, c, a, b, i)) {
        t->pair.expected = a->bytes;
        t->pair.actual = b->bytes;
        t->pair.n = a->n_bytes;
        compare_bytes(f, t, converted_role(i));
    }
}

static void compare_layers(conversion_fault *f, files *c)
{
    const char *conversion = checkpoint_meta(&c->expected, META_LAYOUT);
    const char *text = checkpoint_meta(&c->expected, META_LAYERS);
    json_t *layers = text == NULL ? NULL : json_loads(text, 0, NULL);
    size_t k;
    json_t *layer;

    json_array_foreach(layers, k, layer)
    {
        for (int i = 0; i < LAYER_TENSORS; i++) {
            converted_tensor t;
            if (converted_tensor_of(layer, conversion, i, &t)) {
                compare_expert(f, c, &t, i);
            }
        }
    }
    json_decref(layers);
}

/* Tensors of no layer are copied: type, shape and bytes. */
static void compare_rest(conversion_fault *f, const files *c)
{
    for (size_t i = 0; i < c->expected.n; i++) {
        const checkpoint_tensor *a = &c->expected.tensor[i];
        const checkpoint_tensor *b = checkpoint_find(&c->actual, a->name);
        if (!c->is_expert[i] && has_form(f, a, b, "copied tensor") &&
            memcmp(a->bytes, b->bytes, (size_t)a->n_bytes) != 0) {
            conversion_fault_add(f, CONVERSION_FAULT_WRONG_BYTES,
                                 "copied tensor", "", a->name);
        }
    }
    for (size_t i = 0; i < c->actual.n; i++) {
        const char *name = c->actual.tensor[i].name;
        if (checkpoint_find(&c->expected, name) == NULL) {
            conversion_fault_add(f, CONVERSION_FAULT_EXTRA_TENSOR, "", "",
                                 name);
        }
    }
}

int conversion_fault_compare(conversion_fault *f, const char *expected,
                             const char *actual, const rank_files *others,
                             int experts_only, mxo_text why)
{
    char text[600] = "";
    files c = {.others = others};
    int status = checkpoint_open(expected, &c.expected, why);

    if (status == 0 &&
        checkpoint_open(actual, &c.actual, (mxo_text){text, sizeof text})) {
        conversion_fault_add(f, CONVERSION_FAULT_BAD_OUTPUT, "", "", text);
    } else if (status == 0) {
        c.is_expert = calloc(c.expected.n + 1, 1);
        if (c.is_expert != NULL) {
            compare_layers(f, &c);
        }
        if (c.is_expert != NULL && !experts_only) {
            compare_rest(f, &c);
        }
    }
    free(c.is_expert);
    checkpoint_close(&c.actual);
    checkpoint_close(&c.expected);
    return status;
}
