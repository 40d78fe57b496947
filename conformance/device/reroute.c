/* SPDX-License-Identifier: Apache-2.0 */
/* See reroute.h. */
#include "reroute.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

int reroute_is_choice(const host_tensor *t)
{
    return strcmp(t->name, "topk_ids") == 0 && t->dtype == MXO_I32 &&
           t->rank == 2;
}

int reroute_is_map(const host_tensor *t)
{
    return strcmp(t->name, "expert_map") == 0;
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

int reroute(const host_tensor *ids, int has_map, int is_crowd, int32_t *to)
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
