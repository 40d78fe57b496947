/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GGUF files from strangers, as `convert --from=gguf` reads them: refused by a
 * sentence, or a checkpoint of experts is made that the one reader takes, whose
 * tensors are the same after a way to GGUF and back.
 *
 * An input is the bytes of the file.
 */
#include "gguf/gguf.h"
#include "scratch.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char sentence[600];
static const mxo_text why = {sentence, sizeof sentence};

static void die(const char *what, const char *name)
{
    (void)fprintf(stderr,
                  "%s: %s\nrepro: mxoracle convert --from=gguf on this input\n",
                  what, name);
    abort();
}

/* 1 if it was taken; refused, it leaves nothing. */
static int read_gguf(const char *from, const char *to)
{
    FILE *left;

    (void)remove(to);
    sentence[0] = '\0';
    if (gguf_read(from, to, 0, why) == 0) {
        return 1;
    }
    left = fopen(to, "rb");
    if (left != NULL || sentence[0] == '\0') {
        die("refused without a word, or something is left", to);
    }
    return 0;
}

static void open_made(const char *path, checkpoint *c, layer_list *list)
{
    if (checkpoint_open(path, c, why) != 0) {
        die("what was made is no checkpoint", sentence);
    }
    if (layers_find(c, ROWS_UNTOLD, list, why) != 0 || list->n == 0) {
        die("what was made has no layers", sentence);
    }
}

static void compare(const checkpoint *a, const checkpoint *b)
{
    if (a->n != b->n) {
        die("another number of tensors after the way back", "");
    }
    for (size_t i = 0; i < a->n; i++) {
        const checkpoint_tensor *t = &a->tensor[i];
        const checkpoint_tensor *u = checkpoint_find(b, t->name);
        if (u == NULL || strcmp(t->dtype, u->dtype) != 0 ||
            t->rank != u->rank || t->n_bytes != u->n_bytes ||
            memcmp(t->shape, u->shape, sizeof t->shape) != 0 ||
            memcmp(t->bytes, u->bytes, (size_t)t->n_bytes) != 0) {
            die("another tensor after the way back", t->name);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const char *from = scratch_file("in.gguf", bytes, n);
    const char *made = scratch_path("made.safetensors");
    const char *again = scratch_path("again.gguf");
    const char *back = scratch_path("back.safetensors");
    checkpoint a;
    checkpoint b;
    layer_list layers = {0};
    layer_list other = {0};

    if (!read_gguf(from, made)) {
        return 0;
    }
    open_made(made, &a, &layers);
    (void)remove(again);
    sentence[0] = '\0';
    if (gguf_from_checkpoint(made, again, ROWS_UNTOLD, 0, why) != 0) {
        if (sentence[0] == '\0') {
            die("the way back is refused without a word", made);
        }
    } else if (!read_gguf(again, back)) {
        die("a file of our own is refused", sentence);
    } else {
        open_made(back, &b, &other);
        compare(&a, &b);
        layers_clear(&other);
        checkpoint_close(&b);
    }
    layers_clear(&layers);
    checkpoint_close(&a);
    return 0;
}
