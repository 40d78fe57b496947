/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for a plugin's buffers and their bytes. See server.h. */
#include "server.h"

#include "exec/call_json.h"
#include "exec/channel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* The mapping reaches n bytes at least. */
int serve_map_memory(server *s, uint64_t n)
{
    struct stat f;
    void *base;

    if (n <= s->memory_size) {
        return 1;
    }
    if (fstat(CHANNEL_MEMORY, &f) != 0 || (uint64_t)f.st_size < n) {
        return 0;
    }
    if (s->memory != NULL) {
        (void)munmap(s->memory, (size_t)s->memory_size);
    }
    base = mmap(NULL, (size_t)f.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                CHANNEL_MEMORY, 0);
    s->memory = base == MAP_FAILED ? NULL : base;
    s->memory_size = s->memory == NULL ? 0 : (uint64_t)f.st_size;
    return s->memory != NULL;
}

void *serve_buffer_of(const json_t *request)
{
    uint64_t n = 0;

    (void)json_to_u64(json_object_get(request, "buffer"), &n);
    return (void *)(uintptr_t)n;
}

uint64_t serve_number_in(const json_t *request, const char *key)
{
    uint64_t n = 0;

    (void)json_to_u64(json_object_get(request, key), &n);
    return n;
}

void serve_alloc(server *s, const json_t *request)
{
    void *buffer = NULL;
    const mxo_status status =
        s->table->alloc(s->ctx, serve_number_in(request, "bytes"), &buffer);

    (void)snprintf(s->text, sizeof s->text, "%" PRIu64,
                   (uint64_t)(uintptr_t)buffer);
    serve_reply_status(s, status);
}

void serve_dealloc(server *s, const json_t *request)
{
    const json_t *several = json_object_get(request, "buffers");
    uint64_t n = 0;

    for (size_t i = 0; i < json_array_size(several); i++) {
        if (json_to_u64(json_array_get(several, i), &n)) {
            s->table->dealloc(s->ctx, (void *)(uintptr_t)n);
        }
    }
    if (several == NULL) {
        s->table->dealloc(s->ctx, serve_buffer_of(request));
    }
    (void)serve_text_of(s);
    serve_reply_status(s, MXO_OK);
}

/* Nothing is left of the bytes when upload() has returned: a plugin that copies
   them later is wrong. */
static mxo_status upload_one(server *s, const json_t *part, uint8_t *bytes)
{
    enum { LATE = 0xa5 };
    const uint64_t n = serve_number_in(part, "bytes");
    const mxo_status status = s->table->upload(s->ctx, serve_buffer_of(part),
                                               serve_number_in(part, "offset"),
                                               bytes, n, serve_text_of(s));

    memset(bytes, LATE, (size_t)n);
    return status;
}

static mxo_status download_one(server *s, const json_t *part, uint8_t *bytes)
{
    return s->table->download(s->ctx, bytes, serve_buffer_of(part),
                              serve_number_in(part, "offset"),
                              serve_number_in(part, "bytes"), serve_text_of(s));
}

/* One transfer: from the shared memory, or to it. */
static mxo_status transfer(server *s, const json_t *part, int is_upload)
{
    const uint64_t at = serve_number_in(part, is_upload ? "from" : "to");
    const uint64_t n = serve_number_in(part, "bytes");

    if (at > UINT64_MAX - n || !serve_map_memory(s, at + n)) {
        (void)snprintf(s->text, sizeof s->text, "the memory cannot be mapped");
        return MXO_E_NOMEM;
    }
    return is_upload ? upload_one(s, part, s->memory + at)
                     : download_one(s, part, s->memory + at);
}

/* The first of several that fails is the answer. */
static void transfer_all(server *s, const json_t *request, int is_upload)
{
    const json_t *parts = json_object_get(request, "parts");
    mxo_status status = MXO_OK;

    (void)serve_text_of(s);
    for (size_t i = 0; status == MXO_OK && i < json_array_size(parts); i++) {
        status = transfer(s, json_array_get(parts, i), is_upload);
    }
    if (parts == NULL) {
        status = transfer(s, request, is_upload);
    }
    serve_reply_status(s, status);
}

void serve_upload(server *s, const json_t *request)
{
    transfer_all(s, request, 1);
}

void serve_download(server *s, const json_t *request)
{
    transfer_all(s, request, 0);
}
