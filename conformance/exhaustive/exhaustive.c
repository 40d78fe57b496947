/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All 2^32 binary32 inputs of exp, sigmoid and silu against MPFR.
 *
 * 1024 chunks per function, handed to processes; every finished chunk goes
 * into a state file that is written beside it and renamed, so that the run can
 * be stopped at any moment and resumed by the same command.  Processes, not
 * threads: GMP picks its code for the processor on first use, and threads that
 * did so at once crashed it.  exp and sigmoid are
 * monotone: where MPFR gives the same code at both ends of an interval, every
 * input inside has it, and only our function is evaluated there.
 */
#include "reference.h"

#include <mxoracle/act.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_CHUNKS = 1024, CHUNK_LG = 22, RUN = 64, LINE = 160 };

typedef struct chunk {
    int done;
    uint32_t wrong;
    uint32_t first_wrong;
    uint32_t tier2;
    uint32_t mpfr_more; /* inputs for which 64 bits of MPFR were too few */
    int lg_nearest;
    uint32_t nearest;
    uint64_t digest; /* FNV-1a of our codes in order of the inputs */
} chunk;

typedef struct job {
    pthread_mutex_t lock;
    chunk chunks[N_REFERENCE_FNS][N_CHUNKS];
    const char *state;
    int limit; /* chunks per function to do; N_CHUNKS for all */
    int next;
    int failed_to_save;
} job;

static const mxo_act_fn ours_of[] = {MXO_ACT_EXP, MXO_ACT_SIGMOID,
                                     MXO_ACT_SILU};

static uint32_t reference(chunk *c, reference_fn fn, uint32_t x)
{
    reference_effort effort;
    const uint32_t y = reference_f32(fn, x, &effort);

    if (effort.bits > 64) {
        c->mpfr_more++;
        if (effort.lg_nearest < c->lg_nearest) {
            c->lg_nearest = effort.lg_nearest;
            c->nearest = x;
        }
    }
    return y;
}

static void judge(chunk *c, reference_fn fn, uint32_t x, uint32_t want)
{
    uint32_t bits;
    const mxo_real value = mxo_format_decode(MXO_FMT_F32, x);
    const uint32_t got =
        (uint32_t)mxo_act_eval(ours_of[fn], value, MXO_FMT_F32, &bits);

    if (got != want) {
        c->first_wrong = c->wrong == 0 ? x : c->first_wrong;
        c->wrong++;
    }
    c->tier2 += bits > 64;
    for (int i = 0; i < 4; i++) {
        c->digest = (c->digest ^ (got >> 8 * i & 0xff)) * 0x100000001b3u;
    }
}

/*
 * Inputs first..last of one sign, all finite or all not; want_first and
 * want_last are their reference codes.  Halves until the codes meet or the
 * interval is short; the recursion is CHUNK_LG deep at most.
 */
static void span(chunk *c, reference_fn fn, uint32_t first, uint32_t last,
                 const uint32_t want[2])
{
    if (want[0] == want[1] || last - first < 2) {
        for (uint32_t x = first; x - first < last - first; x++) {
            judge(c, fn, x, want[0]);
        }
        judge(c, fn, last, want[1]);
        return;
    }
    const uint32_t middle = first + (last - first) / 2;
    const uint32_t left[2] = {want[0], reference(c, fn, middle)};
    const uint32_t right[2] = {reference(c, fn, middle + 1), want[1]};

    span(c, fn, first, middle, left);
    span(c, fn, middle + 1, last, right);
}

/* silu is not monotone, and its NaN are not constant: every input. */
static void one_by_one(chunk *c, reference_fn fn, uint32_t first, uint32_t last)
{
    for (uint32_t x = first; x - first < last - first; x++) {
        judge(c, fn, x, reference(c, fn, x));
    }
    judge(c, fn, last, reference(c, fn, last));
}

static void run_chunk(chunk *c, reference_fn fn, uint32_t index)
{
    const uint32_t size = (uint32_t)1 << CHUNK_LG;
    const uint32_t begin = index << CHUNK_LG;

    memset(c, 0, sizeof *c);
    c->digest = 0xcbf29ce484222325u;
    for (uint32_t at = 0; at < size; at += size / RUN) {
        const uint32_t first = begin + at;
        const uint32_t last = first + (size / RUN - 1);
        /* Infinity begins a run of NaN. */
        if (fn == REFERENCE_SILU || (first & 0x7fffffff) == 0x7f800000) {
            one_by_one(c, fn, first, last);
        } else {
            const uint32_t want[2] = {reference(c, fn, first),
                                      reference(c, fn, last)};
            span(c, fn, first, last, want);
        }
    }
    c->done = 1;
}

