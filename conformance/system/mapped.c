/* SPDX-License-Identifier: Apache-2.0 */
/* See mapped.h. */
#include "mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static mapped_file *volatile all_open; /* for the handler */

static void write_out(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

/* A stranger may have chosen the name: it moves no terminal. */
static void write_out_name(const char *name)
{
    for (; *name != '\0'; name++) {
        const unsigned char c = (unsigned char)name[0];
        const unsigned char next = (unsigned char)name[1];
        const int is_control = c < 0x20 || c == 0x7f || /* C1: in two bytes */
                               (c == 0xc2 && next >= 0x80 && next < 0xa0);
        (void)!write(STDERR_FILENO, is_control ? "?" : name, 1);
    }
}

/* SIGBUS: a page of a mapped file is beyond the file's end. */
static void page_is_lost(int number, siginfo_t *info, void *context)
{
    const uintptr_t at = (uintptr_t)info->si_addr;

    (void)context;
    for (const mapped_file *f = all_open; f != NULL; f = f->next) {
        const uintptr_t first = (uintptr_t)f->bytes;
        if (at >= first && at - first < f->n_bytes) {
            write_out("mxoracle: ");
            write_out_name(f->path);
            write_out(": was cut off while it was read\n");
            _exit(1);
        }
    }
    (void)signal(number, SIG_DFL); /* the access is made again */
}

static void watch(mapped_file *f)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = page_is_lost;
    action.sa_flags = SA_SIGINFO;
    f->next = all_open;
    all_open = f;
    (void)sigaction(SIGBUS, &action, NULL);
}

/* 0, or errno. */
static int map(mapped_file *f)
{
    struct stat st;

    f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->fd < 0 || fstat(f->fd, &st) != 0) {
        return errno;
    }
    if (!S_ISREG(st.st_mode)) {
        return ENOTSUP;
    }
    f->n_bytes = (uint64_t)st.st_size;
    f->modified = st.st_mtim;
    if ((size_t)f->n_bytes != f->n_bytes) { /* no address space of 32 bits */
        return EFBIG;
    }
    void *bytes =
        mmap(NULL, (size_t)f->n_bytes, PROT_READ, MAP_SHARED, f->fd, 0);

    if (bytes == MAP_FAILED) {
        return errno;
    }
    f->bytes = bytes;
    return 0;
}

mapped_file *mapped_open(const char *path)
{
    mapped_file *f = calloc(1, sizeof *f);
    int error = ENOMEM;

    if (f != NULL) {
        f->fd = -1;
        f->path = strdup(path);
        error = f->path == NULL ? ENOMEM : map(f);
    }
    if (error != 0) {
        mapped_close(&f);
        errno = error;
        return NULL;
    }
    watch(f);
    return f;
}

int mapped_has_changed(const mapped_file *f)
{
    struct stat st;

    return fstat(f->fd, &st) != 0 || (uint64_t)st.st_size != f->n_bytes ||
           st.st_mtim.tv_sec != f->modified.tv_sec ||
           st.st_mtim.tv_nsec != f->modified.tv_nsec;
}

void mapped_close(mapped_file **closed)
{
    mapped_file *f = *closed;

    *closed = NULL;
    if (f == NULL) {
        return;
    }
    for (mapped_file *volatile *at = &all_open; *at != NULL;
         at = &(*at)->next) {
        if (*at == f) {
            *at = f->next;
            break;
        }
    }
    if (f->bytes != NULL) {
        (void)munmap((void *)(uintptr_t)f->bytes, (size_t)f->n_bytes);
    }
    if (f->fd >= 0) {
        (void)close(f->fd);
    }
    free(f->path);
    free(f);
}
