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
/* Of an upload that was answered. */
enum { MOST_SPOILT = 1 << 16 };

json_t *proxy_part_json(json_t *o, const char *way, const transfer_part *m)
{
    (void)json_object_set_new(o, "buffer", json_u64((uintptr_t)m->buffer));
    (void)json_object_set_new(o, "offset", json_u64(m->offset));
    (void)json_object_set_new(o, "bytes", json_u64(m->n));
    (void)json_object_set_new(o, way, json_u64(m->shared));
    return o;
}

static mxo_status ask_to_move(proxy *p, json_t *o, mxo_text why)
{
    const char *text;

    (void)json_object_set_new(o, "memory", json_u64(p->memory.size));
    const mxo_status status = proxy_ask(p, o, &text);

    return proxy_give_text(p, status, text, why);
}

static uint8_t *shared_at(const proxy *p, const void *buffer, uint64_t offset)
{
    return p->memory.base + ((uintptr_t)buffer - PROXY_HANDLE) + offset;
}

/* So many bytes of the shared memory are free: none wait there. */
mxo_status proxy_clear_memory(proxy *p, uint64_t n_bytes, mxo_text why)
{
    const char *text = "";
    const mxo_status status = proxy_send_posted(p, &text);

    if (status != MXO_OK) {
        return proxy_give_text(p, status, text, why);
    }
    return shared_memory_reach(&p->memory, n_bytes) == 0
               ? MXO_OK
               : say(MXO_E_NOMEM, why, "no memory to share");
}

mxo_status proxy_upload(void *ctx, void *buffer, uint64_t offset,
                        const void *src, uint64_t n_bytes, mxo_text why)
{
    proxy *p = ctx;

    if (!proxy_has_memory(p)) {
        memcpy(shared_at(p, buffer, offset), src, (size_t)n_bytes);
        return MXO_OK;
    }
    if (proxy_can_post(p, n_bytes)) {
        return proxy_post_upload(p, buffer, offset, src, n_bytes, why);
    }
    for (uint64_t at = 0; at < n_bytes; at += transfer) {
        const uint64_t n = n_bytes - at < transfer ? n_bytes - at : transfer;
        const transfer_part m = {buffer, offset + at, n, 0};
        MXO_TRY(proxy_clear_memory(p, n, why));
        memcpy(p->memory.base, (const char *)src + at, (size_t)n);
        MXO_TRY(ask_to_move(
            p, proxy_part_json(proxy_request("upload"), "from", &m), why));
        memset(p->memory.base, PROXY_SPOILT, n < MOST_SPOILT ? n : MOST_SPOILT);
    }
    return MXO_OK;
}

/* Others from one place and download to the next. */
static uint8_t edge_byte(const transfer_part *m, uint64_t i)
{
    return (uint8_t)(0x5b + 29 * i + m->offset + 3 * m->n);
}

static uint8_t *edge_at(const proxy *p, const transfer_part *m, uint64_t i)
{
    return p->memory.base + m->shared - EDGE + (i < EDGE ? i : m->n + i);
}

/* Between edges, which are the judge's; what is not written stays as it was. */
static void prepare(const proxy *p, const transfer_part *m, const void *dst)
{
    for (uint64_t i = 0; i < 2 * EDGE; i++) {
        *edge_at(p, m, i) = edge_byte(m, i);
    }
    memcpy(p->memory.base + m->shared, dst, (size_t)m->n);
}

static void take(proxy *p, const transfer_part *m, void *dst)
{
    uint64_t i = 0;

    while (i < 2 * EDGE && *edge_at(p, m, i) == edge_byte(m, i)) {
        i++;
    }
    if (i < 2 * EDGE) {
        (void)snprintf(p->left, sizeof p->left,
                       "bytes next to where a download goes");
    }
    memcpy(dst, p->memory.base + m->shared, (size_t)m->n);
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
        const transfer_part m = {buffer, offset + at, n, EDGE};
        char *const to = (char *)dst + at;
        MXO_TRY(proxy_clear_memory(p, n + 2 * (uint64_t)EDGE, why));
        prepare(p, &m, to);
        status = ask_to_move(
            p, proxy_part_json(proxy_request("download"), "to", &m), why);
        take(p, &m, to);
    }
    return status;
}

/* Part of several downloads: behind the one before. */
static transfer_part wanted_part(const wanted_bytes *w, uint64_t *end)
{
    const transfer_part m = {w->buffer, w->offset, w->n_bytes, *end + EDGE};

    *end += (w->n_bytes + 3 * (uint64_t)EDGE - 1) / EDGE * EDGE;
    return m;
}

mxo_status proxy_fetch(void *state, const wanted_bytes *w, uint32_t n,
                       mxo_text why)
{
    proxy *p = state;
    json_t *parts = json_array();
    json_t *o = proxy_request("download");
    uint64_t end = 0;

    (void)json_object_set_new(o, "parts", parts);
    for (uint32_t i = 0; i < n; i++) {
        (void)wanted_part(&w[i], &end);
    }
    mxo_status status = proxy_clear_memory(p, end, why);

    end = 0;
    for (uint32_t i = 0; status == MXO_OK && i < n; i++) {
        const transfer_part m = wanted_part(&w[i], &end);
        prepare(p, &m, w[i].to);
        (void)json_array_append_new(parts,
                                    proxy_part_json(json_object(), "to", &m));
    }
    if (status != MXO_OK) {
        json_decref(o);
        return status;
    }
    status = ask_to_move(p, o, why);
    end = 0;
    for (uint32_t i = 0; i < n; i++) {
        const transfer_part m = wanted_part(&w[i], &end);
        take(p, &m, w[i].to);
    }
    return status;
}
