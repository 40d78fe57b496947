/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flip_vectors FOLDER...: does verify see one wrong bit?  For every out.*
 * tensor of every vector below the folders one bit is flipped in a copy, and
 * the copy must fail.  The bits are drawn from a fixed seed.  Left alone are
 * bits that change nothing: one NaN for another, an element the vendor never
 * writes; and where a rule allows some codes, the bit is one that leaves them.
 * TAP on standard output, one line per file.
 */
#include "files/safetensors.h"
#include "vectors/vectors.h"
#include "vectors/walk.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DRAWS = 100000 };

static judge emulator;
static char copy_path[256];

/* splitmix64: the constants are its author's. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/*
 * Whether the vendor leaves element i of an output unwritten.  X_valid
 * says so for X, and out.valid for what has as many elements.
 */
static int is_pad(const tensor_set *set, const host_tensor *t, uint64_t i)
{
    char name[MXO_NAME_SIZE + 8];
    const host_tensor *valid;

    (void)snprintf(name, sizeof name, "%s_valid", t->name);
    valid = tensor_set_find(set, name);
    if (valid == NULL) {
        valid = tensor_set_find(set, "out.valid");
        if (valid == t ||
            (valid != NULL && tensor_elems(valid) != tensor_elems(t))) {
            valid = NULL;
        }
    }
    return valid != NULL && tensor_load(valid, i) == 0;
}

/* Flip one bit that counts; 0 if none was found. */
static int flip(const tensor_set *set, host_tensor *t, int by_rule,
                uint64_t *state)
{
    const unsigned width = 8 * dtype_bytes(t->dtype);

    for (int n = 0; t->n_bytes > 0 && n < MAX_DRAWS; n++) {
        const uint64_t i = draw(state) % tensor_elems(t);
        const unsigned bit =
            by_rule ? width - 2 : (unsigned)(draw(state) % width);
        const uint64_t old = tensor_load(t, i);
        const uint64_t flipped = old ^ UINT64_C(1) << bit;
        if (is_pad(set, t, i) ||
            (dtype_is_nan(t->dtype, old) && dtype_is_nan(t->dtype, flipped))) {
            continue;
        }
        tensor_store(t, i, flipped);
        return 1;
    }
    return 0;
}

static json_t *metadata_of(const safetensors *file)
{
    json_t *o = json_object();

    for (const char *key = file->header.metadata;
         key != NULL && *key != '\0';) {
        const char *value = key + strlen(key) + 1;
        json_object_set_new(o, key, json_string(value));
        key = value + strlen(value) + 1;
    }
    return o;
}

/* Flip in one output of a fresh copy; 1 if verify fails the copy. */
static int is_caught(const char *path, uint32_t output, int by_rule,
                     uint64_t *state)
{
    safetensors file;
    vector_result result;
    char sentence[512];
    const mxo_text why = {sentence, sizeof sentence};
    int caught = 0;

    if (safetensors_read(path, &file, why) != MXO_OK) {
        return 0;
    }
    json_t *metadata = metadata_of(&file);

    if (flip(&file.tensors, &file.tensors.t[output], by_rule, state) &&
        safetensors_write(copy_path, &file.tensors, metadata, why) == MXO_OK) {
        vector_judge(copy_path, &emulator, &result);
        caught = result.verdict == VECTOR_FAILED;
    }
    json_decref(metadata);
    safetensors_clear(&file);
    return caught;
}

/* The bits drawn depend on the name of the file, not on where it lies. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* 1 if every output's flip is caught; the name of one that is not. */
static int file_holds(const char *path, char *missed, size_t size)
{
    safetensors file;
    vector_result clean;
    uint64_t state = 1;
    int all = 1;

    vector_judge(path, &emulator, &clean);
    (void)snprintf(missed, size, "%s", clean.text);
    if (clean.verdict != VECTOR_PASSED ||
        safetensors_read(path, &file, (mxo_text){missed, size}) != MXO_OK) {
        return 0;
    }
    for (const char *p = base_name(path); *p != '\0'; p++) {
        state = state * 31 + (unsigned char)*p;
    }
    for (uint32_t i = 0; i < file.tensors.n; i++) {
        const char *name = file.tensors.t[i].name;
        if (strncmp(name, "out.", 4) == 0 &&
            !is_caught(path, i, clean.n_by_rule > 0, &state)) {
            (void)snprintf(missed, size, "a flipped bit in %s passed", name);
            all = 0;
        }
    }
    safetensors_clear(&file);
    return all;
}

int main(int argc, char **argv)
{
    path_list list = {0, 0, NULL};
    char text[VECTOR_TEXT];
    int n_failed = 0;

    if (judge_open(&emulator, mxo_emulator(), 0,
                   (mxo_text){text, sizeof text}) != MXO_OK) {
        printf("Bail out! %s\n", text);
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        if (walk_path(argv[i], &list, (mxo_text){text, sizeof text}) !=
            MXO_OK) {
            printf("Bail out! %s\n", text);
            return 1;
        }
    }
    printf("1..%zu\n", list.n);
    for (size_t i = 0; i < list.n; i++) {
        /* Some operations are told apart by the name of the file. */
        (void)snprintf(copy_path, sizeof copy_path, "flipped-%ld-%s",
                       (long)getpid(), base_name(list.path[i]));
        const int holds = file_holds(list.path[i], text, sizeof text);
        (void)unlink(copy_path);
        printf("%sok %zu - %s\n", holds ? "" : "not ", i + 1,
               base_name(list.path[i]));
        if (!holds) {
            printf("# %.*s\n", (int)strcspn(text, "\n"), text);
            n_failed++;
        }
    }
    walk_clear(&list);
    return n_failed > 0 || argc < 2;
}
