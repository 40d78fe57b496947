/* SPDX-License-Identifier: Apache-2.0 */
/* See input.h. */
#include "input.h"

#include "prng.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_inherited(const char *path)
{
    return strcmp(path, "/dev/stdin") == 0 ||
           strncmp(path, "/dev/fd/", strlen("/dev/fd/")) == 0;
}

static FILE *refuse(int fd, int error)
{
    (void)close(fd);
    errno = error;
    return NULL;
}

const char *input_error(void)
{
    return errno == ENOTSUP ? "not a regular file" : strerror(errno);
}

FILE *input_open(const char *path)
{
    /* Without a writer a FIFO would be waited for. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &st) != 0) {
        return refuse(fd, errno);
    }
    if (S_ISDIR(st.st_mode)) {
        return refuse(fd, EISDIR);
    }
    if (!S_ISREG(st.st_mode) && !is_inherited(path)) {
        return refuse(fd, ENOTSUP);
    }
    if (fcntl(fd, F_SETFL, 0) != 0) {
        return refuse(fd, errno);
    }
    FILE *f = fdopen(fd, "r");

    return f == NULL ? refuse(fd, errno) : f;
}

uint64_t input_bytes(char *const paths[], int n)
{
    uint64_t sum = 0;

    for (int i = 0; i < n; i++) {
        struct stat s;
        sum += stat(paths[i], &s) == 0 && S_ISREG(s.st_mode)
                   ? (uint64_t)s.st_size
                   : 0;
    }
    return sum;
}

uint64_t input_digest(uint64_t digest, const char *path)
{
    FILE *f = input_open(path);
    uint64_t n_bytes = 0; /* zeros behind the end are no end */
    size_t n = 1;

    while (f != NULL && n > 0) {
        uint64_t piece[8192] = {0};
        n = fread(piece, 1, sizeof piece, f);
        n_bytes += n;
        for (size_t i = 0; i < (n + 7) / 8; i++) {
            digest = (digest ^ piece[i]) * FNV_PRIME;
            digest ^= digest >> 32; /* what differs must not stay on top */
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return (digest ^ n_bytes) * FNV_PRIME;
}
