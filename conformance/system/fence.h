/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that nobody may touch while a backend runs.  Guard bytes show what
 * was written past an end; what was only read there shows if the answer
 * depends on it.  So the inputs of a backend that computes in this process's
 * memory end where such a page begins, and in the next run begin where one
 * ends: one byte further is a fault, told in a sentence before it ends the
 * process.  What is written to an input and put back shows as well: its own
 * pages can be read alone until the first such write.
 */
#ifndef MXO_FENCE_H
#define MXO_FENCE_H

#include <stddef.h>
#include <stdint.h>

/* The end of a tensor that a page is behind, or its start. */
typedef enum fence_side { FENCE_BEHIND, FENCE_BEFORE } fence_side;

/* Bytes that a buffer needs more than its tensor and what lies before it. */
uint64_t fence_room(void);

/* Where in the buffer, from byte least on, n_bytes begin on a multiple of
   align (a power of two up to a page) and end less than align before a page;
   or begin where a whole page of the buffer ends. */
uint64_t fence_offset(const void *buffer, uint64_t least, uint64_t n_bytes,
                      uint64_t align, fence_side side);

/* The page to be closed at this side of a tensor, both as bytes from the start
   of its buffer. */
typedef struct fence_place {
    const char *name; /* borrowed */
    fence_side side;
    uint64_t edge;   /* of the tensor: its end or its start */
    uint64_t page;   /* the page's first byte */
    uint64_t n_held; /* bytes of the tensor that nobody may write to; 0: they
                        may still be on their way */
} fence_place;

/* Where that page is. */
uint64_t fence_page(const void *buffer, uint64_t edge, uint64_t align,
                    fence_side side);

/* The tensor ends or begins in a buffer at this address where a page ends: that
   page, or the next behind it, is to be fenced, and what is held of it.  The
   buffer has at least a page before it and behind it. */
void fence_add(const fence_place *f, void *buffer);
/* From now on whoever touches the pages ends the process; until now. */
void fence_raise(void);
/* The first write since then to a tensor that is held, which was let through:
   its name, borrowed, and byte; NULL: there was none, or it was asked for. */
const char *fence_take_written(uint64_t *byte);
/* Whether a fault still calls the handler of fence_raise(). */
int fence_is_intact(void);
void fence_lower(void);

/* Listener for touched fences, called from within a signal handler; NULL:
   standard error. */
typedef void fence_listener(const char *sentence);
void fence_tell(fence_listener *listener);

#endif
