/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer over intervals, from activations to the combined output: every
 * step behind a sum may only grow with it, or is a gated unit on a box.
 */
#include "bound.h"

#include <string.h>

enum { MOST_ATOMIC = 64 };

static void *at(const layer_plan *p, uint64_t offset)
{
    return layer_scratch_at(p, offset);
}

static bound_gemm gemm_of(const layer_plan *p, const layer_gemm *g)
{
    const mxo_format f = g->a.format;
    const int is_native =
        f == MXO_FMT_E2M1 || f == MXO_FMT_E4M3FN || f == MXO_FMT_E5M2;
    const bound_gemm b = {
        .g = g,
        .is_narrow = f != MXO_FMT_F32,
        .is_native = is_native,
        .least = is_native || f == MXO_FMT_F16 ? 1 - mxo_format_info(f)->bias
                                               : BOUND_LEAST,
        .centre = at(p, p->at.blocks),
        .magnitude = at(p, p->at.magnitude),
        .radius = at(p, p->at.radius),
        .live = at(p, p->at.live),
    };

    return b;
}

/* Where the ends of an intermediate or of the output go. */
typedef struct ends {
    mxo_format format;
    void *lo;
    void *hi;
} ends;

static void put(const ends *to, uint64_t i, mxo_span y)
{
    layer_store(to->format, to->lo, i, y.lo);
    layer_store(to->format, to->hi, i, y.hi);
}

/* State of a GEMM's visit to the tiles of one expert. */
typedef struct half {
    const layer_plan *plan;
    bound_gemm *gemm;
    ends to;
} half;

static void tile_gemm1(void *state, const layer_tile *tile)
{
    const half *h = state;
    const layer_recipe *r = &h->plan->one;
    const uint64_t n = 2 * h->plan->inter;
    mxo_span y[LAYER_TILE];

    bound_gemm_load(h->gemm, tile);
    for (uint64_t c = 0; c < n; c++) {
        bound_gemm_column(h->gemm, tile, c, r->gemm_out, y);
        for (int i = 0; i < tile->rows; i++) {
            put(&h->to, tile->slot[i] * n + c, y[i]);
        }
    }
}

/* A result of the first GEMM as the activation gets it. */
static mxo_span weighed(const layer_plan *p, uint64_t slot, mxo_span y)
{
    return layer_weighs_first(p)
               ? bound_round(p->one.gemm_out,
                             bound_times(y, layer_weight(p, slot)))
               : y;
}

/* An activation as it is stored: saturated, and with its routing weight, if
   that is asked for. */
static mxo_span activated(const layer_plan *p, uint64_t slot, mxo_span y)
{
    const mxo_profile_choice out = p->one.glu_out;
    const int is_number = mxo_span_is_point(y) || mxo_span_is_finite(y);

    if (out == MXO_P_GLU_OUT_BF16SAT && is_number) {
        y = bound_round(MXO_P_ROW_OUT_BF16SAT, y);
    }
    return p->has_two && p->two.routing_at == MXO_P_ROUTING_AT_GLU
               ? bound_round(out, bound_times(y, layer_weight(p, slot)))
               : y;
}

static void tile_act(void *state, const layer_tile *tile)
{
    const half *h = state;
    const layer_recipe *r = &h->plan->one;
    const mxo_glu unit = layer_unit_of(h->plan, tile->expert);
    const uint64_t n = h->plan->inter;
    const int joint = mxo_call_is(h->plan->call, "rows", "interleaved");
    mxo_span gate[LAYER_TILE];
    mxo_span up[LAYER_TILE];

    bound_gemm_load(h->gemm, tile);
    for (uint64_t c = 0; c < n; c++) {
        bound_gemm_column(h->gemm, tile, joint ? 2 * c : c, r->gemm_out, gate);
        bound_gemm_column(h->gemm, tile, joint ? 2 * c + 1 : n + c, r->gemm_out,
                          up);
        for (int i = 0; i < tile->rows; i++) {
            const uint64_t slot = tile->slot[i];
            put(&h->to, slot * n + c,
                activated(h->plan, slot,
                          mxo_glu_span(&unit, weighed(h->plan, slot, gate[i]),
                                       weighed(h->plan, slot, up[i]))));
        }
    }
}

