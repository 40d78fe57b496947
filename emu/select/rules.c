/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the .def files as tables; see rules.h. */
#include "rules.h"

#define P(id) (1 << MXO_SEL_PLATFORM_##id)
#define EVERYWHERE (P(cuda) | P(rocm) | P(xpu) | P(cpu) | P(tpu))
#define G(id) (1 << SEL_GFX_NUMBER_##id)
#define L(id) (1 << MXO_SEL_LIB_##id)
#define E(id) MXO_SEL_ENV_##id
#define E_BIT(id) (1 << MXO_SEL_ENV_##id)
#define K(id) (1 << MXO_SEL_KEY_##id)
#define EVERY_KEY ((1 << MXO_SEL_N_KEYS) - 1)
#define A(id) (1 << MXO_SEL_ACT_##id)
#define R(id) (1 << MXO_SEL_ROUTING_##id)
#define B(id) MXO_SEL_BACKEND_##id
#define B_BIT(id) (1 << MXO_SEL_BACKEND_##id)
#define X(id) MXO_SEL_EXPERTS_##id
#define V(id) (1 << MXO_SEL_##id)
#define BOTH (V(2026_05) | V(2026_03))
#define SINCE_2026_09 (V(2026_09) | V(2026_11))
#define SINCE_2026_07 (V(2026_07) | SINCE_2026_09)
#define SINCE_2026_05 (V(2026_05) | SINCE_2026_07)
#define S(id) (1 << MXO_SEL_SCORING_##id)
#define EVERY_SCORING ((1 << MXO_SEL_N_SCORINGS) - 1)
#define N(id) (1 << MXO_SEL_ENTRY_##id)
#define NO 0
#define YES 1
#define EITHER SEL_ANY

#define MXO_SEL_CLASS(version_, class_, ...) \
    [MXO_SEL_##version_][X(class_)] = {__VA_ARGS__},
#define MXO_SEL_ROW(version_, backend_, key_, flags_, batched_, ...)    \
    [MXO_SEL_##version_][B(backend_)] = {.key = MXO_SEL_KEY_##key_,     \
                                         .flags = SEL_KNOWN | (flags_), \
                                         .batched = B(batched_),        \
                                         .experts = {__VA_ARGS__}},
#define MXO_SEL_LORA_ROW(version_, backend_, key_, flags_, lora_, ...)  \
    [MXO_SEL_##version_][B(backend_)] = {.key = MXO_SEL_KEY_##key_,     \
                                         .flags = SEL_KNOWN | (flags_), \
                                         .lora = (lora_),               \
                                         .experts = {__VA_ARGS__}},
#define MXO_SEL_QUANT(version_, backend_, kind_, linear_, alignment_) \
    [MXO_SEL_##version_][B(backend_)] = {.kind = SEL_QUANT_##kind_,   \
                                         .linear_scale = (linear_),   \
                                         .alignment = (alignment_)},
#define MXO_SEL_PRIORITY(version_, list_, platforms_, ...) \
    {.version = MXO_SEL_##version_,                        \
     .list = MXO_SEL_LIST_##list_,                         \
     .platforms = (platforms_),                            \
     .backends = {__VA_ARGS__}},
#define MXO_SEL_PRIORITY_AT(version_, list_, platforms_, low_, high_, ...) \
    {.version = MXO_SEL_##version_,                                        \
     .list = MXO_SEL_LIST_##list_,                                         \
     .platforms = (platforms_),                                            \
     .low = (low_),                                                        \
     .high = (high_),                                                      \
     .backends = {__VA_ARGS__}},
#define MXO_SEL_NAME(version_, name_, ...) \
    {.version = MXO_SEL_##version_, .name = name_, .backends = {__VA_ARGS__}},
#define MXO_SEL_NAME_BY(version_, name_, env_, forced_, ...) \
    {.version = MXO_SEL_##version_,                          \
     .name = name_,                                          \
     .env = (env_),                                          \
     .forced = (forced_),                                    \
     .backends = {__VA_ARGS__}},
#define MXO_SEL_STEP(version_, entry_, op_, ...) \
    {.version = MXO_SEL_##version_,              \
     .entries = N(entry_),                       \
     .op = SEL_OP_##op_,                         \
     __VA_ARGS__},
#define MXO_SEL_ROUND(version_, backends_, platforms_, gfx_, h_, i_) \
    {.version = MXO_SEL_##version_,                                  \
     .backends = (backends_),                                        \
     .platforms = (platforms_),                                      \
     .gfx = (gfx_),                                                  \
     .hidden = (h_),                                                 \
     .intermediate = (i_)},
#define MXO_SEL_ROUND_FOR(version_, backends_, platforms_, acts_, not_gfx_, \
                          h_, i_)                                           \
    {.version = MXO_SEL_##version_,                                         \
     .backends = (backends_),                                               \
     .platforms = (platforms_),                                             \
     .activations = (acts_),                                                \
     .not_gfx = (not_gfx_),                                                 \
     .hidden = (h_),                                                        \
     .intermediate = (i_)},
#define MXO_SEL_ROUTER(...) MXO_SEL_ROUTER_ROW(SEL_ANY, __VA_ARGS__)
#define MXO_SEL_ROUTER_UNSCALED(...) MXO_SEL_ROUTER_ROW(YES, __VA_ARGS__)
#define MXO_SEL_ROUTER_ROW(unscaled_, versions_, scorings_, bias_, group_, \
                           single_, norm_, routing_)                       \
    {.versions = (versions_),                                              \
     .unscaled = (unscaled_),                                              \
     .scorings = (scorings_),                                              \
     .bias = (bias_),                                                      \
     .group = (group_),                                                    \
     .single = (single_),                                                  \
     .renormalize = (norm_),                                               \
     .routing = MXO_SEL_ROUTING_##routing_},
#define MXO_SEL_CONVERT(version_, entries_, backends_, id_, ...) \
    {.version = MXO_SEL_##version_,                              \
     .entries = (entries_),                                      \
     .id = SEL_CONVERSION_##id_,                                 \
     .backends = (backends_),                                    \
     .where = {__VA_ARGS__}},
#define MXO_SEL_CONVERT_RANKS(version_, entries_, backends_, id_, ranks_, ...) \
    {.version = MXO_SEL_##version_,                                            \
     .entries = (entries_),                                                    \
     .id = SEL_CONVERSION_##id_,                                               \
     .backends = (backends_),                                                  \
     .ranks = (ranks_),                                                        \
     .where = {__VA_ARGS__}},
#define MXO_SEL_CONVERT_BY(version_, entries_, backends_, id_, acts_, env_, \
                           value_)                                          \
    {.version = MXO_SEL_##version_,                                         \
     .entries = (entries_),                                                 \
     .id = SEL_CONVERSION_##id_,                                            \
     .backends = (backends_),                                               \
     .activations = (acts_),                                                \
     .env = (env_),                                                         \
     .value = value_,                                                       \
     .where = {.platforms = EVERYWHERE}},

