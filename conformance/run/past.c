/* SPDX-License-Identifier: Apache-2.0 */
/* See past.h. */
#include "past.h"

#include "case_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls that are kept, and red ones for which they are made again: each costs
   new processes. */
enum { KEPT = 16, SEARCHES = 4 };

struct past {
    test_case c[KEPT]; /* the latest last */
    int n;
    uint64_t seed;    /* of all */
    uint64_t process; /* of all */
    int n_searches;
};

past *past_create(void)
{
    return calloc(1, sizeof(past));
}

void past_destroy(past **p)
{
    free(*p);
    *p = NULL;
}

static void keep(past *p, const past_call *now)
{
    const uint64_t process = proxy_n_started(now->by->proxy);

    if (p->process != process || p->seed != now->seed) {
        p->n = 0;
    }
    if (p->n == KEPT) {
        memmove(p->c, p->c + 1, (KEPT - 1) * sizeof p->c[0]);
        p->n--;
    }
    p->c[p->n++] = *now->c;
    p->process = process;
    p->seed = now->seed;
}

static int is_red(const past_call *now, const test_case *c)
{
    verdict v;

    case_run(&now->by->j, c, now->seed, &v);
    const int red = verdict_is_red(v.status);

    verdict_clear(&v);
    return red;
}

/* Whether it is red in a new process, behind n cases. */
static int is_red_behind(const past_call *now, const test_case *before, int n)
{
    proxy_renew(now->by->proxy);
    for (int i = 0; i < n; i++) {
        (void)is_red(now, &before[i]);
    }
    return is_red(now, now->c);
}

static void say(verdict *v, const char *sentence)
{
    strbuf lines = {NULL, 0, 0};

    strbuf_add(&lines, "%s%s%s", v->detail == NULL ? "" : v->detail,
               v->detail == NULL ? "" : "\n", sentence);
    free(v->detail);
    v->detail = lines.text;
}

static int name_them(const test_case *c, int n, verdict *v)
{
    size_t used = 0;

    for (int i = 0; i < n; i++) {
        char text[CASE_TEXT];
        case_print(&c[i], 0, text);
        used += (size_t)snprintf(v->before + used, sizeof v->before - used,
                                 "%s%s", i == 0 ? "" : " ", text);
        if (used >= sizeof v->before) {
            v->before[0] = '\0';
            return -1;
        }
    }
    return 0;
}

/* The fewest of the last calls behind which it is red again, by doubling. */
static void search(const past *p, const past_call *now, verdict *v)
{
    for (int n = 1; n < 2 * p->n; n *= 2) {
        const int all = n < p->n ? n : p->n;
        const test_case *first = &p->c[p->n - all];
        if (!is_red_behind(now, first, all)) {
            continue;
        }
        const int is_one = all > 1 && is_red_behind(now, first, 1);
        if (name_them(first, is_one ? 1 : all, v) == 0) {
            say(v, "in a new process it passes: it takes the cases before it "
                   "in its line");
            return;
        }
    }
    say(v, "in a new process it passes, behind its last calls too: it takes "
           "more of them, or chance");
}

void past_find(past *p, const past_call *now, verdict *v)
{
    if (p == NULL) {
        return;
    }
    const int has_past = p->n > 0 && p->seed == now->seed &&
                         p->process == proxy_n_started(now->by->proxy);

    if (has_past && verdict_is_red(v->status) && v->status != VERDICT_TIMEOUT &&
        p->n_searches < SEARCHES) {
        p->n_searches++;
        if (!is_red_behind(now, NULL, 0)) {
            search(p, now, v);
        }
    }
    keep(p, now);
}
