/* SPDX-License-Identifier: Apache-2.0 */
/* See system.h. */
#include "system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) && !defined(MXO_POSIX_ONLY)
#define IS_LINUX 1
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/uio.h>
#else
#define IS_LINUX 0
#endif

#ifndef MSG_CMSG_CLOEXEC
#define MSG_CMSG_CLOEXEC 0
#endif

enum { LONGEST_PATH = 4096, MOST_SEEN = 64 };

/* Where main() found the program; empty: nobody said. */
static char noted[LONGEST_PATH];

static const char own_link[] = "/proc/self/exe";

/* The first folder of PATH that has an executable of this name. */
static int find_in_path(const char *name, char *path, size_t size)
{
    const char *folders = getenv("PATH");

    while (folders != NULL && *folders != '\0') {
        const size_t n = strcspn(folders, ":");
        const int length =
            snprintf(path, size, "%.*s/%s", (int)n, folders, name);

        if (n > 0 && length > 0 && (size_t)length < size &&
            access(path, X_OK) == 0) {
            return 0;
        }
        folders += n + (folders[n] == ':');
    }
    return -1;
}

void system_note_program(const char *argv0)
{
    char found[LONGEST_PATH];
    const char *path = argv0;

    if (argv0 != NULL && strchr(argv0, '/') == NULL) {
        path = find_in_path(argv0, found, sizeof found) == 0 ? found : NULL;
    }
    char *whole = path == NULL ? NULL : realpath(path, NULL);

    noted[0] = '\0';
    if (whole != NULL && strlen(whole) < sizeof noted) {
        (void)snprintf(noted, sizeof noted, "%s", whole);
    }
    free(whole);
}

/* A program that was replaced since it started is still behind the link. */
static int has_own_link(void)
{
    return IS_LINUX && access(own_link, X_OK) == 0;
}

const char *system_program(void)
{
    return has_own_link() ? own_link : noted[0] != '\0' ? noted : NULL;
}

const char *system_program_name(void)
{
    return noted[0] != '\0' ? noted : "mxoracle";
}

void system_wait_asleep(char **argv)
{
    static const char policy[] = "OMP_WAIT_POLICY";
    const char *program = system_program();

    if (program != NULL && getenv(policy) == NULL &&
        setenv(policy, "passive", 1) == 0) {
        (void)execv(program, argv); /* if it fails, waiting takes longer */
    }
}

int system_program_path(char *path, size_t size)
{
    const ssize_t n = has_own_link() ? readlink(own_link, path, size) : -1;

    if (n > 0 && (size_t)n < size) {
        path[n] = '\0';
        return 0;
    }
    if (noted[0] == '\0' || strlen(noted) >= size) {
        return -1;
    }
    (void)snprintf(path, size, "%s", noted);
    return 0;
}

#if !IS_LINUX
/* Between the two calls another thread may start a program. */
static int close_on_exec(int ends[2])
{
    for (int i = 0; i < 2; i++) {
        if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) != 0) {
            const int error = errno;
            (void)close(ends[0]);
            (void)close(ends[1]);
            errno = error;
            return -1;
        }
    }
    return 0;
}
#endif

int system_socket_pair(int ends[2])
{
#if IS_LINUX
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
#else
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 ? close_on_exec(ends)
                                                          : -1;
#endif
}

int system_pipe(int ends[2])
{
#if IS_LINUX
    return pipe2(ends, O_CLOEXEC);
#else
    return pipe(ends) == 0 ? close_on_exec(ends) : -1;
#endif
}

int system_ask_sender(int socket)
{
#if IS_LINUX
    const int yes = 1;

    return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
#else
    (void)socket;
    return 0;
#endif
}

int system_receive_flags(void)
{
    return MSG_CMSG_CLOEXEC;
}

static pid_t sender_in(const struct cmsghdr *h)
{
#if IS_LINUX
    struct ucred who;

    if (h->cmsg_type == SCM_CREDENTIALS) {
        memcpy(&who, CMSG_DATA(h), sizeof who);
        return who.pid;
    }
#else
    (void)h;
#endif
    return 0;
}

/* Descriptors that nobody wants. */
static void close_files_in(const struct cmsghdr *h)
{
    const unsigned char *const data = CMSG_DATA(h);
    const size_t n_bytes = h->cmsg_len - CMSG_LEN(0);
    int fd;

    for (size_t at = 0; at + sizeof fd <= n_bytes; at += sizeof fd) {
        memcpy(&fd, data + at, sizeof fd);
        (void)close(fd);
    }
}

pid_t system_sender(struct msghdr *message)
{
    struct cmsghdr *h = CMSG_FIRSTHDR(message);
    pid_t pid = 0;

    while (h != NULL) {
        if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS) {
            close_files_in(h);
        } else if (h->cmsg_level == SOL_SOCKET) {
            const pid_t who = sender_in(h);
            pid = who != 0 ? who : pid;
        }
        h = CMSG_NXTHDR(message, h);
    }
    return pid;
}

