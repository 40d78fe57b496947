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
            bad = cpu_slice_row(&slicer, x, k, log_span, &p->row[r]) != 0;
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

    return g->bias_is_bf16 ? cpu_layer_round(LAYER_BF16, b) : b;
}

/* Sums of n columns to floats with their bias. */
static void finish(const panel *a, size_t col, size_t n,
                   double (*sum)[CPU_MAC_COLS], float *y)
{
    const pass *p = a->p;
    const layer_gemm *g = p->g;
    const int early =
        p->l->has_two && g == &p->l->two && p->l->routing_at == LAYER_AT_ACC;
    const layer_type out = early ? LAYER_F32 : g->out;
    float bias[CPU_MAC_COLS] = {0};

    for (size_t c = 0; c < n && g->place != LAYER_BIAS_NONE; c++) {
        bias[c] = bias_at(g, a->place->expert, col + c);
    }
    for (size_t i = 0; i < a->place->m; i++) {
        for (size_t c = 0; c < n; c++) {
            float v = (float)sum[i][c];

            v = g->place == LAYER_BIAS_ACC ? v + bias[c] : v;
            v = cpu_layer_round(out, v);
            y[i * a->stride + c] = g->place == LAYER_BIAS_ROUNDED
                                       ? cpu_layer_round(out, v + bias[c])
                                       : v;
        }
    }
}

/* Columns col .. col + n - 1 into y. */
static void run_columns(const panel *a, cpu_tile *t, size_t col, size_t n,
                        float *y)
{
    const layer_gemm *g = a->p->g;
    const size_t blocks = g->k / CPU_MX + (g->k % CPU_MX != 0);
    const size_t e = a->place->expert;
    const cpu_weights w = {&a->p->l->rule, g->codes + e * g->n * (g->k / 2),
                           g->scale + e * g->n * blocks, g->k};
    double sum[TILE_ROWS][CPU_MAC_COLS];

    for (size_t c = 0; c < n; c += CPU_MAC_COLS) {
        const size_t left = n - c;
        const size_t part = left < CPU_MAC_COLS ? left : CPU_MAC_COLS;
        cpu_tile_columns(t, a->p->mac, &w, col + c, part, sum);
        finish(a, col + c, part, sum, y + c);
    }
}

static size_t slot_of(const panel *a, size_t i)
{
    return a->p->l->pair[a->place->first + i];
}

static void store(layer_type type, void *to, size_t at, const float *x,
                  size_t n)
{
    uint8_t *bytes = to;

    if (type == LAYER_F32) {
        memcpy(bytes + 4 * at, x, n * sizeof *x);
        return;
    }
    for (size_t c = 0; c < n; c++) {
        const uint16_t half = (uint16_t)(cpu_bits32(x[c]) >> 16);
        memcpy(bytes + 2 * (at + c), &half, sizeof half);
    }
}

static void store_gemm1(const panel *a)
{
    const layer_gemm *g = a->p->g;

    for (size_t i = 0; i < a->place->m; i++) {
        store(g->out, a->p->to, slot_of(a, i) * g->n + a->first,
              a->y + i * a->stride, a->n);
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
        const float *y = a->y + i * a->stride;
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

float cpu_layer_weight(const layer *l, size_t slot)
{
    const mxo_tensor *t = cpu_in(l->call, "topk_weights");
    const float w = (float)cpu_wide_value(t, slot);

    return l->weight_is_bf16 ? cpu_layer_round(LAYER_BF16, w) : w;
}

/* Rows, weighted unless the sum does that; floats if a sum follows. */
static void store_gemm2(const panel *a)
{
    const layer *l = a->p->l;
    const layer_gemm *g = a->p->g;

    for (size_t i = 0; i < a->place->m; i++) {
        const size_t slot = slot_of(a, i);
        float *y = a->y + i * a->stride;

        if (l->routing_at != LAYER_AT_SUM) {
            const float w = cpu_layer_weight(l, slot);
            for (size_t c = 0; c < a->n; c++) {
                y[c] = cpu_layer_round(g->out, y[c] * w);
            }
        }
        store(l->has_sum ? LAYER_F32 : g->out, a->p->to, slot * g->n + a->first,
              y, a->n);
    }
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

/* One tile against one panel. */
static void run_item(pass *p, size_t item)
{
    const size_t width = is_gated(p) ? PANEL / 2 : PANEL;
    const size_t cols = is_gated(p) ? p->g->n / 2 : p->g->n;
    const tile_place *place = &p->tile[item / p->panels];
    const size_t first = item % p->panels * width;
    const size_t left = cols - first;
    panel a = {p, place, first, left < width ? left : width, PANEL, NULL};
    uint32_t index[TILE_ROWS];
    cpu_tile t = {.row = p->row,
                  .index = index,
                  .m = place->m,
                  .k = p->g->k,
                  .reader = {cpu_layer_rows_read, &p->rows}};

    for (size_t i = 0; i < place->m; i++) {
        index[i] = (uint32_t)(slot_of(&a, i) / p->divisor);
    }
    a.y = malloc(TILE_ROWS * PANEL * sizeof *a.y);
    if (a.y != NULL && cpu_tile_open(&t) == 0) {
        run_panel(&a, &t);
    } else {
        cpu_set_flag(&p->failed);
    }
    cpu_tile_close(&t);
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

mxo_status cpu_layer_run_first(layer *l, void *to, mxo_text why)
{
    const int is_packed = cpu_is(l->call, "from", "e2m1");
    const mxo_tensor *scale = cpu_in(l->call, "x_scale");
    pass p = {.l = l, .g = &l->one, .divisor = l->topk, .to = to};

    p.rows = (layer_rows){
        .lane = l->ctx->lane,
        .from = is_packed ? MXO_U8 : cpu_in(l->call, "x")->dtype,
        .data = cpu_data(cpu_in(l->call, "x")),
        .scale = is_packed ? cpu_data(scale) : NULL,
        .quant = l->one.has_quant ? &l->one.quant : NULL,
        .rows = l->tokens,
        .k = l->hidden,
    };
    return run_pass(&p, why);
}

mxo_status cpu_layer_run_second(layer *l, uint32_t from, const void *act,
                                void *to, mxo_text why)
{
    pass p = {.l = l, .g = &l->two, .divisor = 1, .to = to};

    p.rows = (layer_rows){
        .lane = l->ctx->lane,
        .from = from,
        .data = act,
        .quant = l->two.has_quant ? &l->two.quant : NULL,
        .rows = l->slots,
        .k = l->inter,
    };
    return run_pass(&p, why);
}
