/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two GEMMs.  Rows are cut into planes or slices once; then every tile of
 * an expert's pairs meets every panel of its columns, and what a panel gives is
 * rounded, activated or weighted before anything is written.
 */
#include "layer_pass.h"

#include "gemm/gemm_read.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_GRAIN = 4 };

static void cut_rows(void *arg, uint64_t begin, uint64_t end)
{
    layer_pass *p = arg;
    const size_t k = p->g->k;
    const int log_span = cpu_tile_log_span(k);
    double *x = malloc((k + 1) * sizeof *x);
    cpu_slicer slicer = {0};
    int bad = x == NULL;

    for (size_t r = (size_t)begin; !bad && r < end; r++) {
        int used = 0;
        for (size_t i = 0; i < p->divisor; i++) {
            used |= p->l->expert[r * p->divisor + i] >= 0;
        }
        if (used) {
            cpu_layer_rows_read(&p->rows, r, x);
            bad = p->by != NULL
                      ? cpu_planes_cut(x, k, p->by, &p->row[r].planes) != 0
                      : cpu_slice_row(&slicer, x, k, log_span, &p->row[r]) != 0;
        }
    }
    if (bad) {
        cpu_set_flag(&p->failed);
    }
    cpu_slicer_free(&slicer);
    free(x);
}

void cpu_layer_store(layer_type type, void *to, size_t at, const float *x,
                     size_t n)
{
    uint8_t *bytes = to;

    if (type == LAYER_F32) {
        memcpy(bytes + 4 * at, x, n * sizeof *x);
        return;
    }
    for (size_t c = 0; c < n; c++) {
        const uint16_t half = type == LAYER_F16
                                  ? cpu_f16_of(x[c])
                                  : (uint16_t)(cpu_bits32(x[c]) >> 16);
        memcpy(bytes + 2 * (at + c), &half, sizeof half);
    }
}

static void store_gemm1(const layer_panel *a)
{
    const layer_gemm *g = a->p->g;

    for (size_t i = 0; i < a->place->m; i++) {
        cpu_layer_store(cpu_layer_leaves(g), a->p->to,
                        cpu_layer_slot(a, i) * g->n + a->first,
                        a->y + i * a->stride, a->n);
    }
}

float cpu_layer_weight(const layer *l, size_t slot)
{
    const mxo_tensor *t = call_in(l->call, "topk_weights");
    const float w =
        cpu_layer_round(l->weight_type, (float)cpu_wide_value(t, slot));

    return cpu_layer_scales_late(l) ? w * (float)cpu_pow2(l->two.behind) : w;
}

/* A slot's numbers times its routing weight. */
static void weigh(const layer_panel *a, size_t slot, float *y, size_t n)
{
    const float w = cpu_layer_weight(a->p->l, slot);

    for (size_t c = 0; c < n; c++) {
        y[c] = cpu_layer_round(a->p->g->out, y[c] * w);
    }
}

/* The largest number in place of infinity, and the routing weight where this
   is its place. */
static void settle_act(const layer *l, size_t slot, size_t n, cpu_codes *out)
{
    const uint32_t to = l->unit.base.to;

    for (size_t c = 0; c < n && l->glu_saturates; c++) {
        const int is_infinite = (out->u16[c] & 0x7fff) == 0x7f80;
        out->u16[c] = (uint16_t)(out->u16[c] - is_infinite);
    }
    if (!l->has_two || l->routing_at != LAYER_AT_GLU) {
        return;
    }
    for (size_t c = 0; c < n; c++) {
        const float w = cpu_layer_weight(l, slot);
        if (to == MXO_F32) {
            out->f32[c] *= w;
        } else if (to == MXO_F16) {
            out->u16[c] = cpu_f16_of(cpu_from_f16(out->u16[c]) * w);
        } else {
            out->u16[c] = cpu_bf16_of(cpu_from_bf16(out->u16[c]) * w);
        }
    }
}

/* Pairs of gate and up to the activation. */
static void store_act(const layer_panel *a)
{
    const layer *l = a->p->l;
    const int joint = call_is(l->call, "rows", "interleaved");
    const size_t size = cpu_dtype_bytes(l->unit.base.to);
    const cpu_glu unit = cpu_layer_unit(l, a->place->expert);
    float gate[LAYER_PANEL / 2];
    float up[LAYER_PANEL / 2];
    cpu_codes out;

    for (size_t i = 0; i < a->place->m; i++) {
        float *y = a->y + i * a->stride;

        if (l->has_two && l->routing_at == LAYER_AT_GEMM1) {
            weigh(a, cpu_layer_slot(a, i), y, 2 * a->n);
        }
        for (size_t c = 0; c < LAYER_PANEL / 2; c++) {
            const int has = c < a->n;
            gate[c] = !has ? 1 : y[joint ? 2 * c : c];
            up[c] = !has ? 1 : y[joint ? 2 * c + 1 : a->n + c];
        }
        cpu_glu_run(&l->unit, &unit, l->ctx->lane, gate, up, (uint32_t)a->n,
                    &out);
        settle_act(l, cpu_layer_slot(a, i), a->n, &out);
        memcpy((uint8_t *)a->p->to +
                   (cpu_layer_slot(a, i) * l->inter + a->first) * size,
               &out, a->n * size);
    }
}

