/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu: the gated unit over a tensor.  The work is cut into runs of one
 * row; a run is widened to float, computed by the lane, and what the lane
 * hands back is done again in scalar code.
 */
#include "cpu.h"
#include "glu_unit.h"
#include "number.h"

#include "../../common/glu/glu_wide_call.h"

#include <string.h>

typedef struct glu_job {
    cpu_context *ctx;
    cpu_glu_unit unit;
    glu_wide_unit wide; /* in its place, or beside it, from or to binary64 */
    uint32_t to;        /* type of y */
    cpu_glu_form form;  /* in which the lane takes operands */
    int interleaved;
    int up_first; /* in memory, within x */
    const uint8_t *gate;
    const uint8_t *up; /* interleaved: the same as gate */
    uint8_t *y;
    uint64_t in_rows;
    uint64_t rows;
    uint64_t cols;
    uint64_t pitch; /* bytes from row to row */
    uint64_t runs;  /* per row */
    int streams;    /* y is written around the caches where it can be */
    uint64_t tile;
    uint64_t experts;
    const int32_t *row;
    const int32_t *expert;
    const float *limit;
    const float *alpha;
    const float *beta;
} glu_job;

static uint64_t row_of(const glu_job *job, uint64_t i)
{
    return job->row == NULL ? i : (uint64_t)(uint32_t)job->row[i];
}

static cpu_glu constants(const glu_job *job, uint64_t r)
{
    cpu_glu c = job->unit.base;

    if (job->expert != NULL) {
        const uint32_t e = (uint32_t)job->expert[r / job->tile];

        c.limit = job->limit[e];
        c.has_limit = 1;
        c.alpha = job->alpha == NULL ? c.alpha : job->alpha[e];
        c.beta = job->beta == NULL ? c.beta : job->beta[e];
    }
    return c;
}

static void load(const glu_job *job, uint64_t at, uint32_t n, float *gate,
                 float *up)
{
    const cpu_isa_ops *lane = job->ctx->lane;

    if (!job->interleaved) {
        lane->widen(job->unit.from, job->gate + at, n, gate);
        lane->widen(job->unit.from, job->up + at, n, up);
    } else if (job->up_first) {
        lane->widen2(job->unit.from, job->gate + at, n, up, gate);
    } else {
        lane->widen2(job->unit.from, job->gate + at, n, gate, up);
    }
    for (uint32_t i = n; i % 16 != 0; i++) {
        gate[i] = 1;
        up[i] = 1;
    }
}

/* A run is short, so that the lines fetched at once are no more than can be on
   their way; those of the run that is so many ahead come while one is
   computed: the machine's own fetching stops then. */
enum { RUN = 256, AHEAD = 8 };

/* One run of one row. */
typedef struct run {
    uint64_t i;   /* row of the output */
    uint64_t col; /* of the output */
    uint64_t row; /* of the input */
    uint64_t in;  /* bytes into gate and up */
    uint32_t n;
} run;

static run run_at(const glu_job *job, uint64_t i, uint64_t col)
{
    const uint64_t left = job->cols - col;
    const uint64_t size = cpu_dtype_bytes(job->unit.from);
    const uint64_t row = row_of(job, i);

    return (run){i, col, row,
                 row * job->pitch + col * size * (job->interleaved ? 2 : 1),
                 left < RUN ? (uint32_t)left : RUN};
}

static void advance(const glu_job *job, run *r)
{
    const uint64_t col = r->col + RUN;

    *r = col < job->cols ? run_at(job, r->i, col) : run_at(job, r->i + 1, 0);
}

static void fetch(const glu_job *job, const run *r)
{
    const uint64_t size = cpu_dtype_bytes(job->unit.from);
    const uint64_t bytes = r->n * size * (job->interleaved ? 2 : 1);

    for (uint64_t at = 0; at < bytes; at += 64) {
        CPU_PREFETCH(job->gate + r->in + at);
        if (!job->interleaved) {
            CPU_PREFETCH(job->up + r->in + at);
        }
    }
}

