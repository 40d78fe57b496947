/* SPDX-License-Identifier: Apache-2.0 */
/* See report_file.h. */
#include "report_file.h"

#include "base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const report_file *f, mxo_text why, int error)
{
    (void)say(MXO_E_DEVICE, why, "%.300s cannot be written: %s", f->path,
              strerror(error));
    return -1;
}

/* Follow links, so that a link to a report stays one. 0: it is too long. */
static int take_path(report_file *f, const char *path)
{
    char *real = realpath(path, NULL);
    const int n =
        snprintf(f->path, sizeof f->path, "%s", real == NULL ? path : real);

    free(real);
    return n >= 0 && (size_t)n < sizeof f->path;
}

/* The mode of the file that is replaced, or that of any new file. */
static mode_t mode_for(const struct stat *old, int exists)
{
    const mode_t mask = umask(0);

    (void)umask(mask);
    return exists ? old->st_mode & 0777 : 0666 & ~mask;
}

/* Without a name until it is whole.  Unlike a checkpoint it also replaces what
   appeared meanwhile: an hour's run is in it. */
static int open_new(report_file *f, const struct stat *old, int exists)
{
    if (exists && access(f->path, W_OK) != 0) {
        return -1; /* a read-only file may not be replaced */
    }
    if (new_file_open(&f->file, f->path) != 0) {
        return -1;
    }
    f->file.replaces = 1;
    (void)fchmod(f->file.fd, mode_for(old, exists));
    const int fd = fcntl(f->file.fd, F_DUPFD_CLOEXEC, 0);

    f->out = fd < 0 ? NULL : fdopen(fd, "w");
    if (f->out == NULL && fd >= 0) {
        (void)close(fd);
    }
    return f->out == NULL ? -1 : 0;
}

int report_file_open(report_file *f, const char *path, mxo_text why)
{
    struct stat old;

    memset(f, 0, sizeof *f);
    if (path[0] == '\0') {
        (void)say(MXO_E_PARAM, why, "a report needs the name of a file");
        return -1;
    }
    if (!take_path(f, path)) {
        return refuse(f, why, ENAMETOOLONG);
    }
    const int exists = stat(f->path, &old) == 0;

    if (!exists && lstat(path, &old) == 0) {
        (void)say(MXO_E_PARAM, why, "%.300s is a link to nothing", path);
        return -1;
    }
    if (exists && S_ISDIR(old.st_mode)) {
        return refuse(f, why, EISDIR);
    }
    if (exists && !S_ISREG(old.st_mode)) {
        f->out = fopen(path, "we");
    } else if (open_new(f, &old, exists) != 0) {
        const int error = errno;
        report_file_abandon(f);
        return refuse(f, why, error);
    }
    return f->out == NULL ? refuse(f, why, errno) : 0;
}

/* The folder's entry shall last as well. */
static void sync_folder(const char *path)
{
    char folder[REPORT_PATH];
    const char *slash = strrchr(path, '/');

    (void)snprintf(folder, sizeof folder, "%.*s",
                   slash == NULL ? 1 : (int)(slash - path) + 1,
                   slash == NULL ? "." : path);
    const int fd = open(folder, O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
}

/* Why a stream fails that does not tell any more: it is asked once more. */
static int error_again(FILE *out)
{
    clearerr(out);
    errno = 0;
    (void)fputc('\n', out);
    (void)fflush(out);
    return errno == 0 ? EIO : errno;
}

int report_file_commit(report_file *f, mxo_text why)
{
    const int is_moved = f->file.path != NULL;
    int error = 0;

    errno = 0;
    if (fflush(f->out) != 0 || ferror(f->out)) {
        error = errno == 0 ? error_again(f->out) : errno;
    }
    if (fclose(f->out) != 0 && error == 0) {
        error = errno;
    }
    f->out = NULL;
    if (error == 0 && is_moved && new_file_finish(&f->file) != 0) {
        error = errno;
    }
    report_file_abandon(f);
    if (error != 0) {
        return refuse(f, why, error);
    }
    if (is_moved) {
        sync_folder(f->path);
    }
    return 0;
}

void report_file_abandon(report_file *f)
{
    if (f->out != NULL) {
        (void)fclose(f->out);
        f->out = NULL;
    }
    new_file_close(&f->file);
}
