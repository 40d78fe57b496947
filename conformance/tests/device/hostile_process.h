/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Side effects of a call on its process, for a plugin and a
 * program alike: the rows of hostile.def.
 */
#ifndef MXO_TESTS_HOSTILE_PROCESS_H
#define MXO_TESTS_HOSTILE_PROCESS_H

#include "hostile_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void no_deed(int number)
{
    (void)number;
}

static void spin(void)
{
    for (volatile int i = 0;; i = i + 1) {
    }
}

static void limit(int what, uint64_t n)
{
    const struct rlimit r = {n, n};

    (void)setrlimit(what, &r);
}

static void timer(int which)
{
    const struct itimerval t = {{0, 0}, {1000, 0}};

    (void)setitimer(which, &t, NULL);
}

static void open_as(const char *path, int fd)
{
    const int file = open(path, O_RDONLY);

    (void)dup2(file, fd);
    (void)close(file);
}

/* One that setitimer() does not know. */
static void start_posix_timer(void)
{
    struct sigevent e = {.sigev_notify = SIGEV_NONE};
    const struct itimerspec s = {{0, 0}, {1000, 0}};
    timer_t t;

    if (timer_create(CLOCK_MONOTONIC, &e, &t) == 0) {
        (void)timer_settime(t, 0, &s, NULL);
    }
}

/* As a host does that polls a device which never ends. */
static void nap(void)
{
    for (;;) {
        (void)usleep(1000);
    }
}

/* Files of its own for the judge, on the channel. */
static void send_files(void)
{
    int files[100] = {0};
    char room[CMSG_SPACE(sizeof files)] = {0};
    struct iovec line = {(char[]){'\n'}, 1};
    const struct msghdr m = {.msg_iov = &line,
                             .msg_iovlen = 1,
                             .msg_control = room,
                             .msg_controllen = sizeof room};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);

    *h = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS,
                          .cmsg_len = CMSG_LEN(sizeof files)};
    memcpy(CMSG_DATA(h), files, sizeof files);
    (void)sendmsg(3, &m, MSG_NOSIGNAL);
}

static void end_by_limit(void)
{
    const struct rlimit r = {1, 1000};

    (void)setrlimit(RLIMIT_CPU, &r);
    spin();
}

/* 1 GiB of addresses at most, and none of it given back. Volatile, or a
   compiler may leave out memory that nobody reads. */
static void take_all_memory(void)
{
    static void *volatile taken;

    limit(RLIMIT_AS, (uint64_t)1 << 30);
    for (uint64_t n = (uint64_t)1 << 31; n > 0;) {
        taken = malloc((size_t)n);
        if (taken == NULL) {
            n = n > (1 << 24) ? n / 2 : 0;
        }
    }
    abort();
}

/* A grandchild in a session of its own, which is nobody's child here; over when
   it has written and everybody's end of the pipe is closed. */
static void leave_daemon(void)
{
    int ends[2];
    char none;

    if (pipe(ends) != 0) {
        return;
    }
    const pid_t child = fork();

    if (child == 0) {
        (void)setsid();
        if (fork() == 0) {
            (void)thread_forges(NULL);
        }
        _exit(0);
    }
    (void)close(ends[1]);
    (void)!read(ends[0], &none, 1);
    (void)close(ends[0]);
    (void)waitpid(child, NULL, 0);
}

static void change_environment(void)
{
    (void)setenv("LC_ALL", "de_DE.UTF-8", 1);
    (void)setenv("LD_PRELOAD", "/nowhere.so", 1);
    (void)setenv("MXORACLE_EXEC", "9 9 9", 1);
    (void)unsetenv("PATH");
    (void)clearenv();
}

/* The parent of the process group's leader, which may be a shell. */
static pid_t judge(void)
{
    char line[256];
    int pid = 0;

    (void)snprintf(line, sizeof line, "/proc/%d/status", (int)getpgrp());
    FILE *f = fopen(line, "r");

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        (void)sscanf(line, "PPid: %d", &pid);
    }
    (void)(f != NULL && fclose(f));
    return pid;
}

/* Does the system let it?  Then the judge's memory is no secret. */
static int reads_judge(void)
{
    char path[64];
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/mem", (int)judge());
    fd = open(path, O_RDONLY);
    (void)(fd >= 0 && close(fd));
    return fd >= 0;
}

static int traces_judge(void)
{
    return ptrace(PTRACE_SEIZE, judge(), NULL, NULL) == 0;
}

#if defined(__x86_64__)
static void lose_precision(void)
{
    uint16_t word;

    __asm__ volatile("fnstcw %0" : "=m"(word));
    word = (uint16_t)(word & ~0x300);
    __asm__ volatile("fldcw %0" : : "m"(word));
}

static void leave_number(void)
{
    __asm__ volatile("fld1");
}

