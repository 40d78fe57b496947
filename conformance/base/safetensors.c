/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading safetensors from strangers.  Order of checks: true size, header
 * length, JSON, each entry on its own, then the offsets together: they must
 * tile the data exactly, as the format demands, without hole or overlap.
 */
#include "safetensors.h"

#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A header of 64 tensors is some 10 KB; jansson needs many times its size. */
enum { PREFIX = 8, MAX_HEADER = 1 << 20 };

/* Where the bytes come from: a descriptor, or memory if fd is -1. */
typedef struct byte_source {
    int fd;
    const uint8_t *memory;
    uint64_t size;
} byte_source;

/* One tensor of the header, before its bytes are read. */
typedef struct entry {
    const char *name; /* borrowed from the JSON */
    uint32_t dtype;
    uint32_t rank;
    uint64_t shape[MXO_MAX_RANK];
    uint64_t begin;
    uint64_t end;
} entry;

typedef struct entries {
    uint32_t n;
    entry e[MXO_MAX_TENSORS];
} entries;

static mxo_status fetch(const byte_source *s, uint64_t at, uint8_t *dst,
                        uint64_t n, mxo_text why)
{
    if (s->fd < 0) {
        if (n > 0) {
            memcpy(dst, s->memory + at, (size_t)n);
        }
        return MXO_OK;
    }
    while (n > 0) {
        const ssize_t got = pread(s->fd, dst, (size_t)n, (off_t)at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return say(MXO_E_DEVICE, why, "cannot be read: %s",
                       got < 0 ? strerror(errno) : "it has become shorter");
        }
        dst += got;
        at += (uint64_t)got;
        n -= (uint64_t)got;
    }
    return MXO_OK;
}

static uint64_t little64(const uint8_t *p)
{
    uint64_t n = 0;

    for (int i = 7; i >= 0; i--) {
        n = n << 8 | p[i];
    }
    return n;
}

static mxo_status read_header(const byte_source *s, json_t **header,
                              uint64_t *data_at, mxo_text why)
{
    uint8_t prefix[PREFIX];
    json_error_t error;

    if (s->size < PREFIX) {
        return say(MXO_E_SHAPE, why,
                   "is no safetensors file: %llu bytes hold no header",
                   (unsigned long long)s->size);
    }
    mxo_status status = fetch(s, 0, prefix, PREFIX, why);
    if (status != MXO_OK) {
        return status;
    }
    const uint64_t n = little64(prefix);

    if (n > s->size - PREFIX || n > MAX_HEADER) {
        return say(MXO_E_SHAPE, why,
                   "is no safetensors file: its header claims %llu bytes, "
                   "which is more than %s",
                   (unsigned long long)n,
                   n > MAX_HEADER ? "1048576" : "the file has");
    }
    char *text = malloc((size_t)n + 1);

    if (text == NULL) {
        return say(MXO_E_NOMEM, why, "no memory for its header");
    }
    status = fetch(s, PREFIX, (uint8_t *)text, n, why);
    if (status == MXO_OK) {
        *header = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, &error);
        *data_at = PREFIX + n;
        if (*header == NULL) {
            status = say(MXO_E_SHAPE, why, "has a header that is no JSON: %s",
                         error.text);
        }
    }
    free(text);
    return status;
}

static mxo_status read_metadata(const json_t *object, mxo_text why)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object)) {
        return say(MXO_E_SHAPE, why, "has __metadata__ that is no object");
    }
    json_object_foreach((json_t *)object, key, value)
    {
        if (!json_is_string(value)) {
            return say(MXO_E_SHAPE, why, "has metadata %.60s that is no text",
                       key);
        }
    }
    return MXO_OK;
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

static mxo_status read_shape(const json_t *shape, entry *e, mxo_text why)
{
    if (!json_is_array(shape)) {
        return say(MXO_E_SHAPE, why, "gives %.60s no shape", e->name);
    }
    if (json_array_size(shape) > MXO_MAX_RANK) {
        return say(MXO_E_SHAPE, why, "gives %.60s more than %d dimensions",
                   e->name, MXO_MAX_RANK);
    }
    e->rank = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < e->rank; i++) {
        if (!natural(json_array_get(shape, i), &e->shape[i])) {
            return say(MXO_E_SHAPE, why,
                       "gives %.60s a dimension that is no natural number",
                       e->name);
        }
    }
    return MXO_OK;
}

