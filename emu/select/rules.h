/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of the rows of backend selection.  The interpreter (select.c,
 * support.c, entries.c) reads them through a pointer, so that a test can give
 * it a copy with one row changed.
 */
#ifndef MXO_SELECT_RULES_H
#define MXO_SELECT_RULES_H

#include <mxoracle/select.h>

enum {
    SEL_WINDOWS = 3,
    SEL_WHERES = 3,
    SEL_EXPERTS_MAX = 3,
    SEL_NAMED_MAX = 5
};

/* Rooms of the tables that are lists of rows. */
enum {
    SEL_MAX_STEPS = 96,
    SEL_MAX_LISTS = 32,
    SEL_MAX_NAMES = 88,
    SEL_MAX_ROUND = 64,
    SEL_MAX_ROUTING = 24,
    SEL_MAX_CONVERTS = 256
};

/*
 * A place: one of the platforms (bits of mxo_sel_platform, 0 any), one of the
 * gfx patterns (bits of SEL_GFX_*, 0 any) and none of another set, the
 * capability in one of the windows low <= 10 * major + minor < high (none
 * given: any).
 * An alternative with platforms 0 in a class row is unused.
 */
typedef struct sel_where {
    uint8_t platforms;
    uint8_t gfx;
    uint8_t not_gfx;
    uint16_t keys; /* bits of mxo_sel_key; in rows about schemes */
    struct {
        int16_t low, high;
    } caps[SEL_WINDOWS];
} sel_where;

enum sel_gfx {
#define MXO_SEL_GFX(id, text) SEL_GFX_NUMBER_##id,
#include <mxoracle/select.def>
    SEL_N_GFX
};

/* Flags of a class of experts. */
enum {
    SEL_UNGATED = 1,   /* runs layers that are not gated */
    SEL_LORA = 2,      /* runs with LoRA */
    SEL_INVARIANT = 4, /* runs with VLLM_BATCH_INVARIANT */
    SEL_BATCHED = 8,   /* takes batched activations, else standard ones */
    SEL_MONOLITHIC = 16,
    SEL_HINT = 32,           /* gives AITER's advice when it refuses */
    SEL_ASKS_INVARIANT = 64, /* the check of batch invariance exists */
    SEL_ASKS_LORA = 128,
    SEL_HUMMING = 256,       /* none of the checks: format and kind only */
    SEL_GROUPED = 512,       /* of Humming's kinds, else indexed */
    SEL_HUMMING_KIND = 1024, /* one more check: the preferred kind */
    SEL_HASH_ROUTING = 2048,
    SEL_B12X = 4096,         /* checks of its own before all others */
    SEL_QUARK = 8192,        /* needs amd-quark, before all others */
    SEL_FEW_EXPERTS = 16384, /* fewer than 1024 after rounding up to 32 */
    SEL_MOE_EP = 32768       /* a list of checks after all others */
};

/* Requirements of a class on the parallel configuration; bits. */
enum {
    SEL_NO_TWO_SIDED = 1,
    SEL_NO_A2A = 2,
    SEL_NO_EPLB = 4,
    SEL_NO_DP = 8,
    SEL_NO_ONE_SIDED = 16,
    SEL_NO_FLASHINFER_A2A = SEL_NO_TWO_SIDED | SEL_NO_ONE_SIDED,
    SEL_NO_DEEPEP_HT = 32,
    SEL_NO_EP = 64,      /* neither use_ep nor ep_size */
    SEL_NO_USE_EP = 128, /* use_ep alone */
    SEL_NEEDS_EP = 256,
    SEL_NO_BATCHED = 512
};

typedef struct sel_class {
    sel_where device[SEL_WHERES];
    sel_where scheme[SEL_WHERES];
    uint16_t activations; /* bits of mxo_sel_activation */
    uint16_t routings;    /* bits of mxo_sel_routing, 0: all */
    uint16_t parallel;
    uint16_t library;  /* bits of mxo_sel_library */
    uint16_t optional; /* activations that need one library more: */
    uint16_t optional_library;
    uint32_t flags;
    uint32_t aiter;   /* bits of mxo_sel_env that must be true */
    uint8_t integer;  /* mxo_sel_env parsed first of all, must be true */
    sel_where parsed; /* where it is parsed; platforms 0: everywhere */
} sel_class;

/* Flags of a backend. */
enum {
    SEL_KNOWN = 1, /* a member of this version's enumeration */
    SEL_IN_PLACE = 2,
    SEL_SKIPS_PADDING = 4,
    SEL_NEEDS_LAYER = 8,
    SEL_SHUFFLED = 16,
    SEL_PRECISION = 32,
    SEL_ALWAYS_KEPT = 64,    /* survives every filter by activation */
    SEL_NEEDS_PACKAGE = 128, /* no classes unless humming is installed */
    SEL_UNPADDED = 256,      /* has_unpadded_output */
    SEL_REFUSES_LORA = 512   /* by name, before any class is asked */
};

