/* SPDX-License-Identifier: Apache-2.0 */
/* layout.convert: the chains of a row of conversions.def, step by step. */
#include "broken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS = 6, CHAIN = 256 };

typedef struct conversion {
    const char *id;
    const char *params;
    const char *chain[TENSORS];
} conversion;

static const conversion rows[] = {
#define MXO_CONVERSION(id, params, needs, bias, w13, w13_scale, w13_bias, w2, \
                       w2_scale, w2_bias, source)                             \
    {id, params, {w13, w13_scale, w13_bias, w2, w2_scale, w2_bias}},
#include <mxoracle/conversions.def>
#undef MXO_CONVERSION
};

static const char *const names[TENSORS] = {"w13", "w13_scale", "w13_bias",
                                           "w2",  "w2_scale",  "w2_bias"};

static const conversion *find(const char *name)
{
    const size_t n = strcspn(name, "/");

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strlen(rows[i].id) == n && strncmp(rows[i].id, name, n) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* "key=value" among words; the value, up to a separator. */
static const char *value_in(const char *words, const char *key, size_t n)
{
    for (const char *p = words; (p = strstr(p, key)) != NULL; p++) {
        if (strncmp(p, key, n) == 0 && p[n] == '=') {
            return p + n + 1;
        }
    }
    return NULL;
}

/* Is each "/key=value" behind the name a parameter of the row? */
static int knows(const conversion *c, const char *name)
{
    int known = 1;

    for (const char *p = name; (p = strchr(p, '/')) != NULL && known;) {
        const size_t n = strspn(++p, "abcdefghijklmnopqrstuvwxyz_0123456789");
        char key[32];

        (void)snprintf(key, sizeof key, "%.*s", (int)n, p);
        known = n > 0 && p[n] == '=' && value_in(c->params, key, n) != NULL;
    }
    return known;
}

/* The chain with $name filled in. */
static void fill_in(const conversion *c, const char *name, const char *chain,
                    char *to)
{
    while (*chain != '\0') {
        if (*chain != '$') {
            *to++ = *chain++;
            continue;
        }
        char key[32];
        const size_t n = strspn(++chain, "abcdefghijklmnopqrstuvwxyz_");
        (void)snprintf(key, sizeof key, "%.*s", (int)n, chain);
        const char *value = value_in(name, key, n);
        value = value == NULL ? value_in(c->params, key, n) : value;
        chain += n;
        while (value != NULL && strchr(" /", *value) == NULL) {
            *to++ = *value++;
        }
    }
    *to = '\0';
}

/* Everything, or one expert, as it came; 0 if it has another size. */
static int leave(const mxo_tensor *x, const mxo_tensor *y, uint64_t experts)
{
    const uint64_t n =
        x->shape[0] == 0 ? 0 : x->n_bytes / x->shape[0] * experts;

    if (x->n_bytes != y->n_bytes) {
        return 0;
    }
    memcpy(tensor_address(y) + y->n_bytes - n,
           tensor_address(x) + x->n_bytes - n, (size_t)n);
    return 1;
}

/* First step into memory of its own, second one out of it. */
static mxo_status two_steps(const broken *b, const char *first,
                            const char *second, broken_step step, mxo_text why)
{
    const mxo_tensor *y = step.y;
    const mxo_tensor *valid = step.valid;
    const int widens = strncmp(first, "vllm.bias_f32", 13) == 0;
    mxo_tensor middle = *step.x;

    middle.n_bytes = step.x->n_bytes * (widens ? 2 : 1);
    middle.dtype = widens ? MXO_F32 : middle.dtype;
    middle.offset = 0;
    middle.buffer = malloc((size_t)middle.n_bytes + 1);
    if (middle.buffer == NULL) {
        return broken_fail(MXO_E_NOMEM, why, "no memory for a step");
    }
    step.y = &middle;
    step.valid = NULL;
    mxo_status status = broken_move(b, first, &step, why);

    if (status == MXO_OK) {
        step.x = &middle;
        step.y = y;
        step.valid = valid;
        status = broken_move(b, second, &step, why);
    }
    free(middle.buffer);
    return status;
}

static mxo_status convert(const broken *b, const char *chain, broken_step step,
                          mxo_text why)
{
    char first[CHAIN];
    const char *plus = strstr(chain, " + ");

    if (plus == NULL) {
        return broken_move(b, chain, &step, why);
    }
    (void)snprintf(first, sizeof first, "%.*s", (int)(plus - chain), chain);
    return two_steps(b, first, plus + 3, step, why);
}

static int is_left(const broken *b, int i)
{
    return (IS(L16) && i % 3 == 0) || (IS(L16b) && i % 3 == 1) ||
           (IS(L43) && i % 3 == 2);
}

static mxo_status convert_one(const broken *b, const mxo_call *call,
                              const conversion *c, int i, int only_check,
                              mxo_text why)
{
    const char *name = call_text(call, "conversion");
    char valid[32];
    char chain[CHAIN];
    mxo_tensor x = *call_in(call, names[i]);

    (void)snprintf(valid, sizeof valid, "%s_valid", names[i]);
    const broken_step step = {&x, call_out(call, names[i]),
                              call_out(call, valid), 0, only_check};

    if (x.rank == 2) {
        x.shape[2] = 1;
        x.rank = 3;
    }
    fill_in(c, name, c->chain[IS(L45) && i == 3 ? 0 : i], chain);
    const mxo_status status = convert(b, chain, step, why);

    if (status == MXO_OK && !only_check && (is_left(b, i) || IS(L44))) {
        (void)leave(&x, step.y, IS(L44) ? 1 : x.shape[0]);
    }
    return status;
}

mxo_status broken_layout_convert(const broken *b, const mxo_call *call,
                                 mxo_text why)
{
    const conversion *c = find(call_text(call, "conversion"));

    if (c == NULL || call_number(call, "input_scale") != 0) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "no such conversion here");
    }
    if (!knows(c, call_text(call, "conversion")) && !IS(RF59)) {
        return broken_fail(MXO_E_PARAM, why, "no such parameter here");
    }
    /* All six are checked before the first is written. */
    for (int at = 0; at < 2 * TENSORS; at++) {
        const int i = at % TENSORS;
        if (call_in(call, names[i]) != NULL &&
            call_out(call, names[i]) != NULL) {
            MXO_TRY(convert_one(b, call, c, i, at < TENSORS, why));
        }
    }
    return MXO_OK;
}
