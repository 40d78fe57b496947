/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping checkpoints and reading their headers; see checkpoint.h. */
#include "checkpoint.h"

#include "base/input.h"
#include "base/say.h"
#include "base/tensors.h"
#include "system/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, PREFIX = 8 };

static const uint64_t most_header = 64 << 20; /* no checkpoint has as much */

static int refuse(mxo_text why, const char *path, const char *sentence)
{
    (void)say(MXO_E_SHAPE, why, "%s: %s", path, sentence);
    return -1;
}

static int map_file(const char *path, checkpoint_file *f, mxo_text why)
{
    f->mapped = mapped_open(path);
    const int is_other = errno == ENOTSUP || errno == EINVAL;

    if (f->mapped == NULL && !is_other) {
        return refuse(why, path, strerror(errno));
    }
    if (f->mapped == NULL || f->mapped->n_bytes <= PREFIX) {
        return refuse(why, path, "is no safetensors file");
    }
    f->map = f->mapped->bytes;
    f->n_bytes = f->mapped->n_bytes;
    return 0;
}

static int read_header(const char *path, checkpoint_file *f, mxo_text why)
{
    uint64_t n = 0;

    for (int i = PREFIX - 1; i >= 0; i--) {
        n = n << 8 | f->map[i];
    }
    if (n > f->n_bytes - PREFIX || n > most_header) {
        return refuse(why, path, "its header is longer than the file allows");
    }
    f->header = json_loadb((const char *)f->map + PREFIX, (size_t)n,
                           JSON_REJECT_DUPLICATES, NULL);
    return json_is_object(f->header)
               ? 0
               : refuse(why, path, "its header is no JSON object");
}

static int natural(const json_t *value, uint64_t *n)
{
    const json_int_t i = json_integer_value(value);

    *n = (uint64_t)i;
    return json_is_integer(value) && i >= 0;
}

/* Product of the shape times the type's size, if the type is known; of another
   one, elements have bytes and no elements have none. */
static int shape_fits(const checkpoint_tensor *t)
{
    const uint32_t dtype = dtype_by_file_name(t->dtype);
    uint64_t n = dtype == MXO_N_DTYPES ? 1 : dtype_bytes(dtype);

    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->shape[i] != 0 && n > UINT64_MAX / t->shape[i]) {
            return 0;
        }
        n *= t->shape[i];
    }
    return dtype == MXO_N_DTYPES ? (n == 0) == (t->n_bytes == 0)
                                 : n == t->n_bytes;
}

/* One entry of the header; 0 if it contradicts itself or the file. */
static int read_entry(const checkpoint_file *f, uint64_t data, const char *name,
                      const json_t *o, checkpoint_tensor *t)
{
    const json_t *shape = json_object_get(o, "shape");
    const json_t *offsets = json_object_get(o, "data_offsets");
    const uint64_t room = f->n_bytes - data;
    uint64_t first;
    uint64_t end;
    int good = json_is_array(shape) && json_array_size(shape) <= MXO_MAX_RANK &&
               json_is_array(offsets) && json_array_size(offsets) == 2;

    t->name = name;
    t->dtype = json_string_value(json_object_get(o, "dtype"));
    good = good && t->dtype != NULL &&
           natural(json_array_get(offsets, 0), &first) &&
           natural(json_array_get(offsets, 1), &end) && first <= end &&
           end <= room;
    if (!good) {
        return 0;
    }
    t->rank = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < t->rank; i++) {
        good = good && natural(json_array_get(shape, i), &t->shape[i]);
    }
    t->bytes = f->map + data + first;
    t->n_bytes = end - first;
    return good && shape_fits(t);
}

static int by_place(const void *a, const void *b)
{
    const checkpoint_tensor *x = a;
    const checkpoint_tensor *y = b;

    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? -1 : 1;
    }
    return x->n_bytes < y->n_bytes ? -1 : x->n_bytes > y->n_bytes;
}

/* The format leaves no gaps: a tail is what a broken copy leaves. */
static int check_tiling(const char *path, const checkpoint_file *f,
                        const uint8_t *data, checkpoint_tensor *t, size_t n,
                        mxo_text why)
{
    qsort(t, n, sizeof *t, by_place);
    for (size_t i = 0; i < n && t[i].bytes == data; i++) {
        data += t[i].n_bytes;
    }
    return data == f->map + f->n_bytes
               ? 0
               : refuse(why, path,
                        "has bytes that belong to no tensor, or to two");
}

static int add_entries(const char *path, checkpoint *c,
                       const checkpoint_file *f, mxo_text why)
{
    const uint64_t n_entries = json_object_size(f->header);
    const size_t first = c->n;
    uint64_t header = 0;
    const char *name;
    json_t *value;
    checkpoint_tensor *grown =
        realloc(c->tensor, (c->n + n_entries + 1) * sizeof *grown);

    if (grown == NULL) {
        return refuse(why, path, "no memory for its header");
    }
    c->tensor = grown;
    for (int i = PREFIX - 1; i >= 0; i--) {
        header = header << 8 | f->map[i];
    }
    json_object_foreach(f->header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) {
            continue;
        }
        memset(&c->tensor[c->n], 0, sizeof c->tensor[c->n]);
        if (!read_entry(f, PREFIX + header, name, value, &c->tensor[c->n++])) {
            (void)say(MXO_E_SHAPE, why,
                      "%s: the header contradicts itself or the file at %.80s",
                      path, name);
            return -1;
        }
    }
    return check_tiling(path, f, f->map + PREFIX + header, c->tensor + first,
                        c->n - first, why);
}

