/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selection: the backend that vLLM runs for an MXFP4 mixture of experts.
 *
 * vLLM decides from platform, configuration and environment.  Here that
 * decision is a pure function of a struct, for each version in which vLLM
 * decided differently.  The rules are rows of data (emu/select/); this header
 * holds the questions that can be put to them.
 *
 * Every question takes the configuration, because version and platform are
 * fields of it.  An answer is a value or a failure, never both; a failure is
 * a code whose text, word for word vLLM's, is written by
 * mxo_select_failure_text.  Words (names of backends, keys, ...) are those of
 * <mxoracle/select.def>.
 */
#ifndef MXORACLE_SELECT_H
#define MXORACLE_SELECT_H

#include <mxoracle/select_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Arguments of env-2025-08's can_support that forbid it; bits. */
typedef enum mxo_sel_obstacle {
    MXO_SEL_USE_GROUPED_TOPK = 1,
    MXO_SEL_TOPK_GROUP = 2,
    MXO_SEL_NUM_EXPERT_GROUP = 4,
    MXO_SEL_EXPERT_MAP = 8,
    MXO_SEL_CUSTOM_ROUTING = 16,
    MXO_SEL_CORRECTION_BIAS = 32,
    MXO_SEL_WEIGHT_ON_INPUT = 64,
    MXO_SEL_SCORING_NOT_SOFTMAX = 128,
    MXO_SEL_ACTIVATION_NOT_SILU = 256,
    MXO_SEL_LOAD_VIEW = 512,
    MXO_SEL_LOGICAL_TO_PHYSICAL = 1024,
    MXO_SEL_REPLICA_COUNT = 2048
} mxo_sel_obstacle;

/** Kinds of layer that get_quant_method tells apart. */
typedef enum mxo_sel_layer {
    MXO_SEL_LAYER_LINEAR,
    MXO_SEL_LAYER_MOE,
    MXO_SEL_LAYER_ATTENTION,
    MXO_SEL_LAYER_OTHER
} mxo_sel_layer;

/**
 * @brief A configuration in which everything has vLLM's default.
 *
 * Map      newest version, select_mxfp4, CUDA 9.0, every library, moe_backend
 *          "auto", no key, swigluoai, Renormalize, gated, sizes 0, one rank,
 *          all2all "allgather_reducescatter", nothing in the environment.
 */
MXO_EXPORT void mxo_select_defaults(mxo_select_config *c);

/**
 * @brief Check that a configuration can exist.
 *
 * Needs    sizes in 0 .. MXO_SEL_SIZE_MAX, group sizes 1 .. 2^20, ranks
 *          0 .. 2^20, 0 <= minor <= 9 and major <= 99, a gfx name that
 *          begins with "gfx" and two digits, enumerators in range, a routing
 *          method that the version has.
 * Errors   MXO_E_PARAM and a sentence.
 */
MXO_EXPORT MXO_MUST_CHECK mxo_status
mxo_select_check(const mxo_select_config *c, mxo_text why);

/**
 * @brief The decision: which backend, which class of experts, which sizes.
 *
 * Map      the steps of emu/select/steps.def, first match wins; each class
 *          of a backend is asked in turn and is noted in result->trace.
 * Needs    a configuration that mxo_select_check accepts.
 * Errors   those of vLLM, in result->failure.  2025-08 had no oracle: there
 *          experts is none and the trace empty.
 * Threads  pure and re-entrant.
 * Source   spec of the three versions: docs/selection.md
 */
MXO_EXPORT void mxo_select(const mxo_select_config *c, mxo_select_result *r);

/**
 * @brief map_mxfp4_backend: backends behind a name, in the order of trying.
 *
 * Shapes   out: [MXO_SEL_LIST_MAX].
 * Map      by config.moe_backend; returns how many, at most five.
 * Errors   0 and failure if the name is not known ("auto" is none).
 */
MXO_EXPORT int mxo_select_map(const mxo_select_config *c, uint8_t *out,
                              mxo_sel_failure *failure);

/** @brief The key a backend quantises activations by, none for 16 bits. */
MXO_EXPORT mxo_sel_key mxo_select_backend_key(const mxo_select_config *c,
                                              mxo_sel_backend backend);
/** @brief Does the version know the backend? */
MXO_EXPORT int mxo_select_has_backend(const mxo_select_config *c,
                                      mxo_sel_backend backend);

/** @brief Class number i of a backend, in the order of asking; none after. */
MXO_EXPORT mxo_sel_experts mxo_select_class_at(const mxo_select_config *c,
                                               mxo_sel_backend backend, int i);

/**
 * @brief _filter_by_activation: the members of in that serve a key.
 *
 * Shapes   in, out: [n]; they do not overlap.
 * Map      with a key: members whose own key it is, and EMULATION, then since
 *          2026-11 the others without a key; without: members without a key,
 *          or all of in if that leaves none.  The order is kept.  Returns how
 *          many.
 */
MXO_EXPORT int mxo_select_filter(const mxo_select_config *c, const uint8_t *in,
                                 int n, mxo_sel_key key, uint8_t *out);