static void put(const glu_job *job, const run *r, const cpu_codes *out)
{
    const cpu_isa_ops *lane = job->ctx->lane;
    const uint64_t size = cpu_dtype_bytes(job->unit.base.to);
    uint8_t *dst = job->y + (r->i * job->cols + r->col) * size;

    if (job->streams && (uintptr_t)dst % 64 == 0 && r->n * size % 64 == 0) {
        lane->stream(dst, out, r->n * size);
    } else {
        memcpy(dst, out, (size_t)(r->n * size));
    }
}

static void compute(const glu_job *job, const run *r, cpu_codes *out)
{
    const cpu_isa_ops *lane = job->ctx->lane;
    const cpu_glu c = constants(job, r->row);

    if (job->form != CPU_GLU_FLOATS && r->n % 16 == 0) {
        const cpu_glu_operands x = {job->form, job->gate + r->in,
                                    job->up + r->in};

        cpu_glu_exact(&c, lane, &x, r->n, out);
    } else {
        _Alignas(64) float gate[RUN];
        _Alignas(64) float up[RUN];

        load(job, r->in, r->n, gate, up);
        cpu_glu_run(&job->unit, &c, lane, gate, up, r->n, out);
    }
}

static void span(void *arg, uint64_t begin, uint64_t end)
{
    const glu_job *job = arg;
    const cpu_isa_ops *lane = job->ctx->lane;
    run r = run_at(job, begin / job->runs, begin % job->runs * RUN);
    run later = r;
    _Alignas(64) cpu_codes out;

    for (uint64_t item = begin; item < end; item++) {
        /* The first time, to get ahead. */
        for (uint64_t n = item == begin ? AHEAD : 1; n > 0; n--) {
            if (item + AHEAD + 1 - n < end) {
                advance(job, &later);
                fetch(job, &later);
            }
        }
        compute(job, &r, &out);
        put(job, &r, &out);
        if (item + 1 < end) {
            advance(job, &r);
        }
    }
    if (job->streams) {
        lane->fence();
    }
}

/* A result of binary32, of what lies so many bytes in, as binary64. */
static uint64_t widened(const glu_job *job, const cpu_glu *c, uint64_t at)
{
    float gate[16];
    float up[16];
    _Alignas(64) cpu_codes out;
    float y;

    load(job, at, 1, gate, up);
    cpu_glu_run(&job->unit, c, job->ctx->lane, gate, up, 1, &out);
    memcpy(&y, &out, sizeof y);
    return glu_wide_bits(&job->wide, (double)y);
}

/* From or to binary64: outputs one by one. */
static void wide_span(void *arg, uint64_t begin, uint64_t end)
{
    const glu_job *job = arg;
    const uint64_t step = job->interleaved ? 2 : 1;
    const uint64_t up_first = (uint64_t)(job->interleaved && job->up_first);

    for (uint64_t item = begin; item < end; item++) {
        const uint64_t row = row_of(job, item / job->cols);
        const uint64_t at = row * job->pitch;
        const uint64_t col = item % job->cols * step;
        const cpu_glu own = constants(job, row);
        glu_wide_unit u = job->wide;

        u.limit = job->expert == NULL ? u.limit : (double)own.limit;
        u.alpha = job->alpha == NULL ? u.alpha : (double)own.alpha;
        u.beta = job->beta == NULL ? u.beta : (double)own.beta;
        codes_store(
            job->y, u.out_bytes, item,
            u.way == GLU_WIDE_WIDENED
                ? widened(job, &own, at + col * u.in_bytes)
                : glu_wide_code(
                      &u,
                      codes_load(job->gate + at, u.in_bytes, col + up_first),
                      codes_load(job->up + at, u.in_bytes,
                                 col + (step - 1 - up_first))));
    }
}

