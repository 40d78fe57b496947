/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing safetensors.  The bytes take the path's place only when every one of
 * them has reached the disk: a full disk, a signal or a crash leaves no half
 * of a file behind.
 */
#include "safetensors.h"

#include "base/say.h"
#include "system/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 8, CHUNK = 1 << 16 };

static json_t *describe(const host_tensor *t, uint64_t at)
{
    json_t *shape = json_array();
    const uint64_t end = at + t->n_bytes;

    for (uint32_t i = 0; i < t->rank; i++) {
        json_array_append_new(shape, json_integer((json_int_t)t->shape[i]));
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_file_name(t->dtype),
                     "shape", shape, "data_offsets", (json_int_t)at,
                     (json_int_t)end);
}

/* Header as text, padded so that the data are aligned; NULL: no memory. */
static char *make_header(const tensor_set *tensors, const json_t *metadata,
                         size_t *n)
{
    json_t *header = json_object();
    uint64_t at = 0;
    int bad = metadata != NULL &&
              json_object_set(header, "__metadata__", (json_t *)metadata) != 0;

    for (uint32_t i = 0; i < tensors->n; i++) {
        bad |= json_object_set_new(header, tensors->t[i].name,
                                   describe(&tensors->t[i], at));
        at += tensors->t[i].n_bytes;
    }
    char *text = bad ? NULL : json_dumps(header, JSON_COMPACT | JSON_SORT_KEYS);
    const size_t len = text == NULL ? 0 : strlen(text);

    *n = (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *padded = text == NULL ? NULL : realloc(text, *n + 1);

    if (padded == NULL) {
        free(text);
    } else {
        memset(padded + len, ' ', *n - len);
    }
    json_decref(header);
    return padded;
}

/* 0, or -1 with errno. */
static int put(int fd, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    while (n > 0) {
        const ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return -1;
        }
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static int put_tensor(int fd, const host_tensor *t)
{
    uint8_t chunk[CHUNK];
    int bad = 0;

    for (uint64_t at = 0; !bad && at < t->n_bytes; at += CHUNK) {
        const uint64_t left = t->n_bytes - at;
        const size_t n = left < CHUNK ? (size_t)left : CHUNK;
        memcpy(chunk, t->data + at, n);
        safetensors_swap(t->dtype, chunk, n);
        bad = put(fd, chunk, n);
    }
    return bad;
}

static int put_all(int fd, const char *header, size_t n,
                   const tensor_set *tensors)
{
    uint8_t prefix[8];
    int bad;

    for (int i = 0; i < 8; i++) {
        prefix[i] = (uint8_t)((uint64_t)n >> (8 * i));
    }
    bad = put(fd, prefix, sizeof prefix) || put(fd, header, n);
    for (uint32_t i = 0; !bad && i < tensors->n; i++) {
        bad = put_tensor(fd, &tensors->t[i]);
    }
    return bad;
}

mxo_status safetensors_write(const char *path, const tensor_set *tensors,
                             const json_t *metadata, mxo_text why)
{
    size_t n;
    char *header = make_header(tensors, metadata, &n);
    new_file out;

    if (header == NULL) {
        return say(MXO_E_NOMEM, why, "%.300s: no memory for its header", path);
    }
    const int bad = new_file_open(&out, path) != 0 ||
                    put_all(out.fd, header, n, tensors) != 0 ||
                    new_file_finish(&out) != 0;
    const int error = errno;

    new_file_close(&out);
    free(header);
    return bad ? say(MXO_E_DEVICE, why, "%.300s cannot be written: %s", path,
                     strerror(error))
               : MXO_OK;
}
