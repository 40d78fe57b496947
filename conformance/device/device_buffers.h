/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensors of one call in a backend's memory, each between guard bytes,
 * mostly in a buffer of its own: placing them, moving their bytes, and seeing
 * what was written where nothing may be.
 */
#ifndef MXO_STAGE_H
#define MXO_STAGE_H

#include "device_under_test.h"
#include "launch.h"
#include "placement.h"
#include "system/fence.h"

/* Bytes before and after a tensor; keeps offsets aligned for any device. */
enum { STAGE_GUARD = 4096 };

/* The most that any tensor is aligned to. */
enum { STAGE_ALIGN = 256 };

/* Bytes that are on their way at once.  A layer's weights are the larger part
   of memory: they exist once here and once in the backend, and no third time
   for being uploaded or looked at. */
enum { STAGE_CHUNK = 4 << 20, STAGE_NOISE = -1 };

/* A tensor in the backend's memory: guard, bytes, guard; the first in a buffer
   that holds all of them has no guard before it. */
typedef struct placed {
    const host_tensor *host;
    void *buffer;
    uint64_t size;
    uint64_t start;  /* of its part of the buffer */
    uint64_t offset; /* of the bytes */
    uint64_t salt;   /* of the guard bytes */
    uint8_t *guards; /* owned: as they were sent, before and behind */
    int is_flipped;  /* every bit of them is another */
    int is_fenced;
    int is_address; /* the handle: what was sent is found there */
    int is_output;
    int is_first;        /* at the start of a buffer that holds others, too */
    placement at;        /* how the bytes lie now */
    placement parted;    /* how they lie with gaps; dense: it can have none */
    const uint8_t *seen; /* borrowed: guards and bytes after a run; NULL: they
                            are to be read */
} placed;

/* Room for the outputs of one call. */
enum { MAX_OUT = 16 };

enum { PART_INPUTS = 1, PART_OUTPUTS = 2, PART_ALL = 3 };

typedef struct stage {
    subject *s;
    struct stage *beside; /* a call that waits for the same synchronize();
                             NULL: none */
    int n_beside;         /* it is made so many times */
    int is_busy;          /* launch_meanwhile() comes before synchronize() */
    int is_behind;        /* it is made behind that one, not before it */
    int is_over;          /* and has the same outputs: their last bytes count */
    int is_read; /* input number reads of that one is output number writes */
    uint32_t reads, writes;
    const op_call *call;
    uint64_t hash; /* launch_hash_of() that */
    placed *in;    /* owned, n_in of them */
    placed *out;
    uint32_t n_in;
    uint32_t n_out;
    uint8_t *chunk;         /* owned: STAGE_CHUNK bytes */
    uint8_t *image;         /* owned: as many, of a tensor with gaps */
    uint8_t *seen;          /* owned: all that tensors have seen; or NULL */
    void *shared;           /* owned: one buffer for all tensors, or NULL */
    fence_side side;        /* of inputs */
    unsigned ways;          /* of launch_way: how tensors lie now */
    unsigned can_part;      /* of PART_*: where gaps are possible */
    unsigned parts;         /* where they are now; 0: the call draws it */
    const tensor_set *want; /* borrowed: the outputs' shapes */
    int takes_noise;        /* the call on noise was made, and not declined */
    int takes_alike;        /* so was that on inputs that are its own in part */
    int may_refuse;  /* as `beside`: whether its noise is taken is not known */
    int is_larger;   /* as `beside`: no graph of it was captured before */
    int is_replayed; /* a graph is launched LAUNCH_REPLAYS times */
    struct stage *grown; /* a larger call, made behind a capture; NULL: none */
    placed workspace;    /* of the call under way */
    host_tensor room;    /* its description */
    char gap[SUBJECT_TEXT]; /* where a gap was written to; "": nowhere */
} stage;

/* As the ABI wants to see it. */
void stage_describe(mxo_tensor *t, const host_tensor *h, void *buffer,
                    uint64_t offset);
void stage_describe_placed(mxo_tensor *t, const placed *p);

