/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check that a call is legal, before anything else.  Each check is left out by
 * one mutant.
 */
#include "broken.h"
#include "layer/layer.h"
#include "mma/mma.h"

#include "../common/signature.h"

#include <math.h>
#include <string.h>

enum { AXIS_BLOCK = 32, MOST_EXPERTS = 2048 };

#define MXFP4_LAYERS "moe.gemm1 moe.gemm2 moe.layer moe.layer_routed"

static uint64_t last_of(const mxo_tensor *t)
{
    return t->rank == 0 ? 0 : t->shape[t->rank - 1];
}

/* Some dialects never clamp, others by positive numbers alone. */
int broken_takes_any_limit(const mxo_call *call)
{
    static const char *const dialects[] = {
        "vllm_swiglu_limit", "vllm_silu", "cpu_silu",       "aiter_silu",
        "flydsl_silu",       "xpu_clamp", "b12x_silu",      "situ",
        "situ_vllm",         "situ_b12x", "situ_flashinfer"};
    int takes_any = call_is(call, "glu", "profile") &&
                    call_is(call, "activation", "silu") &&
                    !call_is(call, "profile", "exact");

    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
        takes_any |= call_is(call, "dialect", dialects[i]) ||
                     call_is(call, "glu", dialects[i]);
    }
    return takes_any;
}

static int fits_limit(const mxo_call *call)
{
    const double limit = call_number(call, "limit");

    return !broken_reads_constant(call, "limit") || limit >= 0 ||
           (broken_takes_any_limit(call) && !isnan(limit));
}

static int is_bad(const mxo_call *call, const char *key)
{
    return broken_reads_constant(call, key) && isnan(call_number(call, key));
}

static int fits_constants(const mxo_call *call)
{
    const float scale = call_is(call, "dialect", "trtllm_gen")
                            ? (float)call_number(call, "scale_gate")
                            : 1;

    return !is_bad(call, "alpha") && !is_bad(call, "beta") && scale >= 0 &&
           isfinite(scale);
}

int broken_is_two_way(const mxo_call *call)
{
    return call_is(call, "dialect", "aiter") ||
           call_is(call, "dialect", "aiter_triton");
}

static int fits_two_way(const mxo_call *call)
{
    const float beta = (float)call_number(call, "beta");

    return !broken_is_two_way(call) || beta == 0 || beta == 1;
}

/* Rows are 31 bits, of AITER 24 of a token and 7 of a slot. */
static int fits_sorted(const mxo_call *call)
{
    const mxo_tensor *ids = call_in(call, "topk_ids");
    const double blocks = call_number(call, "num_experts");
    const double pads = blocks * (call_number(call, "block_size") - 1);

    return call_is(call, "layout", "triton") ||
           ((!call_is(call, "layout", "aiter") || last_of(ids) < 128) &&
            (double)broken_elems(ids) + pads <= 2147483647.0);
}

static int fits_one_matrix(const mxo_call *call)
{
    const mxo_tensor *x = call_in(call, "x");

    return call_is(call, "rule", "repeat") || x == NULL || x->shape[0] == 1;
}

static int fits_topk(const mxo_call *call)
{
    const uint64_t experts = last_of(call_in(call, "logits"));

    return experts >= 1 && experts <= MOST_EXPERTS &&
           call_number(call, "top_k") <= (double)experts;
}

static int fits_groups(const mxo_call *call)
{
    const uint64_t experts = last_of(call_in(call, "logits"));
    const double n = call_number(call, "n_group");
    const double chosen = call_number(call, "topk_group");

    return n >= 1 && experts % (uint64_t)n == 0 && chosen >= 1 && chosen <= n;
}

static int fits_local(const mxo_call *call)
{
    const double first = call_number(call, "local_expert_offset");
    const double n = call_number(call, "local_num_experts");

    return !call_is(call, "local", "range") ||
           (first >= 0 && n >= 0 &&
            first + n <= call_number(call, "num_experts"));
}