/* clang-format off */
const mxo_select_rules mxo_select_standard = {
    .switches = {
        .batched_a2a = {[MXO_SEL_2026_11] = SEL_A2A_DEEPEP_LL | SEL_A2A_NIXL,
                        [MXO_SEL_2026_09] = SEL_A2A_DEEPEP_LL | SEL_A2A_NIXL,
                        [MXO_SEL_2026_07] = SEL_A2A_DEEPEP_LL | SEL_A2A_NIXL,
                        [MXO_SEL_2026_05] = SEL_A2A_DEEPEP_LL | SEL_A2A_NIXL,
                        [MXO_SEL_2026_03] = SEL_A2A_DEEPEP_LL},
        .comm_a2a = {[MXO_SEL_2026_11] = SEL_A2A_DEEPEP_LL | SEL_A2A_NIXL |
                                         SEL_A2A_DEEPEP_HT | SEL_A2A_DEEPEP_V2,
                     [MXO_SEL_2026_09] = SEL_A2A_DEEPEP_LL | SEL_A2A_NIXL |
                                         SEL_A2A_DEEPEP_HT | SEL_A2A_DEEPEP_V2,
                     [MXO_SEL_2026_07] = SEL_A2A_DEEPEP_LL | SEL_A2A_NIXL |
                                         SEL_A2A_DEEPEP_HT | SEL_A2A_DEEPEP_V2,
                     [MXO_SEL_2026_05] = SEL_A2A_DEEPEP_LL | SEL_A2A_NIXL |
                                         SEL_A2A_DEEPEP_HT},
        .fnuz_gfx = G(gfx94),
        .triton_low = 90,
        .triton_high = 110,
        .gates_by_name = SINCE_2026_07,
        .wide_a2a = SINCE_2026_07,
        .asks_routes = V(2026_11),
        .keeps_keyless = V(2026_11),
        .humming_kinds = V(2026_11),
        .gemm1_fields = SINCE_2026_05,
        .hands_activation = SINCE_2026_09,
        .shape = {.key = MXO_SEL_KEY_kMxfp4Dynamic,
                  .ep_size = 8,
                  .num_experts = 512,
                  .num_local_experts = 64,
                  .hidden = 2560,
                  .intermediate = 640},
    },
    .classes = {
#include "classes.def"
    },
    .backends = {
#include "backends.def"
    },
    .quants = {
#include "quants.def"
    },
    .lists = {
#include "lists.def"
    },
    .names = {
#include "names.def"
    },
    .steps = {
#include "steps.def"
    },
    .rounds = {
#include "roundup.def"
    },
    .routers = {
#include "routers.def"
    },
    .converts = {
#include "convert.def"
    },
};
/* clang-format on */
