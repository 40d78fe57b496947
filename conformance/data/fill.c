/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors filled by the rows of their family; see fill.h. */
#include "fill.h"

#include "case/profile_fact.h"
#include "fill_loaded.h"
#include "fills.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Bits above a code of fewer than eight are zero, as in every tensor that a
   quantiser wrote, unless the data ask for them.  Pairs of E2M1 have none. */
static void keep_to_width(const test_case *c, const op_input *spec,
                          host_tensor *t)
{
    const code_format *f = fill_element(c);
    const uint64_t n = strcmp(spec->dtype, "$element") != 0 || f->bits != 6 ||
                               strcmp(c->data, "highbits") == 0
                           ? 0
                           : tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, tensor_load(t, i) & 0x3f);
    }
}

static int fill_one(const test_case *c, int i, const char *text, uint64_t seed,
                    tensor_set *in, mxo_text why)
{
    const op_input *spec = &c->schema->inputs[i];
    uint64_t shape[MXO_MAX_RANK];
    uint32_t dtype;
    host_tensor *t;
    prng rng;

    if (case_input(c, i, &dtype, shape, why) != 0) {
        return -1;
    }
    if (tensor_set_add(in, spec->name, dtype, spec->rank, shape, &t) !=
        MXO_OK) {
        (void)snprintf(why.ptr, why.size, "%s does not fit in memory",
                       spec->name);
        return -1;
    }
    prng_seed(&rng, seed_of(seed, text, spec->name));
    if (tensor_elems(t) > 0) { /* what fills one may divide by its extents */
        family_fill_of(c, spec->name)(c, t, &rng);
    }
    keep_to_width(c, spec, t);
    return 0;
}

/* Zero what a shrunk case does not keep, in the inputs of the first's size. */
static void blank(const test_case *c, tensor_set *in)
{
    const uint64_t n = in->n == 0 ? 0 : tensor_elems(&in->t[0]);

    for (uint32_t i = 0; i < in->n && !case_keeps_all(c); i++) {
        host_tensor *t = &in->t[i];
        for (uint64_t k = 0; tensor_elems(t) == n && k < n; k++) {
            if (k < c->keep_first || k > c->keep_last) {
                tensor_store(t, k, 0);
            }
        }
    }
}

/* Does the case's profile leave open what scale bytes 0 and 255 mean? */
static int has_open_ends(const test_case *c)
{
    return op_param_index(c->schema, "profile") >= 0 &&
           op_param_index(c->schema, "weight_rule") >= 0 &&
           strcmp(case_value(c, "weight_rule"), "profile") == 0 &&
           strcmp(profile_fact(case_value(c, "profile"), "scale_ends"),
                  "open") == 0;
}

/* Nothing can be judged behind a byte whose meaning is not known: its
   neighbour stands in for it.  Experts that no token chose keep theirs. */
static void leave_out_ends(const test_case *c, tensor_set *in)
{
    static const char *const names[] = {"w13_scale", "w2_scale"};

    for (int i = 0; i < 2 && strcmp(c->data, "poisoned") != 0; i++) {
        host_tensor *t = tensor_set_find(in, names[i]);
        const uint64_t n = t == NULL ? 0 : tensor_elems(t);
        for (uint64_t k = 0; k < n; k++) {
            const uint64_t byte = tensor_load(t, k);
            tensor_store(t, k, byte == 0 ? 1 : byte == 255 ? 254 : byte);
        }
    }
}

/* The part of the case that has a part in the seed: blanking must not change
   what is kept, nor the stretch what is not swept, nor a fault what is good,
   nor a loader what it found. */
static test_case seed_case(const test_case *c)
{
    test_case whole = *c;

    for (int i = 0; i < c->schema->n_inputs; i++) {
        const int loader = c->schema->inputs[i].conversion;
        if (loader >= 0) {
            whole.value[loader][0] = '\0';
        }
    }
    whole.flaw[0] = '\0';
    whole.stretch = 0;
    whole.keep_first = 0;
    whole.keep_last = UINT64_MAX;
    return whole;
}

int fill_checkpoint(const test_case *c, uint64_t seed, tensor_set *in,
                    mxo_text why)
{
    char text[CASE_TEXT];
    const test_case whole = seed_case(c);

    case_print(&whole, 1, text);
    for (int i = 0; i < c->schema->n_inputs; i++) {
        if (case_has_input(c, i) && fill_one(c, i, text, seed, in, why) != 0) {
            return -1;
        }
    }
    if (has_open_ends(c)) {
        leave_out_ends(c, in);
    }
    blank(c, in);
    return 0;
}

int fill_inputs(const test_case *c, uint64_t seed, tensor_set *in, mxo_text why)
{
    return fill_checkpoint(c, seed, in, why) != 0 ? -1 : fill_load(c, in, why);
}

int fill_check_memory(const test_case *c, mxo_text why)
{
    uint64_t left = tensor_room();
    uint64_t shape[MXO_MAX_RANK];
    uint32_t dtype;

    for (int i = 0; i < c->schema->n_inputs; i++) {
        const op_input *input = &c->schema->inputs[i];

        if (!case_has_input(c, i) ||
            case_input(c, i, &dtype, shape, why) != 0) {
            continue; /* a shape at fault is the run's to say */
        }
        const uint64_t n = tensor_dense_bytes(dtype, input->rank, shape);

        if (n > left) {
            (void)snprintf(why.ptr, why.size,
                           "%s: its inputs take more than half of this "
                           "machine's memory (%" PRIu64 " MiB), at %s",
                           c->schema->info->name, tensor_room() >> 20,
                           input->name);
            return -1;
        }
        left -= n;
    }
    return 0;
}

uint64_t fill_bytes(const test_case *c)
{
    uint64_t shape[MXO_MAX_RANK];
    uint32_t dtype;
    uint64_t n = 0;
    char why[128];

    for (int i = 0; i < c->schema->n_inputs; i++) {
        if (case_has_input(c, i) &&
            case_input(c, i, &dtype, shape, (mxo_text){why, sizeof why}) == 0) {
            const uint64_t more =
                tensor_dense_bytes(dtype, c->schema->inputs[i].rank, shape);
            n = more > UINT64_MAX / 4 - n ? UINT64_MAX / 4 : n + more;
        }
    }
    return n;
}
