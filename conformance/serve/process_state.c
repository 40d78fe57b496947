/* SPDX-License-Identifier: Apache-2.0 */
/* See process_state.h. */
#include "process_state.h"

#include "kernel_state.h"

#include "base/number.h"
#include "base/say.h"
#include "system/system.h"

#include <dirent.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* Descriptors whose files are known; leaks in a row that are one too many: a
   library may open something in its first calls. */
enum { N_FILES = 5, N_LEAKS = 4, N_SIGNALS = 65, PATH = 4096 };

struct process_state {
    struct sigaction handlers[N_SIGNALS];
    sigset_t mask;
    struct stat files[N_FILES];
    char folder[PATH];
    mode_t umask;   /* bits that new files lack */
    int n_open;     /* descriptors after the last call */
    int n_leaks;    /* calls in a row that left more of them */
    int n_timers;   /* of timer_create() */
    int n_children; /* that loading left */
    kernel_state kernel;
};

/* Control bits that no call leaves changed: rounding, traps, flushing to zero;
   not the flags that every operation sets. */
static unsigned control_bits(void)
{
#if defined(__SSE__)
    return _mm_getcsr() & ~0x3fu;
#else
    return 0;
#endif
}

static unsigned standard_bits(void)
{
#if defined(__SSE__)
    return 0x1f80;
#else
    return 0;
#endif
}

static int differs(mxo_text what, const char *format, const char *word)
{
    (void)say(MXO_OK, what, format, word);
    return 1;
}

/* The registers of long double, which MMX uses, too: how they compute, and
   whether numbers are left in them, which the next long double would miss. */
static int long_double_differs(mxo_text what)
{
#if defined(__x86_64__)
    enum { PRECISION = 0x300, CONTROL_AT = 1, USED_AT = 4 };
    _Alignas(16) uint8_t state[512];

    __asm__ volatile("fxsave %0" : "=m"(state));
    return (state[CONTROL_AT] << 8 & PRECISION) != PRECISION
               ? differs(what, "%s", "the precision of long double is less")
           : state[USED_AT] != 0
               ? differs(what, "%s", "registers of long double are in use")
               : 0;
#else
    (void)what;
    return 0;
#endif
}

static void set_files(process_state *s)
{
    for (int i = 0; i < N_FILES; i++) {
        if (fstat(i, &s->files[i]) != 0) {
            memset(&s->files[i], 0, sizeof s->files[i]);
        }
    }
}

static mode_t umask_now(void)
{
    const mode_t now = umask(0);

    (void)umask(now);
    return now;
}

static const int timers[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

static void stop_timers(void)
{
    const struct itimerval off = {{0, 0}, {0, 0}};

    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        (void)setitimer(timers[i], &off, NULL);
    }
}

static int timers_run(void)
{
    struct itimerval t;

    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        if (getitimer(timers[i], &t) == 0 &&
            (t.it_value.tv_sec != 0 || t.it_value.tv_usec != 0)) {
            return 1;
        }
    }
    return 0;
}

/* Timers of timer_create(); 0 where the system lists none. */
static int count_timers(void)
{
    FILE *f = fopen("/proc/self/timers", "re");
    char line[128];
    int n = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        n += strncmp(line, "ID:", 3) == 0;
    }
    (void)(f != NULL && fclose(f));
    return n;
}

/* Those of one thread; -1 where the system does not list them. */
static int children_of(const char *thread)
{
    char path[64];
    int n = 0;

    (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/children", thread);
    FILE *f = fopen(path, "re");

    if (f == NULL) {
        return -1;
    }
    while (fscanf(f, "%*d") == 0) {
        n++;
    }
    (void)fclose(f);
    return n;
}

/* Child processes, ended or not; 1 for any number where none are listed. */
static int count_children(void)
{
    siginfo_t child;
    const struct dirent *entry;
    int n = 0;

    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0) {
        return 0;
    }
    DIR *d = opendir("/proc/self/task");

    while (d != NULL && (entry = readdir(d)) != NULL) {
        const int some =
            entry->d_name[0] == '.' ? 0 : children_of(entry->d_name);
        n += some > 0 ? some : 0;
    }
    (void)(d != NULL && closedir(d));
    return n > 0 ? n : 1;
}

/* Not those between the two kinds: threads of the C library have them. */
static int is_ours(int number)
{
    return number != SIGKILL && number != SIGSTOP &&
           (number < 32 || number >= SIGRTMIN);
}

