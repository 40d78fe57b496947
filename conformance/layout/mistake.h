/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Search for the known mistake that makes exactly these bytes.  The logical
 * tensor is known, so every mistake is tried on it, and the first whose memory
 * equals the actual bytes everywhere is named.
 */
#ifndef MXO_LAYOUT_MISTAKE_H
#define MXO_LAYOUT_MISTAKE_H

#include "base/progress.h"

#include <mxoracle/abi.h>

#include <stddef.h>

enum { LAYOUT_PLACES = 64 };

/* Bytes that were to be in a layout. */
typedef struct layout_evidence {
    const mxo_backend *table; /* moves tensors: the oracle, or a backend
                                 that was judged */
    void *ctx;
    const char *layout; /* asked for: a layout, or CONVERSION.TENSOR */
    uint32_t dtype;     /* of the logical tensor */
    uint64_t extent[3];
    const uint8_t *logical;
    const uint8_t *actual;
    const uint8_t *expected; /* of the same size; NULL: not known */
    uint64_t n_actual;       /* bytes */
    uint64_t kept[2];   /* backwards: rows and columns of the result; 0: all */
    progress *progress; /* borrowed; counts what was tried; NULL: none */
    uint64_t place[LAYOUT_PLACES]; /* layout_mistake() chooses them: places.h */
    int n_places;
} layout_evidence;

/* One sentence without a full stop; 0 if no known mistake fits. */
int layout_mistake(const layout_evidence *e, char *text, size_t size);

/* Does this layout, applied to these bytes, give the actual ones? */
int layout_gives(const layout_evidence *e, const char *layout,
                 const uint8_t *bytes);

/* A moved tensor; what the vendor leaves undefined has mask 0. */
typedef struct layout_moved {
    uint8_t *bytes; /* owned; NULL: refused */
    uint8_t *mask;  /* owned; one for each element, NULL: all is defined */
    uint64_t n;     /* bytes */
    uint32_t dtype;
} layout_moved;

/* Forward or inverse; layout_moved_clear() forgets the result. */
layout_moved layout_move(const layout_evidence *e, const char *layout,
                         const char *direction, const uint8_t *bytes,
                         uint32_t dtype);
void layout_moved_clear(layout_moved *m);
/* Whether byte i of the result is defined. */
int layout_moved_defines(const layout_moved *m, uint64_t i);

#endif