static void leave_mmx(void)
{
    __asm__ volatile("pxor %mm0, %mm0");
}
#else
static void lose_precision(void)
{
}

static void leave_number(void)
{
}

static void leave_mmx(void)
{
}
#endif

static void take_signal_stack(void)
{
    static char bytes[1 << 16];
    const stack_t s = {.ss_sp = bytes, .ss_size = sizeof bytes};

    (void)sigaltstack(&s, NULL);
}

/* One page; all memory that comes; or all that is there, which a limit may
   forbid: then what comes. */
static void lock_memory(const char *what)
{
    static char page[4096];

    if (strcmp(what, "page") == 0) {
        (void)mlock(page, sizeof page);
    } else if (strcmp(what, "memory") == 0 || mlockall(MCL_CURRENT) != 0) {
        (void)mlockall(MCL_FUTURE);
    }
}

static void say_control(void)
{
    (void)printf("\033[2J\033]0;x\a\r2 passed, 0 failed\n\302\233");
    (void)fprintf(stderr, "\033[31mPASS\033[0m\n");
    (void)fflush(NULL);
}

static int end_as(const char *fault)
{
    static const struct {
        const char *fault;
        int number;
    } signals[] = {
        {"sig-hup", SIGHUP},   {"sig-int", SIGINT},   {"sig-quit", SIGQUIT},
        {"sig-ill", SIGILL},   {"sig-trap", SIGTRAP}, {"sig-bus", SIGBUS},
        {"sig-usr1", SIGUSR1}, {"sig-pipe", SIGPIPE}, {"sig-term", SIGTERM}};

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (strcmp(fault, signals[i].fault) == 0) {
            limit(RLIMIT_CORE, 0);
            return raise(signals[i].number) == 0;
        }
    }
    if (strcmp(fault, "exec-true") == 0) {
        (void)execlp("true", "true", (char *)NULL);
    } else if (strcmp(fault, "exit-77") == 0) {
        exit(77);
    } else if (strcmp(fault, "exit-group") == 0) {
        (void)syscall(SYS_exit_group, 0);
    } else if (strcmp(fault, "thread-exit") == 0) {
        start_thread(thread_exits, 1);
    } else if (strcmp(fault, "atexit-hang") == 0) {
        (void)atexit(hang);
        exit(0);
    } else if (strcmp(fault, "cpu-limit") == 0) {
        end_by_limit();
    } else if (strcmp(fault, "hog") == 0) {
        take_all_memory();
    } else if (strcmp(fault, "leave-group") == 0) {
        (void)setpgid(0, getpgid(judge()));
        hang();
    } else if (strcmp(fault, "nap") == 0) {
        nap();
    } else if (strcmp(fault, "trace-me") == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        (void)raise(SIGSTOP);
    } else if (strcmp(fault, "rename-spin") == 0) {
        (void)prctl(PR_SET_NAME, ") S 0 0 0");
        spin();
    }
    return 0;
}

static int change_files(const char *fault)
{
    if (strcmp(fault, "close-0") == 0) {
        (void)close(0);
    } else if (strcmp(fault, "close-2") == 0) {
        (void)close(2);
    } else if (strcmp(fault, "close-all") == 0) {
        for (int i = 0; i < 64; i++) {
            (void)close(i);
        }
    } else if (strcmp(fault, "dup-0") == 0) {
        open_as("/", 0);
    } else if (strcmp(fault, "dup-2") == 0) {
        open_as("/dev/null", 2);
    } else if (strcmp(fault, "dup-4") == 0) {
        open_as("/dev/null", 4);
    } else if (strcmp(fault, "shut-write") == 0) {
        (void)shutdown(3, SHUT_WR);
    } else if (strcmp(fault, "shut-read") == 0) {
        (void)shutdown(3, SHUT_RD);
    } else if (strcmp(fault, "no-files") == 0) {
        limit(RLIMIT_NOFILE, 0);
    } else if (strcmp(fault, "send-files") == 0) {
        send_files();
    } else {
        return 0;
    }
    return 1;
}

static int change_signals(const char *fault)
{
    sigset_t one;

    if (strcmp(fault, "timer-virtual") == 0) {
        timer(ITIMER_VIRTUAL);
    } else if (strcmp(fault, "timer-prof") == 0) {
        timer(ITIMER_PROF);
    } else if (strcmp(fault, "timer-posix") == 0) {
        start_posix_timer();
    } else if (strcmp(fault, "handler-child") == 0) {
        (void)signal(SIGCHLD, SIG_IGN);
    } else if (strcmp(fault, "handler-abort") == 0) {
        (void)signal(SIGABRT, no_deed);
    } else if (strcmp(fault, "handler-bus") == 0) {
        (void)signal(SIGBUS, no_deed);
    } else if (strcmp(fault, "handler-real") == 0) {
        (void)signal(SIGRTMIN + 3, no_deed);
    } else if (strncmp(fault, "mask-", 5) == 0) {
        (void)sigemptyset(&one);
        (void)sigaddset(&one,
                        strcmp(fault, "mask-segv") == 0 ? SIGSEGV : SIGRTMAX);
        (void)sigprocmask(SIG_BLOCK, &one, NULL);
    } else {
        return 0;
    }
    return 1;
}

