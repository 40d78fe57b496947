/* SPDX-License-Identifier: Apache-2.0 */
/* See selftest_hunt.h. */
#include "selftest_hunt.h"

#include "base/stop.h"
#include "case/case_shape.h"

#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 4096,   /* elements of inputs */
    MOST = 1 << 20, /* in a part of the cases; ci/nightly asks all */
    SAMPLE = 64,    /* one of so many, of other operations' cases */
    LARGE = 4 /* of a part's large cases one in so many: they take longest */
};

/* What the faultless device did with a case. */
enum { UNASKED, PASSED, NOT_PASSED };

static int has_at_most(uint64_t most, const char *text)
{
    uint64_t shape[MXO_MAX_RANK];
    uint64_t n = 0;
    test_case c;

    if (case_parse(&c, text, (mxo_text){NULL, 0}) != 0) {
        return 0;
    }
    for (int i = 0; i < c.schema->n_inputs && n <= most; i++) {
        uint64_t elements = 1;
        case_shape_up(&c, i, shape);
        for (uint32_t d = 0; d < c.schema->inputs[i].rank && elements <= most;
             d++) {
            elements *= shape[d];
        }
        n += elements;
    }
    return n <= most;
}

/* Cases that are known to kill a mutant. */
static const struct {
    const char *id;
    const char *case_text;
} killers[] = {
#define MXO_KILLER(id, case_text) {id, case_text},
#include "killers.def"
#undef MXO_KILLER
};

enum { N_KILLERS = sizeof killers / sizeof *killers };

/* NULL where none is written down. */
static const char *known_killer(const char *id)
{
    for (size_t i = 0; i < N_KILLERS; i++) {
        if (strcmp(killers[i].id, id) == 0) {
            return killers[i].case_text;
        }
    }
    return NULL;
}

/* How many mutants of the table each case kills. */
static void count_kills(case_pool *pool)
{
    for (size_t i = 0; i < pool->cases.n; i++) {
        for (size_t k = 0; k < N_KILLERS; k++) {
            pool->kills[i] +=
                strcmp(killers[k].case_text, pool->cases.item[i].text) == 0;
        }
    }
}

int case_pool_begin(case_pool *pool)
{
    case_list *all = &pool->cases;
    case_item *item = calloc(all->n + 1, sizeof *item);
    uint8_t *small = calloc(all->n + 1, 1);
    size_t n = 0;

    pool->said = calloc(all->n + 1, 1);
    pool->kills = calloc(all->n + 1, sizeof *pool->kills);
    if (item == NULL || small == NULL || pool->said == NULL ||
        pool->kills == NULL) {
        free(item);
        free(small);
        return -1;
    }
    for (size_t i = 0; i < all->n; i++) {
        small[i] = (uint8_t)has_at_most(SMALL, all->item[i].text);
        pool->n_small += small[i];
    }
    for (int turn = 1; turn >= 0; turn--) {
        for (size_t i = 0; i < all->n; i++) {
            if (small[i] == turn) {
                item[n++] = all->item[i];
            }
        }
    }
    free(small);
    free(all->item);
    free(all->slot); /* nothing is added any more */
    *all = (case_list){.n = n, .capacity = n, .item = item};
    count_kills(pool);
    return 0;
}

void case_pool_clear(case_pool *pool)
{
    case_list_clear(&pool->cases);
    worker_pool_destroy(&pool->faultless);
    free(pool->said);
    free(pool->kills);
    memset(pool, 0, sizeof *pool);
}

static void note_faultless(case_pool *pool, size_t i, const verdict *v)
{
    pool->said[i] = v->status == VERDICT_PASS ? PASSED : NOT_PASSED;
    pool->n_passed += v->status == VERDICT_PASS;
}

/* Does the faultless device pass the case? -1 if the harness failed. */
static int is_passed(case_pool *pool, size_t i)
{
    const case_item *item = &pool->cases.item[i];
    verdict v;

    if (pool->said[i] == UNASKED) {
        if (worker_pool_case(pool->faultless, item->text, item->seed, &v) !=
            0) {
            return -1;
        }
        note_faultless(pool, i, &v);
        verdict_clear(&v);
    }
    return pool->said[i] == PASSED;
}

/* A device's verdict; red counts where the faultless device passes. */
static int note(case_pool *pool, worker_pool *c, size_t i, const verdict *v,
                hunt *h)
{
    int counts = !h->red && verdict_is_red(v->status);

    h->n++;
    if (c == pool->faultless) {
        note_faultless(pool, i, v);
    } else if (counts) {
        counts = is_passed(pool, i);
    }
    if (counts > 0) {
        h->red = 1;
        h->at = i;
        h->killer = pool->cases.item[i];
        h->first = *v;
        h->first.detail = NULL;
        h->first.map = NULL;
        h->first.asked = NULL;
    }
    return counts < 0 ? -1 : 0;
}

/* Whether the case is of the operation. */
static int is_case_of(const char *text, const char *op)
{
    const size_t n = strlen(op);

    return strncmp(text, op, n) == 0 && text[n] == ':';
}

static int ask(case_pool *pool, worker_pool *c, size_t i, hunt *h)
{
    const case_item *item = &pool->cases.item[i];
    int status = 0;
    verdict v;

    if (stop_requested()) {
        return 0;
    }
    if (worker_pool_case(c, item->text, item->seed, &v) != 0) {
        return -1;
    }
    if (!stop_requested()) { /* else there may be no verdict */
        status = note(pool, c, i, &v, h);
    }
    verdict_clear(&v);
    return status;
}

/* The case of the operation with most kills among those after another: with
   fewer, or as many and further on.  -1: there is none. */
