/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain backend in double arithmetic, with one fault at a time.
 *
 * The judge is only worth something if it sees every small wrong change, so
 * this backend can make each of them on request: open() takes the row of
 * mutants.def as its device number.  Row 0 has no fault and must pass; rows of
 * class Legal do something a backend is free to do and must pass too.
 * A fault lives where the real one lived, as `if (IS(C01))` in the plain code.
 */
#ifndef BROKEN_H
#define BROKEN_H

#include <mxoracle/abi.h>

#include "../common/call_read.h"

#include <math.h>

enum {
#define MXO_MUTANT(id, class, op, what, source) BROKEN_##id,
#include "mutants.def"
#undef MXO_MUTANT
    BROKEN_COUNT
};

/* Whether this context is the mutant; every user has a `const broken *b`. */
#define IS(id) (b->mutant == BROKEN_##id)

/* A row of values.def: the mutant has another value there. */
#define BROKEN_VALUE(id, when, what, value) \
    if (IS(id) && (when)) {                 \
        (what) = (value);                   \
    }

enum { BROKEN_MAX_ARGS = 64, BROKEN_TEXT = 64 };

/* A call kept for later: everything it points to, except the buffers. */
typedef struct broken_job {
    int waiting;
    mxo_call call;
    char op[BROKEN_TEXT];
    char text[4 * BROKEN_MAX_ARGS][BROKEN_TEXT];
    mxo_param params[BROKEN_MAX_ARGS];
    mxo_tensor in[BROKEN_MAX_ARGS];
    mxo_tensor out[BROKEN_MAX_ARGS];
    mxo_tensor workspace;
    int owns[BROKEN_MAX_ARGS]; /* the bytes of an input */
    uint8_t *answer;           /* H58: of the first launch */
    mxo_tensor choices;        /* H60: topk_ids as they were captured */
    uint64_t room;             /* H60: of an expert, in rows */
    int n_launches;            /* H61, H82, H95, H97 */
    void *stream;              /* H95, H97: of the first launch */
    uint64_t n_plain;          /* H70: of the context, at its capture */
    uint64_t n_grown;          /* H107: as that */
    uint8_t *slot[16];         /* H116, H117: its first input, launch by */
    uint64_t n_slots;          /* launch that was waited for */
    uint64_t n_synchronized;   /* of the context, at the last of them */
} broken_job;

/* Bytes that are to be there when a stream comes to them. */
typedef struct broken_upload {
    struct broken_upload *next;
    uint8_t *to;
    uint64_t n_bytes;
    uint8_t bytes[];
} broken_upload;

/* State that a call leaves for the next one, read by mutants alone. */
typedef struct broken_past {
    uint64_t tokens; /* of the last layer */
    uint64_t size;   /* of the first input of the last call; 0: none yet */
    double constants;
    char op[BROKEN_TEXT];      /* of the last call */
    char refused[BROKEN_TEXT]; /* the last operation that refused a call */
    uint64_t n_since;          /* calls since then */
    int32_t choices[256];      /* of the last call that was no graph's */
    uint64_t n_choices;
    double work[4096];
} broken_past;

typedef struct broken {
    int mutant;
    uint32_t runs;
    broken_job job;         /* of the mutants that answer late */
    broken_upload *uploads; /* of those whose streams are late */
    uint8_t *first;         /* of the one that repeats its first answer */
    uint64_t n_first;
    uint64_t first_key; /* H63, H64: of that answer's input */
    void *layout;       /* of the one that keeps its first layout */
    broken_past *past;
    broken_job *captured; /* H65: the last graph, while it is open */
    int is_former;        /* another context was opened after it, */
    int is_later;         /* before it */
    uint64_t n_waiting;   /* calls since the last synchronize() */
    void *last_output;    /* of the last call */
    char stream[64];      /* their addresses tell them apart; 1: closed */
    uint64_t n_streams;   /* opened so far */
    void *last_stream;
    uint64_t n_plain;    /* calls that were no graph's */
    int shares_a_buffer; /* H79: two tensors of the call do */
    int starts_a_buffer; /* H80: one does */
    uint64_t n_closed;   /* H81: contexts, before it was opened */
    int is_fourth;       /* H82: launch of a graph, or a later one */
    int is_launch;       /* the call under way is a graph's */
    int is_moved;        /* H95, H97: from the stream of its first launch */
    mxo_status late;     /* V42: of calls on streams */
    int forgets;         /* H109 to H113: checks no call that is made so */
    int is_wrong_way;    /* H90 to H96: it is wrong as it is made */
    uint8_t *waiting;    /* H84, H108: where the last call's answer begins */
    uint64_t most;       /* bytes that a call had of input so far */
    uint64_t n_grown;    /* how often that grew */
    int is_crossed;      /* H115: a call of another context waits */
    uint64_t n_synchronized;
} broken;

