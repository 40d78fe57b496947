/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mistakes of converters for fuzz_converter.test: spoil_checkpoint FAULT
 * PART IN OUT copies a checkpoint into one file, the tensors whose names hold
 * PART with the fault.
 */
#include "convert/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tensor to spoil: its bytes, of experts that are `each` bytes. */
typedef struct blob {
    const checkpoint_tensor *t;
    uint8_t *bytes;
    uint64_t each;
} blob;

/* Rows 2r and 2r+1 change places. */
static void swap_pairs(const blob *b)
{
    const uint64_t rows = b->t->shape[0] * b->t->shape[1];
    const uint64_t n = b->t->n_bytes / rows;

    for (uint64_t r = 0; r < rows; r++) {
        memcpy(b->bytes + r * n, b->t->bytes + (r ^ 1) * n, (size_t)n);
    }
}

static void reverse_experts(const blob *b)
{
    for (uint64_t e = 0; e < b->t->shape[0]; e++) {
        memcpy(b->bytes + e * b->each,
               b->t->bytes + (b->t->shape[0] - 1 - e) * b->each,
               (size_t)b->each);
    }
}

static void lose_high(const blob *b)
{
    for (uint64_t i = 0; i < b->t->n_bytes; i++) {
        b->bytes[i] &= 15;
    }
}

/* Only what rounded sizes leave, of a matrix in logical order: columns. */
static void pad_with_one(const blob *b, uint64_t live)
{
    const uint64_t cols = b->t->shape[2];

    for (uint64_t i = 0; i < b->t->n_bytes; i++) {
        b->bytes[i] = i % cols >= live ? 0x7f : b->bytes[i];
    }
}

/* Words whose bytes are read from the other end. */
static void swap_words(const blob *b)
{
    for (uint64_t i = 0; i < b->t->n_bytes; i++) {
        b->bytes[i] = b->t->bytes[i ^ 3];
    }
}

/* Numbers of another type whose first bytes are taken for BF16. */
static void take_first_bytes(const blob *b, uint64_t size)
{
    for (uint64_t i = 0; i < b->t->n_bytes / size; i++) {
        memcpy(b->bytes + 2 * i, b->t->bytes + size * i, 2);
    }
}

static void blank_tail(const blob *b)
{
    memset(b->bytes + b->t->n_bytes / 2, 0,
           (size_t)(b->t->n_bytes - b->t->n_bytes / 2));
}

/* Blocks of 32 that are live in a row of w13, as the file's metadata say. */
static uint64_t live_blocks(const checkpoint *c)
{
    const char *text = checkpoint_meta(c, META_LAYERS);
    json_t *layers = text == NULL ? NULL : json_loads(text, 0, NULL);
    const json_int_t hidden = json_integer_value(
        json_object_get(json_array_get(layers, 0), "hidden"));

    json_decref(layers);
    return (uint64_t)hidden / 32;
}

static void spoil(const checkpoint *c, const char *fault, const blob *b)
{
    if (strcmp(fault, "pairs") == 0) {
        swap_pairs(b);
    } else if (strcmp(fault, "experts") == 0) {
        reverse_experts(b);
    } else if (strcmp(fault, "high") == 0) {
        lose_high(b);
    } else if (strcmp(fault, "tail") == 0) {
        blank_tail(b);
    } else if (strcmp(fault, "words") == 0) {
        swap_words(b);
    } else if (strcmp(fault, "bf16") == 0) {
        take_first_bytes(b, strcmp(b->t->dtype, "F32") == 0 ? 4 : 2);
    } else if (strcmp(fault, "pad") == 0) {
        pad_with_one(b, live_blocks(c));
    }
}

/* The tensors of OUT; "cut" lacks the last expert, "drop" the tensor. */
static int plan(sink *s, const checkpoint *c, const char *fault,
                const char *part)
{
    for (size_t i = 0; i < c->n; i++) {
        const checkpoint_tensor *t = &c->tensor[i];
        const int is_part = strstr(t->name, part) != NULL;
        const int is_cut = is_part && strcmp(fault, "cut") == 0;
        const int is_retyped = is_part && strcmp(fault, "bf16") == 0;
        const uint64_t n_bytes = is_retyped && strcmp(t->dtype, "F32") == 0
                                     ? t->n_bytes / 2
                                     : t->n_bytes;
        const uint64_t each = t->rank == 0 ? 0 : t->n_bytes / t->shape[0];
        uint64_t shape[MXO_MAX_RANK];
        memcpy(shape, t->shape, sizeof shape);
        shape[0] -= is_cut && t->shape[0] > 0;
        if (!(is_part && strcmp(fault, "drop") == 0) &&
            sink_add(s, t->name, is_retyped ? "BF16" : t->dtype, t->rank, shape,
                     n_bytes - (is_cut ? each : 0)) == SIZE_MAX) {
            return -1;
        }
    }
    return strcmp(fault, "add") == 0 &&
                   sink_add(s, part, "U8", 0, NULL, 1) == SIZE_MAX
               ? -1
               : 0;
}

static int write_tensors(sink *s, const checkpoint *c, const char *fault,
                         const char *part, mxo_text why)
{
    int bad = 0;

    for (size_t i = 0; i < s->n && !bad; i++) {
        const checkpoint_tensor *t = checkpoint_find(c, s->tensor[i].name);
        if (t == NULL) {
            continue; /* the one that was added */
        }
        blob b = {t, malloc((size_t)t->n_bytes + 1),
                  t->rank == 0 ? 0 : t->n_bytes / t->shape[0]};
        bad = b.bytes == NULL;
        if (!bad) {
            memcpy(b.bytes, t->bytes, (size_t)t->n_bytes);
            if (strstr(t->name, part) != NULL) {
                spoil(c, fault, &b);
            }
            bad = sink_put(s, i, 0, b.bytes, s->tensor[i].n_bytes, NULL, why);
        }
        free(b.bytes);
    }
    return bad;
}

int main(int argc, char **argv)
{
    char text[400] = "";
    const mxo_text why = {text, sizeof text};
    json_t *meta = json_pack("{s:s}", "format", "pt");
    checkpoint c;
    sink s = {0};

    if (argc != 5) {
        return 99;
    }
    const int bad = checkpoint_open(argv[3], &c, why) != 0 ||
                    plan(&s, &c, argv[1], argv[2]) != 0 ||
                    sink_create(&s, argv[4], meta, why) != 0 ||
                    write_tensors(&s, &c, argv[1], argv[2], why) != 0 ||
                    sink_finish(&s, why) != 0;

    if (bad) {
        fprintf(stderr, "%s\n", text);
    }
    sink_close(&s);
    checkpoint_close(&c);
    json_decref(meta);
    return bad;
}