static ptrdiff_t next_killer(const case_pool *pool, const char *op,
                             ptrdiff_t after)
{
    ptrdiff_t best = -1;

    for (ptrdiff_t i = 0; i < (ptrdiff_t)pool->cases.n; i++) {
        const uint32_t kills = pool->kills[i];
        const int is_after = after < 0 || kills < pool->kills[after] ||
                             (kills == pool->kills[after] && i > after);
        if (kills > 0 && is_after && (best < 0 || kills > pool->kills[best]) &&
            is_case_of(pool->cases.item[i].text, op)) {
            best = i;
        }
    }
    return best;
}

static int ask_killers(case_pool *pool, worker_pool *c, const char *op, hunt *h)
{
    ptrdiff_t i = next_killer(pool, op, -1);
    int status = 0;

    while (i >= 0 && !h->red && status == 0) {
        status = ask(pool, c, (size_t)i, h);
        i = h->red ? -1 : next_killer(pool, op, i);
    }
    return status;
}

/* The cases that are (own) or are not the operation's, killers apart. */
static int ask_rest(case_pool *pool, worker_pool *c, const char *op, int own,
                    hunt *h)
{
    int status = 0;

    for (size_t i = 0; i < pool->cases.n && !h->red && status == 0; i++) {
        const int was_asked = own && pool->kills[i] > 0;
        if (!was_asked && is_case_of(pool->cases.item[i].text, op) == own) {
            status = ask(pool, c, i, h);
        }
    }
    return status;
}

static int is_near(const mutant *m, const char *text)
{
    return m->near[0] != '\0' && is_case_of(text, m->op) &&
           strstr(text, m->near) != NULL;
}

/* That case, if there is one, and those that the description points at. */
static int ask_near(case_pool *pool, worker_pool *c, const mutant *m, hunt *h)
{
    const char *killer = known_killer(m->id);
    int status = 0;

    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < pool->cases.n && !h->red && status == 0; i++) {
            const char *text = pool->cases.item[i].text;
            const int is_known = killer != NULL && strcmp(killer, text) == 0;
            if (turn == 0 ? is_known : !is_known && is_near(m, text)) {
                status = ask(pool, c, i, h);
            }
        }
    }
    return status;
}

int hunt_mutant(case_pool *pool, worker_pool *c, const mutant *m, hunt *h)
{
    int status = ask_near(pool, c, m, h);

    status = status == 0 ? ask_killers(pool, c, m->op, h) : status;
    for (int own = 1; own >= 0 && status == 0; own--) {
        status = ask_rest(pool, c, m->op, own, h);
    }
    return status;
}

int hunt_concludes(case_pool *pool, const hunt *h)
{
    for (size_t i = 0; i < pool->cases.n && pool->n_passed == 0 && !h->red &&
                       !stop_requested();
         i++) {
        (void)is_passed(pool, i);
    }
    return pool->n_passed > 0 || stop_requested();
}

/* A pass over some of the cases. */
typedef struct watch {
    case_pool *pool;
    worker_pool *c;
    hunt *h;
    size_t *of; /* numbers of the cases in the pool */
    int status;
} watch;

static void watched(void *state, size_t index, const verdict *v)
{
    watch *w = state;

    w->status |= note(w->pool, w->c, w->of[index], v, w->h);
}

/* Ask a share of the cases whose byte is set. */
static int ask_some(case_pool *pool, worker_pool *c, const uint8_t *chosen,
                    const case_share *share, hunt *h)
{
    uint64_t n_chosen = 0;
    const size_t n = pool->cases.n + 1;
    watch w = {pool, c, h, calloc(n, sizeof *w.of), 0};
    case_list some = {.capacity = n, .item = calloc(n, sizeof *some.item)};
    int status = -1;

    if (w.of != NULL && some.item != NULL) {
        for (size_t i = 0; i < pool->cases.n; i++) {
            if (chosen[i] && n_chosen++ % share->of == share->number) {
                w.of[some.n] = i;
                some.item[some.n++] = pool->cases.item[i]; /* text borrowed */
            }
        }
        status = worker_pool_run(c, &some, watched, &w);
    }
    free(some.item);
    free(w.of);
    return status == 0 ? w.status : status;
}

/* Whether one in so many of the cases has case i, the nth of its kind. */
static uint8_t is_in_part(const case_pool *pool, size_t i, uint64_t nth,
                          uint64_t part)
{
    if (part == 1 || i < pool->n_small) {
        return nth % part == 0;
    }
    return nth % (LARGE * part) == 0 &&
           has_at_most(MOST, pool->cases.item[i].text);
}

int hunt_legal(case_pool *pool, worker_pool *c, const mutant *m, uint64_t part,
               const case_share *share, hunt *h)
{
    uint8_t *chosen = calloc(pool->cases.n + 1, 1);
    uint64_t n_own[2] = {0, 0};
    int status = -1;

    for (size_t i = 0; chosen != NULL && i < pool->cases.n; i++) {
        const int is_large = i >= pool->n_small;

        chosen[i] = is_case_of(pool->cases.item[i].text, m->op)
                        ? is_in_part(pool, i, n_own[is_large]++, part)
                        : !is_large && i % (SAMPLE * part) == 0;
    }
    if (chosen != NULL) {
        status = ask_some(pool, c, chosen, share, h);
    }
    free(chosen);
    return status;
}

int hunt_faultless(case_pool *pool, uint64_t part, const case_share *share,
                   hunt *h)
{
    uint8_t *chosen = calloc(pool->cases.n + 1, 1);
    int status = -1;

    for (size_t i = 0; chosen != NULL && i < pool->cases.n; i++) {
        chosen[i] = is_in_part(pool, i, i, part);
    }
    if (chosen != NULL) {
        status = ask_some(pool, pool->faultless, chosen, share, h);
    }
    free(chosen);
    return status;
}