static int add_file(const char *path, checkpoint *c, mxo_text why)
{
    checkpoint_file *grown = realloc(c->file, (c->n_files + 1) * sizeof *grown);

    if (grown == NULL) {
        return refuse(why, path, "no memory");
    }
    c->file = grown;
    checkpoint_file *f = &c->file[c->n_files++];

    *f = (checkpoint_file){NULL, NULL, 0, NULL};
    return map_file(path, f, why) != 0 || read_header(path, f, why) != 0
               ? -1
               : add_entries(path, c, f, why);
}

/* Every tensor that the index promises is there. */
static int check_promised(const char *path, const checkpoint *c,
                          json_t *weights, mxo_text why)
{
    const char *tensor;
    json_t *value;

    json_object_foreach(weights, tensor, value)
    {
        if (checkpoint_find(c, tensor) == NULL) {
            (void)say(MXO_E_SHAPE, why,
                      "%s: %.200s is not in %.200s, where the index says it "
                      "is",
                      path, tensor, json_string_value(value));
            return -1;
        }
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const checkpoint_tensor *)a)->name,
                  ((const checkpoint_tensor *)b)->name);
}

static void sort_by_name(checkpoint *c)
{
    /* There is no array of no tensors. */
    if (c->n > 0) {
        qsort(c->tensor, c->n, sizeof c->tensor[0], by_name);
    }
}

/* Every file that the index names, once, from the index's folder. */
static int add_indexed(const char *path, checkpoint *c, mxo_text why)
{
    FILE *f = input_open(path);
    json_t *index =
        f == NULL ? NULL : json_loadf(f, JSON_REJECT_DUPLICATES, NULL);
    json_t *weights = json_object_get(index, "weight_map");
    json_t *seen = json_object();
    const char *slash = strrchr(path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - path) + 1;
    const char *tensor;
    json_t *value;
    int status = json_is_object(weights) ? 0
                 : f == NULL             ? refuse(why, path, strerror(errno))
                             : refuse(why, path, "is no index (no weight_map)");

    if (f != NULL) {
        (void)fclose(f);
    }
    json_object_foreach(weights, tensor, value)
    {
        char file[PATH_ROOM];
        const char *name = json_string_value(value);
        if (status != 0) {
            break;
        }
        if (name == NULL || strchr(name, '/') != NULL) {
            status = refuse(why, path, "names a file outside its folder");
        } else if (json_object_get(seen, name) == NULL) {
            json_object_set_new(seen, name, json_true());
            (void)snprintf(file, sizeof file, "%.*s%s", folder, path, name);
            status = add_file(file, c, why);
        }
    }
    if (status == 0) {
        sort_by_name(c);
        status = check_promised(path, c, weights, why);
    }
    json_decref(seen);
    json_decref(index);
    return status;
}

static int check_names(const char *path, const checkpoint *c, mxo_text why)
{
    for (size_t i = 1; i < c->n; i++) {
        if (strcmp(c->tensor[i - 1].name, c->tensor[i].name) == 0) {
            (void)say(MXO_E_SHAPE, why, "%s: two tensors are called %.80s",
                      path, c->tensor[i].name);
            return -1;
        }
    }
    return 0;
}

int checkpoint_open(const char *path, checkpoint *c, mxo_text why)
{
    static const char index[] = "model.safetensors.index.json";
    char inside[PATH_ROOM];
    struct stat st;
    const size_t len = strlen(path);
    int status;

    memset(c, 0, sizeof *c);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        (void)snprintf(inside, sizeof inside, "%s/%s", path, index);
        if (access(inside, R_OK) == 0) {
            status = add_indexed(inside, c, why);
        } else {
            (void)snprintf(inside, sizeof inside, "%s/model.safetensors", path);
            status = add_file(inside, c, why);
        }
    } else if (len > 5 && strcmp(path + len - 5, ".json") == 0) {
        status = add_indexed(path, c, why);
    } else {
        status = add_file(path, c, why);
    }
    if (status == 0) {
        sort_by_name(c);
        status = check_names(path, c, why);
    }
    if (status != 0) {
        checkpoint_close(c);
    }
    return status;
}

int checkpoint_holds(const checkpoint *c, const char *path)
{
    struct stat other;
    struct stat own;
    int holds = 0;

    for (size_t i = 0; i < c->n_files && stat(path, &other) == 0; i++) {
        holds |= fstat(c->file[i].mapped->fd, &own) == 0 &&
                 own.st_dev == other.st_dev && own.st_ino == other.st_ino;
    }
    return holds;
}

int checkpoint_is_unchanged(const checkpoint *c, mxo_text why)
{
    for (size_t i = 0; i < c->n_files; i++) {
        if (mapped_has_changed(c->file[i].mapped)) {
            return refuse(why, c->file[i].mapped->path,
                          "has changed while it was read");
        }
    }
    return 0;
}

void checkpoint_close(checkpoint *c)
{
    for (size_t i = 0; i < c->n_files; i++) {
        mapped_close(&c->file[i].mapped);
        json_decref(c->file[i].header);
    }
    free(c->file);
    free(c->tensor);
    memset(c, 0, sizeof *c);
}

const checkpoint_tensor *checkpoint_find(const checkpoint *c, const char *name)
{
    const checkpoint_tensor key = {.name = name};

    return c->n == 0 ? NULL
                     : bsearch(&key, c->tensor, c->n, sizeof key, by_name);
}

const char *checkpoint_meta(const checkpoint *c, const char *key)
{
    return c->n_files == 0
               ? NULL
               : json_string_value(json_object_get(
                     json_object_get(c->file[0].header, "__metadata__"), key));
}

void checkpoint_forget(const uint8_t *bytes, uint64_t n_bytes)
{
    const uintptr_t page = 4096;
    const uintptr_t first = ((uintptr_t)bytes + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)bytes + n_bytes) / page * page;

    if (end > first) {
        system_forget((const void *)first, end - first);
    }
}
