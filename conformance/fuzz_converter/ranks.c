/* SPDX-License-Identifier: Apache-2.0 */
/* See ranks.h. */
#include "ranks.h"

#include "convert/layers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What ranks divide of tensor i. */
static const char *share_of(const rank_file *r, int i)
{
    return r->is_experts ? "experts" : i < W2 ? "rows" : "columns";
}

int ranks_name(const rank_files *r, const checkpoint_tensor *actual, int i,
               char *text, size_t size)
{
    for (int k = 0; k < r->n; k++) {
        const rank_file *other = &r->rank[k];
        const checkpoint_tensor *t =
            checkpoint_find(&other->file, actual->name);
        if (t != NULL && t->n_bytes == actual->n_bytes &&
            memcmp(t->bytes, actual->bytes, (size_t)t->n_bytes) == 0) {
            (void)snprintf(text, size,
                           "it holds the %s of %s-parallel rank %" PRIu64
                           ", not of rank %" PRIu64,
                           share_of(other, i),
                           other->is_experts ? "expert" : "tensor", other->rank,
                           other->asked);
            return 1;
        }
    }
    return 0;
}

void ranks_clear(rank_files *r)
{
    for (int k = 0; k < r->n; k++) {
        checkpoint_close(&r->rank[k].file);
    }
    r->n = 0;
}
