/* SPDX-License-Identifier: Apache-2.0 */
/* See block_mistake.h. */
#include "block_mistake.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    DIVISORS = 256,
    FEWEST_BYTES = 32,
    SHORTEST_RUN = 8,
    FARTHEST = 4096,
    MOST_RUNS = 2048
};

/* Sizes of runs that divide the memory, ascending, and the wrong bytes. */
typedef struct search {
    const pair *p;
    uint64_t size[DIVISORS];
    int n_sizes;
    uint64_t first;
    uint64_t last;
} search;

static search search_in(const pair *p)
{
    search s = {.p = p};

    for (uint64_t d = 1; d <= p->n / d; d++) {
        if (p->n % d == 0 && s.n_sizes < DIVISORS) {
            s.size[s.n_sizes++] = d;
        }
    }
    for (int i = s.n_sizes - 1; i >= 0 && s.n_sizes < DIVISORS; i--) {
        const uint64_t d = p->n / s.size[i];
        if (d != s.size[s.n_sizes - 1]) {
            s.size[s.n_sizes++] = d;
        }
    }
    while (s.first < p->n && p->actual[s.first] == p->expected[s.first]) {
        s.first++;
    }
    s.last = p->n - 1;
    while (s.last > s.first && p->actual[s.last] == p->expected[s.last]) {
        s.last--;
    }
    return s;
}

/* Every expert begins more bytes behind the one before than it should. */
static int needless_pad(const search *s, char *text, size_t size)
{
    const pair *p = s->p;
    const uint64_t each = p->extent[0] < 2 ? p->n : p->n / p->extent[0];

    for (uint64_t pad = 1; each < p->n && pad <= FARTHEST; pad++) {
        uint64_t i = each;
        while (i < p->n) {
            const uint64_t to = i + i / each * pad;
            if (to < p->n && p->actual[to] != p->expected[i]) {
                break;
            }
            i = to < p->n ? i + 1 : p->n;
        }
        if (i == p->n && s->first >= each && each + pad < p->n) {
            (void)snprintf(text, size,
                           "experts are %" PRIu64 " bytes apart, not %" PRIu64
                           ": a needless pad",
                           each + pad, each);
            return 1;
        }
    }
    return 0;
}

/* Everything lies some bytes late or early. */
static int is_shifted(const search *s, char *text, size_t size)
{
    const pair *p = s->p;

    for (uint64_t by = 1; by <= FARTHEST && by <= p->n / 2; by++) {
        const uint64_t same = p->n - by;
        if (memcmp(p->actual + by, p->expected, (size_t)same) == 0 ||
            memcmp(p->actual, p->expected + by, (size_t)same) == 0) {
            (void)snprintf(
                text, size, "every byte lies %" PRIu64 " bytes too %s", by,
                memcmp(p->actual + by, p->expected, (size_t)same) == 0
                    ? "late"
                    : "early");
            return 1;
        }
    }
    return 0;
}

/* Where the byte comes from if each group of a x b runs lies transposed. */
static uint64_t transposed_from(uint64_t at, uint64_t run, uint64_t a,
                                uint64_t b)
{
    const uint64_t group = a * b;
    const uint64_t r = at / run % group;

    return (at / run - r + r % a * b + r / a) * run + at % run;
}

static int is_transposed(const search *s, uint64_t run, uint64_t a, uint64_t b)
{
    const pair *p = s->p;
    uint64_t at = s->first;

    if (transposed_from(at, run, a, b) == at) {
        return 0;
    }
    while (at < p->n &&
           p->actual[at] == p->expected[transposed_from(at, run, a, b)]) {
        at++;
    }
    for (uint64_t i = 0; at == p->n && i < s->first; i++) {
        if (p->actual[i] != p->expected[transposed_from(i, run, a, b)]) {
            return 0;
        }
    }
    return at == p->n;
}

static int is_by_column(const search *s, char *text, size_t size)
{
    const uint64_t n = s->p->n;

    for (int i = 0; i < s->n_sizes; i++) {
        const uint64_t run = s->size[i];
        for (int k = 1; k < s->n_sizes && s->size[k] <= n / run / 2; k++) {
            const uint64_t a = s->size[k];
            for (int m = 1; m < s->n_sizes && s->size[m] <= n / run / a; m++) {
                const uint64_t b = s->size[m];
                if (n % (run * a * b) == 0 && is_transposed(s, run, a, b)) {
                    (void)snprintf(text, size,
                                   "runs of %" PRIu64
                                   " bytes lie column by column: each %" PRIu64
                                   " x %" PRIu64 " of them are transposed",
                                   run, a, b);
                    return 1;
                }
            }
        }
    }
    return 0;
}

/* The run of the right memory that equals run k of the actual one; n_runs. */
static uint64_t run_like(const pair *p, uint64_t k, uint64_t run)
{
    const uint64_t n_runs = p->n / run;
    uint64_t i = 0;

    while (i < n_runs && memcmp(p->actual + k * run, p->expected + i * run,
                                (size_t)run) != 0) {
        i++;
    }
    return i;
}

static int is_constant(const uint8_t *bytes, uint64_t n)
{
    return memcmp(bytes, bytes + 1, (size_t)n - 1) == 0;
}

/* All wrong bytes lie in one run, which holds another run or one byte. */
static int one_wrong_run(const search *s, char *text, size_t size)
{
    const pair *p = s->p;

    for (int k = 0; k < s->n_sizes; k++) {
        const uint64_t run = s->size[k];
        const uint64_t at = s->first / run * run;
        if (run < SHORTEST_RUN || run == p->n || s->last / run != at / run) {
            continue;
        }
        if (is_constant(p->actual + at, run)) {
            (void)snprintf(text, size,
                           "all is right but bytes %" PRIu64 "..%" PRIu64
                           ", which are %02x: they were not written",
                           at, at + run - 1, p->actual[at]);
            return 1;
        }
        const uint64_t like = run_like(p, at / run, run);
        if (like < p->n / run) {
            (void)snprintf(text, size,
                           "all is right but bytes %" PRIu64 "..%" PRIu64
                           ", which hold what belongs at %" PRIu64
                           ": a tile is repeated",
                           at, at + run - 1, like * run);
            return 1;
        }
    }
    return 0;
}

/* Runs, the longest possible, that all are somewhere in the right memory. */
static int other_order(const search *s, char *text, size_t size)
{
    const pair *p = s->p;

    for (int k = s->n_sizes - 2; k > 0 && s->size[k] >= 2 * SHORTEST_RUN; k--) {
        const uint64_t run = s->size[k];
        const uint64_t n_runs = p->n / run;
        uint64_t i = 0;
        while (n_runs <= MOST_RUNS && i < n_runs &&
               run_like(p, i, run) < n_runs) {
            i++;
        }
        if (i == n_runs) {
            const uint64_t wrong = s->first / run;
            (void)snprintf(text, size,
                           "runs of %" PRIu64
                           " bytes are in another order: run %" PRIu64
                           " holds run %" PRIu64,
                           run, wrong, run_like(p, wrong, run));
            return 1;
        }
    }
    return 0;
}

int block_mistake(const pair *p, char *text, size_t size)
{
    if (p->n < FEWEST_BYTES) {
        return 0;
    }
    const search s = search_in(p);

    return s.first < p->n &&
           (needless_pad(&s, text, size) || is_shifted(&s, text, size) ||
            is_by_column(&s, text, size) || one_wrong_run(&s, text, size) ||
            other_order(&s, text, size));
}
