/* SPDX-License-Identifier: Apache-2.0 */
/* A safetensors file written out of order, whole or not at all; see sink.h. */
#include "sink.h"

#include "base/say.h"
#include "system/system.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 8, PREFIX = 8 };

size_t sink_add(sink *s, const char *name, const char *dtype, uint32_t rank,
                const uint64_t *shape, uint64_t n_bytes)
{
    sink_tensor *grown = realloc(s->tensor, (s->n + 1) * sizeof *grown);
    char *copy = strdup(name);

    if (grown != NULL) {
        s->tensor = grown;
    }
    if (grown == NULL || copy == NULL) {
        free(copy);
        return SIZE_MAX;
    }
    sink_tensor *t = &grown[s->n];

    memset(t, 0, sizeof *t);
    t->name = copy;
    t->dtype = dtype;
    t->rank = rank;
    if (rank > 0) { /* a scalar may have no shape at all */
        memcpy(t->shape, shape, rank * sizeof shape[0]);
    }
    t->n_bytes = n_bytes;
    t->at = s->n_bytes;
    s->n_bytes += n_bytes;
    return s->n++;
}

static int refuse(const char *path, mxo_text why, int error)
{
    (void)say(MXO_E_DEVICE, why, "%.300s cannot be written: %s", path,
              strerror(error));
    return -1;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Do all tensors have names of their own? */
static int check_names(const sink *s, mxo_text why)
{
    const char **name = malloc((s->n + 1) * sizeof *name);
    const char *twice = NULL;

    if (name == NULL) {
        (void)say(MXO_E_NOMEM, why, "no memory for the header");
        return -1;
    }
    for (size_t i = 0; i < s->n; i++) {
        name[i] = s->tensor[i].name;
    }
    qsort(name, s->n, sizeof *name, by_text);
    for (size_t i = 1; i < s->n; i++) {
        twice = strcmp(name[i - 1], name[i]) == 0 ? name[i] : twice;
    }
    if (twice != NULL) {
        (void)say(MXO_E_SHAPE, why, "two tensors would be called %.200s",
                  twice);
    }
    free((void *)name);
    return twice == NULL ? 0 : -1;
}

static void describe(const sink_tensor *t, FILE *out)
{
    json_t *name = json_string(t->name);

    (void)json_dumpf(name, out, JSON_ENCODE_ANY);
    json_decref(name);
    (void)fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", t->dtype);
    for (uint32_t i = 0; i < t->rank; i++) {
        (void)fprintf(out, "%s%" PRIu64, i == 0 ? "" : ",", t->shape[i]);
    }
    (void)fprintf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", t->at,
                  t->at + t->n_bytes);
}

/* Header with its length in front, padded; NULL and a sentence.  It is written
   tensor by tensor: a tree of it would take many times its size. */
static char *make_header(const sink *s, const json_t *metadata, size_t *n,
                         mxo_text why)
{
    char *header = NULL;
    FILE *out = open_memstream(&header, n);

    if (out == NULL) {
        (void)say(MXO_E_NOMEM, why, "no memory for the header");
        return NULL;
    }
    (void)fprintf(out, "%*s{\"__metadata__\":", PREFIX, "");
    if (metadata == NULL || json_dumpf(metadata, out, JSON_COMPACT) != 0) {
        (void)fputs("{}", out);
    }
    for (size_t i = 0; i < s->n; i++) {
        (void)fputc(',', out);
        describe(&s->tensor[i], out);
    }
    (void)fputc('}', out);
    while (ftell(out) % ALIGNMENT != 0 && fputc(' ', out) != EOF) {
    }
    const int bad = ferror(out);

    if (fclose(out) != 0 || bad) {
        (void)say(MXO_E_NOMEM, why, "no memory for the header");
        free(header);
        return NULL;
    }
    for (int i = 0; i < PREFIX; i++) {
        header[i] = (char)(unsigned char)((uint64_t)(*n - PREFIX) >> (8 * i));
    }
    return header;
}

/* 0, or -1 with errno. */
static int put_at(int fd, uint64_t at, const void *bytes, uint64_t n)
{
    const uint8_t *p = bytes;

    while (n > 0) {
        const ssize_t done = pwrite(fd, p, (size_t)n, (off_t)at);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return -1;
        }
        p += done;
        at += (uint64_t)done;
        n -= (uint64_t)done;
    }
    return 0;
}

