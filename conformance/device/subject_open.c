/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a backend, and what is asked of it without a call; see
   device_under_test.h. */
#include "device_under_test.h"
#include "system/fence.h"
#include "system/system.h"

#include <string.h>

mxo_status subject_open(subject *s, const mxo_backend *table, int device,
                        mxo_text why)
{
    memset(s, 0, sizeof *s);
    if (why.size > 0) {
        why.ptr[0] = '\0';
    }
    const mxo_status status = table->open(&s->ctx, device, why);

    if (status != MXO_OK) {
        return status;
    }
    s->table = table;
    s->device_index = device;
    table->describe(s->ctx, (mxo_text){s->device, sizeof s->device},
                    (mxo_text){s->driver, sizeof s->driver});
    return MXO_OK;
}

void subject_attach(subject *s, const mxo_backend *table, void *ctx,
                    const subject_link *link)
{
    memset(s, 0, sizeof *s);
    s->table = table;
    s->ctx = ctx;
    s->link = link;
    table->describe(ctx, (mxo_text){s->device, sizeof s->device},
                    (mxo_text){s->driver, sizeof s->driver});
}

mxo_status subject_begin(const subject *s, mxo_text why)
{
    return s->link == NULL ? MXO_OK : s->link->begin(s->link->state, why);
}

void subject_see(const subject *s, run_checks *d)
{
    if (s->link != NULL) {
        s->link->seen(s->link->state, d);
    }
}

void subject_turn_to(const subject *s)
{
    if (s->link != NULL) {
        (void)s->link->second(s->link->state, s->is_second);
    }
}

int subject_enter_second(subject *s, subject *other)
{
    char text[SUBJECT_TEXT];

    *other = *s;
    other->is_second = 1;
    if (s->link != NULL) {
        return s->link->second(s->link->state, 1);
    }
    if (s->second == NULL &&
        s->table->open(&s->second, s->device_index,
                       (mxo_text){text, sizeof text}) != MXO_OK) {
        s->second = NULL;
    }
    other->second = other->ctx = s->second;
    return s->second != NULL;
}

void subject_leave_second(subject *s, const subject *other)
{
    s->n_placed = other->n_placed;
    subject_turn_to(s);
}

void subject_close(subject *s)
{
    if (s->second != NULL) {
        s->table->close(s->second);
    }
    if (s->table != NULL) {
        s->table->close(s->ctx);
    }
    memset(s, 0, sizeof *s);
}

/* The alignment that the ABI promises. */
enum { HOST_ALIGN = 16, DEVICE_ALIGN = 256 };

void subject_fence(subject *s)
{
    uint8_t bytes[64];
    char text[SUBJECT_TEXT];
    void *buffer = NULL;

    if (s->link != NULL) {
        s->host_align = !s->link->has_fence      ? 0
                        : s->table->time == NULL ? HOST_ALIGN
                                                 : DEVICE_ALIGN;
        return;
    }
    if (system_random(bytes, sizeof bytes) != 0 ||
        s->table->alloc(s->ctx, sizeof bytes, &buffer) != MXO_OK) {
        return;
    }
    if (s->table->upload(s->ctx, buffer, 0, bytes, sizeof bytes,
                         (mxo_text){text, sizeof text}) == MXO_OK &&
        system_sees(buffer, bytes, sizeof bytes)) {
        /* A backend that times itself is a device; its memory is mapped. */
        s->host_align = s->table->time == NULL ? HOST_ALIGN : DEVICE_ALIGN;
    }
    s->table->dealloc(s->ctx, buffer);
}

int subject_has_op(const subject *s, const char *op)
{
    for (const char *const *name = s->table->ops; *name != NULL; name++) {
        if (strcmp(*name, op) == 0) {
            return 1;
        }
    }
    return 0;
}
