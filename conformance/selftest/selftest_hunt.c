/* SPDX-License-Identifier: Apache-2.0 */
/* See selftest_hunt.h. */
#include "selftest_hunt.h"

#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 4096, /* elements of outputs */
    SAMPLE = 64   /* one of so many, of other operations' cases */
};

/* A pass over a list. */
typedef struct watch {
    hunt *h;
    const case_list *cases;
    case_pool *pool; /* takes the cases that pass; NULL: none */
    int full;        /* no memory for it */
} watch;

void case_pool_clear(case_pool *pool)
{
    case_list_clear(&pool->small);
    case_list_clear(&pool->large);
    free(pool->kills);
    memset(pool, 0, sizeof *pool);
}

static void watched(void *state, size_t index, const verdict *v)
{
    watch *w = state;
    const case_item *item = &w->cases->item[index];

    w->h->n++;
    if (w->h->tick != NULL) {
        w->h->tick(w->h->state, item->text);
    }
    if (w->pool != NULL && v->status == VERDICT_PASS) {
        case_list *l = v->n_total <= SMALL ? &w->pool->small : &w->pool->large;
        w->full |= case_list_add(l, item->text, item->seed) != MXO_OK;
    }
    if (!w->h->red && verdict_is_red(v->status)) {
        w->h->red = 1;
        w->h->killer = *item;
        w->h->first = *v;
        w->h->first.detail = NULL;
        w->h->first.map = NULL;
    }
}

int hunt_faultless(case_pool *pool, crew *c, const case_list *cases, hunt *h)
{
    watch w = {h, cases, pool, 0};
    const int status = crew_run(c, cases, watched, &w);

    uint32_t *grown =
        realloc(pool->kills, (pool->small.n + 1) * sizeof *pool->kills);

    if (grown == NULL) {
        return -1;
    }
    pool->kills = grown;
    for (; pool->n_kills < pool->small.n; pool->n_kills++) {
        grown[pool->n_kills] = 0;
    }
    return w.full ? -1 : status;
}

/* Whether the case is of the operation. */
static int is_case_of(const char *text, const char *op)
{
    const size_t n = strlen(op);

    return strncmp(text, op, n) == 0 && text[n] == ':';
}

/* One case of a list. */
static int ask(crew *c, const case_list *cases, size_t i, hunt *h)
{
    watch w = {h, cases, NULL, 0};
    verdict v;

    if (stop_requested()) {
        return 0;
    }
    if (crew_case(c, cases->item[i].text, cases->item[i].seed, &v) != 0) {
        return -1;
    }
    if (stop_requested()) { /* there may be no verdict */
        verdict_clear(&v);
        return 0;
    }
    watched(&w, i, &v);
    verdict_clear(&v);
    return 0;
}

/* The case of the operation with most kills among those after another: with
   fewer, or as many and further on.  -1: there is none. */
static ptrdiff_t next_killer(const case_pool *pool, const char *op,
                             ptrdiff_t after)
{
    ptrdiff_t best = -1;

    for (ptrdiff_t i = 0; i < (ptrdiff_t)pool->small.n; i++) {
        const uint32_t kills = pool->kills[i];
        const int is_after = after < 0 || kills < pool->kills[after] ||
                             (kills == pool->kills[after] && i > after);
        if (kills > 0 && is_after && (best < 0 || kills > pool->kills[best]) &&
            is_case_of(pool->small.item[i].text, op)) {
            best = i;
        }
    }
    return best;
}

static int ask_killers(case_pool *pool, crew *c, const char *op, hunt *h)
{
    ptrdiff_t i = next_killer(pool, op, -1);
    int status = 0;

    while (i >= 0 && !h->red && status == 0) {
        status = ask(c, &pool->small, (size_t)i, h);
        pool->kills[i] += (uint32_t)h->red;
        i = h->red ? -1 : next_killer(pool, op, i);
    }
    return status;
}

/* The cases of one list that are (own) or are not the operation's; kills of
   the list may be NULL. */
static int ask_list(const case_list *cases, uint32_t *kills, crew *c,
                    const char *op, int own, hunt *h)
{
    int status = 0;

    for (size_t i = 0; i < cases->n && !h->red && status == 0; i++) {
        const int was_asked = own && kills != NULL && kills[i] > 0;
        if (!was_asked && is_case_of(cases->item[i].text, op) == own) {
            status = ask(c, cases, i, h);
            if (own && kills != NULL) {
                kills[i] += (uint32_t)h->red;
            }
        }
    }
    return status;
}