/**
 * @brief Backends of moe_backend that have a wanted key (since 2026-09).
 *
 * Shapes   out: [MXO_SEL_LIST_MAX].
 * Map      mxo_select_map, then the variable of the name if it has one (only
 *          b12x: VLLM_B12X_MOE_FP4_FORCE_A16), then mxo_select_filter.
 * Errors   0 and failure; 0 without one if no backend is left.
 */
MXO_EXPORT int mxo_select_requested(const mxo_select_config *c, mxo_sel_key key,
                                    uint8_t *out, mxo_sel_failure *failure);

/**
 * @brief The check before a kernel is made (2026-11): may the class run here?
 *
 * Map      the key is the first the class takes of kMxfp4Dynamic,
 *          kMxfp8Dynamic, kFp8Dynamic128Sym, kFp8StaticTensorSym and none,
 *          else the backend's own; then every check of the class.
 * Errors   failure if it may not.
 */
MXO_EXPORT void mxo_select_validate(const mxo_select_config *c,
                                    mxo_sel_backend backend,
                                    mxo_sel_experts experts,
                                    mxo_sel_failure *failure);

/**
 * @brief _resolve_activation_key: the checkpoint's key and the user's wish.
 *
 * Errors   failure if both are there and differ; the key is then none.
 */
MXO_EXPORT mxo_sel_key mxo_select_resolve(const mxo_select_config *c,
                                          mxo_sel_failure *failure);

/**
 * @brief A list in order of priority on the platform; returns how many, 0 if
 *        the version has no such list.
 *
 * Shapes   out: [MXO_SEL_LIST_MAX].
 */
MXO_EXPORT int mxo_select_priority(const mxo_select_config *c,
                                   mxo_sel_list list, uint8_t *out);

/**
 * @brief Sizes rounded up to what a backend wants.
 *
 * Map      x becomes a * ceil(x / a), by emu/select/roundup.def.  Since
 *          2026-09 select_deepseek_v4 rounds by the activation too.
 * Units    elements; sizes at most MXO_SEL_SIZE_MAX.
 */
MXO_EXPORT void mxo_select_round_up(const mxo_select_config *c,
                                    mxo_sel_backend backend, int64_t *hidden,
                                    int64_t *intermediate);

/** @brief The alignment mxo_select_round_up rounds to; 1: not rounded. */
MXO_EXPORT void mxo_select_alignment(const mxo_select_config *c,
                                     mxo_sel_backend backend, int64_t *hidden,
                                     int64_t *intermediate);

/**
 * @brief The base class's step before that: hidden as the all-to-all wants it.
 *
 * Map      since 2026-05, all-to-all only; bf16 activations.
 *          deepep_high_throughput, since 2026-07 deepep_v2: up to 256;
 *          deepep_low_latency, nixl_ep:
 *          the next of eight sizes; others: unchanged.
 * Errors   failure beyond 8192; the size is then returned unchanged.
 */
MXO_EXPORT int64_t mxo_select_comm_hidden(const mxo_select_config *c,
                                          mxo_sel_failure *failure);

/** @brief How operands are described; see mxo_sel_quant. */
MXO_EXPORT void mxo_select_quant(const mxo_select_config *c,
                                 mxo_sel_backend backend, mxo_sel_quant *out);

/** @brief How the kernel object of a choice is made. */
MXO_EXPORT void mxo_select_kernel(const mxo_select_config *c,
                                  mxo_sel_backend backend,
                                  mxo_sel_experts experts, mxo_sel_kernel *out);

/**
 * @brief The byte order the backend's kernel wants the weights in.
 *
 * Map      id of emu/select/conversions.def, as "convert/trtllm_gptoss".
 * Errors   NULL and failure if vLLM cannot convert for that backend.
 */
MXO_EXPORT const char *mxo_select_conversion(const mxo_select_config *c,
                                             mxo_sel_backend backend,
                                             mxo_sel_failure *failure);

/**
 * @brief Static activation scales of a layer: may the backend convert it?
 *
 * Map      AITER_MXFP4_FP8 needs both; the others look at neither.
 * Errors   failure if one is missing that is needed.
 * Threads  pure and re-entrant.
 * Source   vLLM oracle/mxfp4.py convert_to_mxfp4_moe_kernel_format
 */
MXO_EXPORT void mxo_select_input_scales(mxo_sel_backend backend, int has_w13,
                                        int has_w2, mxo_sel_failure *failure);

/**
 * @brief Mxfp4MoEMethod.select_gemm_impl: there only to refuse.
 *
 * Errors   failure, always.
 * Source   vLLM mxfp4.py Mxfp4MoEMethod.select_gemm_impl
 */
MXO_EXPORT void mxo_select_gemm_impl(mxo_sel_failure *failure);

/** @brief One line on a conversion, or NULL if there is no such id. */
MXO_EXPORT const char *mxo_select_conversion_text(const char *id);
/** @brief Conversion number i as an id, or NULL after the last. */
MXO_EXPORT const char *mxo_select_conversion_at(int i);

/**
 * @brief routing_method_type: which routing method a model's router is.
 *
 * Units    num_expert_group: none counts as 0; is_scaled: a factor other than
 *          1 multiplies the weights (2026-07 and 2026-09 look at it).
 */
