/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.groups and layout.grouped: rows whose places depend on data.  The
 * list of groups becomes, once, the input row of every row of the buffer;
 * threads then fill the buffer, and the layout engine moves it.
 */
#include "layout_chain.h"

#include <stdlib.h>
#include <string.h>

enum { NO_ROW = -1, ROW_GRAIN = 16 };

static const int64_t most = (int64_t)1 << 31;

typedef struct grouping {
    int64_t align;
    int64_t gran;
    int64_t ends_align; /* 0: the list holds sizes */
    int in_place;
    int64_t rows;    /* of the input */
    int64_t to_rows; /* of the buffer */
    const mxo_tensor *list;
} grouping;

static int64_t up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static int64_t entry(const grouping *g, uint64_t i)
{
    int32_t n;

    memcpy(&n, (const uint8_t *)cpu_data(g->list) + 4 * i, sizeof n);
    return n;
}

typedef struct group {
    int64_t src;
    int64_t dst;
    int64_t rows;
} group;

/* Group i, after the group before it. */
static group next_group(const grouping *g, uint64_t i, group before)
{
    const int64_t start =
        g->ends_align == 0 || i == 0 ? 0 : up(entry(g, i - 1), g->ends_align);
    const int64_t size = entry(g, i) - (g->ends_align == 0 ? 0 : start);
    group at = {before.src + before.rows,
                up(before.dst + before.rows, g->align), size};

    if (size > 0) {
        at.rows = (size + g->gran - 1) / g->gran;
    }
    if (g->in_place) {
        at.src = at.dst = start;
    }
    return at;
}

static mxo_status check_group(const grouping *g, uint64_t i, group at,
                              mxo_text why)
{
    if (at.rows < 0) {
        return cpu_fail(MXO_E_PARAM, why, "group %llu has %lld rows",
                        (unsigned long long)i, (long long)at.rows);
    }
    return at.rows == 0 || (at.src + at.rows <= g->rows &&
                            at.dst + at.rows <= g->to_rows)
               ? MXO_OK
               : cpu_fail(MXO_E_PARAM, why, "group %llu ends beyond its %s",
                          (unsigned long long)i,
                          at.src + at.rows > g->rows ? "input" : "buffer");
}

/* Every group fits, or a sentence. */
static mxo_status check_groups(const grouping *g, mxo_text why)
{
    group at = {0, 0, 0};

    for (uint64_t i = 0; i < g->list->n_bytes / 4; i++) {
        at = next_group(g, i, at);
        MXO_TRY(check_group(g, i, at, why));
    }
    return MXO_OK;
}

/* The input row that each row of the buffer holds. */
static void fill_sources(const grouping *g, int32_t *source)
{
    group at = {0, 0, 0};

    for (int64_t r = 0; r < g->to_rows; r++) {
        source[r] = NO_ROW;
    }
    for (uint64_t i = 0; i < g->list->n_bytes / 4; i++) {
        at = next_group(g, i, at);
        for (int64_t r = 0; r < at.rows; r++) {
            source[at.dst + r] = (int32_t)(at.src + r);
        }
    }
}

mxo_status cpu_layout_groups(cpu_context *ctx, const mxo_call *call,
                             mxo_text why)
{
    const mxo_tensor *sizes = call_in(call, "sizes");
    const mxo_tensor *index = call_out(call, "index");
    const mxo_tensor *ends = call_out(call, "ends");
    const double align = call_number(call, "align");
    const double total = call_number(call, "total");

    MXO_TRY(cpu_known(call, "align total", why));
    if (!(align >= 1 && align < (double)most && total >= 0 &&
          total < (double)most)) {
        return cpu_fail(MXO_E_PARAM, why, "align or total is out of range");
    }
    if (sizes == NULL) {
        return cpu_fail(MXO_E_SHAPE, why, "the tensor sizes is missing");
    }
    MXO_TRY(cpu_want(ends, "ends", MXO_I32, 1, sizes->shape, why));
    const uint64_t rows[1] = {(uint64_t)total};

    MXO_TRY(cpu_want(index, "index", MXO_I32, 1, rows, why));
    const grouping g = {.align = (int64_t)align,
                        .gran = 1,
                        .rows = INT64_MAX,
                        .to_rows = (int64_t)total,
                        .list = sizes};
    group at = {0, 0, 0};

    MXO_TRY(check_groups(&g, why));
    memset(cpu_data(index), 0xff, (size_t)index->n_bytes);
    for (uint64_t i = 0; i < sizes->n_bytes / 4; i++) {
        at = next_group(&g, i, at);
        const int32_t end = (int32_t)(at.dst + at.rows);
        const int32_t owner = (int32_t)i;
        memcpy((uint8_t *)cpu_data(ends) + 4 * i, &end, sizeof end);
        for (int64_t r = at.dst; r < end; r++) {
            memcpy((uint8_t *)cpu_data(index) + 4 * r, &owner, sizeof owner);
        }
    }
    cpu_name_kernel(ctx, "layout_groups", 1);
    return MXO_OK;
}

typedef struct spreading {
    const int32_t *source; /* NULL: row r / gran */
    int64_t gran;
    uint64_t rows;
    uint64_t to_rows;
    uint64_t row_bytes;
    const uint8_t *src;
    uint8_t *dst;
} spreading;

static void spread_rows(void *job, uint64_t begin, uint64_t end)
{
    const spreading *s = job;

    for (uint64_t i = begin; i < end; i++) {
        const uint64_t r = i % s->to_rows;
        const int64_t from =
            s->source != NULL ? s->source[r] : (int64_t)r / s->gran;
        uint8_t *to = s->dst + i * s->row_bytes;

        if (from < 0) {
            memset(to, 0, (size_t)s->row_bytes);
        } else {
            const uint64_t row = i / s->to_rows * s->rows + (uint64_t)from;
            memcpy(to, s->src + row * s->row_bytes, (size_t)s->row_bytes);
        }
    }
}