void system_hide_memory(void)
{
#if IS_LINUX
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

void system_end_with_parent(void)
{
#if IS_LINUX
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

int system_random(uint8_t *bytes, size_t n)
{
    size_t done = 0;

#if IS_LINUX
    while (done < n) {
        const ssize_t k = getrandom(bytes + done, n - done, 0);
        if (k < 0 && errno != EINTR) {
            break;
        }
        done += k > 0 ? (size_t)k : 0;
    }
#endif
    FILE *f = done < n ? fopen("/dev/urandom", "rb") : NULL;

    if (f != NULL) {
        done += fread(bytes + done, 1, n - done, f);
        (void)fclose(f);
    }
    return done == n ? 0 : -1;
}

unsigned system_cores(void)
{
#if IS_LINUX
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return (unsigned)CPU_COUNT(&set);
    }
#endif
    const long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (unsigned)n : 1;
}

uint64_t system_free_memory(void)
{
    uint64_t kib = UINT64_MAX;
#if IS_LINUX
    FILE *f = fopen("/proc/meminfo", "re");
    char line[128];

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1) {
            break;
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
#endif
    return kib > UINT64_MAX >> 10 ? UINT64_MAX : kib << 10;
}

int system_lock(int fd)
{
    const struct timespec pause = {0, 50000000};

    for (int i = 0; i < 40; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            return 0;
        }
        (void)nanosleep(&pause, NULL);
    }
    return -1;
}

int system_open_files(void)
{
    DIR *d = IS_LINUX ? opendir("/proc/self/fd") : NULL;
    int n = 0;

    if (d != NULL) {
        while (readdir(d) != NULL) {
            n++;
        }
        (void)closedir(d);
        return n;
    }
    /* Asked one by one; a limit without end is cut. */
    const long limit = sysconf(_SC_OPEN_MAX);
    const int most = limit > 0 && limit < 65536 ? (int)limit : 65536;

    for (int fd = 0; fd < most; fd++) {
        n += fcntl(fd, F_GETFD) >= 0;
    }
    return n;
}

/* A pipe takes what can be read and refuses what cannot. */
static int reads_through_pipe(const void *address, uint8_t *seen, size_t n)
{
    int ends[2];
    int is_read;

    if (system_pipe(ends) != 0) {
        return 0;
    }
    is_read = write(ends[1], address, n) == (ssize_t)n &&
              read(ends[0], seen, n) == (ssize_t)n;
    (void)close(ends[0]);
    (void)close(ends[1]);
    return is_read;
}

/* One call of the kernel; 0 too where there is no such call. */
static int reads_at_once(const void *address, uint8_t *seen, size_t n)
{
#if IS_LINUX
    const struct iovec to = {seen, n};
    const struct iovec from = {(void *)(uintptr_t)address, n};

    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)n;
#else
    (void)address;
    (void)seen;
    (void)n;
    return 0;
#endif
}

/* The kernel looks: it answers where a load would fault, and its look is no
   access that a sanitizer could take offence at. */
int system_sees(const void *address, const uint8_t *bytes, size_t n)
{
    uint8_t seen[MOST_SEEN];

    if (n <= sizeof seen && reads_at_once(address, seen, n)) {
        return memcmp(seen, bytes, n) == 0;
    }
    const int memory =
        IS_LINUX ? open("/proc/self/mem", O_RDONLY | O_CLOEXEC) : -1;
    int is_read = 0;

    if (n <= sizeof seen && memory >= 0) {
        is_read =
            pread(memory, seen, n, (off_t)(uintptr_t)address) == (ssize_t)n;
    } else if (n <= sizeof seen) {
        is_read = reads_through_pipe(address, seen, n);
    }
    if (memory >= 0) {
        (void)close(memory);
    }
    return is_read && memcmp(seen, bytes, n) == 0;
}

/* A file of its own in the folder for such, without a name at once. */
static int unlinked_file(void)
{
    const char *folder = getenv("TMPDIR");
    char path[LONGEST_PATH];

    (void)snprintf(path, sizeof path, "%.4000s/mxoracle-XXXXXX",
                   folder == NULL || *folder == '\0' ? "/tmp" : folder);
    const int fd = mkstemp(path);

    if (fd >= 0) {
        (void)unlink(path);
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return fd;
}

int system_memory_file(void)
{
#if IS_LINUX
    const int fd = memfd_create("mxoracle", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) == 0) {
        return fd;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
#endif
    return unlinked_file();
}

void *system_map_again(int fd, void *base, size_t old_size, size_t size)
{
    void *moved;

#if IS_LINUX
    moved = base == NULL
                ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                : mremap(base, old_size, size, MREMAP_MAYMOVE);
#else
    moved = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (moved != MAP_FAILED && base != NULL) {
        (void)munmap(base, old_size);
    }
#endif
    return moved == MAP_FAILED ? NULL : moved;
}

void system_drop_bytes(int fd, uint64_t from, uint64_t n_bytes)
{
#if IS_LINUX
    (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
                    (off_t)n_bytes);
#else
    (void)fd;
    (void)from;
    (void)n_bytes;
#endif
}

void system_forget(const void *address, size_t n_bytes)
{
#if IS_LINUX
    /* glibc's posix_madvise() does nothing for this advice. */
    (void)madvise((void *)(uintptr_t)address, n_bytes, MADV_DONTNEED);
#else
    (void)posix_madvise((void *)(uintptr_t)address, n_bytes,
                        POSIX_MADV_DONTNEED);
#endif
}

int system_nameless_file(const char *folder)
{
#if IS_LINUX && defined(O_TMPFILE)
    /* Its name goes through /proc. */
    if (access("/proc/self/fd", X_OK) == 0) {
        return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    }
#else
    (void)folder;
#endif
    errno = EOPNOTSUPP;
    return -1;
}

int system_name_file(int fd, const char *path)
{
    char link[64];

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}
