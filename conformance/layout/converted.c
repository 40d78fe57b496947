/* SPDX-License-Identifier: Apache-2.0 */
/* See converted.h. */
#include "converted.h"

#include <stdio.h>
#include <string.h>

const char *converted_role(int i)
{
    static const char *const names[LAYER_TENSORS] = {
        "w13", "w13_scale", "w13_bias", "w2", "w2_scale", "w2_bias",
    };

    return names[i];
}

static uint64_t elements(const checkpoint_tensor *t)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < t->rank; i++) {
        n *= t->shape[i];
    }
    return n;
}

int converted_has_shape(const checkpoint_tensor *a, const checkpoint_tensor *b)
{
    return a->rank != b->rank
               ? elements(a) == elements(b)
               : memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

static uint64_t width(const checkpoint_tensor *t)
{
    const uint64_t n = elements(t);

    return n == 0 ? 0 : t->n_bytes / n;
}

int converted_has_width(const checkpoint_tensor *a, const checkpoint_tensor *b)
{
    return width(a) == width(b);
}

/* A size of the layer, below 2^32; 0 if it is none. */
static uint64_t size_of(const json_t *layer, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(layer, key));

    return value <= 0 || value >= (json_int_t)1 << 32 ? 0 : (uint64_t)value;
}

/* Elements of a scale; a file that does not say has MXFP4. */
static uint64_t group_of(const json_t *layer)
{
    const char *scale =
        json_string_value(json_object_get(layer, "scale_dtype"));

    return layer_group(scale == NULL ? "U8" : scale);
}

/* Rows and columns of tensor i of a part with these sizes. */
static void matrix_of(const layer_part *part, int i, uint64_t extent[2])
{
    extent[0] = part_rows(part, i);
    extent[1] = part_row_bytes(part, i) / (i % W2 == 2 ? 2 : 1);
}

/* Live rows and columns, where the file names them. */
static void set_live(pair *p, const json_t *layer, int i, int interleaved)
{
    const layer_part live = {.padded_hidden = size_of(layer, "hidden"),
                             .padded_inter = size_of(layer, "inter"),
                             .group = group_of(layer)};
    const int in_halves = i < W2 && !interleaved;

    if (live.padded_hidden == 0 || live.padded_inter == 0) {
        return;
    }
    matrix_of(&live, i, p->live);
    p->period = in_halves ? p->extent[1] / 2 : p->extent[1];
    p->live[0] /= in_halves ? 2 : 1;
}

int converted_tensor_of(const json_t *layer, const char *conversion, int i,
                        converted_tensor *t)
{
    static const uint32_t dtypes[3] = {MXO_U8, MXO_E8M0, MXO_BF16};
    const char *prefix = json_string_value(json_object_get(layer, "prefix"));
    const char *id = json_string_value(json_object_get(layer, "names"));
    const name_style *style = id == NULL ? NULL : layer_style(id);
    const layer_part part = {.padded_hidden = size_of(layer, "padded_hidden"),
                             .padded_inter = size_of(layer, "padded_inter"),
                             .group = group_of(layer)};

    memset(t, 0, sizeof *t);
    if (prefix == NULL || style == NULL) {
        return 0;
    }
    const name_style *named = style->is_split ? layer_style("w13") : style;
    const size_t length = strcspn(conversion, "/");

    (void)snprintf(t->name, sizeof t->name, "%s%s", prefix, named->fused[i]);
    (void)snprintf(t->layout, sizeof t->layout, "%.*s.%s%s", (int)length,
                   conversion, converted_role(i), conversion + length);
    t->pair = (pair){.name = t->name,
                     .layout = t->layout,
                     .dtype = i % W2 == 1 && part.group == 16 ? MXO_E4M3
                                                              : dtypes[i % W2],
                     .extent = {size_of(layer, "experts"), 0, 0}};
    t->has_extent = t->pair.extent[0] > 0 && part.padded_hidden > 0 &&
                    part.padded_inter > 0;
    if (t->has_extent) {
        matrix_of(&part, i, t->pair.extent + 1);
        set_live(&t->pair, layer, i, style->is_interleaved);
    }
    return 1;
}