typedef struct sel_backend {
    uint8_t key;
    uint8_t experts[SEL_EXPERTS_MAX];
    uint8_t batched; /* replaces it for batched activations */
    uint8_t lora;    /* class asked first if it is named and LoRA is on */
    uint16_t flags;
} sel_backend;

typedef struct sel_list {
    uint8_t version;
    uint8_t list;
    uint8_t platforms;
    int16_t low, high;                  /* capability in tenths; high 0: any */
    uint8_t backends[MXO_SEL_LIST_MAX]; /* up to the first NONE */
} sel_list;

/*
 * A name with a variable: if that is true only forced is meant; without a
 * wanted key the filter keeps all (SEL_REQUESTED).
 */
typedef struct sel_name {
    uint8_t version;
    uint8_t backends[SEL_NAMED_MAX]; /* up to the first NONE */
    uint8_t env;
    uint8_t forced;
    char name[34];
} sel_name;

/* Action of a step whose conditions hold. */
typedef enum sel_op {
    SEL_OP_END,
    SEL_OP_RESOLVE,  /* the wanted key from checkpoint and user */
    SEL_OP_PROBE,    /* look for a usable triton_kernels; may raise */
    SEL_OP_PARSE,    /* look at a variable */
    SEL_OP_EXPLICIT, /* moe_backend is not "auto": try what it names */
    SEL_OP_LIST,     /* candidates from here on, unless there are some */
    SEL_OP_DROP,     /* take backends out of the candidates */
    SEL_OP_TRY,      /* this backend or an error */
    SEL_OP_TAKE,     /* this backend, untested */
    SEL_OP_REFUSE,   /* an error */
    SEL_OP_WALK      /* the first candidate that is supported */
} sel_op;

/* Further conditions of a step; bits. */
enum {
    SEL_IF_LORA = 1,
    SEL_IF_TRITON = 2, /* SEL_OP_PROBE found it */
    SEL_IF_EP = 4,
    SEL_IF_EPLB = 8,
    SEL_IF_UNGATED = 16,
    SEL_IF_SHAPE = 32,   /* wanted key, ranks and sizes of switches.shape */
    SEL_FILTER = 64,     /* filter candidates by the wanted key */
    SEL_REQUESTED = 128, /* names may have a variable; see sel_name */
    SEL_OWN_KEYS = 256,  /* the wanted key is for EMULATION only */
    SEL_WITH_WANTED = 512
};

/* Required state of a variable. */
typedef enum sel_is {
    SEL_IS_ANY,
    SEL_IS_TRUE, /* set and true */
    SEL_IS_FALSE /* set and false */
} sel_is;

typedef struct sel_step {
    uint8_t version;
    uint8_t entries; /* bits of mxo_sel_entry */
    uint8_t op;
    uint8_t env;
    uint8_t is;
    uint8_t backend;
    uint8_t key;
    uint8_t error;
    uint8_t list;
    uint16_t flags;
    uint16_t routings; /* bits; 0: any */
    uint32_t dropped;  /* bits of mxo_sel_backend */
    sel_where where;
} sel_step;

typedef struct sel_round {
    uint8_t version;
    uint8_t platforms;
    uint8_t gfx, not_gfx;
    uint16_t activations;          /* bits; 0: any, handed in or not */
    uint16_t hidden, intermediate; /* 1: as it is; 0 ends the table */
    uint32_t backends;             /* bits; 0: any */
} sel_round;

/* Kinds of quantisation of the two inputs. */
typedef enum sel_act_quant {
    SEL_QUANT_BF16,
    SEL_QUANT_MXFP4,
    SEL_QUANT_MXFP8,
    SEL_QUANT_FP8_STATIC,
    SEL_QUANT_FP8_BLOCK,
    SEL_QUANT_NVFP4,
    SEL_QUANT_LAYER,
    SEL_N_QUANTS
} sel_act_quant;

typedef struct sel_quant {
    uint8_t kind; /* sel_act_quant */
    uint8_t linear_scale;
    uint16_t alignment;
} sel_quant;

enum { SEL_ANY = 2 };

/* routing_method_type: the first row that fits. */
typedef struct sel_router {
    uint8_t versions;                         /* bits; 0 ends the table */
    uint8_t scorings;                         /* bits */
    uint8_t bias, group, single, renormalize; /* 0, 1, SEL_ANY */
    uint8_t unscaled; /* routed_scaling_factor is none or 1; the same */
    uint8_t routing;
} sel_router;

enum sel_conversion {
    SEL_CONVERSION_NONE,
#define MXO_CONVERSION(id, text) SEL_CONVERSION_##id,
#include "conversions.def"
    SEL_N_CONVERSIONS
};

/* The byte order that follows a choice: the first row that fits. */
typedef struct sel_convert {
    uint8_t version;
    uint8_t entries;      /* bits of mxo_sel_entry */
    uint8_t id;           /* enum sel_conversion; 0 ends the table */
    uint8_t ranks;        /* most tensor-parallel ranks; 0: any */
    uint8_t env;          /* a variable ... */
    char value[6];        /* ... and what it must be, in lower case */
    uint16_t activations; /* bits; 0: any */
    uint32_t backends;    /* bits */
    sel_where where;
} sel_convert;

