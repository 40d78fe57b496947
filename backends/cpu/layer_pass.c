/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two GEMMs.  Rows are cut into slices once; then every tile of an
 * expert's pairs meets every panel of its columns, and what a panel gives is
 * rounded, activated or weighted before anything is written.
 */
#include "layer.h"

#include "gemm_read.h"

#include <stdlib.h>
#include <string.h>

enum { TILE_ROWS = 64, PANEL = 256, ROW_GRAIN = 4 };

typedef struct tile_place {
    size_t expert;
    size_t first; /* in layer.pair */
    size_t m;
} tile_place;

typedef struct pass {
    layer *l;
    const layer_gemm *g;
    layer_rows rows;
    size_t divisor; /* slots per row of the input */
    cpu_mac_fn mac;
    cpu_plane_fn plane_mac; /* NULL: no loop, or no tile is a single row */
    cpu_sliced *row;
    tile_place *tile;
    size_t n_tiles;
    size_t panels;
    void *to;
    int failed;
} pass;

/* Sums of a panel as floats, [m][stride]. */
typedef struct panel {
    const pass *p;
    const tile_place *place;
    size_t first; /* column; of a gated unit: pair of columns */
    size_t n;
    size_t stride;
    float *y;
    cpu_order_tile rows; /* of declared orders; owned */
} panel;

static void slice_rows(void *arg, uint64_t begin, uint64_t end)
{
    pass *p = arg;
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
            bad = cpu_slice_row(&slicer, x, k, log_span, &p->row[r]) != 0 ||
                  (p->plane_mac != NULL &&
                   cpu_planes_cut(x, k, &p->row[r].planes) != 0);
        }
    }
    if (bad) {
        cpu_set_flag(&p->failed);
    }
    cpu_slicer_free(&slicer);
    free(x);
}

static float bias_at(const layer_gemm *g, size_t expert, size_t col)
{
    const float b = (float)cpu_wide_value(g->bias, expert * g->n + col);

    return cpu_layer_round(g->bias_type, b);
}

/* Sums of n columns, rounded, with their bias. */
static void finish(const panel *a, const float *bias, size_t n,
                   float (*sum)[CPU_MAC_COLS], float *y)
{
    const pass *p = a->p;
    const layer_gemm *g = p->g;
    const int early =
        p->l->has_two && g == &p->l->two && p->l->routing_at == LAYER_AT_ACC;
    const layer_type out = early ? LAYER_F32 : g->out;
    const float factor = g->quant.op == LAYER_BY_SCALE ? g->quant.scale : 1;
    const int is_late =
        g->place == LAYER_BIAS_ORDER && p->l->order.kind == CPU_ORDER_AMX;
    const int adds = g->place == LAYER_BIAS_ACC || is_late;

    for (size_t i = 0; i < a->place->m; i++) {
        for (size_t c = 0; c < n; c++) {
            float v = sum[i][c] * factor;

            v = adds ? v + bias[c] : v;
            v = cpu_layer_round(out, v);
            y[i * a->stride + c] = g->place == LAYER_BIAS_ROUNDED
                                       ? cpu_layer_round(out, v + bias[c])
                                       : v;
        }
    }
}

static void exact_columns(const panel *a, cpu_tile *t, const cpu_weights *w,
                          size_t col, size_t n, const float *start,
                          float (*y)[CPU_MAC_COLS])
{
    double sum[TILE_ROWS][CPU_MAC_COLS];

    cpu_tile_columns(t, a->p->mac, w, col, n, start, sum);
    for (size_t i = 0; i < a->place->m; i++) {
        for (size_t c = 0; c < n; c++) {
            y[i][c] = (float)sum[i][c];
        }
    }
}

/* Up to 16 columns by the layer's order. */
static void sum_columns(const panel *a, cpu_tile *t, const cpu_weights *w,
                        size_t col, size_t n, const float *bias,
                        float (*y)[CPU_MAC_COLS])
{
    static const float zeros[CPU_MAC_COLS];
    const float *start = a->p->g->place == LAYER_BIAS_ORDER ? bias : zeros;

    switch (a->p->l->order.kind) {
    case CPU_ORDER_EXACT:
        exact_columns(a, t, w, col, n, start, y);
        break;
    case CPU_ORDER_BLOCK32:
        cpu_tile_blocks(t, a->p->mac, w, col, n, y);
        break;
    default:
        cpu_order_columns(&a->rows, w, col, n, start, y);
        break;
    }
}

