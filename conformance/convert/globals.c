/* SPDX-License-Identifier: Apache-2.0 */
/* The global scales of an NVFP4 layer, there and back; see globals.h. */
#include "globals.h"

#include "base/cli.h"
#include "base/say.h"

#include <mxoracle/format.h>
#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 640, RAW = 4, DERIVED = 5 };

#define F32_2688 0x45280000u

/* In the order of the operation's results; 1: one number for the layer. */
static const char *const derived[DERIVED] = {
    "a1_gscale", "a2_gscale", "g1_alphas", "g1_scale_c", "g2_alphas"};

/* Fused tensor i: w13 and w2 of the weights' scale, then of the inputs'. */
static void raw_name(const moe_layer *l, int i, char name[NAME_ROOM])
{
    (void)snprintf(name, NAME_ROOM, "%s.%s_%s", l->prefix,
                   i % 2 == 0 ? "w13" : "w2", l->globals->kind[i / 2]);
}

static void derived_name(const moe_layer *l, int i, char name[NAME_ROOM])
{
    (void)snprintf(name, NAME_ROOM, "%s.%s", l->prefix, derived[i]);
}

/* Numbers of fused tensor i for one expert. */
static uint64_t raw_each(int i)
{
    return i % 2 == 0 ? 2 : 1;
}

/* Where layer_global_name has fused tensor i. */
static uint64_t raw_at(int i)
{
    return (uint64_t)(i % 2) * 2 + (uint64_t)(i / 2);
}

static int add(job *j, const char *name, uint32_t rank, uint64_t a, uint64_t b,
               mxo_text why)
{
    const uint64_t shape[2] = {a, b};
    const uint64_t n = rank == 0 ? 1 : rank == 1 ? a : a * b;

    if (sink_add(&j->sink, name, "F32", rank, shape, 4 * n) == SIZE_MAX) {
        (void)say(MXO_E_NOMEM, why, "no memory");
        return -1;
    }
    return 0;
}

static int add_raw(job *j, const moe_layer *l, const layer_part *p,
                   mxo_text why)
{
    int bad = 0;

    for (int i = 0; i < RAW && !bad; i++) {
        char name[NAME_ROOM];
        raw_name(l, i, name);
        bad = add(j, name, i % 2 == 0 ? 2 : 1, p->experts, 2, why);
    }
    return bad;
}

/* MLX's experts have no scale of their input, all others have. */
static int check_input_scale(const job *j, const moe_layer *l, mxo_text why)
{
    const int is_needed = l->globals != NULL && l->style->is_stacked;

    if (is_needed == (j->input_scale[0] != 0)) {
        return 0;
    }
    (void)say(MXO_E_PARAM, why,
              is_needed ? "layer %.200s: MLX keeps no scale of the input, "
                          "which %.60s takes: --input-scale=W13,W2 says both"
                        : "--input-scale is for MLX's experts in nvfp4: layer "
                          "%.200s, for %.60s, is none",
              l->prefix, j->conversion);
    return -1;
}

int globals_plan_forward(job *j, const moe_layer *l, const layer_part *p,
                         mxo_text why)
{
    int bad = check_input_scale(j, l, why) != 0 ||
              (l->globals != NULL && add_raw(j, l, p, why) != 0);

    for (int i = 0; l->globals != NULL && i < DERIVED && !bad; i++) {
        char name[NAME_ROOM];
        derived_name(l, i, name);
        bad = add(j, name, 1, i < 2 ? 1 : p->experts, 0, why);
    }
    return bad ? -1 : 0;
}

/* Files are little-endian. */
static uint32_t load_f32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static void store_f32(uint8_t *p, uint32_t x)
{
    for (int k = 0; k < 4; k++) {
        p[k] = (uint8_t)(x >> 8 * k);
    }
}