/* Bits of all-to-all backends whose name means something. */
enum {
    SEL_A2A_DEEPEP_LL = 1,
    SEL_A2A_NIXL = 2,
    SEL_A2A_TWO_SIDED = 4, /* two of FlashInfer's */
    SEL_A2A_DEEPEP_HT = 8,
    SEL_A2A_ONE_SIDED = 16, /* its third */
    SEL_A2A_DEEPEP_V2 = 32,
    SEL_A2A = 64 /* any at all */
};

/* Rules that are one for all backends of a version. */
typedef struct sel_switches {
    uint8_t batched_a2a[MXO_SEL_N_VERSIONS]; /* SEL_A2A_*: batched format */
    uint8_t comm_a2a[MXO_SEL_N_VERSIONS];    /* SEL_A2A_*: enlarge hidden */
    uint8_t fnuz_gfx;                        /* patterns with e4m3fnuz */
    int16_t triton_low, triton_high;         /* SEL_OP_PROBE */
    /* Bits of versions. */
    uint8_t gates_by_name;    /* *_no_mul is ungated, is_act_and_mul unread */
    uint8_t wide_a2a;         /* ranks of pcp and sp exchange tokens too */
    uint8_t asks_routes;      /* hash routing, routes adjusted afterwards */
    uint8_t keeps_keyless;    /* the filter appends members without a key */
    uint8_t humming_kinds;    /* the variable names a kind, else ep does */
    uint8_t gemm1_fields;     /* of the quant config */
    uint8_t hands_activation; /* to the rounding, other models than gpt-oss */
    struct {
        uint8_t key;
        int64_t ep_size, num_experts, num_local_experts;
        int64_t hidden, intermediate;
    } shape; /* SEL_IF_SHAPE */
} sel_switches;

struct mxo_select_rules {
    sel_switches switches;
    sel_class classes[MXO_SEL_N_VERSIONS][MXO_SEL_N_EXPERTS];
    sel_backend backends[MXO_SEL_N_VERSIONS][MXO_SEL_N_BACKENDS];
    sel_quant quants[MXO_SEL_N_VERSIONS][MXO_SEL_N_BACKENDS];
    sel_list lists[SEL_MAX_LISTS];
    sel_name names[SEL_MAX_NAMES];
    sel_step steps[SEL_MAX_STEPS];
    sel_round rounds[SEL_MAX_ROUND];
    sel_router routers[SEL_MAX_ROUTING];
    sel_convert converts[SEL_MAX_CONVERTS];
};

extern const mxo_select_rules mxo_select_standard;

static inline const mxo_select_rules *sel_rules(const mxo_select_config *c)
{
    return c->rules != NULL ? c->rules : &mxo_select_standard;
}

/* The platform, derived once per question. */
typedef struct sel_device {
    uint8_t platform; /* one bit */
    uint8_t gfx;      /* bits of the patterns in the name */
    int16_t cap;      /* 10 * major + minor, -1 unknown */
} sel_device;

sel_device sel_device_of(const mxo_select_config *c);
int sel_where_holds(const sel_where *w, const sel_device *d);

/*
 * As mxo_select_requested, but moe_backend's list as a whole if filters is 0.
 */
int sel_requested(const mxo_select_config *c, mxo_sel_key key, int filters,
                  uint8_t *out, mxo_sel_failure *failure);

/* bool(int(text)): 0, 1, or -1 where Python raises ValueError. */
int sel_int_bool(const char *text);
/* The lower-cased text is "true" or "1". */
int sel_aiter_bool(const char *text);
/* Whether the lower-cased text equals a word. */
int sel_equals_lower(const char *text, const char *word);

/* SEL_A2A and the bit of the backend if ranks exchange tokens, else 0. */
int sel_all_to_all(const mxo_select_config *c);
int sel_is_batched(const mxo_select_config *c);
/* A bit of switches for the version of a question. */
static inline int sel_has(const mxo_select_config *c, uint8_t versions)
{
    return versions >> c->version & 1;
}

/* Whether the layer is gated, by its activation's name or its own field. */
int sel_is_gated(const mxo_select_config *c);
/* Whether an AITER switch is on; its default counts if it is not set. */
int sel_aiter_on(const mxo_select_config *c, mxo_sel_env env);

/* Does the class take the key here, whatever else it asks? */
int sel_has_scheme(const sel_device *d, const sel_class *k, unsigned key);

/* Checks that one class has for itself; see own.c. */
mxo_sel_reason sel_own_before(const mxo_select_config *c, const sel_class *k,
                              unsigned key);
mxo_sel_reason sel_own_after(const mxo_select_config *c, const sel_class *k);
/* "indexed": the kind of GEMM that Humming is to run, or a user's word. */
const char *sel_humming_kind(const mxo_select_config *c);
const char *sel_humming_own(const sel_class *k);

/*
 * May the class run the configuration with this key? Fills the candidate's
 * reason. 0, or the variable that is malformed.
 */
mxo_sel_env sel_ask(const mxo_select_config *c, const sel_device *d,
                    mxo_sel_candidate *candidate);

#endif
