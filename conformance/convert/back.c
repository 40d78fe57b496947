/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a backend's order back to checkpoint order: the metadata of the
 * converted file says what its layers were called and how large they were.
 */
#include "base/memory.h"
#include "base/say.h"
#include "base/stop.h"
#include "base/tensors.h"
#include "files/json_walk.h"
#include "globals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 640 };

static int read_count(const json_t *o, const char *key, uint64_t *n)
{
    const json_t *count = json_object_get(o, key);
    const json_int_t value = json_integer_value(count);

    *n = (uint64_t)value;
    return json_is_integer(count) && value >= 0 && value < (json_int_t)1 << 32;
}

/* One layer as metadata tell it; sizes of the part that the file holds. */
static int read_layer(const json_t *o, moe_layer *l, layer_part *p)
{
    const char *prefix = json_string_value(json_object_get(o, "prefix"));
    const char *style = json_string_value(json_object_get(o, "names"));

    memset(l, 0, sizeof *l);
    memset(p, 0, sizeof *p);

    const json_t *bias = json_object_get(o, "bias_dtype");

    l->weight_dtype = layer_weight_dtype(
        json_string_value(json_object_get(o, "weight_dtype")));
    l->bias_dtype =
        bias == NULL ? "BF16" : layer_bias_dtype(json_string_value(bias));
    l->scale_dtype =
        layer_scale_dtype(json_string_value(json_object_get(o, "scale_dtype")));
    if (l->weight_dtype == NULL || l->scale_dtype == NULL ||
        l->bias_dtype == NULL) {
        return 0;
    }
    l->style = style == NULL ? NULL : layer_style(style);
    l->prefix = prefix == NULL ? NULL : strndup(prefix, 512);
    l->globals =
        layer_global_style(json_string_value(json_object_get(o, "globals")));
    const int is_mlx = l->globals != NULL && l->style != NULL &&
                       l->style->is_stacked &&
                       strcmp(l->globals->scales, "mlx") == 0;

    l->group = is_mlx ? 16 : layer_group(l->scale_dtype);
    l->order = row_order_of(json_string_value(json_object_get(o, "rows")));
    p->group = l->group;
    l->globals = l->group == 32 ? NULL : l->globals;
    l->global_rank = json_integer_value(json_object_get(o, "global_rank")) == 1;
    l->biased = json_is_true(json_object_get(o, "biased"));
    const int good =
        l->style != NULL && l->prefix != NULL &&
        layer_has_types(l->style, l->weight_dtype, l->scale_dtype) &&
        (l->order != ROWS_UNTOLD || !l->style->is_transposed) &&
        say_is_printable(l->prefix) && read_count(o, "experts", &p->experts) &&
        read_count(o, "hidden", &p->hidden) &&
        read_count(o, "inter", &p->inter) &&
        read_count(o, "padded_hidden", &p->padded_hidden) &&
        read_count(o, "padded_inter", &p->padded_inter) && p->experts > 0 &&
        p->hidden > 0 && p->padded_hidden >= p->hidden && p->padded_inter > 0 &&
        p->padded_inter >= p->inter && p->hidden % 32 == 0 &&
        p->inter % 32 == 0 &&
        (l->group == 32 ||
         (l->globals != NULL &&
          (strcmp(l->globals->scales, "mlx") == 0) == is_mlx));

    l->experts = p->experts;
    l->hidden = p->hidden;
    l->inter = p->inter;
    return good;
}

/* The tensor of a layer in the converted file. */
static const checkpoint_tensor *converted(const job *j, const moe_layer *l,
                                          int i)
{
    const name_style *style =
        l->style->is_split ? layer_style("w13") : l->style;
    char name[NAME_ROOM];

    (void)snprintf(name, sizeof name, "%s%s", l->prefix, style->fused[i]);
    return checkpoint_find(j->in, name);
}

/* Rows and bytes of a row without pads. */
static void live_rows(const layer_part *p, int i, uint64_t *rows,
                      uint64_t *bytes)
{
    layer_part live = *p;

    live.padded_hidden = p->hidden;
    live.padded_inter = p->inter;
    *rows = part_rows(&live, i);
    *bytes = part_row_bytes(&live, i);
}

/* Bytes of such a row in the checkpoint: a bias has its own type there. */
static uint64_t file_bytes(const moe_layer *l, int i, uint64_t bytes)
{
    return i % W2 == 2 ? bias_bytes(l->bias_dtype) : bytes;
}