int sink_has_room(const sink *s, const char *path, mxo_text why)
{
    new_file f;
    int error = new_file_open(&f, path) != 0 ? errno : 0;

    if (error == 0) {
        error = new_file_reserve(f.fd, s->n_bytes);
    }
    new_file_close(&f);
    return error == 0 ? 0 : refuse(path, why, error);
}

int sink_create(sink *s, const char *path, const json_t *metadata, mxo_text why)
{
    size_t n = 0;
    char *header =
        check_names(s, why) == 0 ? make_header(s, metadata, &n, why) : NULL;

    if (header == NULL) {
        return -1;
    }
    s->data = n;
    int error = new_file_open(&s->out, path) != 0 ? errno : 0;

    if (error == 0) {
        error = new_file_reserve(s->out.fd, n + s->n_bytes);
    }
    if (error == 0 && put_at(s->out.fd, 0, header, n) != 0) {
        error = errno;
    }
    free(header);
    return error == 0 ? 0 : refuse(path, why, error);
}

static int same_shape(const sink_tensor *a, const checkpoint_tensor *b)
{
    return strcmp(a->dtype, b->dtype) == 0 && a->n_bytes == b->n_bytes &&
           a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

int sink_expect(sink *s, const checkpoint *c, mxo_text why)
{
    s->expected = c;
    for (size_t i = 0; i < s->n; i++) {
        const checkpoint_tensor *t = checkpoint_find(c, s->tensor[i].name);
        if (t == NULL || !same_shape(&s->tensor[i], t)) {
            (void)say(MXO_E_SHAPE, why,
                      "the converted file %s %.200s as this conversion makes "
                      "it",
                      t == NULL ? "lacks" : "does not have", s->tensor[i].name);
            return -1;
        }
    }
    if (c->n != s->n) {
        (void)say(MXO_E_SHAPE, why,
                  "the converted file has %zu tensors, not %zu", c->n, s->n);
        return -1;
    }
    return 0;
}

static void compare(sink *s, size_t i, uint64_t offset, const uint8_t *bytes,
                    uint64_t n, const uint8_t *valid)
{
    sink_tensor *t = &s->tensor[i];
    const uint8_t *there =
        checkpoint_find(s->expected, t->name)->bytes + offset;

    if (valid == NULL && memcmp(there, bytes, (size_t)n) == 0) {
        checkpoint_forget(there, n);
        return;
    }
    for (uint64_t k = 0; k < n; k++) {
        if (there[k] == bytes[k] || (valid != NULL && valid[k] == 0)) {
            continue;
        }
        s->first_red = s->n_wrong++ == 0 ? i : s->first_red;
        if (t->wrong.n++ == 0) {
            s->n_red++;
            t->wrong.at = offset + k;
            t->wrong.want = bytes[k];
            t->wrong.got = there[k];
        }
    }
    checkpoint_forget(there, n);
}

int sink_is_compared(const sink *s, size_t i)
{
    return s->expected != NULL && s->tensor[i].done >= s->tensor[i].n_bytes;
}

int sink_put(sink *s, size_t i, uint64_t offset, const uint8_t *bytes,
             uint64_t n_bytes, const uint8_t *valid, mxo_text why)
{
    s->done += n_bytes;
    s->tensor[i].done += n_bytes;
    if (s->expected != NULL) {
        compare(s, i, offset, bytes, n_bytes, valid);
        if (s->on_compared != NULL && sink_is_compared(s, i)) {
            s->on_compared(s->state);
        }
        return 0;
    }
    return put_at(s->out.fd, s->data + s->tensor[i].at + offset, bytes,
                  n_bytes) == 0
               ? 0
               : refuse(s->out.path, why, errno);
}

int sink_finish(sink *s, mxo_text why)
{
    return s->expected != NULL || new_file_finish(&s->out) == 0
               ? 0
               : refuse(s->out.path, why, errno);
}

void sink_close(sink *s)
{
    new_file_close(&s->out);
    for (size_t i = 0; i < s->n; i++) {
        free(s->tensor[i].name);
    }
    free(s->tensor);
    memset(s, 0, sizeof *s);
}