/* hi + lo, |lo| at most half an ulp of hi. */
typedef struct dd {
    double hi;
    double lo;
} dd;

enum { KIND_FINITE, KIND_FN, KIND_FNUZ, KIND_IEEE, KIND_INT8 };
enum { TIE_EVEN, TIE_ZERO, TIE_AWAY, TIE_TOWARD, TIE_RANDOM };

typedef struct number_format {
    const char *name;
    int ebits;
    int mbits;
    int bias;
    int kind;
    unsigned max; /* largest finite magnitude code */
} number_format;

typedef struct rounding {
    int tie;
    int sat;
    int bits; /* TIE_RANDOM: so many of rand */
    uint32_t rand;
} rounding;

typedef mxo_status (*broken_op_fn)(const broken *b, const mxo_call *call,
                                   mxo_text why);

/* number.c: formats. */
enum {
    FORMAT_E2M1,
    FORMAT_E2M3,
    FORMAT_E3M2,
    FORMAT_E4M3FN,
    FORMAT_E4M3FNUZ,
    FORMAT_E5M2,
    FORMAT_E5M2FNUZ,
    FORMAT_INT8,
    FORMAT_BF16,
    FORMAT_F16,
    FORMAT_F32,
    N_FORMATS
};

extern const number_format broken_formats[N_FORMATS];
/* 2^e, quicker than ldexp() where a double is normal. */
double broken_power(int e);
const number_format *broken_format(const char *name);
const number_format *broken_format_of(uint32_t dtype);
double broken_largest(const number_format *f);
double broken_decode(const broken *b, const number_format *f, uint32_t code);
uint32_t broken_encode(const broken *b, const number_format *f, rounding r,
                       dd x);
double broken_e8m0(const broken *b, unsigned code);
/* Magnitude code of a nearest-even value, no faults: for stores. */
uint32_t broken_round(const number_format *f, dd x);
/* Through BF16, no faults. */
double broken_to_bf16(double x);

/* call_access.c: calls. */
uint64_t broken_elems(const mxo_tensor *t);
/* The value of an element of a float tensor, exact. */
double broken_load(const mxo_tensor *t, uint64_t i);
/* The same with the faults of reading. */
double broken_read(const broken *b, const mxo_tensor *t, uint64_t i);
/* Word i of float32 numbers, taken for bf16. */
double broken_load_half(const mxo_tensor *t, uint64_t i);
int32_t broken_load_i32(const mxo_tensor *t, uint64_t i);
/* Rounded once into the tensor's type. */
void broken_store(const broken *b, const mxo_tensor *t, uint64_t i, dd x);
static inline uint32_t broken_code(const mxo_tensor *t, int packed, uint64_t i)
{
    const uint8_t *at = tensor_address(t);

    return packed ? (uint32_t)at[i / 2] >> 4 * (i % 2) & 0xfu : at[i];
}

void broken_set_code(const broken *b, const mxo_tensor *t, int packed,
                     uint64_t i, uint32_t code);
mxo_status broken_fail(mxo_status status, mxo_text why, const char *sentence);

