/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Biases of a checkpoint in BF16, F16 or F32.  Loaders hold them in BF16 and
 * would round; here a number that has no code in the other type is refused, so
 * that the way back gives the same bytes.
 */
#include "layers.h"

#include "base/say.h"
#include "base/stop.h"

#include <mxoracle/format.h>

#include <string.h>

typedef struct bias_type {
    const char *dtype;
    mxo_format format;
    uint32_t width; /* bytes */
} bias_type;

static const bias_type types[] = {{"BF16", MXO_FMT_BF16, 2},
                                  {"F16", MXO_FMT_F16, 2},
                                  {"F32", MXO_FMT_F32, 4}};

enum { STOP_EVERY = 1 << 20 }; /* bytes */

enum { N_TYPES = (int)(sizeof types / sizeof types[0]) };

static const bias_type *type_of(const char *dtype)
{
    for (int i = 0; dtype != NULL && i < N_TYPES; i++) {
        if (strcmp(types[i].dtype, dtype) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

const char *layer_bias_dtype(const char *text)
{
    const bias_type *t = type_of(text);

    return t == NULL ? NULL : t->dtype;
}

uint64_t bias_bytes(const char *dtype)
{
    return type_of(dtype)->width;
}

/* Files are little-endian. */
static uint32_t load(const bias_type *t, const uint8_t *p)
{
    uint32_t code = 0;

    for (uint32_t i = t->width; i-- > 0;) {
        code = code << 8 | p[i];
    }
    return code;
}

static void store(const bias_type *t, uint8_t *p, uint64_t code)
{
    for (uint32_t i = 0; i < t->width; i++) {
        p[i] = (uint8_t)(code >> 8 * i);
    }
}

int bias_convert(const char *to_dtype, uint8_t *to, const char *from_dtype,
                 const uint8_t *from)
{
    const bias_type *out = type_of(to_dtype);
    const bias_type *in = type_of(from_dtype);
    const uint32_t code = load(in, from);

    if (in->format != MXO_FMT_F16 && out->format != MXO_FMT_F16) {
        /* BF16 is the high half of F32, of a NaN, too. */
        const uint32_t wide = in->width == 2 ? code << 16 : code;
        store(out, to, out->width == 2 ? wide >> 16 : wide);
        return out->width == 4 || (wide & 0xffff) == 0;
    }
    const uint64_t made = mxo_format_convert(out->format, in->format, code,
                                             MXO_TIE_RNE, MXO_NAN_QUIET);

    store(out, to, made);
    return mxo_format_classify(in->format, code) != MXO_CODE_NAN &&
           mxo_format_convert(in->format, out->format, made, MXO_TIE_RNE,
                              MXO_NAN_QUIET) == code;
}

/* The first number of a tensor that has no code in the type. */
static int check_tensor(const checkpoint_tensor *t, const char *to,
                        mxo_text why)
{
    const bias_type *in = type_of(t->dtype);

    for (uint64_t i = 0; i < t->n_bytes; i += in->width) {
        uint8_t made[4];
        if (i % STOP_EVERY == 0 && i > 0 && stop_requested()) {
            (void)say(MXO_E_DEVICE, why,
                      "stopped by %s: nothing was left behind", stop_reason());
            return -1;
        }
        if (!bias_convert(to, made, t->dtype, t->bytes + i)) {
            (void)say(MXO_E_SHAPE, why,
                      "%.300s: number %llu, %s %0*llx, has no %s", t->name,
                      (unsigned long long)(i / in->width), t->dtype,
                      (int)(2 * in->width),
                      (unsigned long long)load(in, t->bytes + i), to);
            return -1;
        }
    }
    checkpoint_forget(t->bytes, t->n_bytes);
    return 0;
}

int layer_check_biases(const moe_layer *l, const char *to, mxo_text why)
{
    const uint64_t n = l->style->is_stacked ? 9 : 9 * l->experts;
    const checkpoint_tensor *const *of =
        l->style->is_stacked ? l->stacked : l->split;
    int bad = 0;

    if (!l->biased || strcmp(l->bias_dtype, to) == 0) {
        return 0;
    }
    for (int i = W13_BIAS; i < LAYER_TENSORS && !bad && !l->style->is_split;
         i += W2) {
        bad = check_tensor(l->fused[i], to, why) != 0;
    }
    for (uint64_t i = 2; i < n && !bad && l->style->is_split; i += 3) {
        bad = check_tensor(of[i], to, why) != 0;
    }
    return bad ? -1 : 0;
}