static void tile_gemm2(void *state, const layer_tile *tile)
{
    const half *h = state;
    const layer_plan *p = h->plan;
    const layer_recipe *r = &p->two;
    const int early = r->routing_at == MXO_P_ROUTING_AT_ACC;
    mxo_span y[LAYER_TILE];

    bound_gemm_load(h->gemm, tile);
    for (uint64_t c = 0; c < p->hidden; c++) {
        bound_gemm_column(h->gemm, tile, c,
                          early ? MXO_P_ROW_OUT_F32 : r->row_out, y);
        for (int i = 0; i < tile->rows; i++) {
            if (layer_weighs_rows(r)) {
                y[i] = bound_round(
                    r->row_out,
                    bound_times(y[i], layer_weight(p, tile->slot[i])));
            }
            put(&h->to, tile->slot[i] * p->hidden + c, y[i]);
        }
    }
}

static void clear(const ends *to, uint64_t n)
{
    const uint64_t bytes = to->format == MXO_FMT_F32 ? 4 : 2;

    memset(to->lo, 0, (size_t)(n * bytes));
    memset(to->hi, 0, (size_t)(n * bytes));
}

static void run_first(const layer_plan *p, const ends *to)
{
    const layer_gemm g = layer_first_gemm(p);
    bound_gemm b = gemm_of(p, &g);
    half h = {p, &b, *to};

    clear(to, p->tokens * p->topk * (p->has_glu ? p->inter : 2 * p->inter));
    layer_each_tile(p, 0, p->has_glu ? tile_act : tile_gemm1, &h);
}

/* rows.lo is NULL if the operation was given its activations. */
static void run_second(const layer_plan *p, const layer_gemm *g,
                       bound_rows rows, const ends *to)
{
    bound_gemm b = gemm_of(p, g);
    half h = {p, &b, *to};

    b.rows = rows;
    clear(to, p->tokens * p->topk * p->hidden);
    layer_each_tile(p, 1, tile_gemm2, &h);
}

/* A token's n slots at one column; weights in terms. */
typedef struct token {
    const mxo_span *slot;
    mxo_finalize_term *terms;
    uint32_t n;
} token;

/* All ends on one side; a negative weight turns its row around. */
static uint64_t sum_side(const layer_recipe *r, const token *t, int high)
{
    for (uint32_t j = 0; j < t->n; j++) {
        const int turned = r->routing_at == MXO_P_ROUTING_AT_SUM &&
                           t->terms[j].weight >> 31 != 0;
        t->terms[j].x = high != turned ? t->slot[j].hi : t->slot[j].lo;
    }
    return layer_sum(r, t->terms, t->n);
}

/* A property of a sum that does not depend on the ends' values. */
typedef enum certainty {
    BETWEEN, /* nothing */
    SURELY_NAN,
    UNKNOWN
} certainty;

static certainty certain(const token *t)
{
    certainty known = BETWEEN;

    for (uint32_t j = 0; j < t->n; j++) {
        const mxo_span x = t->slot[j];
        if (mxo_span_is_finite(x)) {
            continue;
        }
        if (mxo_span_is_point(x) && (x.lo & 0x7fffffffu) > 0x7f800000u) {
            return SURELY_NAN;
        }
        known = mxo_span_is_point(x) ? known : UNKNOWN;
    }
    return known;
}

/* Sums of a token's slots: of the ends, and of the farther ones' sizes. */
typedef struct side_sums {
    mxo_dot low;
    mxo_dot high;
    mxo_dot size;
} side_sums;

static void add_sides(side_sums *s, const token *t)
{
    mxo_dot_reset(&s->low);
    mxo_dot_reset(&s->high);
    mxo_dot_reset(&s->size);
    for (uint32_t j = 0; j < t->n; j++) {
        const mxo_span x = t->slot[j];
        const uint32_t a = x.lo & 0x7fffffffu;
        const uint32_t b = x.hi & 0x7fffffffu;
        mxo_dot_add(&s->low, mxo_format_decode(MXO_FMT_F32, x.lo));
        mxo_dot_add(&s->high, mxo_format_decode(MXO_FMT_F32, x.hi));
        mxo_dot_add(&s->size, mxo_format_decode(MXO_FMT_F32, a > b ? a : b));
    }
}