/* The dialect's constants; binary64 is for what stands beside the unit. */
static mxo_status read_rule(glu_job *job, const mxo_call *call, mxo_text why)
{
    job->unit.from = cpu_float_dtype(call_text(call, "from"));
    job->to = cpu_float_dtype(call_text(call, "to"));
    if (call_is(call, "to", "f64")) {
        job->to = MXO_F64;
    }
    job->unit.base.to = job->to == MXO_F64 ? MXO_F32 : job->to;
    if (cpu_glu_dialect(&job->unit, call_text(call, "dialect")) != 0 ||
        job->unit.from == MXO_N_DTYPES || job->to == MXO_N_DTYPES) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no dialect=%s from %s to %s",
                        call_text(call, "dialect"), call_text(call, "from"),
                        call_text(call, "to"));
    }
    if (cpu_glu_nan(&job->unit, call_text(call, "nan")) != 0) {
        return cpu_fail(MXO_E_PARAM, why, "nan is unknown");
    }
    job->unit.base.alpha = (float)call_number(call, "alpha");
    job->unit.base.beta = (float)call_number(call, "beta");
    job->unit.base.limit = call_is(call, "limit", "none")
                               ? cpu_float(0x7f800000u)
                               : (float)call_number(call, "limit");
    job->unit.base.has_limit = !call_is(call, "limit", "none");
    job->unit.base.scale = (float)call_number(call, "scale_gate");
    job->unit.base.linear = call_is(call, "linear_beta", "none")
                                ? 0
                                : (float)call_number(call, "linear_beta");
    return cpu_glu_check(&job->unit, &job->unit.base, why);
}

/* What is rounded once takes no constants of the unit's but experts'. */
static mxo_status read_wide(glu_job *job, const mxo_call *call, mxo_text why)
{
    uint32_t dtype[2];

    MXO_TRY(glu_wide_read(call, &job->wide, dtype, why));
    if (job->wide.way != GLU_WIDE_ONCE) {
        return read_rule(job, call, why);
    }
    job->unit.from = dtype[0];
    job->to = dtype[1];
    job->unit.base.limit = cpu_float(0x7f800000u);
    return MXO_OK;
}

static mxo_status read_operands(glu_job *job, const mxo_call *call,
                                mxo_text why)
{
    const int split = call_is(call, "layout", "split");
    const int joint = call_is(call, "layout", "halves");
    const mxo_tensor *x = call_in(call, split ? "gate" : "x");
    const mxo_tensor *up = call_in(call, split ? "up" : "x");
    const uint64_t size = cpu_dtype_bytes(job->unit.from);

    if (x == NULL || up == NULL || x->rank != 2 ||
        (!split && x->shape[1] % 2 != 0)) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "the operands are missing or no matrices");
    }
    MXO_TRY(cpu_want(x, x->name, job->unit.from, 2, x->shape, why));
    MXO_TRY(cpu_want(up, up->name, job->unit.from, 2, x->shape, why));
    job->in_rows = x->shape[0];
    job->cols = split ? x->shape[1] : x->shape[1] / 2;
    job->pitch = x->shape[1] * size;
    job->interleaved = !split && !joint;
    job->up_first = call_is(call, "order", "up_gate");
    job->gate = cpu_data(x);
    job->up = cpu_data(up);
    if (joint) {
        *(job->up_first ? &job->gate : &job->up) += job->cols * size;
    }
    job->runs = (job->cols + RUN - 1) / RUN;
    return MXO_OK;
}

/* BF16 is taken as it is, but by a dialect's steps and for binary32. */
static cpu_glu_form form_of(const glu_job *job)
{
    if (job->unit.steps != NULL || job->unit.from != MXO_BF16 ||
        job->unit.base.to == MXO_F32) {
        return CPU_GLU_FLOATS;
    }
    return !job->interleaved ? CPU_GLU_APART
           : job->up_first   ? CPU_GLU_PAIRS_UP_FIRST
                             : CPU_GLU_PAIRS;
}

/* A vector input, or NULL with *status set. */
static const void *vector(const mxo_call *call, const char *name,
                          uint32_t dtype, uint64_t *len, mxo_status *status,
                          mxo_text why)
{
    const mxo_tensor *t = call_in(call, name);

    if (*status != MXO_OK) {
        return NULL;
    }
    if (t == NULL || t->rank != 1) {
        *status = cpu_fail(MXO_E_SHAPE, why, "%s is not a vector", name);
        return NULL;
    }
    *status = cpu_want(t, name, dtype, 1, t->shape, why);
    *len = t->shape[0];
    return cpu_data(t);
}