/* Rows, weighted unless the sum does that; floats if a sum follows. */
static void store_gemm2(const layer_panel *a)
{
    const layer *l = a->p->l;
    const layer_gemm *g = a->p->g;

    for (size_t i = 0; i < a->place->m; i++) {
        const size_t slot = cpu_layer_slot(a, i);
        float *y = a->y + i * a->stride;

        if (l->routing_at <= LAYER_AT_ROUNDED) {
            weigh(a, slot, y, a->n);
        }
        cpu_layer_store(l->has_sum ? LAYER_F32 : cpu_layer_leaves(g), a->p->to,
                        slot * g->n + a->first, y, a->n);
    }
}

/* Sums that are made number by number, not from rows that were cut. */
static int is_declared(const layer_pass *p)
{
    return p->l->order.kind > CPU_ORDER_BLOCK32 || p->g->parts > 1;
}

static int is_gated(const layer_pass *p)
{
    return p->g == &p->l->one && p->l->has_glu;
}

static int run_panel(layer_panel *a, cpu_tile *t)
{
    const layer *l = a->p->l;
    int bad;

    if (!is_gated(a->p)) {
        bad = cpu_layer_columns(a, t, a->first, a->n, a->y);
    } else if (call_is(l->call, "rows", "interleaved")) {
        bad = cpu_layer_columns(a, t, 2 * a->first, 2 * a->n, a->y);
    } else {
        bad = cpu_layer_columns(a, t, a->first, a->n, a->y) != 0 ||
              cpu_layer_columns(a, t, l->inter + a->first, a->n, a->y + a->n) !=
                  0;
    }
    if (bad) {
        return -1;
    }
    if (is_gated(a->p)) {
        store_act(a);
    } else if (a->p->g == &l->one) {
        store_gemm1(a);
    } else {
        store_gemm2(a);
    }
    return 0;
}

/* A declared order wants all numbers of the tile's rows. */
static int open_rows(layer_panel *a, const uint32_t *index)
{
    const layer_pass *p = a->p;
    const size_t blocks = cpu_blocks_of(p->g->k);
    double *x;
    double *scale;

    if (!is_declared(p)) {
        return 0;
    }
    x = malloc((a->place->m * p->g->k + 1) * sizeof *x);
    scale = malloc((a->place->m * blocks + 1) * sizeof *scale);
    a->rows = (cpu_order_tile){.order = &p->l->order,
                               .x = x,
                               .scale = scale,
                               .m = a->place->m,
                               .k = p->g->k};
    a->rows.w = malloc((p->g->k + blocks + 1) * sizeof *a->rows.w);
    if (x == NULL || scale == NULL || a->rows.w == NULL) {
        return -1;
    }
    a->rows.unit = a->rows.w + p->g->k;
    for (size_t i = 0; i < a->place->m; i++) {
        const int apart = p->l->order.kind == CPU_ORDER_BLOCK;
        const layer_parts to = {x + i * p->g->k,
                                apart ? scale + i * blocks : NULL};
        cpu_layer_rows_parts(&p->rows, index[i], &to);
    }
    return 0;
}

static void close_rows(layer_panel *a)
{
    free((void *)a->rows.x);
    free((void *)a->rows.scale);
    free(a->rows.w);
}

/* One tile against one panel. */
static void run_item(layer_pass *p, size_t item)
{
    const size_t width = is_gated(p) ? LAYER_PANEL / 2 : LAYER_PANEL;
    const size_t cols = is_gated(p) ? p->g->n / 2 : p->g->n;
    const layer_tile *place = &p->tile[item / p->panels];
    const size_t first = item % p->panels * width;
    const size_t left = cols - first;
    layer_panel a = {.p = p,
                     .place = place,
                     .first = first,
                     .n = left < width ? left : width,
                     .stride = LAYER_PANEL};
    uint32_t index[LAYER_TILE_ROWS];
    cpu_tile t = {.row = p->row,
                  .index = index,
                  .m = place->m,
                  .k = p->g->k,
                  .reader = {cpu_layer_rows_read, &p->rows},
                  .scales = p->l->ctx->lane->scales,
                  .by = p->by,
                  .bits = cpu_layer_bits(p)};

    for (size_t i = 0; i < place->m; i++) {
        index[i] = (uint32_t)(cpu_layer_slot(&a, i) / p->divisor);
        a.weight[i] =
            p->l->has_two ? cpu_layer_weight(p->l, cpu_layer_slot(&a, i)) : 1;
    }
    a.y = malloc(LAYER_TILE_ROWS * LAYER_PANEL * sizeof *a.y);
    if (a.y == NULL || open_rows(&a, index) != 0 || cpu_tile_open(&t) != 0 ||
        run_panel(&a, &t) != 0) {
        cpu_set_flag(&p->failed);
    }
    cpu_tile_close(&t);
    close_rows(&a);
    free(a.y);
}