/* legal.c: is the call what its operation asks for? */
mxo_status broken_legal(const broken *b, const mxo_call *call, mxo_text why);
/* Is a limit below zero none, or no clamp at all, to its dialect? */
int broken_takes_any_limit(const mxo_call *call);
/* A unit with u or u + 1 behind the silu, and nothing between. */
int broken_is_two_way(const mxo_call *call);

/* double_double.c: double-double. */
static inline dd broken_dd(double x)
{
    const dd r = {x, 0};

    return r;
}

/* Exact a + b. */
static inline dd broken_sum(double a, double b)
{
    const double s = a + b;
    const double t = s - a;
    const dd r = {s, (a - (s - t)) + (b - t)};

    return isfinite(s) ? r : broken_dd(s);
}

dd broken_mul(dd a, dd b);
dd broken_div(dd a, dd b);
dd broken_exp_minus(dd z);
dd broken_sigmoid(const broken *b, dd t);

/* act.c: the gated unit as a real number; limit INFINITY: none. */
dd broken_swiglu(const broken *b, double alpha, double beta, double limit,
                 double gate, double up);

/* scale.c: which byte a block gets. */
enum {
    RULE_FLOOR,
    RULE_CEIL,
    RULE_RCEIL,
    RULE_EVEN,
    RULE_VLLM_CEIL,
    RULE_TRITON_UP,
    RULE_TRITON_DOWN,
    RULE_RCEIL_EXACT,
    RULE_FLOOR_DIV,
    RULE_NO_OFFSET,
    N_RULES,
    /* Of mutants alone. */
    RULE_NEAREST,
    RULE_NEXT,
    RULE_CEIL_NO_OFFSET,
    RULE_CEIL_LOG2F,
    RULE_FLOOR_LOG2F
};
int broken_rule(const char *name);
unsigned broken_scale(const broken *b, const number_format *f, int rule,
                      double amax);
/* The byte b with 2^(b-127) >= x > 2^(b-128). */
unsigned broken_scale_up(double x);

/* quant_float.c: one float32 step or two, as the vendors' code has it. */
double broken_over(double x, double scale, int reciprocal);

/* quant_qdq.c: Quark's byte of a block of 16-bit numbers, and what becomes of
   one of them. */
unsigned broken_quark_byte(const broken *b, const number_format *f,
                           const double *x, uint64_t n);
double broken_quark_back(const broken *b, const number_format *f, double x,
                         unsigned byte, uint32_t *code);

/* layout.c: one layout on one tensor; valid may be NULL. */
typedef struct broken_step {
    const mxo_tensor *x;
    const mxo_tensor *y;
    const mxo_tensor *valid;
    int back;
    int only_check; /* says whether it fits, writes nothing */
} broken_step;
mxo_status broken_move(const broken *b, const char *name,
                       const broken_step *step, mxo_text why);
/* Zeroed, for the caller to free; NULL if there is no memory. */
void *broken_layout_memory(void);

/* The operations. */
#define BROKEN_OP(symbol, name)                                       \
    mxo_status broken_##symbol(const broken *b, const mxo_call *call, \
                               mxo_text why);
#include "ops.def"
#undef BROKEN_OP

/* size_faults.c: what goes wrong from a size on. */
int broken_has_size_fault(const broken *b);
/* Does this row of activations get the scales of the row before? */
int broken_scale_is_former(const broken *b, uint64_t row);
mxo_status broken_beyond_size(const broken *b, broken_op_fn op,
                              const mxo_call *call, mxo_text why);
/* faults.c: what goes wrong before a call is looked at, and around an
   operation. */
void broken_look_behind(const broken *b, const mxo_call *call);
mxo_status broken_around(broken *b, broken_op_fn op, const mxo_call *call,
                         mxo_text why);

/* backend.c: how many contexts were closed so far. */
uint64_t broken_closed(void);

/* async.c: calls answered later. 0 if the call is too big to be kept. */
int broken_keep(broken_job *job, const mxo_call *call);

/* One addition in binary32; double holds the sum well enough. */
static inline float broken_add32(float a, float b)
{
    return (float)((double)a + (double)b);
}

#endif
