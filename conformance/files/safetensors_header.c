/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the header entry by entry.  Order of checks: true size, header
 * length, JSON, each entry on its own, names, then the offsets together: they
 * must tile the data exactly, as the format demands, without hole or overlap.
 */
#include "safetensors_header.h"

#include "base/say.h"
#include "base/tensors.h"
#include "json_walk.h"

#include <stdlib.h>
#include <string.h>

enum { PREFIX = 8 };

static const uint64_t most_header = 64 << 20; /* no checkpoint has as much */

/* Types of the format that no tensor of the judge has. */
typedef struct foreign_dtype {
    const char *name;
    uint64_t bits;
} foreign_dtype;

static const foreign_dtype foreign[] = {
    {"F4", 4}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"C64", 64}};

typedef struct reader {
    safetensors_header *h;
    const uint8_t *data;
    uint64_t data_bytes;
    size_t room; /* of h->tensor */
    char *free;  /* in h->text */
    mxo_text why;
} reader;

/* Texts of JSON are longer in JSON, by two quotes, so that text has room. */
static const char *keep(reader *r, const char *text)
{
    const size_t n = strlen(text) + 1;
    char *kept = memcpy(r->free, text, n);

    r->free += n;
    return kept;
}

static mxo_status no_json(const reader *r, const json_walk *w)
{
    return say(MXO_E_SHAPE, r->why, "has a header that is no JSON: %s",
               w->error);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Is there one twice?  Sorts them. */
static mxo_status check_names(const char **name, size_t n, mxo_text why)
{
    mxo_status status = MXO_OK;

    if (name == NULL) {
        return say(MXO_E_NOMEM, why, "no memory for its header");
    }
    qsort(name, n, sizeof *name, by_text);
    for (size_t i = 1; i < n && status == MXO_OK; i++) {
        if (strcmp(name[i - 1], name[i]) == 0) {
            status = say(MXO_E_SHAPE, why, "has a duplicate of %.60s", name[i]);
        }
    }
    return status;
}

static mxo_status check_keys(reader *r, size_t n)
{
    const char **key = malloc((n + 1) * sizeof *key);
    const char *at = r->h->metadata;

    for (size_t i = 0; key != NULL && i < n; i++) {
        key[i] = at;
        at += strlen(at) + 1;
        at += strlen(at) + 1;
    }
    const mxo_status status = check_names(key, n, r->why);

    free((void *)key);
    return status;
}

static mxo_status read_metadata(reader *r, const json_walk *entry)
{
    json_walk w = json_walk_begin(entry->text, entry->n_text);
    mxo_status status = MXO_OK;
    int more = 0;

    if (w.closer != '}') {
        return say(MXO_E_SHAPE, r->why, "has __metadata__ that is no object");
    }
    if (r->h->metadata != NULL) {
        return say(MXO_E_SHAPE, r->why, "has a duplicate of __metadata__");
    }
    r->h->metadata = r->free;
    while (status == MXO_OK && (more = json_walk_next(&w)) == 1) {
        const char *key = json_walk_key(&w);
        const json_t *value = json_walk_value(&w);
        if (value == NULL) {
            status = no_json(r, &w);
        } else if (key[0] == '\0' || !json_is_string(value)) {
            status = say(MXO_E_SHAPE, r->why,
                         "has metadata %.60s that is no text with a name", key);
        } else {
            (void)keep(r, key);
            (void)keep(r, json_string_value(value));
        }
    }
    *r->free++ = '\0'; /* there is room: the brackets */
    if (more < 0) {
        status = no_json(r, &w);
    }
    json_walk_end(&w);
    return status == MXO_OK ? check_keys(r, w.n) : status;
}

/* A JSON integer that is not negative. */
static int natural(const json_t *value, uint64_t *n)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        return 0;
    }
    *n = (uint64_t)json_integer_value(value);
    return 1;
}

static mxo_status read_shape(const json_t *shape, file_tensor *t, mxo_text why)
{
    if (!json_is_array(shape)) {
        return say(MXO_E_SHAPE, why, "gives %.60s no shape", t->name);
    }
    if (json_array_size(shape) > MXO_MAX_RANK) {
        return say(MXO_E_SHAPE, why, "gives %.60s more than %d dimensions",
                   t->name, MXO_MAX_RANK);
    }
    t->rank = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < t->rank; i++) {
        if (!natural(json_array_get(shape, i), &t->shape[i])) {
            return say(MXO_E_SHAPE, why,
                       "gives %.60s a dimension that is no natural number",
                       t->name);
        }
    }
    return MXO_OK;
}

