/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call on one backend, and its checks.  Every tensor lies between guard
 * bytes in a buffer of its own, but for one run of some calls, where one buffer
 * holds all of them; outputs hold bytes without a pattern, and in a
 * second run others; inputs must come back unchanged; in the second run small
 * calls, and some others, are made thrice before one synchronize, and in ways
 * that the backend declares (launch.h); both runs must agree and a byte that
 * follows the fill was never written.  A subject first runs the same call on
 * noise, and in the end once more behind another call, of other sizes and
 * constants, there or in a second context, behind one of another operation
 * (call_before.h) and behind one that must be refused (refused_call.h); nobody
 * looks at the answers of the first two.  Where its
 * memory is this process's, no byte before an input can be read in the first
 * run, and none behind it in the second and on noise.  The emulator is driven
 * by the same code.
 */
#ifndef MXO_SUBJECT_H
#define MXO_SUBJECT_H

#include "base/strbuf.h"
#include "base/tensors.h"
#include "system/fence.h"
#include "system/judge_bytes.h"

enum { SUBJECT_TEXT = 256 };

typedef struct run_checks run_checks;

/* Bytes of a buffer, and where they are to be. */
typedef struct wanted_bytes {
    void *buffer;
    uint64_t offset;
    uint64_t n_bytes;
    uint8_t *to;
} wanted_bytes;

/* Services of a subject's own process besides answering, if it has one; state
   is its owner's. */
typedef struct subject_link {
    void *state;
    int has_fence;          /* its inputs can be fenced */
    int has_runs;           /* one request can be for many runs */
    int has_behind;         /* and for another call behind them, */
    int has_behind_graph;   /* or a graph */
    int has_behind_context; /* or for what waits in another context */
    int has_meanwhile;      /* and for launch_meanwhile() */
    const char *left;       /* what loading it changed; "": nothing */
    /* A case begins: start the process if it is gone. */
    mxo_status (*begin)(void *state, mxo_text why);
    /* So many downloads at once; NULL: it has one at a time. */
    mxo_status (*fetch)(void *state, const wanted_bytes *w, uint32_t n,
                        mxo_text why);
    /* In the next run this page of a buffer must not be touched. */
    void (*fence)(void *state, const fence_place *f, void *buffer);
    /* The next request to run is for so many runs before one synchronize(). */
    void (*ahead)(void *state, int n_runs);
    /* Behind it, before that synchronize(), this call is made so many times,
       or, if it is NULL, this graph launched; in the second context or not. */
    void (*behind)(void *state, const mxo_call *call, void *graph, void *stream,
                   int n_runs, int is_second);
    /* Before that synchronize() the subject is busy: launch_meanwhile(). */
    void (*meanwhile)(void *state);
    /* From now on requests are for its second context, or for the first again.
       0: it has but one. */
    int (*second)(void *state, int is_second);
    /* The second context is closed; a later request opens another.  0: it
       cannot be. */
    int (*close_second)(void *state);
    /* Findings since the case began: left, gone, is_late, kernel. */
    void (*seen)(void *state, run_checks *d);
    /* Append what it printed and long messages, as lines. */
    void (*say)(void *state, strbuf *lines);
} subject_link;

/* An operation on given bytes; everything is borrowed. */
typedef struct op_call {
    const char *op;
    const mxo_param *params;
    uint32_t n_params;
    const tensor_set *in;
} op_call;

/* Must it be refused, and for what? */
typedef enum must_refuse {
    REFUSE_NOTHING,
    REFUSE_NUMBERS, /* of its tensors, perhaps when a stream comes to them */
    REFUSE_CALL     /* sizes, tensors or parameters, before it is made */
} must_refuse;

/* One behind a capture, and one twice as large behind the call that waits. */
enum { LARGER_CAPTURED, LARGER_WAITING, N_LARGER };