/* Product of the shape times the element size; 0 on overflow of limit. */
static int dense(const entry *e, uint64_t limit, uint64_t *n_bytes)
{
    uint64_t n = dtype_bytes(e->dtype);

    for (uint32_t i = 0; i < e->rank; i++) {
        if (e->shape[i] == 0) {
            *n_bytes = 0;
            return 1;
        }
    }
    for (uint32_t i = 0; i < e->rank; i++) {
        if (n > limit / e->shape[i]) {
            return 0;
        }
        n *= e->shape[i];
    }
    *n_bytes = n;
    return 1;
}

static mxo_status read_offsets(const json_t *offsets, uint64_t data_bytes,
                               entry *e, mxo_text why)
{
    uint64_t n_bytes;

    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        !natural(json_array_get(offsets, 0), &e->begin) ||
        !natural(json_array_get(offsets, 1), &e->end)) {
        return say(MXO_E_SHAPE, why,
                   "gives %.60s data_offsets that are no two natural numbers",
                   e->name);
    }
    if (e->begin > e->end || e->end > data_bytes) {
        return say(MXO_E_SHAPE, why, "puts %.60s at bytes %llu to %llu of %llu",
                   e->name, (unsigned long long)e->begin,
                   (unsigned long long)e->end, (unsigned long long)data_bytes);
    }
    if (!dense(e, data_bytes, &n_bytes) || n_bytes != e->end - e->begin) {
        return say(MXO_E_SHAPE, why,
                   "gives %.60s %llu bytes, which do not fit its shape",
                   e->name, (unsigned long long)(e->end - e->begin));
    }
    return MXO_OK;
}

static mxo_status read_entry(const char *name, const json_t *object,
                             uint64_t data_bytes, entry *e, mxo_text why)
{
    const char *dtype = json_string_value(json_object_get(object, "dtype"));

    memset(e, 0, sizeof *e);
    e->name = name;
    if (name[0] == '\0' || strlen(name) >= MXO_NAME_SIZE) {
        return say(MXO_E_SHAPE, why,
                   "has a tensor whose name is empty or over %d bytes",
                   MXO_NAME_SIZE - 1);
    }
    if (dtype == NULL || json_object_size(object) != 3) {
        return say(MXO_E_SHAPE, why,
                   "describes %.60s by other than dtype, shape, data_offsets",
                   name);
    }
    e->dtype = dtype_by_file_name(dtype);
    if (e->dtype == MXO_N_DTYPES) {
        return say(MXO_E_SHAPE, why, "gives %.60s the unknown dtype %.20s",
                   name, dtype);
    }
    const mxo_status status =
        read_shape(json_object_get(object, "shape"), e, why);

    return status != MXO_OK
               ? status
               : read_offsets(json_object_get(object, "data_offsets"),
                              data_bytes, e, why);
}

static int by_offset(const void *a, const void *b)
{
    const entry *x = a;
    const entry *y = b;

    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Do the tensors cover the data exactly, once? */
static mxo_status check_tiling(entries *list, uint64_t data_bytes, mxo_text why)
{
    uint64_t at = 0;

    qsort(list->e, list->n, sizeof list->e[0], by_offset);
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->e[i].begin != at) {
            return say(MXO_E_SHAPE, why, "has %s before the bytes of %.60s",
                       list->e[i].begin < at ? "an overlap" : "a hole",
                       list->e[i].name);
        }
        at = list->e[i].end;
    }
    if (at != data_bytes) {
        return say(MXO_E_SHAPE, why, "has %llu bytes after the last tensor",
                   (unsigned long long)(data_bytes - at));
    }
    return MXO_OK;
}