/* The format's own spelling of a type and its bits; NULL if it has none such.
 */
static const char *spelling(const char *name, uint64_t *bits)
{
    const uint32_t dtype = dtype_by_file_name(name);

    *bits = 8 * (uint64_t)dtype_bytes(dtype);
    if (dtype != MXO_N_DTYPES) {
        return dtype_file_name(dtype);
    }
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        if (strcmp(foreign[i].name, name) == 0) {
            *bits = foreign[i].bits;
            return foreign[i].name;
        }
    }
    return NULL;
}

/* Are these the bytes of the shape, elements of so many bits? */
static int is_dense(const file_tensor *t, uint64_t bits)
{
    uint64_t n = bits;

    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->shape[i] == 0) {
            return t->n_bytes == 0;
        }
    }
    for (uint32_t i = 0; i < t->rank; i++) {
        if (n > UINT64_MAX / t->shape[i]) {
            return 0;
        }
        n *= t->shape[i];
    }
    return n % 8 == 0 && n / 8 == t->n_bytes;
}

static mxo_status read_offsets(const reader *r, const json_t *offsets,
                               uint64_t bits, file_tensor *t)
{
    uint64_t begin = 0;
    uint64_t end = 0;

    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        !natural(json_array_get(offsets, 0), &begin) ||
        !natural(json_array_get(offsets, 1), &end)) {
        return say(MXO_E_SHAPE, r->why,
                   "gives %.60s data_offsets that are no two natural numbers",
                   t->name);
    }
    if (begin > end || end > r->data_bytes) {
        return say(MXO_E_SHAPE, r->why,
                   "puts %.60s at bytes %llu to %llu of %llu", t->name,
                   (unsigned long long)begin, (unsigned long long)end,
                   (unsigned long long)r->data_bytes);
    }
    t->bytes = r->data + begin;
    t->n_bytes = end - begin;
    if (!is_dense(t, bits)) {
        return say(MXO_E_SHAPE, r->why,
                   "gives %.60s %llu bytes, which do not fit its shape",
                   t->name, (unsigned long long)t->n_bytes);
    }
    return MXO_OK;
}

static mxo_status read_tensor(const reader *r, const json_t *object,
                              file_tensor *t)
{
    const char *dtype = json_string_value(json_object_get(object, "dtype"));
    uint64_t bits = 0;

    if (t->name[0] == '\0') {
        return say(MXO_E_SHAPE, r->why, "has a tensor whose name is empty");
    }
    if (!say_is_printable(t->name)) { /* others' reports will tell it */
        return say(MXO_E_SHAPE, r->why,
                   "has a tensor whose name cannot be printed: %.60s", t->name);
    }
    if (dtype == NULL || json_object_size(object) != 3) {
        return say(MXO_E_SHAPE, r->why,
                   "describes %.60s by other than dtype, shape, data_offsets",
                   t->name);
    }
    t->dtype = spelling(dtype, &bits);
    if (t->dtype == NULL) {
        return say(MXO_E_SHAPE, r->why, "gives %.60s the unknown dtype %.20s",
                   t->name, dtype);
    }
    const mxo_status status =
        read_shape(json_object_get(object, "shape"), t, r->why);

    return status != MXO_OK
               ? status
               : read_offsets(r, json_object_get(object, "data_offsets"), bits,
                              t);
}

static mxo_status add_tensor(reader *r, json_walk *w)
{
    safetensors_header *h = r->h;
    const json_t *object = json_walk_value(w);

    if (object == NULL) {
        return no_json(r, w);
    }
    if (h->n == r->room) {
        const size_t room = r->room == 0 ? 64 : 2 * r->room;
        file_tensor *grown = realloc(h->tensor, room * sizeof *grown);
        if (grown == NULL) {
            return say(MXO_E_NOMEM, r->why, "no memory for its header");
        }
        h->tensor = grown;
        r->room = room;
    }
    file_tensor *t = &h->tensor[h->n++];

    memset(t, 0, sizeof *t);
    t->name = keep(r, json_walk_key(w));
    return read_tensor(r, object, t);
}

