/* SPDX-License-Identifier: Apache-2.0 */
/* Files of text that a user names. */
#ifndef MXO_INPUT_H
#define MXO_INPUT_H

#include <stdint.h>
#include <stdio.h>

/* To be read, from the start.  NULL and errno: among what is no file, a FIFO,
   a device and a folder (ENOTSUP, EISDIR), none is waited for; a pipe that the
   process was born with is taken ("/dev/stdin", "/dev/fd/63"). */
FILE *input_open(const char *path);
/* Why it failed, in words that are the same on every system. */
const char *input_error(void);

/* Bytes of files together, as far as they can be told. */
uint64_t input_bytes(char *const paths[], int n);

/* A digest goes on with the file's bytes, eight at a time as FNV-1a takes one;
   unchanged if they cannot be read. */
uint64_t input_digest(uint64_t digest, const char *path);

#endif