static int save(const job *j)
{
    char temporary[4096];
    FILE *f;
    int ok;

    snprintf(temporary, sizeof temporary, "%s.tmp", j->state);
    f = fopen(temporary, "w");
    if (f == NULL) {
        return 0;
    }
    for (int fn = 0; fn < N_REFERENCE_FNS; fn++) {
        for (int i = 0; i < N_CHUNKS; i++) {
            const chunk *c = &j->chunks[fn][i];
            if (c->done) {
                fprintf(f,
                        "%s %d %" PRIu32 " %08" PRIx32 " %" PRIu32 " %" PRIu32
                        " %d %08" PRIx32 " %016" PRIx64 "\n",
                        reference_name((reference_fn)fn), i, c->wrong,
                        c->first_wrong, c->tier2, c->mpfr_more, c->lg_nearest,
                        c->nearest, c->digest);
            }
        }
    }
    ok = fflush(f) == 0 && fsync(fileno(f)) == 0;
    ok = fclose(f) == 0 && ok;
    return ok && rename(temporary, j->state) == 0;
}

/* One line of the state file; 0 if it is not one. */
static int read_line(job *j, const char *line)
{
    char name[16];
    int index;
    int used = 0;
    chunk c = {0};

    if (sscanf(line,
               "%15s %d %" SCNu32 " %" SCNx32 " %" SCNu32 " %" SCNu32
               " %d %" SCNx32 " %" SCNx64 "%n",
               name, &index, &c.wrong, &c.first_wrong, &c.tier2, &c.mpfr_more,
               &c.lg_nearest, &c.nearest, &c.digest, &used) != 9 ||
        strcmp(line + used, "\n") != 0 || index < 0 || index >= N_CHUNKS) {
        return 0;
    }
    for (int fn = 0; fn < N_REFERENCE_FNS; fn++) {
        if (strcmp(name, reference_name((reference_fn)fn)) == 0) {
            c.done = 1;
            j->chunks[fn][index] = c;
            return 1;
        }
    }
    return 0;
}

static int load(job *j)
{
    char line[LINE];
    FILE *f = fopen(j->state, "r");
    int number = 0;
    int ok = 1;

    if (f == NULL) {
        return 1; /* nothing done yet */
    }
    while (ok && fgets(line, sizeof line, f) != NULL) {
        number++;
        ok = read_line(j, line);
    }
    fclose(f);
    if (!ok) {
        fprintf(stderr, "exhaustive: %s: line %d is not a finished chunk\n",
                j->state, number);
    }
    return ok;
}

static int count_done(const job *j)
{
    int n = 0;

    for (int fn = 0; fn < N_REFERENCE_FNS; fn++) {
        for (int i = 0; i < j->limit; i++) {
            n += j->chunks[fn][i * (N_CHUNKS / j->limit)].done;
        }
    }
    return n;
}

static void progress(const job *j, time_t start, int done_before)
{
    const int total = N_REFERENCE_FNS * j->limit;
    const int done = count_done(j);
    const double seconds = difftime(time(NULL), start);
    const double left = done == done_before
                            ? 0
                            : seconds * (total - done) / (done - done_before);

    fprintf(stderr, "%s%d of %d chunks, %.0f s, about %.0f s left%s",
            isatty(2) ? "\r" : "", done, total, seconds, left,
            isatty(2) ? "   " : "\n");
}

static void work(job *j)
{
    for (;;) {
        pthread_mutex_lock(&j->lock);
        const int n = j->next++;
        const int fn = n / j->limit;
        const int index = n % j->limit * (N_CHUNKS / j->limit);
        const int stop = fn >= N_REFERENCE_FNS || j->failed_to_save;
        const int done = stop || j->chunks[fn][index].done;
        pthread_mutex_unlock(&j->lock);
        chunk c;

        if (stop) {
            return;
        }
        if (!done) {
            run_chunk(&c, (reference_fn)fn, (uint32_t)index);
            pthread_mutex_lock(&j->lock);
            j->chunks[fn][index] = c;
            j->failed_to_save = !save(j);
            pthread_mutex_unlock(&j->lock);
        }
    }
}

/* 1 while one of the children is alive; *bad is set if one died badly. */
static int children_alive(int *bad)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        *bad |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    return pid == 0;
}

