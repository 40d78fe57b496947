/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to a subject and back: through the memory that both see. */
#include "base/say.h"
#include "proxy_process.h"

#include "call_json.h"

#include <stdio.h>
#include <string.h>

/* Bytes that go through the shared memory at once, and what lies on both sides
   of where a download goes. */
static const uint64_t transfer = 64 << 20;
enum { EDGE = 64 };

/* Part of a transfer: bytes of a buffer, and where in the shared memory. */
typedef struct part {
    void *buffer;
    uint64_t offset;
    uint64_t n;
    uint64_t shared;
} part;

static mxo_status move_part(proxy *p, const char *what, const char *way,
                            const part *m, mxo_text why)
{
    const char *text;
    json_t *o = proxy_request(what);

    (void)json_object_set_new(o, "buffer", json_u64((uintptr_t)m->buffer));
    (void)json_object_set_new(o, "offset", json_u64(m->offset));
    (void)json_object_set_new(o, "bytes", json_u64(m->n));
    (void)json_object_set_new(o, way, json_u64(m->shared));
    (void)json_object_set_new(o, "memory", json_u64(p->memory.size));
    const mxo_status status = proxy_ask(p, o, &text);

    return proxy_give_text(p, status, text, why);
}

static uint8_t *shared_at(const proxy *p, const void *buffer, uint64_t offset)
{
    return p->memory.base + ((uintptr_t)buffer - PROXY_HANDLE) + offset;
}

static mxo_status no_room(mxo_text why)
{
    return say(MXO_E_NOMEM, why, "no memory to share");
}

mxo_status proxy_upload(void *ctx, void *buffer, uint64_t offset,
                        const void *src, uint64_t n_bytes, mxo_text why)
{
    proxy *p = ctx;
    mxo_status status = MXO_OK;

    if (!proxy_has_memory(p)) {
        memcpy(shared_at(p, buffer, offset), src, (size_t)n_bytes);
        return MXO_OK;
    }
    for (uint64_t at = 0; status == MXO_OK && at < n_bytes; at += transfer) {
        const uint64_t n = n_bytes - at < transfer ? n_bytes - at : transfer;
        if (shared_memory_reach(&p->memory, n) != 0) {
            return no_room(why);
        }
        memcpy(p->memory.base, (const char *)src + at, (size_t)n);
        status = move_part(p, "upload", "from",
                           &(part){buffer, offset + at, n, 0}, why);
    }
    return status;
}

/* Others from one place and download to the next. */
static uint8_t edge_byte(const part *m, uint64_t i)
{
    return (uint8_t)(0x5b + 29 * i + m->offset + 3 * m->n);
}

static uint8_t *edge_at(const proxy *p, const part *m, uint64_t i)
{
    return p->memory.base + (i < EDGE ? i : m->n + i);
}

static void set_edges(const proxy *p, const part *m)
{
    for (uint64_t i = 0; i < 2 * EDGE; i++) {
        *edge_at(p, m, i) = edge_byte(m, i);
    }
}

static int edges_are_set(const proxy *p, const part *m)
{
    uint64_t i = 0;

    while (i < 2 * EDGE && *edge_at(p, m, i) == edge_byte(m, i)) {
        i++;
    }
    return i == 2 * EDGE;
}

/* Between edges, which are the judge's. */
static mxo_status download_part(proxy *p, const part *m, char *dst,
                                mxo_text why)
{
    uint8_t *const bytes = p->memory.base + m->shared;

    set_edges(p, m);
    memcpy(bytes, dst, (size_t)m->n);
    const mxo_status status = move_part(p, "download", "to", m, why);

    if (!edges_are_set(p, m)) {
        (void)snprintf(p->left, sizeof p->left,
                       "bytes next to where a download goes");
    }
    memcpy(dst, bytes, (size_t)m->n);
    return status;
}

mxo_status proxy_download(void *ctx, void *dst, void *buffer, uint64_t offset,
                          uint64_t n_bytes, mxo_text why)
{
    proxy *p = ctx;
    mxo_status status = MXO_OK;

    if (!proxy_has_memory(p)) {
        memcpy(dst, shared_at(p, buffer, offset), (size_t)n_bytes);
        return MXO_OK;
    }
    for (uint64_t at = 0; status == MXO_OK && at < n_bytes; at += transfer) {
        const uint64_t n = n_bytes - at < transfer ? n_bytes - at : transfer;
        if (shared_memory_reach(&p->memory, n + 2 * (uint64_t)EDGE) != 0) {
            return no_room(why);
        }
        status = download_part(p, &(part){buffer, offset + at, n, EDGE},
                               (char *)dst + at, why);
    }
    return status;
}