static int fits_map(const mxo_call *call)
{
    const mxo_tensor *map = call_in(call, "expert_map");

    return map == NULL ||
           (double)broken_elems(map) == call_number(call, "num_experts");
}

static int fits_rows(const mxo_call *call)
{
    const double n = call_number(call, "n_rows");
    const uint64_t block = (uint64_t)call_number(call, "block_size");

    return call_is(call, "layout", "triton")
               ? n >= -1 && block >= 16 && (block & (block - 1)) == 0
               : n == -1;
}

static int fits_hidden(const mxo_call *call)
{
    const double n = call_number(call, "hidden_dim");

    return n >= 0 && n <= (double)last_of(call_in(call, "x"));
}

static int fits_slots(const mxo_call *call)
{
    const uint64_t rows = call_in(call, "x")->shape[0];
    const mxo_tensor *weights = call_in(call, "topk_weights");
    const double top_k = call_number(call, "top_k");

    if (!call_is(call, "source", "pairs")) {
        return 1;
    }
    return weights != NULL ? rows >= broken_elems(weights)
                           : top_k >= 1 && rows % (uint64_t)top_k == 0;
}

static int has_own(const mxo_call *call, const char *word)
{
    return call_is(call, "per_expert", "all") ||
           call_is(call, "per_expert", word);
}

/* Idle experts' too. */
static int fits_own_limits(const mxo_call *call)
{
    const mxo_tensor *limit = call_in(call, "gemm1_clamp_limit");
    int fits = 1;

    for (uint64_t e = 0; has_own(call, "limit") && e < broken_elems(limit);
         e++) {
        fits = fits && broken_load(limit, e) >= 0;
    }
    return fits || call_is(call, "stage", "gemm");
}

/* Only a constant that is read can be an expert's own. */
static int fits_own_constants(const mxo_call *call)
{
    static const char *const words[] = {"alpha", "beta", "limit"};
    int fits = 1;

    for (int w = 0; w < 3; w++) {
        fits = fits && (!has_own(call, words[w]) ||
                        broken_reads_constant(call, words[w]));
    }
    return fits || call_is(call, "stage", "gemm") ||
           !broken_knows_profile(call);
}

static int fits_blocks(const mxo_call *call)
{
    return last_of(call_in(call, "x")) % AXIS_BLOCK == 0;
}

/* Whether a loader has converted the layer's tensors; their shapes differ. */
static int is_loaded(const mxo_call *call)
{
    return call_text(call, "conversion")[0] != '\0' &&
           !call_is(call, "conversion", "none");
}

/* Packed codes and their scales, where the call has them. */
static int has_scales(const mxo_call *call, const char *codes,
                      const char *scales)
{
    const mxo_tensor *q = call_in(call, codes);
    const mxo_tensor *s = call_in(call, scales);

    return q == NULL || s == NULL || is_loaded(call) ||
           last_of(s) == (2 * last_of(q) + AXIS_BLOCK - 1) / AXIS_BLOCK;
}

static int fits_first_scale(const mxo_call *call)
{
    return has_scales(call, "w13", "w13_scale");
}

static int fits_second_scale(const mxo_call *call)
{
    return has_scales(call, "w2", "w2_scale");
}

static int fits_experts(const mxo_call *call)
{
    const mxo_tensor *ids = call_in(call, "topk_ids");
    const mxo_tensor *w = call_in(call, "w2");

    w = w == NULL ? call_in(call, "w13") : w;
    return w->shape[0] > 0 && (ids == NULL || last_of(ids) > 0);
}

static int fits_steps(const mxo_call *call)
{
    const broken_mma *u =
        broken_mma_find(call_text(call, "unit"), call_text(call, "type"));
    const uint64_t packed = call_is(call, "type", "e2m1") ? 2 : 1;
    const int promote = (int)call_number(call, "promote");

    return u == NULL ||
           (packed * last_of(call_in(call, "a")) % (uint64_t)u->step == 0 &&
            promote % u->step == 0);
}

