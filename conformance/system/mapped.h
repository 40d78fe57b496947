/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of strangers, read where they lie in memory.  A file may be cut off or
 * written to meanwhile: the first ends the process with a sentence and status
 * 1 in place of SIGBUS, the second can be asked for.
 */
#ifndef MXO_MAPPED_H
#define MXO_MAPPED_H

#include <stdint.h>
#include <time.h>

typedef struct mapped_file {
    const uint8_t *bytes;
    uint64_t n_bytes;
    struct timespec modified; /* when it was opened */
    int fd;
    char *path; /* owned */
    struct mapped_file *next;
} mapped_file;

/* NULL and errno: among what is no regular file (ENOTSUP) no FIFO is waited
   for, and an empty file has no bytes to map (EINVAL). */
mapped_file *mapped_open(const char *path);
/* Has it been written to since it was opened? */
int mapped_has_changed(const mapped_file *f);
/* Takes NULL. */
void mapped_close(mapped_file **closed);

#endif
