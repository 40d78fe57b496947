/* SPDX-License-Identifier: Apache-2.0 */
/* See fill_loaded.h. */
#include "fill_loaded.h"

#include "base/prng.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUTS = 16, PARAMS = 5, Y = 0, VALID = 1 };

/* "none" for a tensor that is the checkpoint's. */
static const char *loader_of(const test_case *c, int i)
{
    const int key = c->schema->inputs[i].conversion;

    return key < 0 ? "none" : c->value[key];
}

int fill_has_loader(const test_case *c)
{
    int has = 0;

    for (int i = 0; i < c->schema->n_inputs; i++) {
        has = has || strcmp(loader_of(c, i), "none") != 0;
    }
    return has;
}

static void describe(mxo_tensor *t, const host_tensor *h, const char *name)
{
    memset(t, 0, sizeof *t);
    t->name = name;
    t->dtype = h->dtype;
    t->rank = h->rank;
    memcpy(t->shape, h->shape, sizeof t->shape);
    t->n_bytes = h->n_bytes;
    t->buffer = h->data;
}

/* "ID.TENSOR/parameters" of "ID/parameters". */
static void layout_name(const char *conversion, const char *tensor,
                        char layout[2 * OP_WORD])
{
    const size_t id = strcspn(conversion, "/");

    (void)snprintf(layout, 2 * OP_WORD, "%.*s.%s%s", (int)id, conversion,
                   tensor, conversion + id);
}

/* One call of the emulator, whose buffers are host memory; or only what it
   would give, zeros. */
static mxo_status move(const char *layout, const mxo_tensor *x, int only_shapes,
                       tensor_set *out, mxo_text why)
{
    const mxo_backend *emu = mxo_emulator();
    const mxo_param params[PARAMS] = {{"layout", layout, 0},
                                      {"dtype", dtype_name(x->dtype), 0},
                                      {"dir", "forward", 0},
                                      {"keep_rows", "0", 0},
                                      {"keep_cols", "0", 0}};
    mxo_tensor made[OUTPUTS];
    uint32_t n = OUTPUTS;
    mxo_call call = {.struct_size = sizeof call,
                     .n_params = PARAMS,
                     .n_in = 1,
                     .op = "layout.apply",
                     .params = params,
                     .in = x,
                     .out = made};
    MXO_TRY(emu->infer(NULL, &call, made, &n, why));

    for (uint32_t i = 0; i < n; i++) {
        host_tensor *t;
        MXO_TRY(tensor_set_add(out, made[i].name, made[i].dtype, made[i].rank,
                               made[i].shape, &t));
        describe(&made[i], t, made[i].name);
    }
    call.n_out = n;
    return !only_shapes ? emu->run(NULL, &call, why) : MXO_OK;
}

/* Random bytes in undefined elements. */
static void spoil(host_tensor *y, const host_tensor *valid)
{
    prng rng;

    prng_seed(&rng, seed_of(0, y->name, "undefined"));
    for (uint64_t i = 0; i < tensor_elems(y); i++) {
        if (tensor_load(valid, i) == 0) {
            tensor_store(y, i, prng_next(&rng));
        }
    }
}

/* A tensor through its chain: a bias is one column, and stays a matrix. */
static mxo_status load(const char *conversion, host_tensor *t, int only_shapes,
                       mxo_text why)
{
    const int is_bias = t->rank == 2;
    const uint64_t experts = t->shape[0];
    char layout[2 * OP_WORD];
    tensor_set out = {0};
    mxo_tensor x;

    describe(&x, t, "x");
    if (is_bias) {
        x.rank = 3;
        x.shape[2] = 1;
    }
    layout_name(conversion, t->name, layout);
    const mxo_status status = move(layout, &x, only_shapes, &out, why);

    if (status == MXO_OK) {
        host_tensor *y = &out.t[Y];
        memcpy(y->name, t->name, sizeof y->name);
        if (!only_shapes) {
            spoil(y, &out.t[VALID]);
        }
        if (is_bias) {
            y->shape[1] = experts == 0 ? 0 : tensor_elems(y) / experts;
            y->rank = 2;
        }
        free(t->data);
        *t = *y;
        y->data = NULL;
    }
    tensor_set_clear(&out);
    return status;
}

static int load_all(const test_case *c, tensor_set *in, int only_shapes,
                    mxo_text why)
{
    for (int i = 0; i < c->schema->n_inputs; i++) {
        const op_input *input = &c->schema->inputs[i];
        host_tensor *t = tensor_set_find(in, input->name);
        if (t == NULL || strcmp(loader_of(c, i), "none") == 0) {
            continue;
        }
        if (load(loader_of(c, i), t, only_shapes, why) == MXO_E_NOMEM) {
            (void)snprintf(why.ptr, why.size, "%s does not fit in memory",
                           input->name);
            return -1;
        }
    }
    return 0;
}

int fill_load(const test_case *c, tensor_set *in, mxo_text why)
{
    return load_all(c, in, 0, why);
}

int fill_load_shapes(const test_case *c, tensor_set *in, mxo_text why)
{
    return load_all(c, in, 1, why);
}

int fill_load_copy(const test_case *c, const tensor_set *checkpoint,
                   tensor_set *in, mxo_text why)
{
    for (uint32_t i = 0; i < checkpoint->n; i++) {
        const host_tensor *t = &checkpoint->t[i];
        host_tensor *copy;
        if (tensor_set_add(in, t->name, t->dtype, t->rank, t->shape, &copy) !=
            MXO_OK) {
            (void)snprintf(why.ptr, why.size, "%s does not fit in memory",
                           t->name);
            return -1;
        }
        if (t->n_bytes > 0) {
            memcpy(copy->data, t->data, (size_t)t->n_bytes);
        }
    }
    return fill_load(c, in, why);
}
