/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the header of a GGUF file: every length against what is left. */
#include "parse.h"

#include "base/say.h"
#include "block.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A header of more is no model's: tokens and merges take some 20 MB. */
static const uint64_t most_header = 64 << 20;

/* GGML_MAX_NAME is 64, or 128 where images are made. */
enum { NAME_BYTES = 128 };

enum { SEEN_ALIGNMENT = 1, SEEN_LAYERS = 2, SEEN_PARTS = 4 };

const char *const gguf_names[PROJECTIONS] = {"gate", "up", "down"};
const char *const gguf_parts[PARTS] = {"weight", "bias", "scale",
                                       "input_scale"};

int gguf_refuse(const gguf *g, const char *sentence)
{
    (void)say(MXO_E_SHAPE, g->why, "%.300s: %s", g->path, sentence);
    return -1;
}

static uint64_t number(gguf *g, int n)
{
    uint64_t value = 0;

    if (g->bad || g->n_header - g->at < (uint64_t)n) {
        g->bad = 1;
        return 0;
    }
    for (int i = n - 1; i >= 0; i--) {
        value = value << 8 | g->map[g->at + (uint64_t)i];
    }
    g->at += (uint64_t)n;
    return value;
}

/* A string in the file; its length in *n, NULL if it ends beyond. */
static const char *string(gguf *g, uint64_t *n)
{
    const char *text = (const char *)g->map + g->at + 8;

    *n = number(g, 8);
    if (g->bad || *n > g->n_header - g->at) {
        g->bad = 1;
        *n = 0;
        return NULL;
    }
    g->at += *n;
    return text;
}

static void skip_value(gguf *g, uint64_t type, int depth)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    uint64_t n;

    if (type == GGUF_STRING) {
        (void)string(g, &n);
        return;
    }
    if (type == GGUF_ARRAY && depth < 4) {
        const uint64_t inner = number(g, 4);
        const uint64_t count = number(g, 8);
        for (uint64_t i = 0; i < count && !g->bad; i++) {
            skip_value(g, inner, depth + 1);
        }
        return;
    }
    if (type >= sizeof sizes || sizes[type] == 0) {
        g->bad = 1;
        return;
    }
    (void)number(g, sizes[type]);
}

static int is_key(const char *text, uint64_t n, const char *key)
{
    return text != NULL && n == strlen(key) && memcmp(text, key, n) == 0;
}

/* A key that is read has one type, and is there once. */
static void take_key(gguf *g, unsigned key, uint64_t type, uint64_t wanted)
{
    g->bad |= type != wanted || (g->seen & key) != 0;
    g->seen |= key;
}

static void read_key(gguf *g)
{
    uint64_t n;
    const char *key = string(g, &n);
    const uint64_t type = number(g, 4);

    if (is_key(key, n, "general.alignment")) {
        take_key(g, SEEN_ALIGNMENT, type, GGUF_UINT32);
        g->align = number(g, 4);
    } else if (is_key(key, n, GGUF_LAYERS)) {
        take_key(g, SEEN_LAYERS, type, GGUF_STRING);
        g->layers = string(g, &g->n_layers);
    } else if (is_key(key, n, "split.count")) {
        take_key(g, SEEN_PARTS, type, GGUF_UINT16);
        g->n_parts = number(g, 2);
    } else {
        skip_value(g, type, 0);
    }
}

/* Where the tensor of a block belongs that is called so there; NULL: it is no
   part of experts that is read. */
static gguf_tensor *part_of(gguf_block *b, const char *name, int *is_known)
{
    *is_known = strcmp(name, "gate_up_exps.weight") == 0;
    b->is_fused |= *is_known;
    for (int i = 0; i < PARTS * PROJECTIONS; i++) {
        const int p = i % PROJECTIONS;
        const int part = i / PROJECTIONS;
        char called[32];
        (void)snprintf(called, sizeof called, "%s_exps.%s", gguf_names[p],
                       gguf_parts[part]);
        if (strcmp(name, called) == 0) {
            return &b->part[part][p];
        }
    }
    return NULL;
}