/* The case that is known to kill the mutant; NULL where none is written down.
 */
static const char *known_killer(const char *id)
{
    static const struct {
        const char *id;
        const char *case_text;
    } killers[] = {
#define MXO_KILLER(id, case_text) {id, case_text},
#include "killers.def"
#undef MXO_KILLER
    };

    for (size_t i = 0; i < sizeof killers / sizeof *killers; i++) {
        if (strcmp(killers[i].id, id) == 0) {
            return killers[i].case_text;
        }
    }
    return NULL;
}

static int is_near(const mutant *m, const char *text)
{
    return m->near[0] != '\0' && is_case_of(text, m->op) &&
           strstr(text, m->near) != NULL;
}

hunt_stage hunt_stage_of(const mutant *m, const char *case_text)
{
    const char *killer = known_killer(m->id);

    if (is_near(m, case_text) ||
        (killer != NULL && strcmp(killer, case_text) == 0)) {
        return HUNT_NEAR;
    }
    return is_case_of(case_text, m->op) ? HUNT_OWN : HUNT_OTHER;
}

/* Ask that case, if the list has it. */
static int ask_known(const case_list *cases, uint32_t *kills, crew *c,
                     const char *case_text, hunt *h)
{
    for (size_t i = 0; case_text != NULL && i < cases->n; i++) {
        if (strcmp(cases->item[i].text, case_text) == 0) {
            const int status = ask(c, cases, i, h);
            if (kills != NULL) {
                kills[i] += (uint32_t)h->red;
            }
            return status;
        }
    }
    return 0;
}

/* The cases of one list that the mutant's description points at. */
static int ask_near(const case_list *cases, crew *c, const mutant *m, hunt *h)
{
    int status = 0;

    for (size_t i = 0; i < cases->n && !h->red && status == 0; i++) {
        if (is_near(m, cases->item[i].text)) {
            status = ask(c, cases, i, h);
        }
    }
    return status;
}

int hunt_mutant(case_pool *pool, crew *c, const mutant *m, hunt *h)
{
    const char *killer = known_killer(m->id);
    int status = ask_known(&pool->small, pool->kills, c, killer, h);

    status = status == 0 ? ask_known(&pool->large, NULL, c, killer, h) : status;
    status = status == 0 ? ask_near(&pool->small, c, m, h) : status;
    status = status == 0 ? ask_near(&pool->large, c, m, h) : status;
    status = status == 0 ? ask_killers(pool, c, m->op, h) : status;

    for (int own = 1; own >= 0 && status == 0; own--) {
        status = ask_list(&pool->small, pool->kills, c, m->op, own, h);
        if (status == 0) {
            status = ask_list(&pool->large, NULL, c, m->op, own, h);
        }
    }
    return status;
}

/* Whether case i is the first of its operation in the list. */
static int is_first(const case_list *cases, size_t i)
{
    const char *text = cases->item[i].text;
    const size_t n = strcspn(text, ":") + 1;

    return i == 0 || strncmp(cases->item[i - 1].text, text, n) != 0;
}

int hunt_legal(const case_pool *pool, crew *c, const mutant *m, uint64_t part,
               hunt *h)
{
    const case_list *lists[] = {&pool->small, &pool->large};
    case_list some = {.capacity = pool->small.n + pool->large.n + 1};
    watch w = {h, &some, NULL, 0};
    uint64_t n_own = 0;
    int status = -1;

    some.item = calloc(some.capacity, sizeof *some.item);
    for (size_t l = 0; some.item != NULL && l < 2; l++) {
        for (size_t i = 0; i < lists[l]->n; i++) {
            const int own = is_case_of(lists[l]->item[i].text, m->op);
            const int is_other =
                l == 0 && !own && (i % SAMPLE == 0 || is_first(lists[l], i));
            if (is_other || (own && n_own++ % part == 0)) {
                some.item[some.n++] = lists[l]->item[i]; /* texts borrowed */
            }
        }
    }
    if (some.item != NULL) {
        status = crew_run(c, &some, watched, &w);
    }
    free(some.item);
    return status;
}
