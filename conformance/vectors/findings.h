/* SPDX-License-Identifier: Apache-2.0 */
/* Findings on a file, in words, and its worst verdict. */
#ifndef MXO_VECTORS_FINDINGS_H
#define MXO_VECTORS_FINDINGS_H

#include "case/case_text.h"
#include "vector_compare.h"
#include "vectors.h"
#include "vectors/map/map.h"

typedef struct findings {
    vector_result *result;
    uint32_t n_lines;
    char as[CASE_TEXT]; /* the case being judged, without its dimensions */
} findings;

void finding_op(findings *f, const char *op);
/* Remember which canonical case is being judged. */
void finding_case(findings *f, const test_case *c);

/* One line; the verdict becomes the worse of the two. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void finding_add(findings *f, vector_verdict what, const char *format, ...);
/* An operation refused: what that means for the file. */
void finding_status(findings *f, mxo_status status, const char *sentence);
/* Two patterns of a type, decoded. */
void finding_codes(findings *f, uint32_t dtype, uint64_t in_file,
                   uint64_t computed, const char *who);
/* The first difference of the file: where, what, and a map of the tensor. */
void finding_place(findings *f, const host_tensor *t, const glue *computed,
                   const map_rule *rule, const vector_difference *d);
/* So many elements have been compared by a rule. */
void finding_count(findings *f, uint64_t n_elements, const map_rule *rule);
/* So many elements differ where the rule nan_block lets them. */
void finding_free(findings *f, uint64_t n_elements);

/* "[3,64]" and "[0,17]" */
void finding_shape(const uint64_t *shape, uint32_t rank, char *text,
                   size_t size);
void finding_index(const host_tensor *t, uint64_t i, char *text, size_t size);

#endif
