/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the example plugin that are made when it is asked to synchronize:
   each of them, read at once or then by a pointer; the last alone; the last
   first; the last four, sixteen or 32; or wrong where another waits before it,
   or four, or gives what it reads, or where a buffer comes or gets bytes
   meanwhile; or, of two contexts that have a call waiting, those of one alone.
 */
#ifndef MXO_LATE_CALLS_H
#define MXO_LATE_CALLS_H

enum { MOST_LATE = 64 };

static struct {
    job job;
    const void *ctx;
    const mxo_call *call; /* to be read then; NULL: job is what was read */
    int is_spoilt;
} late[MOST_LATE];
static int n_late;
static int n_places;
static int is_last_first;

static int is_late(const char *fault)
{
    return strcmp(fault, "ok-late") == 0 || strcmp(fault, "one-place") == 0 ||
           strcmp(fault, "ok-pointer") == 0 ||
           strcmp(fault, "last-first") == 0 ||
           strcmp(fault, "behind-waiting") == 0 ||
           strcmp(fault, "reads-early") == 0 ||
           strcmp(fault, "four-wait") == 0 ||
           strcmp(fault, "first-of-contexts") == 0 ||
           strcmp(fault, "last-of-contexts") == 0 ||
           strncmp(fault, "ring-of-", 8) == 0 ||
           strcmp(fault, "alloc-meanwhile") == 0 ||
           strcmp(fault, "upload-meanwhile") == 0;
}

/* Whether what waits before a call spoils it. */
static int is_spoilt_by_waiting(const char *fault, const job *j)
{
    const job *first = &late[0].job;

    return n_late > 0 && ((strcmp(fault, "behind-waiting") == 0 &&
                           first->y.n_bytes != j->y.n_bytes) ||
                          (strcmp(fault, "four-wait") == 0 && n_late > 3) ||
                          (strcmp(fault, "reads-early") == 0 &&
                           first->y.buffer == j->q.buffer));
}

/* What is allocated or uploaded meanwhile spoils what waits. */
static void spoil_late(int is_so)
{
    for (int i = 0; is_so && i < n_late; i++) {
        late[i].is_spoilt = 1;
    }
}

static int places_of(const char *fault)
{
    static const struct {
        const char *fault;
        int n;
    } rings[] = {
        {"ring-of-four", 4}, {"ring-of-sixteen", 16}, {"ring-of-32", 32}};

    for (int i = 0; i < 3; i++) {
        if (strcmp(fault, rings[i].fault) == 0) {
            return rings[i].n;
        }
    }
    return MOST_LATE;
}

/* A call of another context waits: it or this one is lost. */
static int is_lost(const char *fault, const void *ctx)
{
    const int is_other = n_late > 0 && late[0].ctx != ctx;

    if (is_other && strcmp(fault, "last-of-contexts") == 0) {
        n_late = 0;
    }
    return is_other && strcmp(fault, "first-of-contexts") == 0;
}

static mxo_status late_run(const char *fault, const void *ctx,
                           const mxo_call *call, mxo_text why)
{
    job j;
    const mxo_status status = check(call, &j, why);

    if (status == MXO_OK && !is_lost(fault, ctx)) {
        const int ring = places_of(fault);
        n_late = strcmp(fault, "one-place") == 0 ? 0 : n_late % MOST_LATE;
        const int i = n_late % ring;
        late[i].job = j;
        late[i].ctx = ctx;
        late[i].call = strcmp(fault, "ok-pointer") == 0 ? call : NULL;
        late[i].is_spoilt = is_spoilt_by_waiting(fault, &j);
        n_places = ring;
        is_last_first = strcmp(fault, "last-first") == 0;
        n_late++;
    }
    return status;
}

static mxo_status late_synchronize(void *ctx, mxo_text why)
{
    (void)ctx;
    for (int n = 0; n < n_late && n < n_places; n++) {
        const int i = is_last_first ? n_late - 1 - n : n;
        job *j = &late[i].job;

        if (late[i].call != NULL) {
            (void)check(late[i].call, j, why);
        }
        work(j);
        ((uint8_t *)j->y.buffer)[j->y.offset] ^= (uint8_t)late[i].is_spoilt;
    }
    n_late = 0;
    return MXO_OK;
}

#endif
