/* SPDX-License-Identifier: Apache-2.0 */
/* See process.h. */
#include "process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Above every descriptor that a plan has. */
enum { HIGH = 16 };

/*
 * dup2 onto itself would keep close-on-exec, and a file may have the number of
 * another already; so all of them first move out of the way.
 */
static int plan_files(const process_plan *plan, posix_spawn_file_actions_t *a,
                      int high[PROCESS_FILES])
{
    int error =
        posix_spawn_file_actions_addopen(a, 0, "/dev/null", O_RDONLY, 0);

    for (int i = 0; i < plan->n_files; i++) {
        high[i] = fcntl(plan->files[i], F_DUPFD_CLOEXEC, HIGH);
        if (high[i] < 0) { /* EINVAL: a process may have no so high one */
            error = errno == EINVAL ? EMFILE : errno;
        } else if (error == 0) {
            error = posix_spawn_file_actions_adddup2(a, high[i], i + 1);
        }
    }
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
    if (error == 0) {
        error = posix_spawn_file_actions_addclosefrom_np(a, plan->n_files + 1);
    }
#endif
#endif
    return error;
}

static int plan_signals(const process_plan *plan, posix_spawnattr_t *a)
{
    const int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                      (plan->own_group ? POSIX_SPAWN_SETPGROUP : 0);
    sigset_t all;
    sigset_t none;

    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    (void)posix_spawnattr_setsigdefault(a, &all);
    (void)posix_spawnattr_setsigmask(a, &none);
    return posix_spawnattr_setflags(a, (short)flags);
}

int process_start(const process_plan *plan, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int high[PROCESS_FILES] = {-1, -1, -1, -1};

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    int error = plan_files(plan, &actions, high);

    error = error == 0 ? plan_signals(plan, &attributes) : error;
    error = error == 0
                ? posix_spawn(
                      pid, plan->file, &actions, &attributes, plan->args,
                      plan->environment == NULL ? environ : plan->environment)
                : error;
    for (int i = 0; i < plan->n_files; i++) {
        if (high[i] >= 0) {
            (void)close(high[i]);
        }
    }
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    errno = error;
    return error == 0 ? 0 : -1;
}

static double seconds_of(clockid_t clock)
{
    struct timespec t = {0, 0};

    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double process_clock(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double process_cpu_s(pid_t pid)
{
    clockid_t clock;

    return clock_getcpuclockid(pid, &clock) == 0 ? seconds_of(clock) : 0;
}

/* Of one thread, in seconds; -1 where the system does not tell. */
static double thread_queue_s(pid_t pid, const char *thread)
{
    unsigned long long waited = 0;
    char path[96];

    (void)snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", (int)pid,
                   thread);
    FILE *f = fopen(path, "re");
    const int is_told = f != NULL && fscanf(f, "%*u %llu", &waited) == 1;

    (void)(f != NULL && fclose(f));
    return is_told ? (double)waited * 1e-9 : -1;
}

double process_queue_s(pid_t pid)
{
    char path[64];
    double sum = -1;
    const struct dirent *entry;

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);

    while (d != NULL && (entry = readdir(d)) != NULL) {
        const double one =
            entry->d_name[0] == '.' ? -1 : thread_queue_s(pid, entry->d_name);

        sum = one < 0 ? sum : one + (sum < 0 ? 0 : sum);
    }
    (void)(d != NULL && closedir(d));
    return sum;
}

/* /proc/PID/stat from behind its name on; NULL where there is none. */
static const char *stat_of(const char *pid, char text[1024])
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *f = fopen(path, "re");

    if (f == NULL) {
        return NULL;
    }
    const size_t n = fread(text, 1, 1023, f);
    (void)fclose(f);

    text[n] = '\0';
    return strrchr(text, ')');
}

/* Fields 5 and 14 to 17: its group, and ticks of itself and of children that it
   waited for; 0 if it is of another group. */
static unsigned long group_ticks(const char *pid, pid_t group)
{
    unsigned long ticks[4] = {0, 0, 0, 0};
    int of = 0;
    char text[1024];
    const char *rest = stat_of(pid, text);

    if (rest == NULL ||
        sscanf(rest,
               ") %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
               &of, &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 5 ||
        of != group) {
        return 0;
    }
    return ticks[0] + ticks[1] + ticks[2] + ticks[3];
}

double process_group_cpu_s(pid_t group)
{
    DIR *d = opendir("/proc");
    unsigned long ticks = 0;
    const struct dirent *entry;

    while (d != NULL && (entry = readdir(d)) != NULL) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
            ticks += group_ticks(entry->d_name, group);
        }
    }
    (void)(d != NULL && closedir(d));
    return ticks > 0 ? (double)ticks / (double)sysconf(_SC_CLK_TCK)
                     : process_cpu_s(group);
}

static void pause_ms(long ms)
{
    const struct timespec t = {0, ms * 1000000};

    (void)nanosleep(&t, NULL);
}

/* A shell says of a child that a signal killed: 128 and its number. */
static void say_end(int status, char *text, size_t size)
{
    const int by_shell = WIFEXITED(status) && WEXITSTATUS(status) > 128 &&
                         WEXITSTATUS(status) < 128 + 65;
    const int number = by_shell              ? WEXITSTATUS(status) - 128
                       : WIFSIGNALED(status) ? WTERMSIG(status)
                                             : 0;

    if (number > 0) {
        (void)snprintf(text, size, "killed by signal %d (%s)", number,
                       strsignal(number));
    } else {
        (void)snprintf(text, size, "exited with status %d",
                       WEXITSTATUS(status));
    }
}

int process_has_ended(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
}

int process_is_there(pid_t pid)
{
    char text[1024];
    char name[24];

    if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH)) {
        return 0;
    }
    (void)snprintf(name, sizeof name, "%d", (int)pid);
    const char *rest = stat_of(name, text); /* ") Z": nobody has reaped it */

    return rest == NULL || strncmp(rest, ") Z", 3) != 0;
}

int process_end(pid_t pid, int own_group, double grace_s, char *text,
                size_t size)
{
    const double until = process_clock() + grace_s;
    int status = 0;
    pid_t reaped = waitpid(pid, &status, WNOHANG);

    for (long ms = 1; reaped == 0 && process_clock() < until;
         ms = ms < 50 ? 2 * ms : ms) {
        pause_ms(ms);
        reaped = waitpid(pid, &status, WNOHANG);
    }
    /* Processes that it left behind end with it. */
    if (own_group) {
        (void)kill(-pid, SIGKILL);
    }
    /* It may have left its group. */
    if (reaped == 0) {
        (void)kill(pid, SIGKILL);
    }
    if (reaped == 0) {
        (void)waitpid(pid, &status, 0);
    }
    if (text != NULL) {
        say_end(status, text, size);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
