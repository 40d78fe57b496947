/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads and deallocs that wait for the next request to the process: a small
 * call has ten of them for each request that makes one, and each would be two
 * switches between processes.  Their bytes lie in the shared memory meanwhile.
 */
#include "base/say.h"
#include "proxy_process.h"

#include "call_json.h"

#include <string.h>

/* Bytes that wait at most, and how far apart they begin. */
enum { ROOM = 1 << 20, APART = 64 };
/* Requests in one line. */
enum { MOST = 256 };

int proxy_can_post(const proxy *p, uint64_t n_bytes)
{
    return (p->hello.can & CAN_TOGETHER) != 0 && n_bytes <= ROOM / 4;
}

mxo_status proxy_post_upload(proxy *p, void *buffer, uint64_t offset,
                             const void *src, uint64_t n_bytes, mxo_text why)
{
    posted *w = &p->posted;

    if (n_bytes == 0) {
        return MXO_OK;
    }
    if (json_array_size(w->uploads) == MOST || w->n_bytes + n_bytes > ROOM) {
        MXO_TRY(proxy_clear_memory(p, ROOM, why));
    }
    if (shared_memory_reach(&p->memory, ROOM) != 0) {
        return say(MXO_E_NOMEM, why, "no memory to share");
    }
    const transfer_part m = {buffer, offset, n_bytes, w->n_bytes};

    memcpy(p->memory.base + m.shared, src, (size_t)n_bytes);
    w->uploads = w->uploads == NULL ? json_array() : w->uploads;
    (void)json_array_append_new(w->uploads,
                                proxy_part_json(json_object(), "from", &m));
    w->n_bytes += (n_bytes + APART - 1) / APART * APART;
    return MXO_OK;
}

void proxy_post_dealloc(proxy *p, void *buffer)
{
    posted *w = &p->posted;

    if (json_array_size(w->buffers) == MOST) {
        proxy_flush(p);
    }
    w->buffers = w->buffers == NULL ? json_array() : w->buffers;
    (void)json_array_append_new(w->buffers, json_u64((uintptr_t)buffer));
}

void proxy_drop_posted(proxy *p)
{
    json_decref(p->posted.uploads);
    json_decref(p->posted.buffers);
    memset(&p->posted, 0, sizeof p->posted);
}

static mxo_status send_uploads(proxy *p, json_t *uploads, const char **text)
{
    json_t *o = proxy_request("upload");

    (void)json_object_set_new(o, "parts", uploads);
    (void)json_object_set_new(o, "memory", json_u64(p->memory.size));
    const mxo_status status = proxy_ask_now(p, o, text);

    memset(p->memory.base, PROXY_SPOILT, (size_t)p->posted.n_bytes);
    p->posted.n_bytes = 0;
    return status == MXO_OK || status == MXO_E_NOMEM ? status : MXO_E_DEVICE;
}

static void send_buffers(proxy *p, json_t *buffers)
{
    const char *text;
    json_t *o = proxy_request("dealloc");

    (void)json_object_set_new(o, "buffers", buffers);
    if (proxy_ask_now(p, o, &text) != MXO_OK) {
        proxy_say_left(p, "dealloc fails", text);
    }
}

/* No upload is into a buffer that waits to be given back.  After one that fails
   they wait on, as its text stays until then. */
mxo_status proxy_send_posted(proxy *p, const char **text)
{
    posted *w = &p->posted;
    mxo_status status = MXO_OK;

    if (w->uploads != NULL) {
        json_t *const uploads = w->uploads;
        w->uploads = NULL;
        status = send_uploads(p, uploads, text);
    }
    if (w->buffers != NULL && status == MXO_OK) {
        json_t *const buffers = w->buffers;
        w->buffers = NULL;
        send_buffers(p, buffers);
    }
    return status;
}

void proxy_flush(proxy *p)
{
    const char *text;

    if (proxy_send_posted(p, &text) != MXO_OK) {
        proxy_say_left(p, "upload fails", text);
    }
}
