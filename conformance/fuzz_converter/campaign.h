/* SPDX-License-Identifier: Apache-2.0 */
/* A series of drawn checkpoints, and what it has found. */
#ifndef MXO_FUZZ_CONVERTER_CAMPAIGN_H
#define MXO_FUZZ_CONVERTER_CAMPAIGN_H

#include "converter.h"

enum { CAMPAIGN_CAUSES = 100, CAMPAIGN_VALUES = 64 };

typedef struct converter_campaign {
    converter subject;
    const char *checkpoint; /* judge this one alone; NULL: draw */
    const char *keep;       /* folder for findings */
    uint64_t most_cases;    /* 0: until time is up */
    uint64_t most_causes;
    int quiet;
    char scratch[CONVERTER_PATH];
    uint64_t n_cases;
    uint64_t n_causes;
    char cause[CAMPAIGN_CAUSES][CONVERSION_FAULT_CAUSE];
    /* Distinct values of each field that were judged. */
    int n_seen[DRAWN_FIELDS];
    uint64_t seen[DRAWN_FIELDS][CAMPAIGN_VALUES];
} converter_campaign;

/* Exit status; what is found is on disk before it is told. */
int campaign_run(converter_campaign *c, mxo_text why);
/* Make d as plain as it goes, the cause staying the same. */
int campaign_shrink(converter_campaign *c, drawn *d, const char *cause,
                    mxo_text why);
/* Judge d in a scratch folder that is empty again afterwards. */
int campaign_judge(converter_campaign *c, const drawn *d, conversion_fault *f,
                   mxo_text why);
/* Write the files of a finding to a folder of its own, and say it. */
int campaign_keep(converter_campaign *c, const drawn *d, mxo_text why);

#endif
