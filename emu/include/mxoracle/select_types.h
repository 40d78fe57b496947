/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of <mxoracle/select.h>: the words of vLLM as enumerators, a
 * configuration, a decision and its consequences.
 */
#ifndef MXORACLE_SELECT_TYPES_H
#define MXORACLE_SELECT_TYPES_H

#include <mxoracle/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of vLLM: of the selection code that it contains. */
typedef enum mxo_sel_version {
#define MXO_SEL_VERSION(id, name, source) MXO_SEL_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_VERSIONS
} mxo_sel_version;

/** Entry point of vLLM; gpt-oss calls the first one. */
typedef enum mxo_sel_entry {
#define MXO_SEL_ENTRY(id, name) MXO_SEL_ENTRY_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_ENTRIES
} mxo_sel_entry;

/** Platform that vLLM runs on. */
typedef enum mxo_sel_platform {
#define MXO_SEL_PLATFORM(id, name) MXO_SEL_PLATFORM_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_PLATFORMS
} mxo_sel_platform;

/** Packages that may be installed; bit numbers of config.libraries. */
typedef enum mxo_sel_library {
#define MXO_SEL_LIBRARY(id) MXO_SEL_LIB_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_LIBRARIES
} mxo_sel_library;

/** Environment variables; 0 is none of them. */
typedef enum mxo_sel_env {
    MXO_SEL_ENV_NONE,
#define MXO_SEL_ENV(id, kind) MXO_SEL_ENV_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_ENV
} mxo_sel_env;

/** The members of vLLM's Mxfp4MoeBackend, of all versions. */
typedef enum mxo_sel_backend {
#define MXO_SEL_BACKEND(id, printed) MXO_SEL_BACKEND_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_BACKENDS
} mxo_sel_backend;

/** Classes of experts; 0 is none. */
typedef enum mxo_sel_experts {
    MXO_SEL_EXPERTS_NONE,
#define MXO_SEL_EXPERTS(id) MXO_SEL_EXPERTS_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_EXPERTS
} mxo_sel_experts;

/** Quantisation keys; 0 is Python's None: 16-bit activations. */
typedef enum mxo_sel_key {
    MXO_SEL_KEY_NONE,
#define MXO_SEL_KEY(id, element, scale, user) MXO_SEL_KEY_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_KEYS
} mxo_sel_key;

/** The layer's activation function. */
typedef enum mxo_sel_activation {
#define MXO_SEL_ACTIVATION(id, name, shout) MXO_SEL_ACT_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_ACTIVATIONS
} mxo_sel_activation;

/** How tokens are routed to experts. */
typedef enum mxo_sel_routing {
#define MXO_SEL_ROUTING(id, v2026_07, v2026_05, v2026_03) MXO_SEL_ROUTING_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_ROUTINGS
} mxo_sel_routing;

/** Type of the layer's input. */
typedef enum mxo_sel_dtype {
#define MXO_SEL_DTYPE(id, name) MXO_SEL_DTYPE_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_DTYPES
} mxo_sel_dtype;

/** Scoring functions that routing_method_type tells apart. */
typedef enum mxo_sel_scoring {
#define MXO_SEL_SCORING(id) MXO_SEL_SCORING_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_SCORINGS
} mxo_sel_scoring;

/** Lists of backends in order of priority; 0 is none. */
typedef enum mxo_sel_list {
    MXO_SEL_LIST_NONE,
#define MXO_SEL_LIST(id) MXO_SEL_LIST_##id,
#include <mxoracle/select.def>
    MXO_SEL_N_LISTS
} mxo_sel_list;

/** Most backends in any list, most names mapped to one word. */
#define MXO_SEL_LIST_MAX 20
/** Most candidates that one selection asks. */
#define MXO_SEL_TRACE_MAX 32
/** Sizes are at most this, so that no product overflows. */
#define MXO_SEL_SIZE_MAX (INT64_C(1) << 40)

/** Why a class of experts was passed over; 0: it was taken. */
typedef enum mxo_sel_reason {
#define MXO_SEL_REASON(id, text) MXO_SEL_BECAUSE_##id,
#include <mxoracle/select/texts.def>
    MXO_SEL_N_REASONS
} mxo_sel_reason;

/** Exceptions that vLLM raises; 0: none. */
typedef enum mxo_sel_error {
#define MXO_SEL_ERROR(id, type, text) MXO_SEL_ERROR_##id,
#include <mxoracle/select/texts.def>
    MXO_SEL_N_ERRORS
} mxo_sel_error;

/** The twelve fields of vLLM's FusedMoEParallelConfig. */
typedef struct mxo_sel_parallel {
    int64_t tp_size, pcp_size, dp_size, ep_size;
    int64_t tp_rank, pcp_rank, dp_rank, ep_rank;
    int64_t sp_size;
    int use_ep;
    int enable_eplb;
    const char *all2all_backend;
} mxo_sel_parallel;

