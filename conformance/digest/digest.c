/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One hash of what the emulator answers on a grid of cases, inputs included,
 * and of what `mxoracle fuzz` draws.
 * ci/digest builds this program with several compilers, optimisation levels
 * and machines (x87, 64-bit Arm, big-endian) and requires one and the same
 * line everywhere.  -p asks one case in 13 and -pp one in 91, for what is
 * slow; who asks more prints those digests too.  -v prints a line per case, so
 * that two machines that disagree can be compared with diff.
 */
#include "case/grid.h"
#include "data/fill.h"
#include "draw/draw.h"

#include <mxoracle/mxoracle.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OUT = 16, N_PARTS = 3, DRAWN = 500 };

typedef struct hash {
    uint64_t state;
} hash;

/* FNV-1a; multi-byte elements enter least significant byte first. */
static void hash_byte(hash *h, uint8_t byte)
{
    h->state = (h->state ^ byte) * UINT64_C(0x100000001b3);
}

static void hash_tensor(hash *h, const host_tensor *t)
{
    const uint64_t n = tensor_elems(t);
    const uint32_t bytes = dtype_bytes(t->dtype);

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t code = tensor_load(t, i);
        for (uint32_t b = 0; b < bytes; b++) {
            hash_byte(h, (uint8_t)(code >> (8 * b)));
        }
    }
}

static void describe(mxo_tensor *to, const host_tensor *from)
{
    to->name = from->name;
    to->dtype = from->dtype;
    to->rank = from->rank;
    memcpy(to->shape, from->shape, sizeof to->shape);
    to->n_bytes = from->n_bytes;
    to->offset = 0;
    to->buffer = from->data;
}

/* Buffers for what infer() announced. */
static mxo_status allocate(tensor_set *out, mxo_tensor *t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        host_tensor *added;
        const mxo_status status = tensor_set_add(out, t[i].name, t[i].dtype,
                                                 t[i].rank, t[i].shape, &added);
        if (status != MXO_OK) {
            return status;
        }
        describe(&t[i], added);
    }
    return MXO_OK;
}

static mxo_status answer(const test_case *c, const tensor_set *in,
                         tensor_set *out, mxo_text why)
{
    const mxo_backend *emu = mxo_emulator();
    mxo_param params[OP_MAX_PARAMS];
    mxo_tensor in_tensor[OP_MAX_INPUTS];
    mxo_tensor out_tensor[MAX_OUT];
    uint32_t n_out = MAX_OUT;
    mxo_call call = {sizeof call,
                     (uint32_t)c->schema->n_params,
                     in->n,
                     0,
                     c->schema->info->name,
                     params,
                     in_tensor,
                     out_tensor};

    case_params(c, params);
    for (uint32_t i = 0; i < in->n; i++) {
        describe(&in_tensor[i], &in->t[i]);
    }
    MXO_TRY(emu->infer(NULL, &call, out_tensor, &n_out, why));
    MXO_TRY(allocate(out, out_tensor, n_out));
    call.n_out = n_out;
    return emu->run(NULL, &call, why);
}

/* The hash of one case: its inputs, then its outputs or its refusal. */
static uint64_t hash_case(const case_item *item)
{
    char sentence[256] = "";
    const mxo_text why = {sentence, sizeof sentence};
    static tensor_set in;
    static tensor_set out;
    hash h = {UINT64_C(0xcbf29ce484222325)};
    test_case c;

    if (case_parse(&c, item->text, why) != 0 ||
        fill_inputs(&c, item->seed, &in, why) != 0) {
        fprintf(stderr, "digest: %s: %s\n", item->text, sentence);
        exit(99);
    }
    const mxo_status status = answer(&c, &in, &out, why);

    hash_byte(&h, (uint8_t)status);
    for (uint32_t i = 0; i < in.n; i++) {
        hash_tensor(&h, &in.t[i]);
    }
    for (uint32_t i = 0; status == MXO_OK && i < out.n; i++) {
        hash_tensor(&h, &out.t[i]);
    }
    tensor_set_clear(&in);
    tensor_set_clear(&out);
    return h.state;
}

/* DRAWN cases as fuzz prints them, half of them of a changed record. */
static uint64_t hash_drawn(mxo_text why)
{
    char every_operation[] = "*";
    char *every[] = {every_operation};
    hash h = {UINT64_C(0xcbf29ce484222325)};
    draw_plan plan;
    draw_record r;
    prng rng;

    if (draw_plan_make(&plan, every, 1, why) != 0) {
        fprintf(stderr, "digest: %s\n", why.ptr);
        exit(99);
    }
    prng_seed(&rng, 1);
    for (int i = 0; i < DRAWN; i++) {
        test_case c;
        uint64_t seed;
        char text[CASE_TEXT];
        if (i % 2 == 0) {
            draw_random(&plan, &rng, &r);
        } else {
            draw_mutate(&plan, &rng, &r);
        }
        draw_decode(&plan, r.byte, sizeof r.byte, &c, &seed);
        case_print(&c, 0, text);
        for (const char *s = text; *s != '\0'; s++) {
            hash_byte(&h, (uint8_t)*s);
        }
        hash_byte(&h, (uint8_t)seed);
    }
    draw_plan_clear(&plan);
    return h.state;
}

int main(int argc, char **argv)
{
    const int verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    static const size_t every[N_PARTS] = {1, 13, 91};
    const int first = argc > 1 && strcmp(argv[1], "-p") == 0    ? 1
                      : argc > 1 && strcmp(argv[1], "-pp") == 0 ? 2
                                                                : 0;
    char sentence[256] = "";
    const mxo_text why = {sentence, sizeof sentence};
    case_list list = {0};
    uint64_t sum[N_PARTS];

    if (grid_append(&list, 2, NULL, 0, 1, why) != 0) {
        fprintf(stderr, "digest: %s\n", sentence);
        return 99;
    }
    sum[0] = sum[1] = sum[2] = hash_drawn(why);
    if (verbose) {
        printf("%016" PRIx64 " %d drawn\n", sum[0], DRAWN);
    }
    for (size_t i = 0; i < list.n; i += every[first]) {
        const uint64_t h = hash_case(&list.item[i]);
        /* Sums: the digests do not depend on the order of the grid. */
        for (int p = 0; p < N_PARTS; p++) {
            sum[p] += i % every[p] == 0 ? h : 0;
        }
        if (verbose) {
            printf("%016" PRIx64 " %s\n", h, list.item[i].text);
        }
    }
    for (int p = first; p < N_PARTS; p++) {
        printf("digest %016" PRIx64 " of %zu cases, one in %zu\n", sum[p],
               list.n, every[p]);
    }
    case_list_clear(&list);
    return 0;
}
