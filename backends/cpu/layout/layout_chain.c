/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts one after the other: as one map where they compose, else through a
 * tensor in between.
 */
#include "layout_chain.h"

#include <stdlib.h>
#include <string.h>

enum { WIDEN_GRAIN = 1024 };

static const struct {
    const char *name;
    uint32_t dtype;
} dtypes[] = {{"bf16", MXO_BF16},
              {"e8m0", MXO_E8M0},
              {"f32", MXO_F32},
              {"e4m3", MXO_E4M3}};

static int is_dtype(const char *name, uint32_t dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (strcmp(dtypes[i].name, name) == 0 && dtypes[i].dtype == dtype) {
            return 1;
        }
    }
    return strcmp(name, "*") == 0;
}

/* The type on the other side of a change of values. */
static uint32_t beyond_values(const char *here, const char *there,
                              uint32_t dtype)
{
    if (strcmp(here, "*") == 0 || !is_dtype(here, dtype)) {
        return strcmp(here, "*") == 0 ? dtype : MXO_N_DTYPES;
    }
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (strcmp(dtypes[i].name, there) == 0) {
            return dtypes[i].dtype;
        }
    }
    return MXO_N_DTYPES;
}

/* Row, values and types of a stage of which one side has this type. */
static mxo_status begin_stage(cpu_stage *s, const char *text, uint32_t dtype,
                              int forward, mxo_text why)
{
    memset(s, 0, sizeof *s);
    s->row = cpu_row_of(text);
    if (s->row == NULL) {
        return cpu_fail(MXO_E_PARAM, why, "no layout is called %.60s", text);
    }
    const cpu_values *v = cpu_values_of(s->row->values);
    if (v == NULL) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend does not know the values of %s",
                        s->row->id);
    }
    s->values = strcmp(s->row->values, "keep") == 0 ? NULL : v;
    s->logical = forward ? dtype : beyond_values(v->to, v->from, dtype);
    s->physical = forward ? beyond_values(v->from, v->to, dtype) : dtype;
    return s->logical != MXO_N_DTYPES && s->physical != MXO_N_DTYPES
               ? MXO_OK
               : cpu_fail(MXO_E_SHAPE, why, "%s does not take this type",
                          s->row->id);
}

mxo_status cpu_chain_back(cpu_chain *c, const char *text, uint32_t dtype,
                          const uint64_t padded[3], const uint64_t live[3],
                          mxo_text why)
{
    cpu_stage *s = &c->stage[0];

    MXO_TRY(begin_stage(s, text, dtype, 0, why));
    c->n = 1;
    return cpu_map_of(&s->map, s->row, text, padded, live,
                      cpu_dtype_bytes(s->physical), why);
}

static mxo_status add_stage(cpu_chain *c, const char *text, uint32_t *dtype,
                            uint64_t extent[3], mxo_text why)
{
    if (c->n == CPU_STAGES) {
        return cpu_fail(MXO_E_PARAM, why, "a chain has %d layouts at most",
                        CPU_STAGES);
    }
    cpu_stage *s = &c->stage[c->n];

    MXO_TRY(begin_stage(s, text, *dtype, 1, why));
    MXO_TRY(cpu_map_of(&s->map, s->row, text, extent, NULL,
                       cpu_dtype_bytes(s->physical), why));
    const uint64_t *next = s->map.rank == 3 ? s->map.shape : s->map.padded;
    memcpy(extent, next, 3 * sizeof *next);
    *dtype = s->physical;
    c->n++;
    return MXO_OK;
}

mxo_status cpu_chain_of(cpu_chain *c, const char *text, uint32_t dtype,
                        const uint64_t extent[3], mxo_text why)
{
    uint64_t at[3];

    memcpy(at, extent, sizeof at);
    c->n = 0;
    while (text != NULL) {
        char one[CPU_CHAIN_TEXT];
        const char *plus = strstr(text, " + ");
        const size_t n = plus == NULL ? strlen(text) : (size_t)(plus - text);

        if (n >= sizeof one) {
            return cpu_fail(MXO_E_PARAM, why, "the name is too long");
        }
        memcpy(one, text, n);
        one[n] = '\0';
        MXO_TRY(add_stage(c, one, &dtype, at, why));
        text = plus == NULL ? NULL : plus + 3;
    }
    return MXO_OK;
}

void cpu_chain_fuse(cpu_chain *c)
{
    int kept = 0;

    for (int i = 1; i < c->n; i++) {
        cpu_map one;
        if (c->stage[i].values == NULL &&
            cpu_compose(&one, &c->stage[kept].map, &c->stage[i].map) == 0) {
            c->stage[kept].map = one;
            c->stage[kept].physical = c->stage[i].physical;
        } else {
            c->stage[++kept] = c->stage[i];
        }
    }
    c->n = kept + 1;
}

/* Values of a stage into a buffer of their own. */
static mxo_status convert(const cpu_stage *s, const uint8_t *src, int forward,
                          uint8_t **out, mxo_text why)
{
    const uint64_t n = cpu_map_elements(&s->map);
    const uint32_t to = forward ? s->physical : s->logical;

    *out = malloc((size_t)(n * cpu_dtype_bytes(to)) + 1);
    if (*out == NULL) {
        return cpu_fail(MXO_E_NOMEM, why, "no memory for %s", s->row->values);
    }
    return s->values->move(src, n, *out, forward) == 0
               ? MXO_OK
               : cpu_fail(MXO_E_PARAM, why,
                          "layout %s: an element is outside "
                          "%s",
                          s->row->id, s->row->values);
}