static gguf_tensor *place_of(gguf *g, const char *name, int *is_known)
{
    char head[24];
    unsigned block = 0;

    *is_known = 0;
    if (sscanf(name, "blk.%4u", &block) != 1 || block >= GGUF_BLOCKS) {
        return NULL;
    }
    const size_t used =
        (size_t)snprintf(head, sizeof head, "blk.%u.ffn_", block);

    return strncmp(name, head, used) == 0 /* no "blk.+1", "blk.01" */
               ? part_of(&g->block[block], name + used, is_known)
               : NULL;
}

/* Does a name say that it is of experts' projections? */
static int is_of_experts(const char *name)
{
    int is = strstr(name, "ffn_gate_up_exps") != NULL;

    for (int p = 0; p < PROJECTIONS; p++) {
        char part[32];
        (void)snprintf(part, sizeof part, "ffn_%s_exps", gguf_names[p]);
        is |= strstr(name, part) != NULL;
    }
    return is;
}

/* Bytes of a tensor; of a type that is not read here 1, for they begin
   somewhere; at least one more than the file has if they are too many. */
static uint64_t size_of(const gguf *g, const gguf_tensor *t)
{
    const int is_block = t->type == GGUF_MXFP4 || t->type == GGUF_NVFP4;
    const uint64_t group = t->type == GGUF_NVFP4 ? 16 : 32;
    uint64_t n = is_block              ? gguf_block_bytes(group)
                 : t->type == GGUF_F32 ? 4
                                       : 1;

    for (uint32_t i = 0; i < t->rank; i++) {
        const uint64_t dim = is_block && i == 0
                                 ? t->dim[i] / gguf_block_elements(group)
                                 : t->dim[i];
        if (dim == 0) {
            return 0;
        }
        n = n > g->n_bytes / dim ? g->n_bytes + 1 : n * dim;
    }
    return is_block || t->type == GGUF_F32 ? n : 1;
}

static void add_extent(gguf *g, const gguf_tensor *t, const char *name,
                       uint64_t n_name)
{
    const uint64_t n = size_of(g, t);

    if ((g->n_extents & (g->n_extents + 1)) == 0) { /* 0, 1, 3, 7, ... */
        gguf_extent *grown =
            realloc(g->extent, (2 * g->n_extents + 2) * sizeof *grown);
        g->bad |= grown == NULL;
        g->extent = grown == NULL ? g->extent : grown;
    }
    if (!g->bad && n > 0) {
        const uint64_t end =
            t->offset < UINT64_MAX - n ? t->offset + n : UINT64_MAX;
        g->extent[g->n_extents++] = (gguf_extent){t->offset, end, name, n_name};
    }
}

static void read_info(gguf *g)
{
    gguf_tensor t = {.present = 1};
    char name[NAME_BYTES] = "";
    int is_known;
    uint64_t n;
    const char *text = string(g, &n);

    g->bad |= n >= NAME_BYTES;
    for (uint64_t i = 0; i < n && !g->bad; i++) { /* no text ends within */
        name[i] = (char)(text[i] == '\0' ? '?' : text[i]);
    }
    t.rank = (uint32_t)number(g, 4);
    g->bad |= t.rank > 4;
    for (uint32_t i = 0; i < t.rank && !g->bad; i++) {
        t.dim[i] = number(g, 8);
        g->bad |= t.dim[i] > (uint64_t)1 << 32;
    }
    t.type = (uint32_t)number(g, 4);
    t.offset = number(g, 8);
    g->bad |= t.offset % g->align != 0;
    add_extent(g, &t, text, n);
    gguf_tensor *to = place_of(g, name, &is_known);
    if (to != NULL) {
        g->bad |= to->present;
        *to = t;
    } else if (!is_known && is_of_experts(name)) {
        g->stranger = text;
        g->n_stranger = n;
    }
}

