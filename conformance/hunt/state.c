/* SPDX-License-Identifier: Apache-2.0 */
/* Weights, records and causes; see state.h. */
#include "state.h"

#include <stdlib.h>
#include <string.h>

/* Times its weight, most and least, of what finds and what is declined. */
enum { MOST_TIMES = 8, LEAST_PART = 32, DECLINES = 8 };

int hunt_state_begin(hunt_state *s, const draw_plan *p)
{
    memset(s, 0, sizeof *s);
    s->standard = calloc(p->n, sizeof *s->standard);
    for (uint32_t i = 0; s->standard != NULL && i < p->n; i++) {
        s->standard[i] = p->group[i].weight;
    }
    return s->standard == NULL ? -1 : 0;
}

void hunt_state_clear(hunt_state *s)
{
    free(s->standard);
    causes_clear(&s->causes);
    memset(s, 0, sizeof *s);
}

void hunt_state_keep(hunt_state *s, const draw_record *r)
{
    s->pool[s->n_pool++ % HUNT_POOL] = *r;
}

int hunt_state_is_new(hunt_state *s, const report_result *r)
{
    const size_t before = s->causes.n;

    causes_add(&s->causes, r);
    return s->causes.n > before;
}

void hunt_state_learn(hunt_state *s, draw_plan *p, const seen *all,
                      const uint8_t *has_red)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const seen_group *g = &all->group[i];
        const uint32_t standard = s->standard[i];
        uint32_t w = p->group[i].weight;

        if (g->is_absent) {
            w = 0;
        } else if (has_red[i]) {
            w = w > standard * MOST_TIMES / 2 ? standard * MOST_TIMES : 2 * w;
        } else if (g->n_judged == 0 && g->n_declined >= DECLINES) {
            w = standard / LEAST_PART + 1;
        } else if (w > standard) {
            w -= (w - standard + 7) / 8;
        }
        p->group[i].weight = w;
    }
}
