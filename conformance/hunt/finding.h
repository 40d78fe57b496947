/* SPDX-License-Identifier: Apache-2.0 */
/* A red case made into something to keep: shrunk, judged once more, and
   written as case, repro and golden vector. */
#ifndef MXO_HUNT_FINDING_H
#define MXO_HUNT_FINDING_H

#include "run/worker_pool.h"

#include "case/case_text.h"

typedef struct finding {
    char text[CASE_TEXT]; /* the smallest case */
    uint64_t seed;
    char beside[64]; /* the other operation that it takes; "": none */
    char repro[8192];
    verdict v; /* of the smallest; to be cleared */
} finding;

/* thorough judges by its own words what a subject did; fast found it, and said
   so first.  Where neither sees it again it is kept as it was drawn. */
void finding_make(finding *f, worker_pool *thorough, worker_pool *fast,
                  const backend_ref *ref, int device, const char *text,
                  uint64_t seed, const verdict *first);
/* FOLDER/NUMBER-OP.case and .safetensors, and a line of FOLDER/repro.sh.  0,
   or -1 and a sentence. */
int finding_write(const finding *f, const char *folder, uint64_t number,
                  mxo_text why);
void finding_clear(finding *f);

#endif