static mxo_status check_tensor_names(const reader *r)
{
    const size_t n = r->h->n;
    const char **name = malloc((n + 1) * sizeof *name);

    for (size_t i = 0; name != NULL && i < n; i++) {
        name[i] = r->h->tensor[i].name;
    }
    const mxo_status status = check_names(name, n, r->why);

    free((void *)name);
    return status;
}

static int by_place(const void *a, const void *b)
{
    const file_tensor *x = a;
    const file_tensor *y = b;

    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? -1 : 1;
    }
    return x->n_bytes < y->n_bytes ? -1 : x->n_bytes > y->n_bytes;
}

/* Do the tensors cover the data exactly, once? */
static mxo_status check_tiling(const reader *r)
{
    const safetensors_header *h = r->h;
    const uint8_t *at = r->data;

    if (h->n > 0) { /* there is no array of no tensors */
        qsort(h->tensor, h->n, sizeof h->tensor[0], by_place);
    }
    for (size_t i = 0; i < h->n; i++) {
        const file_tensor *t = &h->tensor[i];
        if (t->bytes != at) {
            return say(MXO_E_SHAPE, r->why, "has %s before the bytes of %.60s",
                       t->bytes < at ? "an overlap" : "a hole", t->name);
        }
        at += t->n_bytes;
    }
    if (at != r->data + r->data_bytes) {
        return say(MXO_E_SHAPE, r->why, "has %llu bytes after the last tensor",
                   (unsigned long long)(r->data + r->data_bytes - at));
    }
    return MXO_OK;
}

static mxo_status read_entries(reader *r, const char *text, size_t n)
{
    json_walk w = json_walk_begin(text, n);
    mxo_status status = MXO_OK;
    int more = 0;

    if (w.closer == ']') {
        return say(MXO_E_SHAPE, r->why, "has a header that is no object");
    }
    while (status == MXO_OK && (more = json_walk_next(&w)) == 1) {
        status = strcmp(json_walk_key(&w), "__metadata__") == 0
                     ? read_metadata(r, &w)
                     : add_tensor(r, &w);
    }
    if (more < 0) {
        status = no_json(r, &w);
    }
    json_walk_end(&w);
    status = status == MXO_OK ? check_tensor_names(r) : status;
    return status == MXO_OK ? check_tiling(r) : status;
}

/* What was reserved and not used goes back. */
static void shrink(reader *r)
{
    safetensors_header *h = r->h;
    file_tensor *tensor = realloc(h->tensor, (h->n + 1) * sizeof *tensor);

    h->tensor = tensor == NULL ? h->tensor : tensor;
}

mxo_status safetensors_header_read(const uint8_t *bytes, uint64_t n_bytes,
                                   safetensors_header *h, mxo_text why)
{
    uint64_t n = 0;

    memset(h, 0, sizeof *h);
    if (n_bytes < PREFIX) {
        return say(MXO_E_SHAPE, why,
                   "is no safetensors file: %llu bytes hold no header",
                   (unsigned long long)n_bytes);
    }
    for (int i = PREFIX - 1; i >= 0; i--) {
        n = n << 8 | bytes[i];
    }
    if (n > n_bytes - PREFIX || n > most_header) {
        return say(MXO_E_SHAPE, why,
                   "is no safetensors file: its header claims %llu bytes, "
                   "which is more than %s",
                   (unsigned long long)n,
                   n > n_bytes - PREFIX ? "the file has" : "67108864");
    }
    h->n_bytes = PREFIX + n;
    h->text = malloc((size_t)n + 1);
    reader r = {.h = h,
                .data = bytes + h->n_bytes,
                .data_bytes = n_bytes - h->n_bytes,
                .free = h->text,
                .why = why};
    const mxo_status status =
        h->text == NULL
            ? say(MXO_E_NOMEM, why, "no memory for its header")
            : read_entries(&r, (const char *)bytes + PREFIX, (size_t)n);

    if (status != MXO_OK) {
        safetensors_header_clear(h);
    } else {
        shrink(&r);
    }
    return status;
}

void safetensors_header_clear(safetensors_header *h)
{
    free(h->tensor);
    free(h->text);
    memset(h, 0, sizeof *h);
}

const char *safetensors_text_of(const char *metadata, const char *key)
{
    for (const char *at = metadata; at != NULL && *at != '\0';) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, key) == 0) {
            return value;
        }
        at = value + strlen(value) + 1;
    }
    return NULL;
}
