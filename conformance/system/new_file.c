/* SPDX-License-Identifier: Apache-2.0 */
/* See new_file.h. */
#include "new_file.h"

#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A descriptor, or -1. */
static int open_nameless(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder =
        slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    const int fd = folder == NULL ? -1 : system_nameless_file(folder);

    free(folder);
    return fd;
}

/* A name between, beside the path; its end goes where it would be too long. */
static void name_temporary(const new_file *f, size_t room)
{
    enum { LONGEST_BASE = 200 };
    const char *slash = strrchr(f->path, '/');
    const size_t folder = slash == NULL ? 0 : (size_t)(slash - f->path) + 1;
    const size_t base = strnlen(f->path + folder, LONGEST_BASE);

    (void)snprintf(f->temporary, room, "%.*s.%ld.tmp", (int)(folder + base),
                   f->path, (long)getpid());
}

int new_file_open(new_file *f, const char *path)
{
    struct stat old;

    *f = (new_file){.fd = -1, .replaces = stat(path, &old) == 0};
    if (!f->replaces && errno != ENOENT) {
        return -1; /* no file can have that name */
    }
    f->path = f->replaces ? realpath(path, NULL) : strdup(path);
    if (f->path == NULL) {
        return -1;
    }
    const size_t room = strlen(f->path) + 32;

    f->temporary = malloc(room);
    if (f->temporary == NULL) {
        return -1;
    }
    name_temporary(f, room);
    f->fd = open_nameless(f->path);
    f->is_nameless = f->fd >= 0;
    if (f->fd < 0) {
        f->fd =
            open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    return f->fd < 0 ? -1 : 0;
}

/* From its temporary name to its own. */
static int rename_it(const new_file *f)
{
    if (f->replaces) {
        return rename(f->temporary, f->path);
    }
    if (link(f->temporary, f->path) == 0) {
        return unlink(f->temporary);
    }
    /* File systems without links. */
    return errno == EPERM || errno == EOPNOTSUPP ? rename(f->temporary, f->path)
                                                 : -1;
}

/* Its own name at once, unless another file has it that is to be replaced:
   whoever is ended between two names leaves the first behind. */
static int name_it(new_file *f)
{
    if (system_name_file(f->fd, f->path) == 0) {
        f->temporary[0] = '\0';
    } else if (!f->replaces || errno != EEXIST ||
               system_name_file(f->fd, f->temporary) != 0) {
        return -1;
    }
    f->is_nameless = 0;
    return 0;
}

int new_file_reserve(int fd, uint64_t n)
{
    struct statvfs disk;

    if (fstatvfs(fd, &disk) == 0 && disk.f_frsize > 0 &&
        n / disk.f_frsize > disk.f_bavail) {
        return ENOSPC;
    }
    const int error = posix_fallocate(fd, 0, (off_t)n);

    return error == EOPNOTSUPP || error == EINVAL ? 0 : error;
}

int new_file_finish(new_file *f)
{
    if (fsync(f->fd) != 0 || (f->is_nameless && name_it(f) != 0)) {
        return -1;
    }
    if (f->temporary[0] != '\0' && rename_it(f) != 0) {
        return -1;
    }
    f->temporary[0] = '\0';
    const int bad = close(f->fd);

    f->fd = -1;
    return bad;
}

void new_file_close(new_file *f)
{
    if (f->path == NULL) {
        return;
    }
    if (f->fd >= 0) {
        (void)close(f->fd);
    }
    if (f->fd >= 0 && !f->is_nameless && f->temporary != NULL &&
        f->temporary[0] != '\0') {
        (void)unlink(f->temporary);
    }
    free(f->path);
    free(f->temporary);
    *f = (new_file){.fd = -1};
}
