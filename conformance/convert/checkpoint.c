/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping checkpoints and reading their headers; see checkpoint.h. */
#include "checkpoint.h"

#include "base/input.h"
#include "base/say.h"
#include "files/json_walk.h"
#include "system/system.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096 };

static int refuse(mxo_text why, const char *path, const char *sentence)
{
    (void)say(MXO_E_SHAPE, why, "%.300s: %s", path, sentence);
    return -1;
}

/* The tensors of a header, behind those of the files before. */
static int add_tensors(const char *path, checkpoint *c, safetensors_header *h,
                       mxo_text why)
{
    if (c->n > 0 && h->n > 0) {
        file_tensor *grown = realloc(c->tensor, (c->n + h->n) * sizeof *grown);
        if (grown == NULL) {
            return refuse(why, path, "no memory for its header");
        }
        memcpy(grown + c->n, h->tensor, h->n * sizeof *grown);
        c->tensor = grown;
        free(h->tensor);
    } else if (h->n > 0) {
        free(c->tensor);
        c->tensor = h->tensor;
    }
    h->tensor = h->n == 0 ? h->tensor : NULL;
    c->n += h->n;
    return 0;
}

static int add_file(const char *path, checkpoint *c, mxo_text why)
{
    checkpoint_file *grown = realloc(c->file, (c->n_files + 1) * sizeof *grown);
    char sentence[400] = "";

    if (grown == NULL) {
        return refuse(why, path, "no memory");
    }
    c->file = grown;
    checkpoint_file *f = &c->file[c->n_files++];

    memset(f, 0, sizeof *f);
    f->mapped = mapped_open(path);
    if (f->mapped == NULL) {
        return refuse(why, path,
                      errno == ENOTSUP || errno == EINVAL
                          ? "is no safetensors file"
                          : strerror(errno));
    }
    f->map = f->mapped->bytes;
    f->n_bytes = f->mapped->n_bytes;
    if (f->n_bytes > 4 && memcmp(f->map, "GGUF", 4) == 0) {
        return refuse(why, path,
                      "is a GGUF file: convert --from=gguf makes a checkpoint "
                      "of its experts");
    }
    if (safetensors_header_read(f->map, f->n_bytes, &f->header,
                                (mxo_text){sentence, sizeof sentence}) !=
        MXO_OK) {
        return refuse(why, path, sentence);
    }
    checkpoint_forget(f->map, f->header.n_bytes);
    return add_tensors(path, c, &f->header, why);
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

/* The weight_map of an index, as text; 0 if there is none. */
static int find_map(const mapped_file *f, json_walk *map)
{
    json_walk w = json_walk_begin((const char *)f->bytes, (size_t)f->n_bytes);
    int n_maps = 0;
    int more = w.closer == '}' ? 1 : -1;

    while (more == 1 && (more = json_walk_next(&w)) == 1) {
        if (strcmp(json_walk_key(&w), "weight_map") == 0) {
            *map = json_walk_begin(w.text, w.n_text);
            n_maps++;
        } else if (json_walk_value(&w) == NULL) {
            more = -1;
        }
    }
    json_walk_end(&w);
    return more == 0 && n_maps == 1 && map->closer == '}';
}

/* The file that was opened as path; NULL. */
static const checkpoint_file *file_of(const checkpoint *c, const char *path)
{
    for (size_t i = c->n_files; i > 0; i--) {
        if (strcmp(c->file[i - 1].mapped->path, path) == 0) {
            return &c->file[i - 1];
        }
    }
    return NULL;
}

/* The path of a file that the index names. */
static void path_beside(const char *index, const char *name,
                        char path[PATH_ROOM])
{
    const char *slash = strrchr(index, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - index) + 1;

    (void)snprintf(path, PATH_ROOM, "%.*s%s", folder, index, name);
}

/* Every file that the index names, once, from the index's folder. */
static int add_files(const char *path, checkpoint *c, json_walk map,
                     mxo_text why)
{
    int status = 0;
    int more = 1;

    while (status == 0 && (more = json_walk_next(&map)) == 1) {
        const char *name = json_string_value(json_walk_value(&map));
        char file[PATH_ROOM];
        if (name == NULL || strchr(name, '/') != NULL) {
            status = refuse(why, path,
                            name == NULL ? "names no file for a tensor"
                                         : "names a file outside its folder");
            break;
        }
        if (strlen(name) > NAME_MAX) {
            status = refuse(why, path, "names a file that no folder has");
            break;
        }
        path_beside(path, name, file);
        status = file_of(c, file) != NULL ? 0 : add_file(file, c, why);
    }
    if (more < 0) {
        status = refuse(why, path, map.error);
    }
    json_walk_end(&map);
    return status;
}

static int lies_in(const checkpoint_tensor *t, const checkpoint_file *f)
{
    return f != NULL && t->bytes >= f->map && t->bytes <= f->map + f->n_bytes;
}

/* Every tensor that the index promises is there, and promised once. */
static int check_promised(const char *path, const checkpoint *c, json_walk map,
                          mxo_text why)
{
    uint8_t *promised = calloc(c->n + 1, 1);
    int status = promised == NULL ? refuse(why, path, "no memory") : 0;

    while (status == 0 && json_walk_next(&map) == 1) {
        const char *name = json_walk_key(&map);
        const char *in = json_string_value(json_walk_value(&map));
        const checkpoint_tensor *t = checkpoint_find(c, name);
        char file[PATH_ROOM];
        path_beside(path, in, file);
        const int is_there = t != NULL && lies_in(t, file_of(c, file));
        if (!is_there || promised[t - c->tensor]++ != 0) {
            (void)say(MXO_E_SHAPE, why, "%.200s: %.140s is %s %.140s%s", path,
                      name, is_there ? "promised twice, in" : "not in", in,
                      is_there ? "" : ", where the index says it is");
            status = -1;
        }
    }
    json_walk_end(&map);
    free(promised);
    return status;
}

static int check_names(const char *path, const checkpoint *c, mxo_text why)
{
    for (size_t i = 1; i < c->n; i++) {
        if (strcmp(c->tensor[i - 1].name, c->tensor[i].name) == 0) {
            (void)say(MXO_E_SHAPE, why, "%.300s: two tensors are called %.80s",
                      path, c->tensor[i].name);
            return -1;
        }
    }
    return 0;
}

static int add_indexed(const char *path, checkpoint *c, mxo_text why)
{
    mapped_file *f = mapped_open(path);
    json_walk map = {0};
    int status;

    if (f == NULL && errno != EINVAL) {
        return refuse(why, path, input_error());
    }
    status = f != NULL && find_map(f, &map)
                 ? add_files(path, c, map, why)
                 : refuse(why, path, "is no index (no weight_map)");
    if (status == 0) {
        sort_by_name(c);
        status = check_names(path, c, why);
    }
    status = status == 0 ? check_promised(path, c, map, why) : status;
    mapped_close(&f);
    return status;
}

/* Files that are converted are so in one way. */
static int check_claims(const checkpoint *c, mxo_text why)
{
    static const char *const keys[] = {META_LAYOUT, META_LAYERS};

    for (size_t i = 0; i < c->n_files * 2; i++) {
        const checkpoint_file *f = &c->file[i / 2];
        const char *const said =
            safetensors_text_of(f->header.metadata, keys[i % 2]);
        if (said != NULL &&
            strcmp(said, checkpoint_meta(c, keys[i % 2])) != 0) {
            (void)say(MXO_E_SHAPE, why,
                      "%.300s: its %s is another than that of the files before",
                      f->mapped->path, keys[i % 2]);
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
    status = status == 0 ? check_claims(c, why) : status;
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
        safetensors_header_clear(&c->file[i].header);
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
    const char *said = NULL;

    for (size_t i = 0; i < c->n_files && said == NULL; i++) {
        said = safetensors_text_of(c->file[i].header.metadata, key);
    }
    return said;
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