/* Columns col .. col + n - 1 into y. */
static void run_columns(const panel *a, cpu_tile *t, size_t col, size_t n,
                        float *y)
{
    const layer_gemm *g = a->p->g;
    const size_t e = a->place->expert;
    const cpu_weights w = {&g->rule, g->codes + e * g->n * (g->k / 2),
                           g->scale + e * g->n * cpu_layer_blocks(g->k), g->n,
                           g->k};
    float sum[TILE_ROWS][CPU_MAC_COLS];

    for (size_t c = 0; c < n; c += CPU_MAC_COLS) {
        const size_t left = n - c;
        const size_t part = left < CPU_MAC_COLS ? left : CPU_MAC_COLS;
        float bias[CPU_MAC_COLS] = {0};

        for (size_t i = 0; i < part && g->place != LAYER_BIAS_NONE; i++) {
            bias[i] = bias_at(g, e, col + c + i);
        }
        sum_columns(a, t, &w, col + c, part, bias, sum);
        finish(a, bias, part, sum, y + c);
    }
}

static size_t slot_of(const panel *a, size_t i)
{
    return a->p->l->pair[a->place->first + i];
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

static void store_gemm1(const panel *a)
{
    const layer_gemm *g = a->p->g;

    for (size_t i = 0; i < a->place->m; i++) {
        cpu_layer_store(g->out, a->p->to, slot_of(a, i) * g->n + a->first,
                        a->y + i * a->stride, a->n);
    }
}

float cpu_layer_weight(const layer *l, size_t slot)
{
    const mxo_tensor *t = cpu_in(l->call, "topk_weights");
    const float w = (float)cpu_wide_value(t, slot);

    return cpu_layer_round(l->weight_type, w);
}

/* A slot's numbers times its routing weight. */
static void weigh(const panel *a, size_t slot, float *y, size_t n)
{
    const float w = cpu_layer_weight(a->p->l, slot);

    for (size_t c = 0; c < n; c++) {
        y[c] = cpu_layer_round(a->p->g->out, y[c] * w);
    }
}

/* Pairs of gate and up to the activation. */
static void store_act(const panel *a)
{
    const layer *l = a->p->l;
    const int joint = cpu_is(l->call, "rows", "interleaved");
    const size_t size = cpu_dtype_bytes(l->unit.base.to);
    float gate[PANEL / 2];
    float up[PANEL / 2];
    cpu_codes out;

    for (size_t i = 0; i < a->place->m; i++) {
        float *y = a->y + i * a->stride;

        if (l->has_two && l->routing_at == LAYER_AT_GEMM1) {
            weigh(a, slot_of(a, i), y, 2 * a->n);
        }
        for (size_t c = 0; c < PANEL / 2; c++) {
            const int has = c < a->n;
            gate[c] = !has ? 1 : y[joint ? 2 * c : c];
            up[c] = !has ? 1 : y[joint ? 2 * c + 1 : a->n + c];
        }
        cpu_glu_run(&l->unit, &l->unit.base, l->ctx->lane, gate, up,
                    (uint32_t)a->n, &out);
        memcpy((uint8_t *)a->p->to +
                   (slot_of(a, i) * l->inter + a->first) * size,
               &out, a->n * size);
    }
}

/* Rows, weighted unless the sum does that; floats if a sum follows. */
static void store_gemm2(const panel *a)
{
    const layer *l = a->p->l;
    const layer_gemm *g = a->p->g;

    for (size_t i = 0; i < a->place->m; i++) {
        const size_t slot = slot_of(a, i);
        float *y = a->y + i * a->stride;

        if (l->routing_at <= LAYER_AT_ROUNDED) {
            weigh(a, slot, y, a->n);
        }
        cpu_layer_store(l->has_sum ? LAYER_F32 : g->out, a->p->to,
                        slot * g->n + a->first, y, a->n);
    }
}

static int is_declared(const layer *l)
{
    return l->order.kind > CPU_ORDER_BLOCK32;
}

static int is_gated(const pass *p)
{
    return p->g == &p->l->one && p->l->has_glu;
}

static void run_panel(panel *a, cpu_tile *t)
{
    const layer *l = a->p->l;

    if (!is_gated(a->p)) {
        run_columns(a, t, a->first, a->n, a->y);
        if (a->p->g == &l->one) {
            store_gemm1(a);
        } else {
            store_gemm2(a);
        }
        return;
    }
    if (cpu_is(l->call, "rows", "interleaved")) {
        run_columns(a, t, 2 * a->first, 2 * a->n, a->y);
    } else {
        run_columns(a, t, a->first, a->n, a->y);
        run_columns(a, t, l->inter + a->first, a->n, a->y + a->n);
    }
    store_act(a);
}

/* A declared order wants all numbers of the tile's rows. */
static int open_rows(panel *a, const uint32_t *index)
{
    const pass *p = a->p;
    const size_t blocks = cpu_layer_blocks(p->g->k);
    double *x;
    double *scale;

    if (!is_declared(p->l)) {
        return 0;
    }
    x = malloc((a->place->m * p->g->k + 1) * sizeof *x);
    scale = malloc((a->place->m * blocks + 1) * sizeof *scale);
    a->rows = (cpu_order_tile){.order = &p->l->order,
                               .x = x,
                               .scale = scale,
                               .m = a->place->m,
                               .k = p->g->k};
    a->rows.w = malloc((p->g->k + 1) * sizeof *a->rows.w);
    if (x == NULL || scale == NULL || a->rows.w == NULL) {
        return -1;
    }
    for (size_t i = 0; i < a->place->m; i++) {
        const int apart = p->l->order.kind == CPU_ORDER_BLOCK;
        const layer_parts to = {x + i * p->g->k,
                                apart ? scale + i * blocks : NULL};
        cpu_layer_rows_parts(&p->rows, index[i], &to);
    }
    return 0;
}

static void close_rows(panel *a)
{
    free((void *)a->rows.x);
    free((void *)a->rows.scale);
    free(a->rows.w);
}

/* One tile against one panel. */
static void run_item(pass *p, size_t item)
{
    const size_t width = is_gated(p) ? PANEL / 2 : PANEL;
    const size_t cols = is_gated(p) ? p->g->n / 2 : p->g->n;
    const tile_place *place = &p->tile[item / p->panels];
    const size_t first = item % p->panels * width;
    const size_t left = cols - first;
    panel a = {.p = p,
               .place = place,
               .first = first,
               .n = left < width ? left : width,
               .stride = PANEL};
    uint32_t index[TILE_ROWS];
    cpu_tile t = {.row = p->row,
                  .index = index,
                  .m = place->m,
                  .k = p->g->k,
                  .reader = {cpu_layer_rows_read, &p->rows},
                  .scales = p->l->ctx->lane->scales,
                  .plane_mac = p->plane_mac};

    for (size_t i = 0; i < place->m; i++) {
        index[i] = (uint32_t)(slot_of(&a, i) / p->divisor);
    }
    a.y = malloc(TILE_ROWS * PANEL * sizeof *a.y);
    if (a.y != NULL && open_rows(&a, index) == 0 && cpu_tile_open(&t) == 0) {
        run_panel(&a, &t);
    } else {
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

static void make_tiles(pass *p)
{
    const layer *l = p->l;

    for (size_t e = 0; e < l->experts; e++) {
        for (size_t at = l->first[e]; at < l->first[e + 1]; at += TILE_ROWS) {
            const size_t left = l->first[e + 1] - at;
            p->tile[p->n_tiles++] =
                (tile_place){e, at, left < TILE_ROWS ? left : TILE_ROWS};
        }
    }
}

/* Rows that are alone in a tile want planes. */
static cpu_plane_fn choose_planes(const pass *p)
{
    int wanted = 0;

    for (size_t i = 0; i < p->n_tiles; i++) {
        wanted |= p->tile[i].m == 1;
    }
    return wanted && p->l->order.kind == CPU_ORDER_EXACT
               ? cpu_plane_of(p->l->ctx->lane)
               : NULL;
}

static mxo_status run_pass(pass *p, mxo_text why)
{
    const layer *l = p->l;
    const size_t width = is_gated(p) ? PANEL / 2 : PANEL;
    const size_t cols = is_gated(p) ? p->g->n / 2 : p->g->n;

    p->mac = cpu_mac_of(l->ctx->lane);
    p->panels = (cols + width - 1) / width;
    p->row = calloc(p->rows.rows + 1, sizeof *p->row);
    p->tile = malloc((l->experts + l->slots / TILE_ROWS + 1) * sizeof *p->tile);
    p->failed = p->row == NULL || p->tile == NULL;
    if (!p->failed) {
        make_tiles(p);
        p->plane_mac = choose_planes(p);
    }
    if (!p->failed && !is_declared(l)) {
        cpu_split(l->ctx, p->rows.rows, ROW_GRAIN, slice_rows, p);
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
    const int is_packed = cpu_is(l->call, "from", "e2m1");
    const mxo_tensor *x = cpu_in(l->call, "x");
    const mxo_tensor *scale = cpu_in(l->call, "x_scale");
    const int weighs = l->has_two && l->routing_at == LAYER_AT_INPUT;
    void *weighed = weighs ? weigh_input(l, x) : NULL;
    pass p = {.l = l, .g = &l->one, .divisor = l->topk, .to = to};

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
    pass p = {.l = l, .g = &l->two, .divisor = 1, .to = to};

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