/* Who multiplies scales needs them, and nobody else takes any. */
static int fits_scale(const mxo_call *call)
{
    const int is_plain = call_is(call, "scale", "none");

    return call_is(call, "unit", "blackwell_mx")
               ? call_is(call, "scale", "e8m0")
               : is_plain != call_is(call, "unit", "blackwell_fp4");
}

static int fits_factor(const mxo_call *call)
{
    return isfinite(call_number(call, "routed_scaling_factor"));
}

static int fits_kept(const mxo_call *call)
{
    const mxo_tensor *x = call_in(call, "x");
    const double rows = call_number(call, "keep_rows");
    const double cols = call_number(call, "keep_cols");
    const int back = call_is(call, "dir", "inverse");

    return rows >= 0 && cols >= 0 && (back || rows + cols == 0) &&
           rows <= (double)x->shape[1] && cols <= (double)x->shape[2];
}

static int fits_quant_groups(const mxo_call *call)
{
    const mxo_tensor *x = call_in(call, "x");
    const uint64_t group = (uint64_t)call_number(call, "group");

    return x == NULL || last_of(x) / 2 % group == 0;
}

static int fits_pairs(const mxo_call *call)
{
    return !call_is(call, "packed", "1") ||
           last_of(call_in(call, "x")) % 2 == 0;
}

static int fits_packed(const mxo_call *call)
{
    return !call_is(call, "packed", "1") || call_is(call, "format", "e2m1");
}

static int fits_out_type(const mxo_call *call)
{
    static const struct {
        const char *name;
        uint32_t dtype;
    } types[] = {{"f32", MXO_F32}, {"f16", MXO_F16}, {"bf16", MXO_BF16}};
    const mxo_tensor *y = call_out(call, "y");
    int fits = 1;

    for (int i = 0; i < 3 && y != NULL; i++) {
        fits = fits && (!broken_entry_is(call, "out", types[i].name) ||
                        y->dtype == types[i].dtype);
    }
    return fits;
}

/* Two codes a byte: rows as long as those of what they meet. */
static int is_twice(const mxo_call *call, const char *codes, const char *whole)
{
    const mxo_tensor *q = call_in(call, codes);
    const mxo_tensor *x = call_in(call, whole);
    const uint64_t packed = call_is(call, "from", "e2m1") ? 2 : 1;

    return q == NULL || x == NULL || 2 * last_of(q) == packed * last_of(x);
}

static int fits_even(const mxo_call *call)
{
    const mxo_tensor *w13 = call_in(call, "w13");
    const mxo_tensor *w2 = call_in(call, "w2");

    return is_loaded(call) ||
           (is_twice(call, "w13", "x") && is_twice(call, "w2", "act") &&
            (w13 == NULL || w2 == NULL || w13->shape[1] == 4 * last_of(w2)));
}

static uint64_t n_groups(const mxo_call *call, const char *key, uint64_t n)
{
    const uint64_t group = (uint64_t)call_number(call, key);

    return group == 0 ? 1 : (n + group - 1) / group;
}

static int fits_group_scales(const mxo_call *call)
{
    const mxo_tensor *y = call_out(call, "y");
    const mxo_tensor *s = call_in(call, "scale");

    return y == NULL || y->rank != 2 || s->rank != 2 ||
           (s->shape[0] == n_groups(call, "group_rows", y->shape[0]) &&
            s->shape[1] == n_groups(call, "group_cols", y->shape[1]));
}

