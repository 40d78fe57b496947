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

/* The bytes of a file; -1 and a sentence where it is to stop. */
static int add_file(const job *j, const checkpoint_file *f, XXH3_state_t *state,
                    mxo_text why)
{
    const uint64_t window = (uint64_t)16 << 20;

    for (uint64_t at = 0; at < f->n_bytes; at += window) {
        const uint64_t left = f->n_bytes - at;
        const uint64_t n = left < window ? left : window;
        if (job_stopped(j, why)) {
            return -1;
        }
        (void)XXH3_64bits_update(state, f->map + at, (size_t)n);
        checkpoint_forget(f->map + at, n);
    }
    return 0;
}

int job_digest(job *j, mxo_text why)
{
    int status = 0;

    if (j->digest[0] != '\0') {
        return 0;
    }
    XXH3_state_t *state = XXH3_createState();

    (void)snprintf(j->digest, sizeof j->digest, "none");
    if (state != NULL && XXH3_64bits_reset(state) == XXH_OK) {
        for (size_t i = 0; i < j->in->n_files && status == 0; i++) {
            status = add_file(j, &j->in->file[i], state, why);
        }
        (void)snprintf(j->digest, sizeof j->digest, "xxh3:%016llx",
                       (unsigned long long)XXH3_64bits_digest(state));
    }
    XXH3_freeState(state);
    return status;
}
#else
int job_digest(job *j, mxo_text why)
{
    (void)why;
    (void)snprintf(j->digest, sizeof j->digest, "none");
    return 0;
}
#endif
