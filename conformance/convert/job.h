/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversion from checkpoint to file: what the result consists of, then its
 * bytes, a few experts at a time.  The same for the way back and for the
 * comparison with a file that exists.
 */
#ifndef MXO_CONVERT_JOB_H
#define MXO_CONVERT_JOB_H

#include "base/progress.h"
#include "mover.h"
#include "sink.h"

enum { JOB_DIGEST = 32, JOB_NAME = 64, JOB_ASSUMED = 80 };

typedef struct job {
    const checkpoint *in;  /* borrowed */
    layer_list layers;     /* forward: found in it; back: from its metadata */
    layer_part *back_part; /* owned: back, of each layer */
    shard part;
    row_order rows; /* forward: asked of layers whose names do not tell */
    /* Forward: of MLX's experts, w13 and w2, binary32; 0: not said. */
    uint32_t input_scale[2];
    const char *conversion;
    mover mover;
    sink sink;
    int is_bad_input; /* back: the bytes are not what its metadata say */
    int is_stoppable; /* a signal or the time budget ends it */
    int is_slow; /* the oracle moves the bytes: one expert between two stops */
    progress
        progress; /* none is shown unless job_progress_begin() was called */
    size_t *first_output;    /* owned: of each layer in the sink */
    size_t *first_global;    /* owned: of its global scales */
    size_t first_rest;       /* in the sink: what belongs to no layer */
    char digest[JOB_DIGEST]; /* of IN; "": not asked for yet */
} job;

/* Metadata keys of a converted file, beside those of checkpoint.h. */
#define META_VERSION "mxoracle.version"
#define META_DIGEST "mxoracle.source_digest"

/* "PLATFORM[,KEY=VALUE]...": the conversion and the rounding that vLLM would
   choose there for the model, unless the keys name one (those of mxoracle
   select); -1 and a sentence. */
int job_choose(const char *text, const char *model, char conversion[JOB_NAME],
               shard *s, mxo_text why);

/* The same for what IN holds, and what was assumed ("": nothing); 1: no layer
   is found, or one is not whole. */
int job_follow(const char *text, const checkpoint *in,
               char conversion[JOB_NAME], shard *s, char assumed[JOB_ASSUMED],
               mxo_text why);

/* A conversion's name without parameters that have their default, the others
   in the row's order: two names of one layout are spelled alike. */
void job_spell(const char *conversion, char name[JOB_NAME]);
/* Whether a file's claimed layout (NULL: none) is the job's conversion. */
int job_is_layout(const job *j, const char *claimed);

/* Assumptions of a conversion; see sources.def. */
typedef struct expectation {
    const char *id;
    int interleaved; /* rows of w13; -1: any */
    uint64_t group;  /* elements of a scale */
    int up_first;    /* w13 is handed over as ups, then gates */
} expectation;

/* NULL: any order of rows, scales of 32 elements. */
const expectation *job_expected(const char *conversion);
/* Are the layer's scales those of the conversion's format?  0, or -1 and a
   sentence that names them. */
int job_check_group(const char *conversion, const moe_layer *l, mxo_text why);

/* The job's digest of IN, "xxh3:...", or "none" if built without xxHash: reads
   all of it, once.  0; -1 and a sentence: stopped. */
int job_digest(job *j, mxo_text why);

/* All refusals come from here, before anything is written. */
int job_plan_forward(job *j, mxo_text why);
int job_plan_back(job *j, mxo_text why);
/* Metadata of the result of a planned forward job whose digest is known; NULL
   without memory. */
json_t *job_metadata(const job *j);
/* Move everything into the sink. */
int job_run_forward(job *j, mxo_text why);
int job_run_back(job *j, mxo_text why);
void job_clear(job *j);

/* Bytes that move before a signal or the budget is asked for again. */
#define JOB_PIECE ((uint64_t)64 << 20)
/* Stop at this chunk? Then with a sentence. */
int job_stopped(const job *j, mxo_text why);
/* As sink_put, in pieces; -1 where it is stopped between them, too. */
int job_put(job *j, size_t i, uint64_t offset, const uint8_t *bytes,
            uint64_t n_bytes, const uint8_t *valid, mxo_text why);
/* The status line: from when bytes begin to move, after each chunk, until
   nothing moves. */
void job_progress_begin(job *j, int is_wanted);
void job_progress(job *j);
void job_progress_end(job *j);
/* Tensors that belong to no layer, unchanged. */
int job_plan_rest(job *j, mxo_text why);
int job_copy_rest(job *j, mxo_text why);
/* Largest number of experts that are moved at a time. */
uint64_t job_experts_at_a_time(const job *j, const layer_part *p);

#endif