static int fits_pieces(const mxo_call *call)
{
    static const struct {
        const char *layout;
        int axis;
        uint64_t piece;
    } rows[] = {
#define BROKEN_PIECES(layout, axis, piece) {layout, axis, piece},
#include "checks.def"
#undef BROKEN_PIECES
    };
    int fits = 1;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fits = fits &&
               (!call_is(call, "layout", rows[i].layout) ||
                call_in(call, "x")->shape[rows[i].axis] % rows[i].piece == 0);
    }
    return fits;
}

/* Whether the operation is one of the words. */
static int is_for(const char *ops, const char *op)
{
    const size_t n = strlen(op);
    const char *at = strstr(ops, op);

    while (at != NULL &&
           ((at != ops && at[-1] != ' ') || (at[n] != ' ' && at[n] != '\0'))) {
        at = strstr(at + 1, op);
    }
    return at != NULL;
}

static mxo_status check_ranges(const broken *b, const mxo_call *call,
                               mxo_text why)
{
    static const struct {
        int mutant;
        const char *ops;
        const char *key;
        double least;
        double most;
    } rows[] = {
#define BROKEN_RANGE(id, ops, key, least, most) \
    {BROKEN_##id, ops, key, least, most},
#include "checks.def"
#undef BROKEN_RANGE
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double x = call_number(call, rows[i].key);

        if (is_for(rows[i].ops, call->op) && b->mutant != rows[i].mutant &&
            call_text(call, rows[i].key)[0] != '\0' &&
            !(x >= rows[i].least && x <= rows[i].most)) {
            return signature_fail(MXO_E_PARAM, why, call, "is out of range",
                                  rows[i].key);
        }
    }
    return MXO_OK;
}

static mxo_status check_rules(const broken *b, const mxo_call *call,
                              mxo_text why)
{
    static const struct {
        int mutant;
        const char *ops;
        int (*fits)(const mxo_call *);
        const char *what;
    } rows[] = {
#define BROKEN_RULE(id, ops, rule, what) {BROKEN_##id, ops, fits_##rule, what},
#include "checks.def"
#undef BROKEN_RULE
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_for(rows[i].ops, call->op) && b->mutant != rows[i].mutant &&
            !rows[i].fits(call)) {
            return broken_fail(MXO_E_SHAPE, why, rows[i].what);
        }
    }
    return MXO_OK;
}

static const char *outputs_of(const broken *b, const char *op)
{
    static const struct {
        const char *op;
        const char *text;
    } rows[] = {
#define MXO_OUTPUTS(op, text) {op, text},
#include "../common/outputs.def"
#undef MXO_OUTPUTS
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !IS(RF07); i++) {
        if (strcmp(rows[i].op, op) == 0) {
            return rows[i].text;
        }
    }
    return "";
}

/* The description of shapes is of blocks along the last axis. */
static int is_along_other_axis(const mxo_call *call)
{
    const double axis =
        strcmp(call->op, "dequant.mx") == 0 ? call_number(call, "axis") : -1;

    return axis != -1 && axis != 1;
}

mxo_status broken_legal(const broken *b, const mxo_call *call, mxo_text why)
{
    int left_out = 0;

#define BROKEN_SIGNATURE
#include "values.def"
#undef BROKEN_SIGNATURE
    const int checks = (SIGNATURE_ALL | SIGNATURE_AS_DESCRIBED) & ~left_out;
    mxo_status status =
        signature_check(call, outputs_of(b, call->op), checks, why);

    if (status == MXO_E_SHAPE && is_along_other_axis(call)) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "last axis only");
    }
    status = status == MXO_OK ? check_ranges(b, call, why) : status;
    status = status == MXO_OK ? check_rules(b, call, why) : status;
    if (status == MXO_OK && is_for(MXFP4_LAYERS, call->op)) {
        status = broken_layer_legal(b, call, why);
    }
    if (status != MXO_OK && status != MXO_E_UNSUPPORTED) {
        status = IS(RF08) ? MXO_E_DEVICE : status;
        if (IS(RF09)) {
            why.ptr[0] = '\0';
        }
    }
    return status;
}
