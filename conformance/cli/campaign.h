/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cases of one machine of a campaign: which are left out, which belong to
 * this shard, which the journal has judged already.
 */
#ifndef MXO_CAMPAIGN_H
#define MXO_CAMPAIGN_H

#include "report/report.h"
#include "runopts.h"

typedef struct campaign_plan {
    case_list cases;   /* owned; of this shard */
    uint64_t *index;   /* owned: of each in the plan of all shards */
    char digest[24];   /* of the plan of all shards */
    char options[512]; /* that bear on a verdict, for a journal */
    char subjects[24]; /* digest of the files that are judged */
} campaign_plan;

/* The cases the options name, on the backends chosen. EXIT_PASS or what went
   wrong, after a sentence. */
int campaign_plan_make(campaign_plan *p, const run_options *o,
                       const backend_list *chosen);
/* Once they are open: what their processes have loaded is theirs, too. */
void campaign_plan_add_code(campaign_plan *p, const backend_info *infos, int n);
void campaign_plan_clear(campaign_plan *p);

/* Does --exclude leave out the case, or its operation? */
int campaign_excludes(const run_options *o, const char *case_text);

/* From 1 to n_shards: depends on the case and its seed alone. */
uint64_t campaign_shard_of(const case_item *item, uint64_t n_shards);

#endif