/* Additions in a type of 16 bits in no order: each of n may lose the share u
   of the sizes, 2^-8 in BF16 and 2^-11 in FP16. */
static certainty atomic_ends(const layer_recipe *r, const token *t,
                             uint32_t end[2])
{
    const int is_half = layer_format(r->row_out) == MXO_FMT_F16;
    const mxo_format step = is_half ? MXO_FMT_F16 : MXO_FMT_BF16;
    side_sums s;

    add_sides(&s, t);
    const mxo_real size = mxo_dot_value(&s.size);
    /* n u / (1 - n u) is at most 2 n u for n up to MOST_ATOMIC. */
    mxo_dot_scale(&s.size,
                  (mxo_real){t->n, is_half ? -10 : -7, MXO_CLASS_FINITE, 0, 0});
    mxo_real loss = mxo_dot_value(&s.size);

    if (loss.cls == MXO_CLASS_FINITE) {
        loss.mant = (loss.mant >> 2) + 1; /* a bit for the sign, one spare */
        loss.exp += 2;
        loss.sticky = 0;
    }
    if (size.cls == MXO_CLASS_FINITE && mxo_real_lg(size) < -110) {
        mxo_dot_add_int(&s.low, -(int64_t)t->n, -133); /* subnormal sums */
        mxo_dot_add_int(&s.high, t->n, -133);
    }
    mxo_dot_add(&s.high, loss);
    loss.neg = 1;
    mxo_dot_add(&s.low, loss);
    end[0] = mxo_quant_widen(step, mxo_dot_round(&s.low, step));
    end[1] = mxo_quant_widen(step, mxo_dot_round(&s.high, step));
    /* A partial sum may overflow from half the largest number on. */
    return size.cls == MXO_CLASS_FINITE &&
                   mxo_real_lg(size) >= (is_half ? 14 : 126)
               ? UNKNOWN
               : BETWEEN;
}

static int is_nan_of(mxo_format format, uint64_t code)
{
    return mxo_format_decode(format, code).cls == MXO_CLASS_NAN;
}

static void sum_column(const layer_recipe *r, const token *t, uint64_t *lo,
                       uint64_t *hi)
{
    const mxo_format to = layer_format(r->out);
    certainty known = certain(t);

    if (r->sum == MXO_P_SUM_ATOMIC && t->n > 2) {
        uint32_t end[2] = {0, 0};
        const certainty more =
            t->n > MOST_ATOMIC ? UNKNOWN : atomic_ends(r, t, end);
        known = known == BETWEEN ? more : known;
        *lo = layer_code(to, end[0]);
        *hi = layer_code(to, end[1]);
    } else {
        *lo = sum_side(r, t, 0);
        *hi = sum_side(r, t, 1);
    }
    if (known == UNKNOWN ||
        (known == BETWEEN && is_nan_of(to, *lo) != is_nan_of(to, *hi))) {
        *lo = layer_code(to, mxo_span_anything.lo);
        *hi = layer_code(to, mxo_span_anything.hi);
    }
}

static void run_sum(const layer_plan *p, const ends *rows)
{
    const mxo_tensor *y_lo = mxo_call_out(p->call, "y_lo");
    const mxo_tensor *y_hi = mxo_call_out(p->call, "y_hi");
    const uint32_t *low = rows->lo;
    const uint32_t *high = rows->hi;
    uint64_t *slot = at(p, p->at.slots);
    mxo_span *spans = at(p, p->at.ends);
    token k = {spans, at(p, p->at.terms), 0};

    for (uint64_t t = 0; t < p->tokens; t++) {
        k.n = layer_token_slots(p, t, slot);
        for (uint64_t c = 0; c < p->hidden; c++) {
            uint64_t lo;
            uint64_t hi;
            for (uint32_t j = 0; j < k.n; j++) {
                const uint64_t i = slot[j] * p->hidden + c;
                spans[j] = (mxo_span){low[i], high[i]};
                k.terms[j].weight = layer_weight(p, slot[j]);
            }
            sum_column(&p->two, &k, &lo, &hi);
            mxo_store(y_lo, t * p->hidden + c, lo);
            mxo_store(y_hi, t * p->hidden + c, hi);
        }
    }
}

