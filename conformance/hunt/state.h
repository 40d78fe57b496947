/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State that decides the next batch, and its journal: weights of
 * groups, records that lately found something, causes.  A journal is lines of
 * JSON; a last line that was cut off is written again.  One of another
 * version, build, subject, seed or draw is refused and stays as it is.
 */
#ifndef MXO_HUNT_STATE_H
#define MXO_HUNT_STATE_H

#include "hunt.h"
#include "report/causes.h"
#include "seen.h"

enum { HUNT_POOL = 16 };

typedef struct hunt_state {
    uint64_t batch;     /* the next one */
    uint64_t n_cases;   /* before it */
    uint32_t *standard; /* owned: weights without any news */
    uint32_t n_pool;    /* ever added; the last HUNT_POOL are kept */
    draw_record pool[HUNT_POOL];
    cause_list causes;
} hunt_state;

/* 0, or -1 without memory. */
int hunt_state_begin(hunt_state *s, const draw_plan *p);
void hunt_state_clear(hunt_state *s);
/* A record found something. */
void hunt_state_keep(hunt_state *s, const draw_record *r);
/* Whether it is a new cause; text and repro are copied. */
int hunt_state_is_new(hunt_state *s, const report_result *r);
/* After a batch: what found something is drawn more, what is declined
   hardly. */
void hunt_state_learn(hunt_state *s, draw_plan *p, const seen *all,
                      const uint8_t *has_red);

typedef struct hunt_journal {
    const char *path; /* borrowed; NULL: none */
    int fd;
} hunt_journal;

/* Begin it, or take up what it holds. 0, or -1 and a sentence. */
int hunt_journal_open(hunt_journal *j, const hunt_options *o,
                      const backend_info *info, draw_plan *p, hunt_state *s,
                      mxo_text why);
/* 0, or -1 with errno. */
int hunt_journal_batch(const hunt_journal *j, const hunt_state *s,
                       const draw_plan *p);
int hunt_journal_finding(const hunt_journal *j, const report_result *r);
void hunt_journal_close(hunt_journal *j);

#endif
