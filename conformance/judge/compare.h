/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal or not, by a rule.  Rules are rows of tolerance.def: this code knows
 * no operation and no vendor.
 */
#ifndef MXO_COMPARE_H
#define MXO_COMPARE_H

#include "device/device_under_test.h"

typedef enum rule_kind {
    RULE_BITS,
    RULE_EXACT_NAN,
    RULE_ULP,
    RULE_MASK
} rule_kind;

typedef struct compare_rule {
    const char *op;
    const char *backend;
    const char *tensor;
    const char *key;    /* of a parameter; "": the row always holds */
    const char *values; /* of the parameter, "a|b" */
    rule_kind kind;
    uint64_t limit;
    const char *mask;
    const char *reason;
    const char *source;
} compare_rule;

typedef struct comparison {
    uint64_t n_total;
    uint64_t n_diff;
    uint64_t first; /* element indices, meaningful if n_diff > 0 */
    uint64_t last;
} comparison;

/* The row for an output of a call; the rule "bits" if there is none. Never
   NULL. */
const compare_rule *compare_rule_for(const op_call *call, const char *backend,
                                     const char *tensor);
/* "bits", "exact_nan", "ulp=2", "mask=valid" into text. */
const char *compare_rule_name(const compare_rule *rule, char *text,
                              size_t size);
/* Are two patterns equal by the rule? */
int compare_codes(const compare_rule *rule, uint32_t dtype, uint64_t want,
                  uint64_t got);
/* All elements of two tensors of one type and shape; mask may be NULL. */
comparison compare_tensors(const compare_rule *rule, const host_tensor *want,
                           const host_tensor *got, const host_tensor *mask);

#endif