/* Of MLX's experts; without a global scale it is 2688, a factor of 1. */
static void gather_stacked(const job *j, const moe_layer *l, int i, uint8_t *to)
{
    const uint64_t each = raw_each(i);

    for (uint64_t n = 0; n < each * l->experts; n++) {
        const checkpoint_tensor *t = l->global[i % 2 == 0 ? n % 2 : 2];
        store_f32(to + 4 * n, i >= 2      ? j->input_scale[i % 2]
                              : t == NULL ? F32_2688
                                          : load_f32(t->bytes + n / each * 4));
    }
}

/* ModelOpt's scales of the weights from MLX's, as MLX divides. */
static void divide_stacked(const moe_layer *l, int i, uint8_t *numbers)
{
    for (uint64_t n = 0; i < 2 && n < raw_each(i) * l->experts; n++) {
        store_f32(numbers + 4 * n,
                  mxo_f32_div(load_f32(numbers + 4 * n), F32_2688));
    }
}

/* Fused tensor i of all experts, from wherever the checkpoint has it. */
static void gather(const job *j, const moe_layer *l, int i, uint8_t *to)
{
    const uint64_t each = raw_each(i);
    const uint64_t kind = (uint64_t)(i / 2);

    if (l->style->is_stacked) {
        gather_stacked(j, l, i, to);
        return;
    }
    if (l->style->is_transposed) {
        const uint8_t *one = l->global[raw_at(i)]->bytes;
        for (uint64_t e = 0; e < each * l->experts; e++) {
            memcpy(to + 4 * e, one, 4);
        }
        return;
    }
    if (!l->style->is_split) {
        const uint64_t at = raw_at(i);
        memcpy(to, l->global[at]->bytes, (size_t)(4 * each * l->experts));
        return;
    }
    for (uint64_t e = 0; e < l->experts; e++) {
        for (uint64_t k = 0; k < each; k++) {
            const uint64_t projection = i % 2 == 0 ? k : 2;
            memcpy(to + 4 * (e * each + k),
                   l->global[e * 6 + projection * 2 + kind]->bytes, 4);
        }
    }
}

/* A layer's scalars as buffers of the emulator. */
typedef struct scalars {
    void *ctx;
    mxo_tensor in[RAW];
    mxo_tensor out[MOVER_OUTPUTS];
    uint8_t *raw[RAW]; /* owned */
    uint8_t *derived[DERIVED];
} scalars;

static void release(scalars *s)
{
    const mxo_backend *emu = mxo_emulator();

    for (int i = 0; i < RAW; i++) {
        free(s->raw[i]);
        if (s->in[i].buffer != NULL) {
            emu->dealloc(s->ctx, s->in[i].buffer);
        }
    }
    for (int i = 0; i < DERIVED; i++) {
        free(s->derived[i]);
        if (s->out[i].buffer != NULL) {
            emu->dealloc(s->ctx, s->out[i].buffer);
        }
    }
    emu->close(s->ctx);
}

static int load(scalars *s, const job *j, const moe_layer *l, mxo_text why)
{
    static const char *const names[RAW] = {"w13_scale_2", "w2_scale_2",
                                           "w13_input_scale", "w2_input_scale"};
    const mxo_backend *emu = mxo_emulator();

    for (int i = 0; i < RAW; i++) {
        mxo_tensor *t = &s->in[i];
        const uint64_t n = 4 * raw_each(i) * l->experts;
        s->raw[i] = malloc((size_t)n);
        if (s->raw[i] == NULL || emu->alloc(s->ctx, n, &t->buffer) != MXO_OK) {
            (void)say(MXO_E_NOMEM, why, "no memory");
            return -1;
        }
        gather(j, l, i, s->raw[i]);
        t->name = names[i];
        t->dtype = MXO_F32;
        t->rank = i % 2 == 0 ? 2 : 1;
        t->shape[0] = l->experts;
        t->shape[1] = t->rank == 2 ? 2 : 0;
        t->n_bytes = n;
        if (l->style->is_stacked) {
            divide_stacked(l, i, s->raw[i]);
        }
        if (emu->upload(s->ctx, t->buffer, 0, s->raw[i], n, why) != MXO_OK) {
            return -1;
        }
        gather(j, l, i, s->raw[i]);
    }
    return 0;
}

