/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears whole or not at all.  It has no name before, where the
 * system has such files: however the process ends, nothing is left behind.
 */
#ifndef MXO_NEW_FILE_H
#define MXO_NEW_FILE_H

#include <stdint.h>

typedef struct new_file {
    int fd;          /* -1: none */
    int is_nameless; /* temporary is to come */
    int replaces;    /* there was a file of that path when it was begun */
    char *path;      /* owned, as the other; where links lead */
    char *temporary; /* beside path; removed unless the file is finished */
} new_file;

/* All: 0, or -1 with errno.  A link to a file stays one, to the new file. */
int new_file_open(new_file *f, const char *path);
/* Room for n bytes of an open file: 0, or the error.  A disk that has not so
   much is not filled to find that out: others write to it, too.  0 where a file
   system reserves nothing. */
int new_file_reserve(int fd, uint64_t n);
/* Its bytes are all written: it takes its place.  Another file that was put
   there since it was begun stays (EEXIST). */
int new_file_finish(new_file *f);
/* Forget it; what is not finished is removed. Takes zeroes, too. */
void new_file_close(new_file *f);

#endif
