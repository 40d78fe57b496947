/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that judge and subject share: a memfd that only grows.  The judge
 * hands out pieces of it and takes all of them back before it starts anew.
 */
#ifndef MXO_EXEC_MEMORY_H
#define MXO_EXEC_MEMORY_H

#include <mxoracle/abi.h>

typedef struct shared_memory {
    int fd; /* -1: there is none */
    uint8_t *base;
    uint64_t size;   /* of the file and of the mapping */
    uint64_t top;    /* first byte that was not handed out */
    uint64_t n_live; /* pieces handed out */
} shared_memory;

/* 0, or -1 with errno set. */
int shared_memory_create(shared_memory *m);
void shared_memory_destroy(shared_memory *m);
/* At least so many bytes from the start. 0, or -1: there is no more. */
int shared_memory_reach(shared_memory *m, uint64_t n_bytes);
/* A piece that begins on a page: its offset. 0, or -1: there is no more. */
int shared_memory_take(shared_memory *m, uint64_t n_bytes, uint64_t *offset);
void shared_memory_give(shared_memory *m);

#endif