MXO_EXPORT mxo_sel_routing mxo_select_routing(const mxo_select_config *c,
                                              mxo_sel_scoring scoring,
                                              int64_t top_k, int renormalize,
                                              int64_t num_expert_group,
                                              int has_e_score_bias,
                                              int is_scaled);

/** @brief A routing method's number in the version, -1 if it has none. */
MXO_EXPORT int mxo_select_routing_value(const mxo_select_config *c,
                                        mxo_sel_routing routing);

/**
 * @brief env-2025-08: tokens in one tile of the TRTLLM kernel, 8 .. 64.
 *
 * Map      n = trunc(1.3 * floor(tokens * top_k / experts)) in binary64, the
 *          next power of two, held within 8 and 64.
 * Errors   failure if num_experts is 0.
 */
MXO_EXPORT int mxo_select_tile_tokens(int64_t num_tokens, int64_t top_k,
                                      int64_t num_experts,
                                      mxo_sel_failure *failure);

/**
 * @brief Shapes of the six weight tensors, all zeros when allocated.
 *
 * Map      oracle versions: sizes rounded up for the backend; env-2025-08: by
 *          its variables, whatever the backend.
 * Errors   failure if a variable is malformed.
 */
MXO_EXPORT void mxo_select_weights(const mxo_select_config *c,
                                   mxo_sel_backend backend, int64_t num_experts,
                                   mxo_sel_weights *out,
                                   mxo_sel_failure *failure);

/** @brief env-2025-08: warps per CTA that weights are swizzled for. */
MXO_EXPORT int mxo_select_num_warps(const mxo_select_config *c,
                                    mxo_sel_failure *failure);

/** @brief env-2025-08: may a layer with these obstacles (bits) run? */
MXO_EXPORT int mxo_select_can_support(uint32_t obstacles);
/**
 * @brief env-2025-08: class that quantises a layer, NULL for none.
 *
 * Units    is_ignored: its prefix is one of ignored_layers.
 */
MXO_EXPORT const char *mxo_select_quant_method(mxo_sel_layer layer,
                                               int is_ignored,
                                               mxo_sel_failure *failure);

/** What the class Mxfp4Config says of itself. */
typedef struct mxo_sel_method {
    const char *name;
    int min_capability;       /* 10 * major + minor */
    const char *act_dtypes;   /* torch's names, by comma */
    const char *config_files; /* names by comma; "": it reads none */
} mxo_sel_method;

/**
 * @brief env-2025-08: the constants of its quantisation method.
 *
 * Source   docs/sources/selection.md, 11.2.
 */
MXO_EXPORT mxo_sel_method mxo_select_method(void);

/**
 * @brief Texts, as vLLM prints them.
 *
 * Map      writes like snprintf and returns the length of the whole text.
 *          A key is printed as its QuantKey, none as "None".
 * Errors   the empty text for no reason or no failure.
 */
MXO_EXPORT size_t mxo_select_failure_text(const mxo_select_config *c,
                                          const mxo_sel_failure *failure,
                                          mxo_text text);
/** @brief The same for why a candidate was passed over. */
MXO_EXPORT size_t mxo_select_reason_text(const mxo_select_config *c,
                                         const mxo_sel_candidate *candidate,
                                         mxo_text text);
/** @brief The same for a key. */
MXO_EXPORT size_t mxo_select_key_text(const mxo_select_config *c,
                                      mxo_sel_key key, mxo_text text);
/** @brief Python class of an exception, "ValueError". */
MXO_EXPORT const char *mxo_select_error_type(mxo_sel_error error);

/** Words of one kind, for mxo_select_word and mxo_select_find. */
typedef enum mxo_sel_words {
    MXO_SEL_WORDS_VERSION,
    MXO_SEL_WORDS_ENTRY,
    MXO_SEL_WORDS_PLATFORM,
    MXO_SEL_WORDS_LIBRARY,
    MXO_SEL_WORDS_ENV,
    MXO_SEL_WORDS_BACKEND, /* the printed value: "None" for NONE */
    MXO_SEL_WORDS_EXPERTS,
    MXO_SEL_WORDS_KEY,
    MXO_SEL_WORDS_USER_KEY, /* "mxfp8", as users write keys */
    MXO_SEL_WORDS_ACTIVATION,
    MXO_SEL_WORDS_ROUTING,
    MXO_SEL_WORDS_SCORING,
    MXO_SEL_WORDS_LIST,
    MXO_SEL_WORDS_DTYPE,
    MXO_SEL_WORDS_SOURCE /* of a version */
} mxo_sel_words;

/** @brief The word of an enumerator, NULL if there is none. */
MXO_EXPORT const char *mxo_select_word(mxo_sel_words kind, int value);
/** @brief The enumerator of a word, -1 if there is none. */
MXO_EXPORT int mxo_select_find(mxo_sel_words kind, const char *word);

/** @brief moe_backend name number i of the version, NULL after the last. */
MXO_EXPORT const char *mxo_select_name_at(const mxo_select_config *c, int i);

#ifdef __cplusplus
}
#endif
#endif
