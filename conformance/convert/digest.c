/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A digest of the source of a conversion: XXH3 over the files' bytes in the
 * order they were opened.  It guards against mixing up checkpoints, not
 * against forgery.
 */
#include <config.h>

#include "job.h"

#include <stdio.h>

#ifdef HAVE_XXHASH_H
#define XXH_INLINE_ALL
#include <xxhash.h>

void job_digest(const checkpoint *c, char text[JOB_DIGEST])
{
    const uint64_t window = (uint64_t)16 << 20;
    XXH3_state_t *state = XXH3_createState();

    (void)snprintf(text, JOB_DIGEST, "none");
    if (state == NULL || XXH3_64bits_reset(state) != XXH_OK) {
        XXH3_freeState(state);
        return;
    }
    for (size_t i = 0; i < c->n_files; i++) {
        const checkpoint_file *f = &c->file[i];
        for (uint64_t at = 0; at < f->n_bytes; at += window) {
            const uint64_t left = f->n_bytes - at;
            const uint64_t n = left < window ? left : window;
            (void)XXH3_64bits_update(state, f->map + at, (size_t)n);
            checkpoint_forget(f->map + at, n);
        }
    }
    (void)snprintf(text, JOB_DIGEST, "xxh3:%016llx",
                   (unsigned long long)XXH3_64bits_digest(state));
    XXH3_freeState(state);
}
#else
void job_digest(const checkpoint *c, char text[JOB_DIGEST])
{
    (void)c;
    (void)snprintf(text, JOB_DIGEST, "none");
}
#endif