/* The loader's scalars, from those of all experts of the layer. */
static int derive(scalars *s, const moe_layer *l, mxo_text why)
{
    const mxo_backend *emu = mxo_emulator();
    const mxo_param params[] = {
        {"scales", l->style->is_stacked ? "modelopt" : l->globals->scales, 0},
        {"scale_c", "product", 0}};
    mxo_call call = {.struct_size = sizeof call,
                     .n_params = 2,
                     .n_in = RAW,
                     .op = "moe.nvfp4_scalars",
                     .params = params,
                     .in = s->in,
                     .out = s->out};
    uint32_t n_out = MOVER_OUTPUTS;

    if (emu->infer(NULL, &call, s->out, &n_out, why) != MXO_OK) {
        return -1;
    }
    for (int i = 0; i < DERIVED; i++) {
        s->derived[i] = malloc((size_t)s->out[i].n_bytes);
        s->out[i].buffer = NULL;
        s->out[i].offset = 0;
        if (s->derived[i] == NULL || emu->alloc(s->ctx, s->out[i].n_bytes,
                                                &s->out[i].buffer) != MXO_OK) {
            (void)say(MXO_E_NOMEM, why, "no memory");
            return -1;
        }
    }
    call.n_out = n_out;
    int bad = emu->run(s->ctx, &call, why) != MXO_OK ||
              emu->synchronize(s->ctx, why) != MXO_OK;

    for (int i = 0; i < DERIVED && !bad; i++) {
        bad = emu->download(s->ctx, s->derived[i], s->out[i].buffer, 0,
                            s->out[i].n_bytes, why) != MXO_OK;
    }
    return bad ? -1 : 0;
}

/* The loader takes the gate's scale for both halves. */
static void note_halves(const moe_layer *l, const uint8_t *scale_2)
{
    uint64_t n = 0;

    for (uint64_t e = 0; e < l->experts; e++) {
        n += memcmp(scale_2 + 8 * e, scale_2 + 8 * e + 4, 4) != 0;
    }
    if (n > 0) {
        cli_line(stderr, 2,
                 "mxoracle: note: layer %.200s: gate and up have different %s "
                 "in %llu experts, the gate's is taken for both",
                 l->prefix, l->globals->kind[0], (unsigned long long)n);
    }
}

static int put(job *j, const scalars *s, const layer_part *p, size_t first,
               mxo_text why)
{
    int bad = 0;

    for (int i = 0; i < RAW && !bad; i++) {
        const uint64_t each = 4 * raw_each(i);
        bad = sink_put(&j->sink, first + (size_t)i, 0,
                       s->raw[i] + p->first_expert * each, p->experts * each,
                       NULL, why);
    }
    for (int i = 0; i < DERIVED && !bad; i++) {
        const uint64_t from = i < 2 ? 0 : 4 * p->first_expert;
        bad =
            sink_put(&j->sink, first + RAW + (size_t)i, 0, s->derived[i] + from,
                     i < 2 ? 4 : 4 * p->experts, NULL, why);
    }
    return bad ? -1 : 0;
}

int globals_run_forward(job *j, const moe_layer *l, const layer_part *p,
                        size_t first, mxo_text why)
{
    scalars s;

    memset(&s, 0, sizeof s);
    if (l->globals == NULL) {
        return 0;
    }
    if (mxo_emulator()->open(&s.ctx, 0, why) != MXO_OK) {
        return -1;
    }
    int bad = load(&s, j, l, why) != 0 || derive(&s, l, why) != 0;

    if (!bad) {
        note_halves(l, s.raw[0]);
        bad = put(j, &s, p, first, why) != 0;
    }
    release(&s);
    return bad ? -1 : 0;
}

