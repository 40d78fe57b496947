/* SPDX-License-Identifier: Apache-2.0 */
/* See causes.h. */
#include "causes.h"

#include "base/cli.h"
#include "base/grown.h"
#include "base/memory.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32 };

/* Every number becomes one '#', hexadecimal digits behind one included. */
static void blur(const char *text, char *out, size_t size)
{
    size_t n = 0;

    while (*text != '\0' && n + 1 < size) {
        if (!isdigit((unsigned char)*text)) {
            out[n++] = *text++;
            continue;
        }
        out[n++] = '#';
        while (isxdigit((unsigned char)*text) || *text == '.') {
            text++;
        }
    }
    out[n] = '\0';
}

/* Whether a size of the case is no multiple of a block.  Sizes are the numbers
   that are large enough to be cut into blocks. */
static int is_ragged(const char *case_text)
{
    const char *at = strchr(case_text, ':');

    while (at != NULL && (at = strchr(at, '=')) != NULL) {
        char *end;
        const unsigned long long n = strtoull(++at, &end, 10);
        if (end != at && (*end == ',' || *end == '\0') && n >= BLOCK &&
            n % BLOCK != 0) {
            return 1;
        }
    }
    return 0;
}

static char *copy(const char *text)
{
    return text == NULL ? NULL : memory_need_text(text);
}

static cause *find_or_add(cause_list *l, const cause *wanted)
{
    char key[sizeof wanted->backend + sizeof wanted->op +
             sizeof wanted->sentence + 32];

    (void)snprintf(key, sizeof key, "%d %d %s %s %s", (int)wanted->status,
                   wanted->is_ragged, wanted->backend, wanted->op,
                   wanted->sentence);
    const json_t *place = json_object_get(l->place, key);

    if (place != NULL) {
        return &l->cause[json_integer_value(place)];
    }
    l->cause = grown(l->cause, l->n, sizeof *l->cause);
    l->cause[l->n] = *wanted;
    l->place = l->place == NULL ? json_object() : l->place;
    (void)json_object_set_new(l->place, key, json_integer((json_int_t)l->n));
    return &l->cause[l->n++];
}

static void take_first(cause *c, const report_result *r)
{
    c->index = r->index;
    c->case_text = copy(r->case_text);
    c->reason = copy(r->v->reason);
    c->detail = copy(r->v->detail);
    c->repro = copy(r->repro);
    c->map = copy(r->v->map);
}

void causes_add(cause_list *l, const report_result *r)
{
    cause wanted;

    if (!verdict_is_red(r->v->status)) {
        return;
    }
    memset(&wanted, 0, sizeof wanted);
    (void)snprintf(wanted.backend, sizeof wanted.backend, "%s",
                   r->backend->name);
    report_op(r, wanted.op, sizeof wanted.op);
    wanted.status = r->v->status;
    wanted.is_ragged = is_ragged(r->case_text);
    blur(r->v->reason, wanted.sentence, sizeof wanted.sentence);
    cause *c = find_or_add(l, &wanted);

    if (c->n == 0) {
        take_first(c, r);
    }
    c->n += r->n_cases;
}

static int by_weight(const void *a, const void *b)
{
    const cause *x = a;
    const cause *y = b;
    int order = x->n == y->n ? 0 : x->n < y->n ? 1 : -1;

    order = order == 0 ? strcmp(x->backend, y->backend) : order;
    order = order == 0 ? strcmp(x->op, y->op) : order;
    order = order == 0 ? strcmp(x->sentence, y->sentence) : order;
    return order == 0 ? x->is_ragged - y->is_ragged : order;
}

void causes_sort(cause_list *l)
{
    if (l->n > 0) {
        qsort(l->cause, l->n, sizeof l->cause[0], by_weight);
    }
}

void causes_clear(cause_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->cause[i].case_text);
        free(l->cause[i].reason);
        free(l->cause[i].detail);
        free(l->cause[i].repro);
        free(l->cause[i].map);
    }
    free(l->cause);
    json_decref(l->place);
    memset(l, 0, sizeof *l);
}

const char *cause_class(const cause *c)
{
    return c->is_ragged ? "ragged sizes" : "whole blocks";
}

void causes_print(FILE *out, cause_list *l, size_t limit)
{
    uint64_t n = 0;

    causes_sort(l);
    for (size_t i = 0; i < l->n; i++) {
        n += l->cause[i].n;
    }
    fprintf(out, "%" PRIu64 " red%s, %zu cause%s:\n", n, n == 1 ? "" : "s",
            l->n, l->n == 1 ? "" : "s");
    for (size_t i = 0; i < l->n && i < limit; i++) {
        const cause *c = &l->cause[i];
        cli_line(out, 9, "  %6" PRIu64 " %s %s %s, %s", c->n, c->backend, c->op,
                 verdict_name(c->status), cause_class(c));
        cli_line(out, 9, "         %s", c->reason == NULL ? "" : c->reason);
        fprintf(out, "         %s\n", c->repro == NULL ? "" : c->repro);
    }
    if (l->n > limit) {
        fprintf(out, "  and %zu more causes\n", l->n - limit);
    }
}