static mxo_status move(cpu_context *ctx, const cpu_map *map, int forward,
                       uint8_t *dst, const uint8_t *src, mxo_text why)
{
    cpu_plan *plan = NULL;
    mxo_status status =
        cpu_plan_of(&plan, map, ctx->lane->transpose != NULL, why);

    if (status == MXO_OK) {
        status = cpu_move(ctx, plan, forward, dst, src, why);
    }
    cpu_plan_free(plan);
    return status;
}

typedef struct widening {
    const cpu_isa_ops *lane; /* to write around the caches; NULL: do not */
    const cpu_stage *stage;
    uint8_t *dst;
    const uint8_t *src;
} widening;

static void widen_span(void *job, uint64_t begin, uint64_t end)
{
    const widening *w = job;
    const cpu_stage *s = w->stage;
    const uint64_t narrow = cpu_dtype_bytes(s->logical);
    const uint64_t wide = cpu_dtype_bytes(s->physical);
    _Alignas(64) uint8_t held[WIDEN_GRAIN * 8];

    while (begin < end) {
        const uint64_t n =
            end - begin < WIDEN_GRAIN ? end - begin : WIDEN_GRAIN;
        const int around = w->lane != NULL && n == WIDEN_GRAIN;
        uint8_t *to = w->dst + begin * wide;

        (void)s->values->move(w->src + begin * narrow, n, around ? held : to,
                              1);
        if (around) {
            w->lane->stream(to, held, n * wide);
        }
        begin += n;
    }
    if (w->lane != NULL) {
        w->lane->fence();
    }
}

/* A change of values that cannot fail on elements that stay in place. */
static int only_widens(const cpu_stage *s)
{
    uint64_t distance = 1;

    if (!cpu_values_total(s->values) || s->map.n_walls > 0 ||
        s->map.n_tables > 0) {
        return 0;
    }
    for (int i = s->map.n - 1; i >= 0; i--) {
        if (s->map.digit[i].size != 1 && s->map.digit[i].logical != distance) {
            return 0;
        }
        distance *= s->map.digit[i].size;
    }
    return 1;
}

/* One stage into a buffer of its own, or into dst. */
static mxo_status run_stage(cpu_context *ctx, const cpu_stage *s, int forward,
                            uint8_t *dst, const uint8_t *src, mxo_text why)
{
    uint8_t *wide = NULL;
    uint8_t *narrow = NULL;
    mxo_status status = MXO_OK;

    if (s->values == NULL) {
        return move(ctx, &s->map, forward, dst, src, why);
    }
    if (forward && only_widens(s)) {
        const uint64_t n = cpu_map_elements(&s->map);
        const int stream = ctx->lane->stream != NULL &&
                           (uintptr_t)dst % CPU_VECTOR == 0 &&
                           n * cpu_dtype_bytes(s->physical) >= CPU_STREAM_BYTES;
        widening w = {stream ? ctx->lane : NULL, s, dst, src};
        cpu_split(ctx, n, WIDEN_GRAIN, widen_span, &w);
        cpu_name_kernel(ctx, "layout_values", cpu_threads(ctx, n, WIDEN_GRAIN));
        return MXO_OK;
    }
    if (forward) {
        status = convert(s, src, 1, &wide, why);
        status =
            status == MXO_OK ? move(ctx, &s->map, 1, dst, wide, why) : status;
    } else {
        wide = malloc((size_t)(s->map.logical_bits / 8) + 1);
        status = wide == NULL ? cpu_fail(MXO_E_NOMEM, why, "no memory")
                              : move(ctx, &s->map, 0, wide, src, why);
        status = status == MXO_OK ? convert(s, wide, 0, &narrow, why) : status;
        if (status == MXO_OK) {
            memcpy(dst, narrow,
                   (size_t)(cpu_map_elements(&s->map) *
                            cpu_dtype_bytes(s->logical)));
        }
    }
    free(wide);
    free(narrow);
    return status;
}

mxo_status cpu_chain_run(cpu_context *ctx, const cpu_chain *chain, int forward,
                         uint8_t *dst, const uint8_t *src, mxo_text why)
{
    cpu_chain c = *chain;
    uint8_t *held = NULL;
    mxo_status status = MXO_OK;

    cpu_chain_fuse(&c);
    const int plain = c.n == 1 && (c.stage[0].values == NULL ||
                                   (forward && only_widens(&c.stage[0])));
    if (!plain && cpu_chain_slices(ctx, &c, forward)) {
        return cpu_chain_run_slices(ctx, &c, forward, dst, src, why);
    }
    for (int k = 0; k < c.n && status == MXO_OK; k++) {
        const cpu_stage *s = &c.stage[forward ? k : c.n - 1 - k];
        const uint64_t bytes =
            forward ? s->map.physical_bits / 8
                    : cpu_map_elements(&s->map) * cpu_dtype_bytes(s->logical);
        uint8_t *to = k == c.n - 1 ? dst : malloc((size_t)bytes + 1);

        status = to == NULL ? cpu_fail(MXO_E_NOMEM, why, "no memory")
                            : run_stage(ctx, s, forward, to,
                                        held == NULL ? src : held, why);
        free(held);
        held = to == dst ? NULL : to;
    }
    free(held);
    return status;
}