static const checkpoint_tensor *raw_tensor(const job *j, const moe_layer *l,
                                           const layer_part *p, int i,
                                           mxo_text why)
{
    char name[NAME_ROOM];

    raw_name(l, i, name);
    const checkpoint_tensor *t = checkpoint_find(j->in, name);

    if (t == NULL || strcmp(t->dtype, "F32") != 0 ||
        t->n_bytes != 4 * raw_each(i) * p->experts) {
        (void)say(MXO_E_SHAPE, why, "%.300s is missing or has the wrong size",
                  name);
        return NULL;
    }
    return t;
}

int globals_plan_back(job *j, const moe_layer *l, const layer_part *p,
                      mxo_text why)
{
    int bad = 0;

    for (int i = 0; l->globals != NULL && i < RAW && !bad; i++) {
        bad = raw_tensor(j, l, p, i, why) == NULL;
    }
    if (bad || l->globals == NULL ||
        (!l->style->is_split && !l->style->is_transposed)) {
        return bad || (l->globals != NULL && add_raw(j, l, p, why)) ? -1 : 0;
    }
    for (uint64_t i = 0; i < layer_globals(l) && !bad; i++) {
        char name[NAME_ROOM];
        layer_global_name(l, l->globals, i, name, sizeof name);
        if (!l->style->is_stacked) {
            bad = add(j, name, l->global_rank, 1, 1, why);
        } else if (l->global_rank != 0) {
            bad = add(j, name, 1, p->experts, 1, why);
        }
    }
    return bad ? -1 : 0;
}

/* One number of all experts, where a checkpoint has but one. */
static int put_one(job *j, const checkpoint_tensor *t, size_t at, mxo_text why)
{
    for (uint64_t k = 4; k < t->n_bytes; k += 4) {
        if (memcmp(t->bytes, t->bytes + k, 4) != 0) {
            (void)say(MXO_E_SHAPE, why,
                      "%.300s has numbers that differ, where the checkpoint "
                      "has one for all experts",
                      t->name);
            return -1;
        }
    }
    return sink_put(&j->sink, at, 0, t->bytes, 4, NULL, why);
}

/* Numbers of fused tensor i of split projections to where they were. */
static int put_split(job *j, const moe_layer *l, const checkpoint_tensor *t,
                     int i, size_t first, mxo_text why)
{
    const uint64_t each = raw_each(i);
    int bad = 0;

    for (uint64_t k = 0; !bad && k < t->n_bytes / 4; k++) {
        const uint64_t projection = i % 2 == 0 ? k % 2 : 2;
        const uint64_t at = k / each * 6 + projection * 2 + (uint64_t)(i / 2);
        if (!l->style->is_stacked) {
            bad = sink_put(&j->sink, first + (size_t)at, 0, t->bytes + 4 * k, 4,
                           NULL, why);
        } else if (i < 2 && l->global_rank != 0) {
            bad = sink_put(&j->sink, first + (size_t)projection, 4 * (k / each),
                           t->bytes + 4 * k, 4, NULL, why);
        }
    }
    return bad;
}

int globals_run_back(job *j, const moe_layer *l, const layer_part *p,
                     size_t first, mxo_text why)
{
    for (int i = 0; l->globals != NULL && i < RAW; i++) {
        const checkpoint_tensor *t = raw_tensor(j, l, p, i, why);
        int bad = t == NULL;

        if (!bad && l->style->is_transposed) {
            bad = put_one(j, t, first + (size_t)raw_at(i), why);
        } else if (!bad && !l->style->is_split) {
            bad = sink_put(&j->sink, first + (size_t)i, 0, t->bytes, t->n_bytes,
                           NULL, why);
        }
        if (!bad && l->style->is_split) {
            bad = put_split(j, l, t, i, first, why);
        }
        if (bad) {
            return -1;
        }
    }
    return 0;
}

int globals_made(const moe_layer *l, const char *name)
{
    char made[NAME_ROOM];
    int found = 0;

    for (int i = 0; l->globals != NULL && i < RAW + DERIVED; i++) {
        if (i < RAW) {
            raw_name(l, i, made);
        } else {
            derived_name(l, i - RAW, made);
        }
        found = found || strcmp(made, name) == 0;
    }
    return found;
}