typedef struct subject {
    const mxo_backend *table; /* borrowed */
    void *ctx;
    void *second;             /* another context, open from its first use on */
    int is_second;            /* that one is at work */
    int device_index;         /* of both */
    const subject_link *link; /* borrowed; NULL: it is in this process */
    char device[SUBJECT_TEXT];
    char driver[SUBJECT_TEXT];
    int decoy;     /* run a call on noise first: no stale answer passes */
    uint32_t soak; /* and as often more */
    const op_call *other;        /* a call beside it, on noise; NULL: none */
    const tensor_set *other_out; /* as the oracle shapes its outputs */
    const char *other_has;       /* others than the call: "sizes" or "words" */
    int other_is_own; /* it can be made on its inputs' bytes, which are those of
                         the call */
    /* Larger calls, on bytes that are legal; NULL: none. */
    const op_call *larger[N_LARGER];
    const tensor_set *larger_out[N_LARGER];
    uint64_t most_bytes; /* of the inputs of a call so far, of */
    const char *most_op; /* the last operation that was judged; borrowed */
    struct call_before *const *before; /* n_before of other operations */
    int n_before;
    must_refuse refuses; /* the call in hand */
    int legal_only;      /* it takes no call that must be refused */
    int once;            /* no second run: believed, as the oracle is */
    int all_cores;       /* large calls are cut by tokens (by_token.h) */
    uint64_t host_align; /* of inputs before a fence (fence.h); 0: its memory is
                            not this process's, or it is believed */
    uint64_t n_placed;   /* tensors so far: no two have the same guard bytes */
    judge_secret secret; /* of these bytes, and of scrubbed memory */
} subject;

/* Findings of two runs of a call beside the bytes of the first. */
struct run_checks {
    uint64_t n_unwritten;         /* output bytes that follow the fill */
    uint64_t n_changing;          /* output bytes that differ otherwise */
    char unwritten[SUBJECT_TEXT]; /* where the first one is */
    char changing[SUBJECT_TEXT];
    char guards[SUBJECT_TEXT];   /* guard that was hit, how; "" if none */
    char inputs[SUBJECT_TEXT];   /* input that was written to; "" if none */
    char refusal[SUBJECT_TEXT];  /* a refused call wrote; "" if it did not */
    char left[SUBJECT_TEXT];     /* changed in its process; "" if nothing */
    char gone[2 * SUBJECT_TEXT]; /* how its process ended; "" if it runs */
    int is_late;                 /* ended because no answer came */
    char device[SUBJECT_TEXT];   /* another device than it named; "" if not */
    char kernel[SUBJECT_TEXT];   /* kernel that served the call; "" if
                                    unknown */
    char called[SUBJECT_TEXT];   /* how the second run was: launch_say() */
    char beside[SUBJECT_TEXT];   /* other operation that a finding takes */
    double ms;                   /* of the first run */
};

/* Open device number device. The status is the backend's, why its sentence. */
mxo_status subject_open(subject *s, const mxo_backend *table, int device,
                        mxo_text why);
/* A backend that is open already, in a process of its own. */
void subject_attach(subject *s, const mxo_backend *table, void *ctx,
                    const subject_link *link);
void subject_close(subject *s);
/* A case begins. Status and sentence are those of subject_link. */
mxo_status subject_begin(const subject *s, mxo_text why);
/* What its link has seen, where it has one; also without a call. */
void subject_see(const subject *s, run_checks *d);
/* The subject with its second context at work, until subject_leave_second(); 0:
   it has but one. */
int subject_enter_second(subject *s, subject *other);
void subject_leave_second(subject *s, const subject *other);
/* From now on its link asks the context that is at work. */
void subject_turn_to(const subject *s);
/* Find out whether the memory it gives is this process's, and fence it. */
void subject_fence(subject *s);
int subject_has_op(const subject *s, const char *op);

/* Is so much memory free now?  0 after a sentence; what is small is. */
int subject_has_room(uint64_t n_bytes, mxo_text why);
/* Append the outputs this backend's infer() wants for the call; zeroed. */
mxo_status subject_infer(subject *s, const op_call *call, tensor_set *out,
                         mxo_text why);

/*
 * Run the call twice; out (shaped by the oracle's infer) receives the bytes
 * of the first run. The status is the backend's, why its sentence; DEVICE if
 * the judge itself could not move bytes. d is always filled in.
 */
mxo_status subject_run(subject *s, const op_call *call, tensor_set *out,
                       run_checks *d, mxo_text why);

#endif