static int add_fused(job *j, const moe_layer *l, const layer_part *p, int i)
{
    const char *const dtypes[3] = {l->weight_dtype, l->scale_dtype,
                                   l->bias_dtype};
    uint64_t rows;
    uint64_t bytes;
    char name[NAME_ROOM];

    live_rows(p, i, &rows, &bytes);
    (void)snprintf(name, sizeof name, "%s%s", l->prefix, l->style->fused[i]);
    const int turned = l->style->is_transposed && i % W2 != 2;
    const uint64_t plain[3] = {p->experts, turned ? bytes : rows,
                               turned ? rows : bytes};
    const uint64_t blocks[4] = {p->experts, rows, bytes / 16, 16};
    const int blocked = l->style->has_blocks && i % W2 == 0;

    return sink_add(&j->sink, name, dtypes[i % W2],
                    i % W2 == 2 ? 2u
                    : blocked   ? 4u
                                : 3u,
                    blocked ? blocks : plain,
                    p->experts * rows * file_bytes(l, i, bytes)) == SIZE_MAX;
}

static int add_split(job *j, const moe_layer *l, const layer_part *p, int i)
{
    const char *const dtypes[3] = {l->weight_dtype, l->scale_dtype,
                                   l->bias_dtype};
    uint64_t rows;
    uint64_t bytes;
    int bad = 0;

    live_rows(p, i, &rows, &bytes);
    rows = i < W2 ? rows / 2 : rows;
    const int stacked = l->style->is_stacked;
    const uint64_t n = stacked ? p->experts : 1;
    const uint64_t cols = stacked && i % W2 == 0 ? bytes / 4 : bytes;
    const uint64_t shape[3] = {n, rows, cols};

    for (uint64_t e = 0; e < p->experts && !bad; e += n) {
        for (int k = i < W2 ? 0 : 2; k < (i < W2 ? 2 : 3) && !bad; k++) {
            char name[NAME_ROOM];
            layer_split_name(l->style, l->prefix, e, k, i % W2, name,
                             sizeof name);
            bad = sink_add(&j->sink, name, dtypes[i % W2],
                           (i % W2 == 2 ? 1u : 2u) + (stacked != 0),
                           stacked ? shape : shape + 1,
                           n * rows * file_bytes(l, i, bytes)) == SIZE_MAX;
        }
    }
    return bad;
}

/* The file holds what the conversion makes of a layer of this size. */
static int check_layer(const job *j, const moe_layer *l, const layer_part *p,
                       mxo_text why)
{
    static const char *const names[LAYER_TENSORS] = {
        "w13", "w13_scale", "w13_bias", "w2", "w2_scale", "w2_bias",
    };
    mxo_tensor out[MOVER_OUTPUTS];
    const int n = mover_infer(&j->mover, p, l->biased, p->experts, out, why);

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < LAYER_TENSORS; k++) {
            const checkpoint_tensor *t = converted(j, l, k);
            if (strcmp(out[i].name, names[k]) == 0 &&
                (t == NULL || t->n_bytes != out[i].n_bytes)) {
                (void)say(MXO_E_SHAPE, why,
                          "layer %.200s: %s is missing or has the wrong size",
                          l->prefix, names[k]);
                return -1;
            }
        }
    }
    return n < 0 ? -1 : 0;
}

static int add_layer(job *j, const json_t *o, mxo_text why)
{
    const size_t n = j->layers.n;
    moe_layer *layer = realloc(j->layers.layer, (n + 1) * sizeof *layer);

    j->layers.layer = layer == NULL ? j->layers.layer : layer;
    layer_part *part = realloc(j->back_part, (n + 1) * sizeof *part);

    j->back_part = part == NULL ? j->back_part : part;
    if (layer == NULL || part == NULL) {
        (void)say(MXO_E_NOMEM, why, "no memory");
        return -1;
    }
    j->layers.n++;
    if (!read_layer(o, &layer[n], &part[n])) {
        (void)say(MXO_E_SHAPE, why, "the metadata of layer %zu make no sense",
                  n);
        return -1;
    }
    return 0;
}

/* The layers that the metadata tell of. */
static int read_layers(job *j, mxo_text why)
{
    const char *layout = checkpoint_meta(j->in, META_LAYOUT);
    const char *text = checkpoint_meta(j->in, META_LAYERS);
    json_walk w = json_walk_of(text);
    int status = 0;
    int more = layout != NULL && w.closer == ']' ? 1 : -1;

    if (more == 1 && !job_is_layout(j, layout)) {
        (void)say(MXO_E_SHAPE, why, "the file is in the layout %.100s, not %s",
                  layout, j->conversion);
        return -1;
    }
    while (more == 1 && status == 0 && (more = json_walk_next(&w)) == 1) {
        const json_t *o = json_walk_value(&w);
        more = o == NULL ? -1 : 1;
        status = o == NULL ? -1 : add_layer(j, o, why);
    }
    json_walk_end(&w);
    if (more < 0) {
        (void)say(MXO_E_SHAPE, why,
                  "the file does not say which layout it is in");
    }
    return more < 0 ? -1 : status;
}