static int by_begin(const void *a, const void *b)
{
    const gguf_extent *x = a;
    const gguf_extent *y = b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* So many bytes of a name are told. */
static int shown(const gguf_extent *e)
{
    return e->n_name < 80 ? (int)e->n_name : 80;
}

/* Every tensor lies in the file, and no two have a byte. */
static int check_extents(gguf *g)
{
    gguf_extent *e = g->extent;
    const uint64_t n_data = g->data < g->n_bytes ? g->n_bytes - g->data : 0;

    if (g->n_extents > 0) {
        qsort(e, g->n_extents, sizeof *e, by_begin);
    }
    for (size_t i = 0; i < g->n_extents; i++) {
        if (e[i].end > n_data) {
            (void)say(MXO_E_SHAPE, g->why, "%s: %.*s ends beyond the file",
                      g->path, shown(&e[i]), e[i].name);
            return -1;
        }
        if (i > 0 && e[i - 1].end > e[i].begin) {
            (void)say(MXO_E_SHAPE, g->why, "%s: %.*s overlaps %.*s", g->path,
                      shown(&e[i - 1]), e[i - 1].name, shown(&e[i]), e[i].name);
            return -1;
        }
    }
    return 0;
}

static int read_header(gguf *g)
{
    if (g->n_bytes < 24 || memcmp(g->map, "GGUF", 4) != 0) {
        return gguf_refuse(g, "is no GGUF file");
    }
    g->at = 4;
    const uint64_t version = number(g, 4);
    const uint64_t n_tensors = number(g, 8);
    const uint64_t n_keys = number(g, 8);

    if (version == (uint64_t)GGUF_VERSION << 24) {
        return gguf_refuse(g, "is a GGUF file in big-endian order, which is "
                              "not read");
    }
    if (version != GGUF_VERSION) {
        (void)say(MXO_E_SHAPE, g->why, "%s: is GGUF of version %llu, not 3",
                  g->path, (unsigned long long)version);
        return -1;
    }
    for (uint64_t i = 0; i < n_keys && !g->bad; i++) {
        read_key(g);
    }
    g->bad |=
        g->align == 0 || g->align > 65536 || (g->align & (g->align - 1)) != 0;
    for (uint64_t i = 0; i < n_tensors && !g->bad; i++) {
        read_info(g);
    }
    if (g->bad) {
        return gguf_refuse(g, g->n_header < g->n_bytes &&
                                      g->n_header - g->at < NAME_BYTES
                                  ? "has a header of more than 64 MiB"
                                  : "its header is cut off or contradicts "
                                    "itself");
    }
    if (g->stranger != NULL) {
        (void)say(MXO_E_SHAPE, g->why,
                  "%.300s: %.*s is a tensor of experts that is not read",
                  g->path, (int)g->n_stranger, g->stranger);
        return -1;
    }
    if (g->n_parts > 1) {
        (void)say(MXO_E_SHAPE, g->why,
                  "%s: is one of %llu parts of a model: llama-gguf-split "
                  "--merge makes them one file",
                  g->path, (unsigned long long)g->n_parts);
        return -1;
    }
    g->data = (g->at + g->align - 1) / g->align * g->align;
    return check_extents(g);
}

static int open_map(gguf *g)
{
    g->file = mapped_open(g->path);
    if (g->file == NULL) {
        return gguf_refuse(g, errno == ENOTSUP || errno == EINVAL
                                  ? "is no GGUF file"
                                  : strerror(errno));
    }
    g->map = g->file->bytes;
    g->n_bytes = g->file->n_bytes;
    g->n_header = g->n_bytes < most_header ? g->n_bytes : most_header;
    return 0;
}

int gguf_open(gguf *g)
{
    g->block = calloc(GGUF_BLOCKS, sizeof *g->block);
    if (g->block == NULL) {
        return gguf_refuse(g, "no memory");
    }
    return open_map(g) != 0 ? -1 : read_header(g);
}

void gguf_close(gguf *g)
{
    mapped_close(&g->file);
    for (size_t n = 0; g->block != NULL && n < GGUF_BLOCKS; n++) {
        free(g->block[n].numbers);
    }
    free(g->extent);
    free(g->block);
}
