/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.permute: rows of tokens, or of pairs, in the order of a grouped GEMM.
 * Rows are split among threads in groups of 32, which AITER's scale shuffle
 * keeps together.  docs/ops/moe.permute.md
 */
#include "cpu.h"

#include <string.h>

enum { TILE_ROWS = 32, TILE_COLS = 8 };

typedef struct permute_job {
    const uint8_t *x;
    const int32_t *rows;
    uint8_t *y;
    uint64_t sources; /* rows of x */
    uint64_t bytes;   /* of a row of x */
    uint64_t n;       /* rows that are named */
    uint64_t live;    /* of them: the first so many */
    uint64_t pitch;   /* bytes of a row of y */
    uint64_t top_k;
    int is_aiter; /* rows are slot << 24 | token */
    int per_pair;
    int shuffles;
    uint8_t pad;
} permute_job;

/* Row of x for row r of y; sources: a pad. */
static uint64_t source_of(const permute_job *j, uint64_t r)
{
    const uint64_t tokens = j->per_pair ? j->sources / j->top_k : j->sources;

    if (r >= j->live || (!j->is_aiter && j->rows[r] < 0)) {
        return j->sources;
    }
    const uint32_t id = (uint32_t)j->rows[r];
    const uint64_t token = j->is_aiter ? id & 0xffffffu : id / j->top_k;
    const uint64_t slot = !j->is_aiter  ? id % j->top_k
                          : j->per_pair ? id >> 24
                                        : 0;

    if (token >= tokens || slot >= j->top_k) {
        return j->sources;
    }
    return j->per_pair ? token * j->top_k + slot : token;
}

/* Tiles of 32 rows, each a row of tiles of 8 columns; within one of these
   [column mod 4][row mod 16][column / 4][row / 16]. */
static uint64_t shuffled(const permute_job *j, uint64_t r, uint64_t c)
{
    const uint64_t tile =
        r / TILE_ROWS * (j->pitch / TILE_COLS) + c / TILE_COLS;
    const uint64_t in_tile =
        c % 4 * 64 + r % 16 * 4 + c / 4 % 2 * 2 + r / 16 % 2;

    return tile * TILE_ROWS * TILE_COLS + in_tile;
}

static void span(void *arg, uint64_t begin, uint64_t end)
{
    const permute_job *j = arg;

    memset(j->y + begin * j->pitch, j->pad, (size_t)((end - begin) * j->pitch));
    for (uint64_t r = begin; r < end && r < j->n; r++) {
        const uint64_t from = source_of(j, r);
        const uint8_t *x = j->x + from * j->bytes;

        if (from == j->sources) {
            continue;
        }
        if (!j->shuffles && j->bytes > 0) {
            memcpy(j->y + r * j->pitch, x, (size_t)j->bytes);
        }
        for (uint64_t c = 0; j->shuffles && c < j->bytes; c++) {
            j->y[shuffled(j, r, c)] = x[c];
        }
    }
}

static mxo_status read_params(const mxo_call *call, permute_job *j,
                              mxo_text why)
{
    const double top_k = call_number(call, "top_k");
    const double pad = call_number(call, "pad");

    j->is_aiter = call_is(call, "ids", "aiter");
    j->shuffles = call_is(call, "layout", "aiter");
    if (!(top_k >= 1 && top_k <= INT32_MAX) || !(pad >= 0 && pad <= 255)) {
        return cpu_fail(MXO_E_PARAM, why,
                        "moe.permute on cpu: top_k is at least 1, and pad is "
                        "a byte");
    }
    j->top_k = (uint64_t)top_k;
    j->pad = (uint8_t)pad;
    return cpu_flag(call, "per_pair", &j->per_pair, why);
}

/* The rows that count. */
static mxo_status read_valid(const mxo_call *call, permute_job *j, mxo_text why)
{
    const mxo_tensor *t = call_in(call, "num_valid");
    int32_t valid;

    j->live = j->n;
    if (!j->is_aiter) {
        return MXO_OK;
    }
    if (t == NULL || t->rank != 1 || t->shape[0] < 1) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "moe.permute on cpu: num_valid is empty");
    }
    MXO_TRY(cpu_want(t, "num_valid", MXO_I32, 1, t->shape, why));
    memcpy(&valid, cpu_data(t), sizeof valid);
    valid = valid < 0 ? 0 : valid;
    j->live = (uint64_t)valid < j->n ? (uint64_t)valid : j->n;
    return MXO_OK;
}

static mxo_status read_call(const mxo_call *call, permute_job *j, mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    const mxo_tensor *rows = call_in(call, "rows");
    const mxo_tensor *y = call_out(call, "y");

    MXO_TRY(read_params(call, j, why));
    if (x == NULL || x->rank != 2 || rows == NULL || rows->rank != 1) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "moe.permute on cpu: x is a matrix, rows a vector");
    }
    MXO_TRY(cpu_want(x, "x", MXO_U8, 2, x->shape, why));
    MXO_TRY(cpu_want(rows, "rows", MXO_I32, 1, rows->shape, why));
    if (j->per_pair && x->shape[0] % j->top_k != 0) {
        return cpu_fail(MXO_E_PARAM, why,
                        "moe.permute on cpu: top_k does not divide the rows");
    }
    const uint64_t shape[2] = {
        j->shuffles ? cpu_round_up(rows->shape[0], TILE_ROWS) : rows->shape[0],
        j->shuffles ? cpu_round_up(x->shape[1], TILE_COLS) : x->shape[1]};

    j->x = cpu_data(x);
    j->rows = cpu_data(rows);
    j->sources = x->shape[0];
    j->bytes = x->shape[1];
    j->n = rows->shape[0];
    j->pitch = shape[1];
    MXO_TRY(cpu_want(y, "y", MXO_U8, 2, shape, why));
    j->y = cpu_data(y);
    return read_valid(call, j, why);
}

mxo_status cpu_moe_permute(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    permute_job j = {0};

    MXO_TRY(cpu_known(call, "ids top_k per_pair pad layout", why));
    MXO_TRY(read_call(call, &j, why));
    if (j.pitch > 0) {
        const uint64_t rows = call_out(call, "y")->shape[0];
        cpu_split(ctx, rows, TILE_ROWS, span, &j);
        cpu_name_kernel(ctx, "moe_permute", cpu_threads(ctx, rows, TILE_ROWS));
    }
    return MXO_OK;
}