static int is_of_layer(const job *j, const moe_layer *l,
                       const checkpoint_tensor *t)
{
    int is = globals_made(l, t->name);

    for (int w = 0; w < LAYER_TENSORS && !is; w++) {
        is = converted(j, l, w) == t;
    }
    return is;
}

/* Rest of the file: what no layer claims.  An expert's tensor among it would
   stay in the order that it has. */
static int plan_rest(job *j, mxo_text why)
{
    uint8_t *owned = memory_need_zeros(j->in->n + 1, 1);
    int bad = 0;

    j->layers.owned = owned;
    j->first_rest = j->sink.n;
    for (size_t i = 0; i < j->in->n && !bad; i++) {
        const checkpoint_tensor *t = &j->in->tensor[i];
        for (size_t k = 0; k < j->layers.n && !owned[i]; k++) {
            owned[i] = is_of_layer(j, &j->layers.layer[k], t) != 0;
        }
        bad = !owned[i] && sink_add(&j->sink, t->name, t->dtype, t->rank,
                                    t->shape, t->n_bytes) == SIZE_MAX;
    }
    if (bad) {
        (void)say(MXO_E_NOMEM, why, "no memory");
    }
    return bad ? -1
               : layers_check_left_over(j->in, &j->layers,
                                        "that the metadata do not name", why);
}

static int plan_layer(job *j, size_t number, mxo_text why)
{
    const moe_layer *l = &j->layers.layer[number];
    const layer_part *p = &j->back_part[number];
    int bad = check_layer(j, l, p, why) != 0;

    j->first_output[number] = j->sink.n;
    for (int i = 0; i < LAYER_TENSORS && !bad; i++) {
        if (converted(j, l, i) != NULL) {
            bad = l->style->is_split ? add_split(j, l, p, i)
                                     : add_fused(j, l, p, i);
        }
    }
    bad = bad || globals_plan_back(j, l, p, why) != 0;
    return bad ? -1 : 0;
}

int job_plan_back(job *j, mxo_text why)
{
    int bad = read_layers(j, why);

    j->first_output =
        memory_need_zeros(j->layers.n + 1, sizeof *j->first_output);
    for (size_t i = 0; i < j->layers.n && !bad; i++) {
        bad = plan_layer(j, i, why) != 0;
    }
    bad = bad || plan_rest(j, why) != 0;
    return bad ? -1 : 0;
}

/* Row r of the live tensor, as a row of the padded one. */
static uint64_t padded_row(const moe_layer *l, const layer_part *p, int i,
                           uint64_t r)
{
    const uint64_t half = r >= p->inter;

    if (i >= W2 || l->style->is_interleaved) {
        return r;
    }
    return r - half * p->inter +
           (half ^ (uint64_t)p->up_first) * p->padded_inter;
}

/* Row r of the live tensor to where the checkpoint has it. */
static void put_row(const moe_layer *l, const layer_part *p, int i,
                    uint8_t *live, uint64_t r, const uint8_t *from)
{
    const int in_turn =
        l->style->is_transposed && i < W2 && l->order == ROWS_IN_TURN;
    const uint64_t half = r >= p->inter;
    const uint64_t at = in_turn ? 2 * (r - half * p->inter) + half : r;
    uint64_t rows;
    uint64_t bytes;

    live_rows(p, i, &rows, &bytes);
    if (!l->style->is_transposed || i % W2 == 2) {
        memcpy(live + at * bytes, from, (size_t)bytes);
        return;
    }
    for (uint64_t k = 0; k < bytes; k++) {
        live[k * rows + at] = from[k];
    }
}

static uint64_t count_set(const uint8_t *bytes, uint64_t n)
{
    uint64_t set = 0;

    for (uint64_t i = 0; i < n; i++) {
        set += bytes[i] != 0;
    }
    return set;
}

/* Biases of a tensor, in place, to the type that they had. */
static int restore_biases(const moe_layer *l, uint8_t *live, uint64_t n,
                          mxo_text why)
{
    const uint64_t width = bias_bytes(l->bias_dtype);
    int exact = 1;

    for (uint64_t k = n; k-- > 0;) {
        const uint8_t code[2] = {live[2 * k], live[2 * k + 1]};
        exact &= bias_convert(l->bias_dtype, live + width * k, "BF16", code);
    }
    if (!exact) {
        (void)say(
            MXO_E_SHAPE, why,
            "layer %.200s: a bias has no %s, though the metadata say that "
            "it was one",
            l->prefix, l->bias_dtype);
    }
    return exact ? 0 : -1;
}