/* Room for the call's inputs and n_out outputs; then allocate them. */
mxo_status stage_open(stage *g, subject *s, const op_call *call,
                      uint32_t n_out);
mxo_status stage_place_inputs(stage *g, mxo_text why);
mxo_status stage_place_outputs(stage *g, const tensor_set *out, mxo_text why);
void stage_release(stage *g);

/* Nothing is left of what bytes from .. end of its buffer were; or of what the
   tensor was, as far as one is filled. */
mxo_status stage_scrub(stage *g, const placed *p, uint64_t from, uint64_t end,
                       mxo_text why);
void stage_scrub_all(stage *g, const placed *p);
/* A tensor between its guards: bytes, or what is made if there are none; of a
   workspace of more than a chunk its ends and pages between them. */
mxo_status stage_send_one(stage *g, placed *p, const uint8_t *bytes, int run,
                          mxo_text why);
/* All inputs: noise, or what they are to be. */
mxo_status stage_send_inputs(stage *g, int noise, mxo_text why);
/* Input number i: these bytes. */
mxo_status stage_send_input(stage *g, uint32_t i, const void *bytes,
                            mxo_text why);
/* Fill outputs for run number 0 or 1. */
mxo_status stage_send_outputs(stage *g, int run, mxo_text why);
/* All of these, of a call on noise or its own bytes; then it can be made.  To
   be released, whatever the status is. */
mxo_status stage_place_call(stage *g, subject *s, const op_call *call,
                            const tensor_set *out, int noise, mxo_text why);
/* The same on its own bytes, with all tensors in one buffer, number first of
   them (outputs follow inputs) at its start, and the others so many bytes
   further away; none is fenced. */
mxo_status stage_place_in_one(stage *g, subject *s, const op_call *call,
                              const tensor_set *out, uint32_t first,
                              uint64_t further, mxo_text why);

/* From now on inputs have the fence on their other side, and all tensors lie
   as these ways want it.  Their bytes are to be sent again. */
mxo_status stage_turn(stage *g, unsigned ways, mxo_text why);
/* All inputs, by a stream that waits first. */
mxo_status stage_stream_inputs(stage *g, void *stream, uint32_t microseconds,
                               mxo_text why);
/* Fresh bytes for a call to work in, which hold what outputs do before run
   number 0 or 1; 0: none. */
mxo_status stage_place_workspace(stage *g, uint64_t n_bytes, int run,
                                 mxo_text why);

/* To what an input before a fence is aligned. */
uint64_t stage_fence_align(const stage *g, const placed *p);
/* No page at that side of an input may be touched any more, where the backend's
   memory is this process's (fence.h); until fence_lower(). */
void stage_raise_fences(const stage *g);
/* Was a fenced input written to meanwhile? */
void stage_note_written(run_checks *d);

/* Where tensors have gaps in the way of g->ways: in half of the calls that
   can have them everywhere in inputs or outputs alone, as a kernel that takes
   one's strides for the other's is right where both have them. */
unsigned stage_parted(const stage *g);
/* The bytes of gaps. */
void stage_make_gaps(const stage *g, const placed *p, uint8_t *to, uint64_t n,
                     uint64_t at);
/* The guard that was sent to this place of the buffer. */
uint8_t *stage_guard_at(const placed *p, uint64_t at);
/* First byte after the tensor, and of the guard before it. */
uint64_t stage_end_of(const placed *p);
uint64_t stage_front_of(const placed *p);

/* Do guards and inputs come back as they were sent? */
mxo_status stage_check_guards(stage *g, run_checks *d, mxo_text why);
/* The outputs of a first run, into out; of a second, against out; of a
   refused call; of one that is not made yet: DEVICE if a byte was written. */
mxo_status stage_fetch_outputs(stage *g, tensor_set *out, mxo_text why);
mxo_status stage_compare_outputs(stage *g, const tensor_set *out, run_checks *d,
                                 mxo_text why);
mxo_status stage_check_refusal(stage *g, int run, run_checks *d, mxo_text why);
mxo_status stage_check_capture(stage *g, int run, mxo_text why);

#endif
