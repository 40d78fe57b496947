/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MoE layer: a call of moe.layer, moe.gemm1 or moe.gemm2 as numbers, and
 * its passes.  The pairs of token and slot are grouped by expert; a pass takes
 * tiles of an expert's pairs against panels of its columns, each on whichever
 * thread is free.  Weights are read as they are, never dequantised as a whole.
 */
#ifndef CPU_LAYER_H
#define CPU_LAYER_H

#include "act/glu_unit.h"
#include "cpu.h"
#include "gemm/gemm_order.h"
#include "number.h"
#include "quant/quant.h"
#include "quant/quant_nvfp4.h"

/* Facts of a profile; a parameter of the same name overrides all but the
   constants. */
typedef enum layer_field {
#define MXO_FIELD(id, key, group, kind, meaning) LAYER_##id,
#include <mxoracle/profile/field.def>
#undef MXO_FIELD
    LAYER_N_FIELDS
} layer_field;

const char *cpu_layer_key(layer_field field);
/* The profile's value of a field, and the value in force for the call. */
const char *cpu_layer_fact(const mxo_call *call, layer_field field);
const char *cpu_layer_word(const mxo_call *call, layer_field field);

/* DOWN: BF16 without subnormals of float; SAT: without infinities. */
typedef enum layer_type {
    LAYER_F32,
    LAYER_BF16,
    LAYER_F16,
    LAYER_DOWN,
    LAYER_SAT
} layer_type;
typedef enum layer_place {
    LAYER_BIAS_NONE,
    LAYER_BIAS_ACC,
    LAYER_BIAS_ROUNDED,
    LAYER_BIAS_ORDER,    /* in the sum, where its order has it */
    LAYER_BIAS_FLUSHED,  /* as ACC without subnormals */
    LAYER_BIAS_BEHIND,   /* to the rounded result, which is a float then */
    LAYER_BIAS_UNROUNDED /* as BEHIND, subnormals kept */
} layer_place;
typedef enum layer_routing {
    LAYER_AT_ACC,
    LAYER_AT_ROUNDED,
    LAYER_AT_SUM,
    LAYER_AT_GEMM1, /* with the first GEMM's results */
    LAYER_AT_INPUT,
    LAYER_AT_GLU /* with the activation's output */
} layer_routing;
typedef enum layer_quant_op {
    LAYER_AS_IS,
    LAYER_BY_MX,
    LAYER_BY_GROUP,
    LAYER_BY_QDQ,
    LAYER_BY_SCALE,
    LAYER_BY_NVFP4
} layer_quant_op;
typedef enum layer_order {
    LAYER_SUM_FMA,
    LAYER_SUM_PRODUCT,
    LAYER_SUM_SLOTS,
    LAYER_SUM_MOE_SUM,
    LAYER_SUM_CPU,
    LAYER_SUM_ATOMIC,
    LAYER_SUM_EXACT,
    LAYER_SUM_FLUSHED,   /* FMA without subnormals */
    LAYER_SUM_BY_EXPERT, /* SLOTS by the experts' numbers */
    LAYER_SUM_EXPERTS,   /* the same, BF16 after every addition */
    LAYER_SUM_SCATTER    /* CPU or ATOMIC, by top-k */
} layer_order;

/* How rows are quantised; by holds the element, and the rule of those that
   have one. */
typedef struct layer_quant {
    layer_quant_op op;
    cpu_quant by;
    size_t group;     /* GROUP: elements under one byte, at most 128 */
    int is_quark_hip; /* QDQ in 16 bits throughout */
    float scale;      /* given: SCALE divides by it, NVFP4 multiplies, */
    float undo;       /* and the sums are multiplied by this */
    int is_reciprocal;
    const cpu_nvfp4 *nvfp4;
} layer_quant;

/* One of the two GEMMs over all experts. */
typedef struct layer_gemm {
    const uint8_t *codes;   /* [experts, n, k / 2] */
    const uint8_t *scale;   /* [experts, n, blocks] */
    const mxo_tensor *bias; /* [experts, n]; NULL: none */
    layer_place place;
    layer_type bias_type;
    layer_type out;    /* rounding of its sums */
    int behind;        /* its operands are small by so many binary places */
    size_t parts;      /* of K that are rounded each by itself; 1: none is */
    layer_quant quant; /* of its input */
    cpu_weight_rule rule;
    size_t n;
    size_t k;
} layer_gemm;

/* Alpha, beta and limit of the activation. */
enum { LAYER_CONSTANTS = 3 };

typedef struct layer {
    cpu_context *ctx;
    const mxo_call *call;
    int has_one; /* the first GEMM, */
    int has_two;
    int has_glu; /* and how far */
    int has_sum;
    size_t tokens;
    size_t topk;
    size_t slots; /* tokens * topk */
    size_t hidden;
    size_t inter;
    size_t experts;
    cpu_order order;
    int is_streamk; /* parts are added in turn, the last one has the bias */
    layer_gemm one;
    layer_gemm two;
    cpu_glu_unit unit;
    const mxo_tensor *constants[LAYER_CONSTANTS]; /* NULL: the unit's own */
    int glu_saturates;
    layer_routing routing_at;
    layer_type weight_type;
    layer_order sum;
    layer_type out;
    int absent_is_zero;
    int32_t *expert; /* of every slot, -1: none here; owned */
    uint32_t *pair;  /* slots by expert; owned */
    size_t *first;   /* of each expert in pair, [experts + 1]; owned */
} layer;