/* The live part of one expert's tensor into the sink.  Pads are zeros: what
   is not, outside the live part, would be lost. */
static int put_expert(job *j, const moe_layer *l, const layer_part *p, int i,
                      uint64_t e, size_t first, const uint8_t *from,
                      uint8_t *live, mxo_text why)
{
    const uint64_t pitch = part_row_bytes(p, i);
    uint64_t rows;
    uint64_t bytes;

    live_rows(p, i, &rows, &bytes);
    for (uint64_t r = 0; r < rows; r++) {
        if (r % (JOB_PIECE / pitch + 1) == 0 && job_stopped(j, why)) {
            return -1;
        }
        put_row(l, p, i, live, r, from + padded_row(l, p, i, r) * pitch);
    }
    if (job_stopped(j, why)) {
        return -1;
    }
    if (count_set(from, part_rows(p, i) * pitch) !=
        count_set(live, rows * bytes)) {
        (void)say(MXO_E_SHAPE, why,
                  "layer %.200s: the sizes in the metadata leave out bytes "
                  "that are no pad",
                  l->prefix);
        j->is_bad_input = 1;
        return -1;
    }
    if (i % W2 == 2 && restore_biases(l, live, rows, why) != 0) {
        j->is_bad_input = 1;
        return -1;
    }
    bytes = file_bytes(l, i, bytes);
    if (!l->style->is_split) {
        return job_put(j, first, e * rows * bytes, live, rows * bytes, NULL,
                       why);
    }
    const uint64_t pieces = i < W2 ? 2 : 1;
    const uint64_t piece = rows * bytes / pieces;

    const int stacked = l->style->is_stacked;

    for (uint64_t k = 0; k < pieces; k++) {
        if (job_put(j, first + (size_t)((stacked ? 0 : e * pieces) + k),
                    stacked ? e * piece : 0, live + k * piece, piece, NULL,
                    why) != 0) {
            return -1;
        }
    }
    return 0;
}

static int run_tensor(job *j, const moe_layer *l, const layer_part *p, int i,
                      size_t first, mxo_text why)
{
    const checkpoint_tensor *t = converted(j, l, i);
    const uint64_t padded = part_rows(p, i) * part_row_bytes(p, i);
    const uint64_t each = t->n_bytes / p->experts;
    const uint64_t step =
        i % W2 == 1 ? p->experts : job_experts_at_a_time(j, p);
    uint8_t *logical = malloc((size_t)(step * padded) + 1);
    uint8_t *live = malloc((size_t)(2 * padded) + 1); /* biases in F32 */
    int bad = logical == NULL || live == NULL;

    for (uint64_t e = 0; e < p->experts && !bad; e += step) {
        const uint64_t n = p->experts - e < step ? p->experts - e : step;
        const uint8_t *from = t->bytes + e * each;
        /* A stack may have a pad behind the last expert. */
        const uint64_t n_bytes = n == p->experts ? t->n_bytes : n * each;
        bad = job_stopped(j, why);
        stop_work_begin();
        bad = bad || mover_back(&j->mover, p, i, dtype_by_file_name(t->dtype),
                                n, from, n_bytes, logical, why) != 0;
        stop_work_end();
        for (uint64_t k = 0; k < n && !bad; k++) {
            bad = put_expert(j, l, p, i, e + k, first, logical + k * padded,
                             live, why);
        }
        checkpoint_forget(from, n_bytes);
        job_progress(j);
    }
    free(logical);
    free(live);
    return bad ? -1 : 0;
}

int job_run_back(job *j, mxo_text why)
{
    const expectation *e = job_expected(j->conversion);
    int bad = 0;

    for (size_t number = 0; number < j->layers.n && !bad; number++) {
        size_t at = j->first_output[number];
        const moe_layer *l = &j->layers.layer[number];
        layer_part *p = &j->back_part[number];
        p->up_first = e != NULL && e->up_first;
        for (int i = 0; i < LAYER_TENSORS && !bad; i++) {
            if (converted(j, l, i) != NULL) {
                bad = run_tensor(j, l, p, i, at, why);
                at += (size_t)layer_n_tensors(l->style, i, p->experts);
            }
        }
        bad = bad || globals_run_back(j, l, p, at, why) != 0;
    }
    return bad ? -1 : job_copy_rest(j, why);
}
