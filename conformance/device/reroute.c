/* SPDX-License-Identifier: Apache-2.0 */
/* See reroute.h. */
#include "reroute.h"

#include "launch.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int is_choice(const host_tensor *t)
{
    return strcmp(t->name, "topk_ids") == 0 && t->dtype == MXO_I32 &&
           t->rank == 2;
}

static int is_map(const host_tensor *t)
{
    return strcmp(t->name, "expert_map") == 0 && t->dtype == MXO_I32;
}

static int32_t id_at(const host_tensor *ids, uint64_t i)
{
    return (int32_t)(uint32_t)tensor_load(ids, i);
}

static int occurs(const host_tensor *ids, int32_t id)
{
    const uint64_t n = tensor_elems(ids);
    uint64_t i = 0;

    while (i < n && id_at(ids, i) != id) {
        i++;
    }
    return i < n;
}

static int32_t largest(const host_tensor *ids)
{
    int32_t most = -1;

    for (uint64_t i = 0; i < tensor_elems(ids); i++) {
        most = id_at(ids, i) > most ? id_at(ids, i) : most;
    }
    return most;
}

int reroute_choices(const host_tensor *ids, int has_map, int is_crowd,
                    int32_t *to)
{
    const int32_t most = largest(ids);
    const uint64_t n = tensor_elems(ids);
    const uint64_t topk = ids->shape[1];
    int32_t *legal = memory_need(((size_t)most + 2) * sizeof *legal);
    uint64_t n_legal = 0;
    int differs = 0;

    for (int32_t id = 0; id <= most; id++) {
        if (!has_map || occurs(ids, id)) {
            legal[n_legal++] = id;
        }
    }
    for (uint64_t i = 0; n_legal >= topk && i < n; i++) {
        const uint64_t at = is_crowd ? i % topk : i;
        to[i] = legal[n_legal - 1 - at % n_legal];
        differs |= to[i] != id_at(ids, i);
    }
    free(legal);
    return differs;
}

int reroute_map(const host_tensor *map, int32_t *to)
{
    const uint64_t n = tensor_elems(map);
    uint64_t last = n;
    int differs = 0;

    for (uint64_t i = 0; i < n; i++) {
        to[i] = id_at(map, i);
    }
    for (uint64_t i = 0; i < n; i++) {
        if (id_at(map, i) < 0) {
            continue;
        }
        do {
            last--;
        } while (id_at(map, last) < 0);
        to[i] = id_at(map, last);
        differs |= to[i] != id_at(map, i);
    }
    return differs;
}

/* Room for another tensor like it, to be freed. */
static int32_t *room_for(const host_tensor *t)
{
    return memory_need((size_t)t->n_bytes + 1);
}

static void drop(int32_t **p)
{
    free(*p);
    *p = NULL;
}

int reroute_draw(const stage *g, rerouted *r)
{
    const host_tensor *ids = NULL;
    const host_tensor *map = NULL;

    memset(r, 0, sizeof *r);
    for (uint32_t i = 0; i < g->n_in; i++) {
        const host_tensor *t = g->in[i].host;
        ids = is_choice(t) ? t : ids;
        map = is_map(t) ? t : map;
    }
    if (ids != NULL) {
        r->ids = room_for(ids);
        if (!reroute_choices(ids, map != NULL, (launch_hash(g) >> 9 & 1) != 0,
                             r->ids)) {
            drop(&r->ids);
        }
    }
    if (map != NULL) {
        r->map = room_for(map);
        if (!reroute_map(map, r->map)) {
            drop(&r->map);
        }
    }
    return r->ids != NULL || r->map != NULL;
}

void reroute_clear(rerouted *r)
{
    drop(&r->ids);
    drop(&r->map);
}

mxo_status reroute_send(stage *g, int noise, const rerouted *r, mxo_text why)
{
    mxo_status status = stage_send_inputs(g, noise, why);

    for (uint32_t i = 0; status == MXO_OK && i < g->n_in; i++) {
        const host_tensor *h = g->in[i].host;
        if (is_choice(h) && r->ids != NULL) {
            status = stage_send_input(g, i, r->ids, why);
        } else if (is_map(h)) {
            status = stage_send_input(
                g, i, r->map != NULL ? (const void *)r->map : h->data, why);
        }
    }
    return status;
}
