/* SPDX-License-Identifier: Apache-2.0 */
/* See stage.h. */
#include "stage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void stage_describe(mxo_tensor *t, const host_tensor *h, void *buffer,
                    uint64_t offset)
{
    memset(t, 0, sizeof *t);
    t->name = h->name;
    t->dtype = h->dtype;
    t->rank = h->rank;
    memcpy(t->shape, h->shape, sizeof t->shape);
    t->n_bytes = h->n_bytes;
    t->offset = offset;
    t->buffer = buffer;
}

/* Guard bytes change with their place and with the tensor, so that neither a
   constant nor what an earlier tensor left in memory can pass for them. */
static uint8_t guard_byte(uint64_t salt, uint64_t i)
{
    return (uint8_t)(0x9d + 37 * i + 101 * salt);
}

static mxo_status place(stage *g, placed *p, const host_tensor *h, mxo_text why)
{
    p->host = h;
    p->size = h->n_bytes + 2 * (uint64_t)STAGE_GUARD;
    p->salt = g->s->n_placed++;
    p->image = malloc(p->size);
    p->back = malloc(p->size);
    if (p->image == NULL || p->back == NULL ||
        g->s->table->alloc(g->s->ctx, p->size, &p->buffer) != MXO_OK) {
        (void)snprintf(why.ptr, why.size, "no memory for %" PRIu64 " bytes",
                       p->size);
        p->buffer = NULL;
        return MXO_E_NOMEM;
    }
    for (uint64_t i = 0; i < p->size; i++) {
        p->image[i] = guard_byte(p->salt, i);
    }
    return MXO_OK;
}

/* Scrubbed, lest the next owner of the memory finds the right bytes there. */
static void unplace(stage *g, placed *p)
{
    char text[SUBJECT_TEXT];

    if (p->buffer != NULL) {
        memset(p->image, 0x6c, p->size);
        (void)g->s->table->upload(g->s->ctx, p->buffer, 0, p->image, p->size,
                                  (mxo_text){text, sizeof text});
        g->s->table->dealloc(g->s->ctx, p->buffer);
    }
    free(p->image);
    free(p->back);
}

/* Part 0, 1, 2: the guard before, the tensor, the guard after. */
static uint64_t part_start(const placed *p, int part)
{
    return part == 0   ? 0
           : part == 1 ? STAGE_GUARD
           : part == 2 ? STAGE_GUARD + p->host->n_bytes
                       : p->size;
}

/* By parts: a transfer that loses its last byte loses one of the tensor. */
static mxo_status send_one(stage *g, placed *p, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (int part = 0; status == MXO_OK && part < 3; part++) {
        const uint64_t at = part_start(p, part);
        const uint64_t n = part_start(p, part + 1) - at;
        if (n > 0) {
            status = g->s->table->upload(g->s->ctx, p->buffer, at,
                                         p->image + at, n, why);
        }
    }
    return status;
}

static mxo_status fetch_one(stage *g, placed *p, mxo_text why)
{
    mxo_status status = MXO_OK;

    memset(p->back, 0x33, p->size);
    for (int part = 0; status == MXO_OK && part < 3; part++) {
        const uint64_t at = part_start(p, part);
        const uint64_t n = part_start(p, part + 1) - at;
        if (n > 0) {
            status = g->s->table->download(g->s->ctx, p->back + at, p->buffer,
                                           at, n, why);
        }
    }
    return status;
}

mxo_status stage_place_inputs(stage *g, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->call->in->n; i++) {
        const host_tensor *h = &g->call->in->t[i];
        g->n_in = i + 1;
        status = place(g, &g->in[i], h, why);
    }
    return status;
}

mxo_status stage_send_inputs(stage *g, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->n_in; i++) {
        status = send_one(g, &g->in[i], why);
    }
    return status;
}

void stage_set_inputs(stage *g, int zero)
{
    for (uint32_t i = 0; i < g->n_in; i++) {
        const host_tensor *h = g->in[i].host;
        if (h->n_bytes > 0 && zero) {
            memset(g->in[i].image + STAGE_GUARD, 0, h->n_bytes);
        } else if (h->n_bytes > 0) {
            memcpy(g->in[i].image + STAGE_GUARD, h->data, h->n_bytes);
        }
    }
}

mxo_status stage_place_outputs(stage *g, const tensor_set *out, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < out->n; i++) {
        g->n_out = i + 1;
        status = place(g, &g->out[i], &out->t[i], why);
    }
    return status;
}

/* Where and how a guard differs; "" if it does not. */
static void check_guards(const placed *p, char *text)
{
    for (uint64_t i = 0; i < p->size; i++) {
        const uint64_t end = STAGE_GUARD + p->host->n_bytes;
        if (i == STAGE_GUARD) {
            i = end;
        }
        if (text[0] != '\0' || p->back[i] == p->image[i]) {
            continue;
        }
        const int before = i < STAGE_GUARD;
        (void)snprintf(text, SUBJECT_TEXT,
                       "%s: byte %" PRIu64 " %s was overwritten (%02x)",
                       p->host->name, before ? STAGE_GUARD - i : i - end + 1,
                       before ? "before its start" : "past its end",
                       p->back[i]);
    }
}

static void check_input(const placed *p, char *text)
{
    for (uint64_t i = 0; text[0] == '\0' && i < p->host->n_bytes; i++) {
        if (p->back[STAGE_GUARD + i] != p->image[STAGE_GUARD + i]) {
            (void)snprintf(text, SUBJECT_TEXT,
                           "input %s: byte %" PRIu64 " was changed",
                           p->host->name, i);
        }
    }
}

mxo_status stage_send_outputs(stage *g, int fill, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->n_out; i++) {
        memset(g->out[i].image + STAGE_GUARD, fill, g->out[i].host->n_bytes);
        status = send_one(g, &g->out[i], why);
    }
    return status;
}

mxo_status stage_fetch_all(stage *g, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->n_in; i++) {
        status = fetch_one(g, &g->in[i], why);
    }
    for (uint32_t i = 0; status == MXO_OK && i < g->n_out; i++) {
        status = fetch_one(g, &g->out[i], why);
    }
    return status;
}

void stage_check_guards(const stage *g, distrust *d)
{
    for (uint32_t i = 0; i < g->n_in; i++) {
        check_guards(&g->in[i], d->guards);
        check_input(&g->in[i], d->inputs);
    }
    for (uint32_t i = 0; i < g->n_out; i++) {
        check_guards(&g->out[i], d->guards);
    }
}

/* A refused call must leave its outputs as they were. */
void stage_check_refusal(const stage *g, int fill, distrust *d)
{
    for (uint32_t i = 0; i < g->n_out; i++) {
        const placed *p = &g->out[i];
        for (uint64_t k = 0; k < p->host->n_bytes; k++) {
            if (d->refusal[0] == '\0' && p->back[STAGE_GUARD + k] != fill) {
                (void)snprintf(d->refusal, sizeof d->refusal,
                               "refused, yet wrote byte %" PRIu64 " of %s", k,
                               p->host->name);
            }
        }
    }
}

void stage_release(stage *g)
{
    for (uint32_t i = 0; g->in != NULL && i < g->n_in; i++) {
        unplace(g, &g->in[i]);
    }
    for (uint32_t i = 0; g->out != NULL && i < g->n_out; i++) {
        unplace(g, &g->out[i]);
    }
    free(g->in);
    free(g->out);
}