enum { LAYER_LOADED = 6, LAYER_MOST_IN = 32 };

/* A call on the checkpoint's tensors, in place of one on what a conversion made
   of them. */
typedef struct layer_loaded {
    mxo_call call;
    mxo_tensor in[LAYER_MOST_IN];
    void *held[LAYER_LOADED]; /* owned */
} layer_loaded;

/* to is zero before; cpu_layer_forget it in any case. */
mxo_status cpu_layer_undo(const layer *l, const mxo_call *call,
                          layer_loaded *to, mxo_text why);
void cpu_layer_forget(layer_loaded *l);

/* Everything about a call; nothing is written. */
mxo_status cpu_layer_read(layer *l, mxo_text why);
mxo_status cpu_layer_read_recipe(layer *l, mxo_text why);
/* Two halves of the first GEMM's K are rounded each by itself. */
int cpu_layer_is_split(const layer *l);
/* Parts of K, where the call has any; refused where they cannot be. */
mxo_status cpu_layer_read_parts(layer *l, mxo_text why);
/* Parts of it: a type, the activation, the sum over experts. */
layer_type cpu_layer_type(const layer *l, layer_field field, mxo_status *status,
                          mxo_text why);
mxo_status cpu_layer_read_glu(layer *l, mxo_text why);
mxo_status cpu_layer_read_sum(layer *l, mxo_text why);
/* Tensors of constants, of a layer whose recipe and sizes are known, and the
   unit as an expert here has it. */
mxo_status cpu_layer_read_constants(layer *l, mxo_text why);
cpu_glu cpu_layer_unit(const layer *l, size_t expert);
/* Group the slots by expert, after cpu_layer_read. */
mxo_status cpu_layer_group(layer *l, mxo_text why);
void cpu_layer_close(layer *l);

/* The rows that a GEMM reads: numbers, or codes under scale bytes. */
typedef struct layer_rows {
    const cpu_isa_ops *lane;
    uint32_t from; /* F32, BF16, or U8: E2M1 */
    const uint8_t *data;
    const uint8_t *scale;     /* of E2M1 */
    const layer_quant *quant; /* NULL: as they are */
    size_t rows;
    size_t k;
} layer_rows;

/* Numbers of a row; scale NULL, or the factors of its blocks apart. */
typedef struct layer_parts {
    double *x;
    double *scale;
} layer_parts;

/* Is a scale given for the whole tensor? */
int cpu_layer_is_given(const layer_quant *quant);

/* A row as the GEMM sees it, quantised if that is asked for. */
void cpu_layer_rows_read(const void *self, size_t row, double *x);
void cpu_layer_rows_parts(const layer_rows *r, size_t row,
                          const layer_parts *to);
/* n codes under E8M0 bytes; up to CPU_RUN numbers of the quantiser's type. */
void cpu_layer_decode(const cpu_element *e, const uint8_t *codes,
                      const uint8_t *scale, size_t n, const layer_parts *to);
void cpu_layer_quantise(const layer_quant *quant, const cpu_isa_ops *lane,
                        const uint8_t *src, size_t n, const layer_parts *to);

static inline float cpu_layer_round(layer_type to, float x)
{
    x = to == LAYER_DOWN ? cpu_flush32(x) : x;
    if (to == LAYER_SAT) {
        const float y = cpu_from_bf16(cpu_bf16_of(x));
        const float most = 0x1.fep127f;
        return y > most ? most : y < -most ? -most : y;
    }
    return to == LAYER_F32   ? x
           : to == LAYER_F16 ? cpu_from_f16(cpu_f16_of(x))
                             : cpu_from_bf16(cpu_bf16_of(x));
}

static inline uint32_t cpu_layer_dtype(layer_type type)
{
    return type == LAYER_F32 ? MXO_F32 : type == LAYER_F16 ? MXO_F16 : MXO_BF16;
}

/* The type of what leaves a GEMM: float where a bias came behind. */
static inline layer_type cpu_layer_leaves(const layer_gemm *g)
{
    return g->place >= LAYER_BIAS_BEHIND ? LAYER_F32 : g->out;
}

/* The operands' scale is put right with the routing weight. */
static inline int cpu_layer_scales_late(const layer *l)
{
    return l->two.behind > 2 && l->routing_at == LAYER_AT_ROUNDED;
}

/* n numbers of that type, already rounded, as elements from number at on. */
void cpu_layer_store(layer_type type, void *to, size_t at, const float *x,
                     size_t n);

/* The routing weight of a slot, in the type it is multiplied in. */
float cpu_layer_weight(const layer *l, size_t slot);

/* The passes.  NOMEM if a panel got no memory. */
mxo_status cpu_layer_run_first(layer *l, void *to, mxo_text why);
mxo_status cpu_layer_run_second(layer *l, uint32_t from, const void *act,
                                void *to, mxo_text why);
/* rows[slots, hidden] to y[tokens, hidden]. */
mxo_status cpu_layer_run_sum(layer *l, const float *rows, mxo_text why);

#endif
