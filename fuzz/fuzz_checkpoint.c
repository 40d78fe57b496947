/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints from strangers, as convert, audit and diagnose open them: a
 * file, or an index with two shards.  Each is refused by a sentence, or its
 * tensors tile the data of its files and the layers in it are found or not.
 *
 * An input is "f" and the bytes of a file, or "h", two bytes for the length of
 * the data and a header, or "i", the same, an index, a zero byte, the header
 * of a.safetensors, a zero byte, the header of b.safetensors.
 */
#include "convert/layers.h"
#include "scratch.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *name)
{
    (void)fprintf(stderr, "%s: %s\nrepro: mxoracle audit on this input\n", what,
                  name);
    abort();
}

/* Width of a type that every reader of the format knows; 0: not one of them. */
static uint64_t width_of(const char *dtype)
{
    static const char *const names[] = {"U8",  "I8",      "F8_E8M0", "F8_E4M3",
                                        "F16", "BF16",    "F32",     "I32",
                                        "F64", "F8_E5M2", "I64",     "BOOL"};
    static const uint8_t widths[] = {1, 1, 1, 1, 2, 2, 4, 4, 8, 1, 8, 1};

    for (size_t i = 0; i < sizeof widths; i++) {
        if (strcmp(names[i], dtype) == 0) {
            return widths[i];
        }
    }
    return 0;
}

/* By division alone, so that no product can be too large. */
static int has_its_size(const checkpoint_tensor *t)
{
    uint64_t rest = width_of(t->dtype);

    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->shape[i] == 0) {
            return t->n_bytes == 0;
        }
    }
    if (rest == 0) {
        return 1;
    }
    if (t->n_bytes % rest != 0) {
        return 0;
    }
    rest = t->n_bytes / rest;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (rest % t->shape[i] != 0) {
            return 0;
        }
        rest /= t->shape[i];
    }
    return rest == 1;
}

static int lies_in(const checkpoint_file *f, const checkpoint_tensor *t)
{
    return t->bytes >= f->map && t->bytes <= f->map + f->n_bytes &&
           t->n_bytes <= (uint64_t)(f->map + f->n_bytes - t->bytes);
}

/* Bytes that tensors name: one for each, and none of them twice. */
static void check_tiles(const checkpoint *c, const checkpoint_file *f)
{
    uint8_t *taken = calloc((size_t)f->n_bytes, 1);
    uint64_t header = 0;

    if (taken == NULL) {
        return;
    }
    for (int i = 7; i >= 0; i--) {
        header = header << 8 | f->map[i];
    }
    for (size_t i = 0; i < c->n; i++) {
        const checkpoint_tensor *t = &c->tensor[i];
        for (uint64_t k = 0; lies_in(f, t) && k < t->n_bytes; k++) {
            if (taken[t->bytes - f->map + (ptrdiff_t)k]++ != 0) {
                die("two tensors have a byte", t->name);
            }
        }
    }
    for (uint64_t k = 8 + header; k < f->n_bytes; k++) {
        if (taken[k] == 0) {
            die("a byte belongs to no tensor", "");
        }
    }
    free(taken);
}

static void check_tensors(const checkpoint *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const checkpoint_tensor *t = &c->tensor[i];
        int n_homes = 0;

        if (t->name == NULL || t->dtype == NULL || t->rank > MXO_MAX_RANK ||
            !has_its_size(t)) {
            die("a tensor is not described", t->name);
        }
        for (size_t k = 0; k < c->n_files; k++) {
            n_homes += lies_in(&c->file[k], t);
        }
        if (n_homes == 0) {
            die("a tensor lies outside the files", t->name);
        }
        if (checkpoint_find(c, t->name) != t) {
            die("a tensor is not found, or another", t->name);
        }
    }
    for (size_t k = 0; k < c->n_files; k++) {
        check_tiles(c, &c->file[k]);
    }
}

static void find_layers(const checkpoint *c)
{
    char why[512] = "";
    layer_list list = {0};

    if (layers_find(c, ROWS_UNTOLD, &list, (mxo_text){why, sizeof why}) != 0) {
        if (why[0] == '\0') {
            die("layers are refused without a word", "");
        }
    }
    for (size_t i = 0; i < list.n; i++) {
        const moe_layer *l = &list.layer[i];
        if (why[0] == '\0' && (l->hidden % 32 != 0 || l->inter % 32 != 0 ||
                               l->experts == 0 || l->prefix == NULL)) {
            die("a layer of sizes that no layer has", l->prefix);
        }
    }
    layers_clear(&list);
}

/* The part of a text before the next zero byte. */
static const char *cut(const char **rest, size_t *left, size_t *n)
{
    const char *part = *rest;
    const char *end = *left == 0 ? NULL : memchr(part, 0, *left);

    *n = end == NULL ? *left : (size_t)(end - part);
    *left -= end == NULL ? *left : *n + 1;
    *rest += end == NULL ? *n : *n + 1;
    return part;
}

static const char *write_indexed(const char *text, size_t left, size_t n_data)
{
    static const char *const shards[] = {"a.safetensors", "b.safetensors"};
    size_t n;
    const char *index = cut(&text, &left, &n);

    (void)scratch_file("model.safetensors.index.json", index, n);
    for (int i = 0; i < 2; i++) {
        const char *header = cut(&text, &left, &n);
        (void)scratch_tensors(shards[i], header, n, n_data);
    }
    return scratch_path("");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const char *text = (const char *)bytes;
    char why[512] = "";
    const char *path;
    checkpoint c;

    if (n < 3 || bytes[0] == 'f') {
        path = scratch_file("one.safetensors", bytes + (n > 0), n - (n > 0));
    } else {
        const size_t n_data = bytes[1] + 256u * (bytes[2] & 15u);
        path = bytes[0] == 'h'
                   ? scratch_tensors("one.safetensors", text + 3, n - 3, n_data)
                   : write_indexed(text + 3, n - 3, n_data);
    }
    if (checkpoint_open(path, &c, (mxo_text){why, sizeof why}) != 0) {
        if (why[0] == '\0' || c.n != 0 || c.n_files != 0) {
            die("refused without a word, or something is left", path);
        }
        return 0;
    }
    check_tensors(&c);
    find_layers(&c);
    checkpoint_close(&c);
    return 0;
}