/* The parameters, and the buffer's rows that they or the rule give. */
static mxo_status read_grouping(const mxo_call *call, const mxo_tensor *x,
                                grouping *g, mxo_text why)
{
    const int repeat = call_is(call, "rule", "repeat");
    const int64_t blocks = (int64_t)call_number(call, "blocks");

    g->list = call_in(call, "groups");
    g->in_place = call_is(call, "rule", "in_place");
    g->ends_align = (int64_t)call_number(call, "ends_align");
    g->gran = (int64_t)call_number(call, "gran");
    g->align = (int64_t)call_number(call, "align");
    g->rows = (int64_t)x->shape[1];
    if (g->gran < 1 || g->align < 1 || g->ends_align < 0 || blocks < 0 ||
        g->gran >= most || g->align >= most || g->ends_align >= most ||
        blocks >= most || g->rows >= most ||
        (g->in_place && (g->ends_align == 0 || g->gran != 1))) {
        return cpu_fail(MXO_E_PARAM, why,
                        "gran, align, ends_align or blocks is out of range");
    }
    if (!repeat && (g->list == NULL || x->shape[0] != 1)) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "groups are a list, and rows of one matrix");
    }
    const int64_t n = repeat ? 0 : (int64_t)(g->list->n_bytes / 4);
    if (blocks > 0) {
        g->to_rows = blocks * g->align;
    } else if (repeat) {
        g->to_rows = g->rows * g->gran;
    } else if (g->in_place) {
        g->to_rows = g->rows;
    } else if (g->rows <= n) {
        g->to_rows = g->align * g->rows;
    } else {
        g->to_rows = up(g->rows - n + 1, g->align) + g->align * (n - 1);
    }
    return repeat && (g->to_rows + g->gran - 1) / g->gran != g->rows
               ? cpu_fail(MXO_E_SHAPE, why,
                          "another number of input rows is wanted")
               : MXO_OK;
}

static mxo_status check_outputs(const cpu_chain *c, const mxo_tensor *y,
                                const mxo_tensor *valid, mxo_text why)
{
    const cpu_stage *last = &c->stage[c->n - 1];
    const uint64_t n = last->map.physical_bits / last->map.elem_bits;

    if (last->map.parts != 1) {
        return cpu_fail(MXO_E_PARAM, why, "the layout splits bytes");
    }
    MXO_TRY(cpu_want_bytes(y, "y", last->physical,
                           n * cpu_dtype_bytes(last->physical), why));
    return cpu_want_bytes(valid, "valid", MXO_U8, n, why);
}

/* The buffer between the steps, then the layout. */
static mxo_status run_grouped(cpu_context *ctx, const grouping *g,
                              const mxo_call *call, const cpu_chain *c,
                              mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    const uint64_t row_bytes = x->shape[2] * cpu_dtype_bytes(x->dtype);
    const uint64_t n = x->shape[0] * (uint64_t)g->to_rows;
    const int repeat = call_is(call, "rule", "repeat");
    uint8_t *buffer = malloc((size_t)(n * row_bytes) + 1);
    int32_t *source =
        repeat ? NULL : malloc(((size_t)g->to_rows + 1) * sizeof *source);
    spreading s = {.source = source,
                   .gran = g->gran,
                   .rows = x->shape[1],
                   .to_rows = (uint64_t)g->to_rows,
                   .row_bytes = row_bytes,
                   .src = cpu_data(x),
                   .dst = buffer};
    mxo_status status = MXO_OK;

    if (buffer == NULL || (source == NULL && !repeat)) {
        status = cpu_fail(MXO_E_NOMEM, why, "no memory for groups");
    } else {
        if (!repeat) {
            fill_sources(g, source);
        }
        cpu_split(ctx, n, ROW_GRAIN, spread_rows, &s);
        status = cpu_chain_run(ctx, c, 1, cpu_data(call_out(call, "y")), buffer,
                               why);
    }
    if (status == MXO_OK) {
        status =
            cpu_chain_valid(ctx, c, cpu_data(call_out(call, "valid")), why);
    }
    free(buffer);
    free(source);
    return status;
}

mxo_status cpu_layout_grouped(cpu_context *ctx, const mxo_call *call,
                              mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    cpu_chain *c = malloc(sizeof *c);
    grouping g = {0};
    mxo_status status =
        cpu_known(call, "layout dtype rule ends_align gran align blocks", why);

    if (status == MXO_OK && (c == NULL || x == NULL || x->rank != 3)) {
        status = cpu_fail(MXO_E_SHAPE, why, "x has three axes");
    }
    status = status == MXO_OK ? read_grouping(call, x, &g, why) : status;
    if (status == MXO_OK) {
        const uint64_t extent[3] = {x->shape[0], (uint64_t)g.to_rows,
                                    x->shape[2]};
        status =
            cpu_chain_of(c, call_text(call, "layout"), x->dtype, extent, why);
    }
    if (status == MXO_OK && c->stage[c->n - 1].map.n_records > 0) {
        status = cpu_fail(MXO_E_UNSUPPORTED, why,
                          "the cpu backend groups no rows into records");
    }
    if (status == MXO_OK) {
        status =
            check_outputs(c, call_out(call, "y"), call_out(call, "valid"), why);
    }
    if (status == MXO_OK && !call_is(call, "rule", "repeat")) {
        status = check_groups(&g, why);
    }
    status = status == MXO_OK ? run_grouped(ctx, &g, call, c, why) : status;
    free(c);
    return status;
}