static void run_items(void *arg, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++) {
        run_item(arg, (size_t)i);
    }
}

static void make_tiles(layer_pass *p)
{
    const layer *l = p->l;

    for (size_t e = 0; e < l->experts; e++) {
        const size_t end = l->first[e + 1];
        for (size_t at = l->first[e]; at < end; at += LAYER_TILE_ROWS) {
            const size_t m =
                end - at < LAYER_TILE_ROWS ? end - at : LAYER_TILE_ROWS;
            p->tile[p->n_tiles++] = (layer_tile){e, at, m};
        }
    }
}

static mxo_status run_pass(layer_pass *p, mxo_text why)
{
    const layer *l = p->l;
    const size_t width = is_gated(p) ? LAYER_PANEL / 2 : LAYER_PANEL;
    const size_t cols = is_gated(p) ? p->g->n / 2 : p->g->n;

    p->mac = cpu_mac_of(l->ctx->lane);
    p->by = l->order.kind == CPU_ORDER_EXACT && p->g->parts == 1
                ? cpu_plane_of(l->ctx->lane)
                : NULL;
    p->panels = (cols + width - 1) / width;
    p->row = calloc(p->rows.rows + 1, sizeof *p->row);
    p->tile =
        malloc((l->experts + l->slots / LAYER_TILE_ROWS + 1) * sizeof *p->tile);
    p->failed = p->row == NULL || p->tile == NULL;
    if (!p->failed) {
        make_tiles(p);
    }
    if (!p->failed && !is_declared(p)) {
        cpu_split(l->ctx, p->rows.rows, ROW_GRAIN, cut_rows, p);
    }
    if (!p->failed) {
        cpu_each(l->ctx, p->n_tiles * p->panels, run_items, p);
    }
    for (size_t r = 0; p->row != NULL && r < p->rows.rows; r++) {
        cpu_sliced_free(&p->row[r]);
    }
    free(p->row);
    free(p->tile);
    return p->failed ? cpu_fail(MXO_E_NOMEM, why, "no memory for a tile")
                     : MXO_OK;
}

static const layer_quant *quant_of(const layer_gemm *g)
{
    return g->quant.op == LAYER_AS_IS ? NULL : &g->quant;
}

/* Hidden states times their routing weights, in memory of their own. */
static void *weigh_input(const layer *l, const mxo_tensor *x)
{
    const layer_type type = x->dtype == MXO_F32   ? LAYER_F32
                            : x->dtype == MXO_F16 ? LAYER_F16
                                                  : LAYER_BF16;
    void *to = malloc((size_t)x->n_bytes + 1);

    for (size_t i = 0; to != NULL && i < l->tokens * l->hidden; i++) {
        const float v = (float)cpu_wide_value(x, i);
        const float y =
            cpu_layer_round(type, v * cpu_layer_weight(l, i / l->hidden));

        cpu_layer_store(type, to, i, &y, 1);
    }
    return to;
}

mxo_status cpu_layer_run_first(layer *l, void *to, mxo_text why)
{
    const int is_packed = call_is(l->call, "from", "e2m1");
    const mxo_tensor *x = call_in(l->call, "x");
    const mxo_tensor *scale = call_in(l->call, "x_scale");
    const int weighs = l->has_two && l->routing_at == LAYER_AT_INPUT;
    void *weighed = weighs ? weigh_input(l, x) : NULL;
    layer_pass p = {.l = l, .g = &l->one, .divisor = l->topk, .to = to};

    if (weighs && weighed == NULL) {
        return cpu_fail(MXO_E_NOMEM, why, "no memory for the hidden states");
    }
    p.rows = (layer_rows){
        .lane = l->ctx->lane,
        .from = is_packed ? MXO_U8 : x->dtype,
        .data = weighs ? weighed : cpu_data(x),
        .scale = is_packed ? cpu_data(scale) : NULL,
        .quant = quant_of(&l->one),
        .rows = l->tokens,
        .k = l->hidden,
    };
    const mxo_status status = run_pass(&p, why);

    free(weighed);
    return status;
}

mxo_status cpu_layer_run_second(layer *l, uint32_t from, const void *act,
                                void *to, mxo_text why)
{
    layer_pass p = {.l = l, .g = &l->two, .divisor = 1, .to = to};

    p.rows = (layer_rows){
        .lane = l->ctx->lane,
        .from = from,
        .data = act,
        .quant = quant_of(&l->two),
        .rows = l->slots,
        .k = l->inter,
    };
    return run_pass(&p, why);
}