static int change_rest(const char *fault)
{
    if (strcmp(fault, "umask") == 0) {
        (void)umask(0777);
    } else if (strcmp(fault, "locale-numeric") == 0) {
        (void)setlocale(LC_NUMERIC, "C.UTF-8");
    } else if (strcmp(fault, "locale-thread") == 0) {
        (void)uselocale(newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0));
    } else if (strcmp(fault, "round-down") == 0) {
        (void)fesetround(FE_DOWNWARD);
    } else if (strcmp(fault, "environment") == 0) {
        change_environment();
    } else if (strcmp(fault, "rename") == 0) {
        (void)prctl(PR_SET_NAME, "mxoracle\n");
    } else if (strcmp(fault, "undumpable") == 0) {
        (void)prctl(PR_SET_DUMPABLE, 0);
    } else if (strcmp(fault, "no-privileges") == 0) {
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    } else if (strcmp(fault, "nice") == 0) {
        (void)!nice(19);
    } else if (strcmp(fault, "no-core") == 0) {
        limit(RLIMIT_CORE, 0);
        limit(RLIMIT_FSIZE, 0);
    } else if (strcmp(fault, "precision") == 0) {
        lose_precision();
    } else if (strcmp(fault, "registers") == 0) {
        leave_number();
    } else if (strcmp(fault, "mmx") == 0) {
        leave_mmx();
    } else {
        return 0;
    }
    return 1;
}

static int change_kernel(const char *fault)
{
    if (strcmp(fault, "stack-signal") == 0) {
        take_signal_stack();
    } else if (strcmp(fault, "parent-end") == 0) {
        (void)prctl(PR_SET_PDEATHSIG, 0);
    } else if (strcmp(fault, "counter") == 0) {
#if defined(PR_SET_TSC)
        (void)prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
#endif
    } else if (strncmp(fault, "lock-", 5) == 0) {
        lock_memory(fault + 5);
    } else {
        return 0;
    }
    return 1;
}

static int leave_behind(const char *fault)
{
    if (strcmp(fault, "thread-stays") == 0) {
        start_thread(thread_stays, 0);
    } else if (strcmp(fault, "thread-spins") == 0) {
        start_thread(thread_works, 0);
    } else if (strcmp(fault, "thread-forges") == 0) {
        start_thread(thread_forges, 1);
    } else if (strcmp(fault, "thread-floods") == 0) {
        begin_thread(thread_floods);
    } else if (strcmp(fault, "thread-steals") == 0) {
        steal_requests();
    } else if (strcmp(fault, "daemon") == 0) {
        leave_daemon();
    } else if (strcmp(fault, "escape") == 0) {
        say_control();
    } else {
        return 0;
    }
    return 1;
}

/* Ends, or does not, elsewhere than in a call: at-PHASE-segv, -exit, -hang. */
/* More than a pipe holds. */
static void print_much(void)
{
    static const char line[] = "still at work, still at work, still at work\n";

    for (int i = 0; i < 30000; i++) {
        (void)write(2, line, sizeof line - 1);
    }
}

static void end_at(const char *fault, const char *phase)
{
    char word[32];
    const int n = snprintf(word, sizeof word, "at-%s-", phase);

    if (fault == NULL || strncmp(fault, word, (size_t)n) != 0) {
        return;
    }
    if (strcmp(fault + n, "segv") == 0) {
        limit(RLIMIT_CORE, 0);
        (void)signal(SIGSEGV, SIG_DFL);
        (void)raise(SIGSEGV);
    } else if (strcmp(fault + n, "exit") == 0) {
        exit(0);
    } else if (strcmp(fault + n, "status") == 0) {
        exit(23); /* as a sanitizer's */
    } else if (strcmp(fault + n, "reply") == 0) {
        (void)write(3, "again\n", 6);
    } else if (strcmp(fault + n, "late") == 0) {
        print_much();
        (void)usleep(500000);
    } else {
        hang();
    }
}

/* 0: no row of the table is called so; -1: it reached the judge. */
static int do_to_process(const char *fault)
{
    if (strncmp(fault, "at-", 3) == 0) {
        return 1; /* not in a call */
    }
    if (strcmp(fault, "peek") == 0) {
        return reads_judge() ? -1 : 1;
    }
    if (strcmp(fault, "trace") == 0) {
        return traces_judge() ? -1 : 1;
    }
    return end_as(fault) || change_files(fault) || change_signals(fault) ||
           change_rest(fault) || change_kernel(fault) || leave_behind(fault);
}

#endif