static mxo_status read_entries(const json_t *header, uint64_t data_bytes,
                               entries *list, mxo_text why)
{
    const char *name;
    json_t *value;
    mxo_status status = MXO_OK;

    list->n = 0;
    if (!json_is_object(header)) {
        return say(MXO_E_SHAPE, why, "has a header that is no object");
    }
    json_object_foreach((json_t *)header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) {
            status = read_metadata(value, why);
        } else if (list->n == MXO_MAX_TENSORS) {
            status = say(MXO_E_SHAPE, why, "has more than %d tensors",
                         MXO_MAX_TENSORS);
        } else {
            status =
                read_entry(name, value, data_bytes, &list->e[list->n], why);
            list->n++;
        }
        if (status != MXO_OK) {
            return status;
        }
    }
    return check_tiling(list, data_bytes, why);
}

void safetensors_swap(uint32_t dtype, uint8_t *bytes, uint64_t n_bytes)
{
    const uint16_t probe = 1;
    const uint32_t width = dtype_bytes(dtype);

    if (*(const uint8_t *)&probe == 1 || width < 2) {
        return;
    }
    for (uint64_t at = 0; at + width <= n_bytes; at += width) {
        for (uint32_t i = 0; i < width / 2; i++) {
            const uint8_t swap = bytes[at + i];
            bytes[at + i] = bytes[at + width - 1 - i];
            bytes[at + width - 1 - i] = swap;
        }
    }
}

static mxo_status load(const byte_source *s, const entries *list,
                       uint64_t data_at, safetensors *file, mxo_text why)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const entry *e = &list->e[i];
        host_tensor *t;
        mxo_status status = tensor_set_add(&file->tensors, e->name, e->dtype,
                                           e->rank, e->shape, &t);
        if (status == MXO_OK) {
            status = fetch(s, data_at + e->begin, t->data, t->n_bytes, why);
        } else {
            status =
                say(status, why, "has no room in memory for %.60s", e->name);
        }
        if (status != MXO_OK) {
            return status;
        }
        safetensors_swap(t->dtype, t->data, t->n_bytes);
    }
    return MXO_OK;
}

static mxo_status parse(const byte_source *s, safetensors *file, mxo_text why)
{
    json_t *header = NULL;
    uint64_t data_at = 0;
    entries *list = malloc(sizeof *list);
    mxo_status status;

    memset(file, 0, sizeof *file);
    file->n_bytes = s->size;
    if (list == NULL) {
        return say(MXO_E_NOMEM, why, "no memory for its header");
    }
    status = read_header(s, &header, &data_at, why);
    if (status == MXO_OK) {
        status = read_entries(header, s->size - data_at, list, why);
    }
    if (status == MXO_OK) {
        status = load(s, list, data_at, file, why);
    }
    if (status == MXO_OK) {
        file->metadata = json_incref(json_object_get(header, "__metadata__"));
    } else {
        safetensors_clear(file);
    }
    json_decref(header);
    free(list);
    return status;
}

mxo_status safetensors_parse(const void *bytes, uint64_t n_bytes,
                             safetensors *file, mxo_text why)
{
    const byte_source s = {-1, bytes, n_bytes};

    return parse(&s, file, why);
}

mxo_status safetensors_read(const char *path, safetensors *file, mxo_text why)
{
    struct stat st;
    /* Opening a pipe must not wait for its other end. */
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    mxo_status status;

    memset(file, 0, sizeof *file);
    if (fd < 0) {
        return say(MXO_E_DEVICE, why, "cannot be opened: %s", strerror(errno));
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        status = say(MXO_E_DEVICE, why, "is no regular file");
    } else {
        const byte_source s = {fd, NULL, (uint64_t)st.st_size};
        status = parse(&s, file, why);
    }
    (void)close(fd);
    return status;
}

void safetensors_clear(safetensors *file)
{
    tensor_set_clear(&file->tensors);
    json_decref(file->metadata);
    memset(file, 0, sizeof *file);
}

const char *safetensors_meta(const safetensors *file, const char *key)
{
    return json_string_value(json_object_get(file->metadata, key));
}