/** The rules themselves. */
typedef struct mxo_select_rules mxo_select_rules;

/** Everything the decision depends on. Strings are borrowed. */
typedef struct mxo_select_config {
    const mxo_select_rules *rules; /* NULL: vLLM's */
    mxo_sel_version version;
    mxo_sel_entry entry;
    mxo_sel_platform platform;
    int major, minor;         /* CUDA capability; major < 0: not known */
    const char *gfx;          /* ROCm: "gfx950"; NULL: not known */
    uint32_t libraries;       /* bit 1 << mxo_sel_library */
    const char *moe_backend;  /* "auto" or a name */
    mxo_sel_key model_key;    /* activations as the checkpoint has them */
    mxo_sel_key override_key; /* as the user wants them; none: no wish */
    mxo_sel_activation activation;
    mxo_sel_routing routing;
    int is_act_and_mul; /* a gated unit */
    int is_lora_enabled;
    int has_bias; /* influences no selection */
    int disable_inplace;
    /* Since 2026-07 a layer is gated unless its activation ends in _no_mul,
       and these are looked at by some classes. */
    int has_hash_routing;
    int require_decomposed_backend; /* routes are adjusted after routing */
    int skip_final_all_reduce;
    mxo_sel_dtype in_dtype;
    int64_t num_experts, num_local_experts; /* local 0: all of them */
    int64_t intermediate_unpadded;          /* 0: not given */
    double situ_beta, situ_linear_beta;     /* NaN: not given */
    double swiglu_alpha, swiglu_beta;       /* NaN: not given */
    int64_t hidden, intermediate;
    mxo_sel_parallel parallel;
    const char *env[MXO_SEL_N_ENV]; /* NULL: not set */
} mxo_select_config;

/** One class that was asked, in the order of asking. */
typedef struct mxo_sel_candidate {
    uint8_t backend; /* mxo_sel_backend */
    uint8_t experts; /* mxo_sel_experts */
    uint8_t key;     /* mxo_sel_key it was asked with */
    uint8_t reason;  /* mxo_sel_reason; 0: supported */
    uint8_t hint;    /* the reason is followed by AITER's advice */
} mxo_sel_candidate;

/** The exception raised, and the values that its text names. */
typedef struct mxo_sel_failure {
    mxo_sel_error error; /* 0: nothing was raised */
    mxo_sel_env env;
    mxo_sel_key keys[2];
    mxo_sel_candidate last; /* the candidate asked last */
    uint8_t n_variants;
    uint8_t variants[MXO_SEL_LIST_MAX]; /* mxo_sel_backend */
    uint32_t n_refused; /* classes of a list that was gone through */
    mxo_sel_candidate refused[MXO_SEL_TRACE_MAX];
    int64_t size;
} mxo_sel_failure;

/** The decision. If failure.error is not 0 the rest is none and zero. */
typedef struct mxo_select_result {
    mxo_sel_failure failure;
    mxo_sel_backend backend;
    mxo_sel_experts experts;
    mxo_sel_key key;              /* handed to the class that was taken */
    int64_t hidden, intermediate; /* rounded up for the backend */
    uint32_t n_trace;
    mxo_sel_candidate trace[MXO_SEL_TRACE_MAX];
} mxo_select_result;

/** How one operand is quantised (make_mxfp4_moe_quant_config). */
typedef struct mxo_sel_quant {
    int from_layer;       /* built elsewhere: the rest says nothing */
    const char *dtype;    /* of a1 and a2; NULL: not quantised */
    int shape[2];         /* of a1 and a2; both 0: none */
    int static_scale;     /* a1 and a2 have scales of their own */
    const char *scheme;   /* ocp_mx_scheme or NULL */
    int keeps_alpha_beta; /* else they are dropped */
    int drops_limit;
    int bare_weights; /* without scales and biases */
    int mx_alignment;
    int is_scale_swizzled;
    int has_gemm1_fields; /* this version knows the last four */
} mxo_sel_quant;

/** How the kernel object is made. */
typedef struct mxo_sel_kernel {
    int monolithic; /* routes by itself, else modular */
    int batched;    /* needs max_num_tokens and num_dispatchers */
    int inplace;
    int skip_forward_padding;
    int needs_layer;
    int marks_shuffled;
    int precision_configs; /* scales travel as precision configs */
    int has_unpadded_output;
    int knows_inplace; /* the version has that flag at all */
} mxo_sel_kernel;

/** Shapes that create_weights allocates; a rank of 3 unless bias: 2. */
typedef struct mxo_sel_weights {
    int64_t hidden, intermediate;
    int64_t w13[3], w13_scale[3], w13_bias[2];
    int64_t w2[3], w2_scale[3], w2_bias[2];
} mxo_sel_weights;

#ifdef __cplusplus
}
#endif
#endif