/* 0 if a worker died: what it had in hand is not in the state file. */
static int run_all(job *j, int n_workers)
{
    const int before = count_done(j);
    const time_t start = time(NULL);
    int bad = 0;

    for (int i = 0; i < n_workers; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            work(j);
            _exit(0);
        }
        bad |= pid < 0;
    }
    for (int waited = 0; children_alive(&bad); waited++) {
        if (waited % (isatty(2) ? 1 : 30) == 0) {
            progress(j, start, before);
        }
        sleep(1);
    }
    progress(j, start, before);
    fputs(isatty(2) ? "\n" : "", stderr);
    return !bad;
}

/* In memory that the workers share, with a lock that works between them. */
static job *new_job(void)
{
    job *j = mmap(NULL, sizeof *j, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t shared;

    if (j == MAP_FAILED || pthread_mutexattr_init(&shared) != 0 ||
        pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) != 0 ||
        pthread_mutex_init(&j->lock, &shared) != 0) {
        return NULL;
    }
    j->limit = N_CHUNKS;
    return j;
}

/* One line per function; returns the number of wrong results. */
static uint64_t summary(const job *j)
{
    uint64_t all_wrong = 0;

    for (int fn = 0; fn < N_REFERENCE_FNS; fn++) {
        uint64_t wrong = 0;
        uint64_t tier2 = 0;
        uint64_t more = 0;
        uint64_t digest = 0xcbf29ce484222325u;
        int n = 0;
        const chunk *hardest = &j->chunks[fn][0];
        for (int i = 0; i < N_CHUNKS; i++) {
            const chunk *c = &j->chunks[fn][i];
            if (!c->done) {
                continue;
            }
            n++;
            wrong += c->wrong;
            tier2 += c->tier2;
            more += c->mpfr_more;
            digest = (digest ^ c->digest) * 0x100000001b3u;
            hardest = c->lg_nearest < hardest->lg_nearest ? c : hardest;
            if (c->wrong > 0) {
                printf("%s: %" PRIu32 " wrong in chunk %d, first at %08" PRIx32
                       "\n",
                       reference_name((reference_fn)fn), c->wrong, i,
                       c->first_wrong);
            }
        }
        printf("%s: %" PRIu64 " inputs, %" PRIu64 " wrong, %" PRIu64
               " needed tier 2, %" PRIu64 " more than 64 bits of MPFR,"
               " hardest %08" PRIx32 " at 2^%d of a boundary, digest"
               " %016" PRIx64 "\n",
               reference_name((reference_fn)fn), (uint64_t)n << CHUNK_LG, wrong,
               tier2, more, hardest->nearest, hardest->lg_nearest, digest);
        all_wrong += wrong;
    }
    return all_wrong;
}

static int usage(const char *why)
{
    fprintf(stderr,
            "exhaustive: %s\n"
            "usage: exhaustive [--jobs=N] [--chunks=N] STATE-FILE\n"
            "  --jobs    processes, 1..256, default: all processors\n"
            "  --chunks  evenly spread chunks per function, a power of two up"
            " to 1024 (all)\n",
            why);
    return 2;
}

static int in_range(const char *text, int low, int high, int *value)
{
    char *end;
    const long n = strtol(text, &end, 10);

    *value = (int)n;
    return *text != '\0' && *end == '\0' && n >= low && n <= high;
}

int main(int argc, char **argv)
{
    job *j = new_job();
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int n_workers = processors > 0 && processors <= 256 ? (int)processors : 1;

    if (j == NULL) {
        fputs("exhaustive: no shared memory\n", stderr);
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--jobs=", 7) == 0) {
            if (!in_range(argv[i] + 7, 1, 256, &n_workers)) {
                return usage("--jobs is a number from 1 to 256");
            }
        } else if (strncmp(argv[i], "--chunks=", 9) == 0) {
            if (!in_range(argv[i] + 9, 1, N_CHUNKS, &j->limit) ||
                (j->limit & (j->limit - 1)) != 0) {
                return usage("--chunks is a power of two up to 1024");
            }
        } else if (argv[i][0] == '-' || j->state != NULL) {
            return usage("one state file and no other option");
        } else {
            j->state = argv[i];
        }
    }
    if (j->state == NULL || strlen(j->state) > 4000) {
        return usage("which state file?");
    }
    if (!load(j)) {
        return 1;
    }
    const int whole = run_all(j, n_workers);
    if (!whole) {
        fputs("exhaustive: a worker died; run again to resume\n", stderr);
        return 1;
    }
    if (j->failed_to_save) {
        fprintf(stderr, "exhaustive: cannot write %s\n", j->state);
        return 1;
    }
    return summary(j) == 0 ? 0 : 1;
}