static mxo_status read_choosers(glu_job *job, const mxo_call *call,
                                uint64_t *n_expert, mxo_text why)
{
    const int all = call_is(call, "per_expert", "all");
    const double tile = call_number(call, "tile");
    int gather;
    mxo_status status = cpu_flag(call, "gather", &gather, why);
    uint64_t n_alpha;
    uint64_t n_beta;

    job->rows = job->in_rows;
    if (gather) {
        job->row = vector(call, "row", MXO_I32, &job->rows, &status, why);
    }
    if (status == MXO_OK && !(tile >= 1 && tile <= 1 << 30)) {
        status = cpu_fail(MXO_E_PARAM, why, "tile is at least 1");
    }
    if (call_is(call, "per_expert", "none") || status != MXO_OK) {
        return status;
    }
    job->tile = (uint64_t)tile;
    job->expert = vector(call, "expert", MXO_I32, n_expert, &status, why);
    job->limit = vector(call, "limit", MXO_F32, &job->experts, &status, why);
    n_alpha = n_beta = job->experts;
    if (all) {
        job->alpha = vector(call, "alpha", MXO_F32, &n_alpha, &status, why);
        job->beta = vector(call, "beta", MXO_F32, &n_beta, &status, why);
    }
    if (status == MXO_OK &&
        (n_alpha != job->experts || n_beta != job->experts)) {
        return cpu_fail(MXO_E_SHAPE, why, "alpha, beta and limit differ");
    }
    return status;
}

static mxo_status check_rows(const glu_job *job, uint64_t n_expert,
                             mxo_text why)
{
    for (uint64_t i = 0; i < job->rows; i++) {
        const uint64_t r = row_of(job, i);

        if (r >= job->in_rows) {
            return cpu_fail(MXO_E_PARAM, why, "row %llu is out of range",
                            (unsigned long long)i);
        }
        if (job->expert == NULL) {
            continue;
        }
        if (r / job->tile >= n_expert) {
            return cpu_fail(MXO_E_SHAPE, why, "expert ends before row %llu",
                            (unsigned long long)r);
        }
        if ((uint32_t)job->expert[r / job->tile] >= job->experts) {
            return cpu_fail(MXO_E_PARAM, why,
                            "the expert of row %llu is out of range",
                            (unsigned long long)r);
        }
        const cpu_glu c = constants(job, r);
        MXO_TRY(cpu_glu_check(&job->unit, &c, why));
    }
    return MXO_OK;
}

mxo_status cpu_act_glu(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    glu_job job = {.ctx = ctx, .tile = 1};
    uint64_t n_expert = 0;
    const int wide = glu_wide_takes(call);
    const mxo_tensor *y = call_out(call, "y");

    MXO_TRY(cpu_known(call,
                      "dialect layout order from to alpha beta limit "
                      "linear_beta scale_gate nan "
                      "per_expert tile gather bounds",
                      why));
    MXO_TRY(cpu_no_bounds(call, why));

    MXO_TRY(wide ? read_wide(&job, call, why) : read_rule(&job, call, why));
    MXO_TRY(read_operands(&job, call, why));
    MXO_TRY(read_choosers(&job, call, &n_expert, why));
    MXO_TRY(check_rows(&job, n_expert, why));
    const uint64_t shape[2] = {job.rows, job.cols};
    MXO_TRY(cpu_want(y, "y", job.to, 2, shape, why));
    job.y = cpu_data(y);
    if (wide) {
        cpu_split(ctx, job.rows * job.cols, 16, wide_span, &job);
        cpu_name_kernel(ctx, "act_glu_wide",
                        cpu_threads(ctx, job.rows * job.cols, 16));
        return MXO_OK;
    }
    job.form = form_of(&job);
    job.streams = ctx->lane->stream != NULL && y->n_bytes >= CPU_STREAM_BYTES;
    cpu_split(ctx, job.rows * job.runs, 16, span, &job);
    cpu_name_kernel(ctx, job.unit.steps == NULL ? "act_glu" : "act_glu_steps",
                    cpu_threads(ctx, job.rows * job.runs, 16));
    return MXO_OK;
}