static ends outputs(const layer_plan *p)
{
    const mxo_tensor *lo = mxo_call_out(p->call, "y_lo");

    return (ends){mxo_dtype_format(lo->dtype), mxo_tensor_data(lo),
                  mxo_tensor_data(mxo_call_out(p->call, "y_hi"))};
}

/* The activation's ends, quantised if the recipe says so. */
static bound_rows middle_rows(const layer_plan *p, const ends *act)
{
    const layer_quant *quant = &p->two.quant;
    const int has_bytes =
        quant->op == MXO_P_QUANT_MX || quant->op == MXO_P_QUANT_GROUP;
    const bound_rows rows = {act->lo, act->hi,
                             has_bytes ? at(p, p->at.least) : NULL, p->inter};

    bound_quantise(quant, p->one.unit.to, &rows, p->tokens * p->topk);
    return rows;
}

/* Format of the numbers that the second GEMM gets. */
static mxo_format middle_format(const layer_plan *p)
{
    switch (p->two.quant.op) {
    case MXO_P_QUANT_NONE:
    case MXO_P_QUANT_QDQ:
        return p->one.unit.to;
    case MXO_P_QUANT_NVFP4:
        return MXO_FMT_BF16;
    default:
        return p->two.quant.element;
    }
}

void bound_run(const layer_plan *p)
{
    const ends out = outputs(p);
    const ends act = {MXO_FMT_F32, at(p, p->at.act), at(p, p->at.act_hi)};
    const ends sums = {MXO_FMT_F32, at(p, p->at.rows), at(p, p->at.rows_hi)};
    const ends *rows = p->has_sum ? &sums : &out;
    bound_rows none = {NULL, NULL, NULL, p->inter};

    if (!p->has_two) {
        run_first(p, &out);
        return;
    }
    if (p->has_one) {
        run_first(p, &act);
        none = middle_rows(p, &act);
    }
    const layer_gemm g =
        p->has_one
            ? layer_open_gemm(p, 1,
                              (mxo_dot_matrix){.format = middle_format(p)})
            : layer_second_gemm(p, mxo_call_format(p->call, "from"),
                                mxo_tensor_data(mxo_call_in(p->call, "act")));

    run_second(p, &g, none, rows);
    if (p->has_sum) {
        run_sum(p, rows);
    }
}

void bound_place(layer_plan *p)
{
    layer_scratch *s = &p->at;
    const uint64_t slots = p->tokens * p->topk;
    const uint64_t blocks1 = p->has_one ? layer_blocks(p->hidden) : 0;
    const uint64_t blocks2 = p->has_two ? layer_blocks(p->inter) : 0;
    const uint64_t tile = LAYER_TILE * (blocks1 > blocks2 ? blocks1 : blocks2);

    s->magnitude = layer_take(p, tile * sizeof(mxo_dot_block));
    s->radius = layer_take(p, tile * sizeof(mxo_dot_block));
    s->live = layer_take(p, tile * sizeof(bound_nonzero));
    s->ends = layer_take(p, p->topk * sizeof(mxo_span));
    if (p->has_one && p->has_two) {
        s->act_hi = layer_take(p, 4 * slots * p->inter);
        s->least = layer_take(p, 4 * slots * blocks2);
    }
    if (p->has_sum) {
        s->rows_hi = layer_take(p, 4 * slots * p->hidden);
    }
}

mxo_status bound_check(const layer_plan *p, mxo_text why)
{
    const layer_recipe *r = p->has_one ? &p->one : &p->two;

    if (r->order != MXO_P_ORDER_ANY && r->order != MXO_P_ORDER_BLOCK32 &&
        r->order != MXO_P_ORDER_STREAMK) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: bounds are for sums without a declared order, "
                        "not for order=%s",
                        p->call->op, layer_word(p->call, MXO_FIELD_ORDER));
    }
    if (mxo_call_is(p->call, "bounds", "open") &&
        !(p->has_glu && mxo_glu_is_open(&p->one.unit))) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: bounds=open is for an activation whose "
                        "exponential is the kernel's own, not for glu=%s",
                        p->call->op,
                        p->has_glu ? mxo_glu_name(p->one.unit.dialect)
                                   : "none");
    }
    return MXO_OK;
}