process_state *process_state_take(void)
{
    process_state *s = calloc(1, sizeof *s);

    if (s == NULL) {
        return NULL;
    }
    for (int i = 1; i < N_SIGNALS; i++) {
        (void)sigaction(i, NULL, &s->handlers[i]);
    }
    (void)sigprocmask(SIG_SETMASK, NULL, &s->mask);
    set_files(s);
    if (getcwd(s->folder, sizeof s->folder) == NULL) {
        s->folder[0] = '\0';
    }
    s->umask = umask_now();
    s->n_open = system_open_files();
    s->n_timers = count_timers();
    kernel_state_take(&s->kernel);
    return s;
}

void process_state_free(process_state **s)
{
    if (*s != NULL) {
        kernel_state_free(&(*s)->kernel);
    }
    free(*s);
    *s = NULL;
}

void process_state_loaded(process_state *s)
{
    set_files(s);
    s->n_children = count_children();
    kernel_state_loaded(&s->kernel);
    process_state_reset(s);
}

void process_state_reset(process_state *s)
{
    kernel_state_reset(&s->kernel);
    number_standard();
    for (int i = 1; i < N_SIGNALS; i++) {
        if (is_ours(i)) {
            (void)sigaction(i, &s->handlers[i], NULL);
        }
    }
    (void)sigprocmask(SIG_SETMASK, &s->mask, NULL);
    stop_timers();
    (void)umask(s->umask);
    if (s->folder[0] != '\0') {
        (void)!chdir(s->folder);
    }
    s->n_open = system_open_files();
    s->n_timers = count_timers();
}

int process_state_numbers_differ(mxo_text what)
{
    static const struct {
        int mode;
        const char *name;
    } modes[] = {{FE_DOWNWARD, "downward"},
                 {FE_UPWARD, "upward"},
                 {FE_TOWARDZERO, "towards zero"}};
    const int mode = fegetround();

    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (mode == modes[i].mode) {
            return differs(what, "rounding is %s", modes[i].name);
        }
    }
    return control_bits() == standard_bits()
               ? long_double_differs(what)
               : differs(what, "%s",
                         control_bits() & 0x8040
                             ? "subnormal numbers are taken for zero"
                             : "floating-point exceptions trap");
}

static int locale_differs(mxo_text what)
{
    const char *now = setlocale(LC_ALL, NULL);

    if (uselocale((locale_t)0) != LC_GLOBAL_LOCALE) {
        return differs(what, "%s", "the locale is another in its thread");
    }
    return now == NULL || strcmp(now, "C") == 0
               ? 0
               : differs(what, "the locale is %.100s", now);
}

static int signals_differ(const process_state *s, mxo_text what)
{
    struct sigaction now;
    sigset_t mask;

    for (int i = 1; i < N_SIGNALS; i++) {
        if (!is_ours(i) || sigaction(i, NULL, &now) != 0) {
            continue;
        }
        if (now.sa_handler != s->handlers[i].sa_handler) {
            return differs(what, "the handler of the signal \"%s\"",
                           strsignal(i));
        }
    }
    (void)sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i < N_SIGNALS; i++) {
        if (is_ours(i) && sigismember(&mask, i) != sigismember(&s->mask, i)) {
            return differs(what, "the signal \"%s\" is blocked", strsignal(i));
        }
    }
    return 0;
}

static int files_differ(process_state *s, mxo_text what)
{
    char number[16];
    const int n = system_open_files();

    for (int i = 0; i < N_FILES; i++) {
        struct stat now;
        (void)snprintf(number, sizeof number, "%d", i);
        if (fstat(i, &now) != 0) {
            return differs(what, "descriptor %s is closed", number);
        }
        if (now.st_dev != s->files[i].st_dev ||
            now.st_ino != s->files[i].st_ino) {
            return differs(what, "descriptor %s is another file", number);
        }
    }
    s->n_leaks = n > s->n_open ? s->n_leaks + 1 : 0;
    return s->n_leaks < N_LEAKS
               ? 0
               : differs(what, "%s", "every call leaves descriptors open");
}

static int rest_differs(const process_state *s, mxo_text what)
{
    char folder[PATH];
    char bits[16];

    if (getcwd(folder, sizeof folder) != NULL && s->folder[0] != '\0' &&
        strcmp(folder, s->folder) != 0) {
        return differs(what, "the working directory is %.120s", folder);
    }
    if (umask_now() != s->umask) {
        (void)snprintf(bits, sizeof bits, "%03o", (unsigned)umask_now());
        return differs(what, "the mask of new files is %s", bits);
    }
    if (timers_run() || count_timers() > s->n_timers) {
        return differs(what, "%s", "a timer runs");
    }
    return count_children() > s->n_children
               ? differs(what, "%s", "a child process is there")
               : 0;
}

int process_state_differs(process_state *s, mxo_text what)
{
    return kernel_state_differs(&s->kernel, what) ||
           process_state_numbers_differ(what) || locale_differs(what) ||
           signals_differ(s, what) || files_differ(s, what) ||
           rest_differs(s, what);
}
