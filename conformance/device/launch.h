/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in which a call can be made besides the plain one, where a backend
 * declares them: with gaps between rows and experts, on less aligned tensors,
 * on a stream, as a graph that was captured and launched with other data.  The
 * second run of a call takes some of them, and its answer must be that of the
 * first.
 */
#ifndef MXO_LAUNCH_H
#define MXO_LAUNCH_H

#include "device_under_test.h"

typedef struct stage stage;

typedef enum launch_way {
    LAUNCH_APART = 1,
    LAUNCH_ALIGN = 2,
    LAUNCH_STREAM = 4,
    LAUNCH_GRAPH = 8,
    LAUNCH_ALL = 15
} launch_way;

/* Of the ways that the backend declares: those of a call's second run. Drawn
   from what the call is, so that it is always the same. */
unsigned launch_draw(const stage *g);
unsigned launch_declared(const stage *g);
/* Of a small call: those that its second run left out, a stream where
   that was a graph alone, and gaps where one had none. The stage parts these.
 */
unsigned launch_left_out(stage *g);
/* A number drawn by the call: its operation, parameters and shapes. */
uint64_t launch_hash_of(const op_call *call);
uint64_t launch_hash(const stage *g);
/* Of the inputs and outputs of the call. */
uint64_t launch_bytes(const stage *g);
/* Is the call at most so many bytes, or one in sixteen of the others? */
int launch_is_chosen(const stage *g, uint64_t small);
/* Is this call made before it is made on noise? One in eight: where tables are
   made or kernels tuned, only the first answer of its kind may be wrong. */
int launch_comes_first(const stage *g);
/* The places of a ring of what waits that are all taken where the call is made
   once more, or another so often beside it: 8 in one small call in sixteen; all
   of LAUNCH_PLACES in one in 32 of those that are tiny, and one in four where
   an operation has few cases, so that many others stand beside each; else 1. */
enum { LAUNCH_PLACES = 32 };
/* Launches of a graph that is launched often. */
enum { LAUNCH_REPLAYS = 17 };
int launch_places(const stage *g);

/* Do the inputs hold noise until the call is under way? */
int launch_sends_late(unsigned ways);
/* Can a graph be launched behind a call that waits? */
int launch_may_be_behind(const subject *s);
/* How many calls are made in one request where one takes so many milliseconds:
   processor time is limited for each request. */
int launch_at_once(const subject *s, double ms);

/* Make the call of run number 0 or 1, in the ways of the stage, so many times
   before one synchronize(). */
mxo_status launch_make(stage *g, int run, int n_runs, run_checks *d,
                       mxo_text why);

/* What a host does while calls wait: a buffer comes, gets bytes and goes, so
   does a stream, and a graph of the call, if there is one. */
void launch_meanwhile(const mxo_backend *b, void *ctx, const mxo_call *call);

/* "with gaps between rows, on a stream" */
void launch_say(unsigned ways, mxo_text text);

/* For a call that is timed: the workspace that it wants, into the call.  0, or
   -1 and a sentence. */
int launch_place_workspace(const subject *s, mxo_call *call, mxo_tensor *t,
                           mxo_text why);
void launch_free_workspace(const subject *s, const mxo_tensor *t);

#endif
