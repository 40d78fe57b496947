/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records into cases; see draw.h.  A case of the grid is changed slot by slot,
 * brought down to a small call, and mended where the emulator would refuse
 * it: sizes go up to a granule, then what was changed is taken back.
 */
#include "granule.h"
#include "plan.h"
#include "value.h"

#include "base/number.h"
#include "case/case_invalid.h"
#include "case/family.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Bytes beside an axis that is longer than LONG_AXIS, or experts that are more
   than MANY; else MOST_TIMES what a plan allows for the inputs. */
enum {
    LONG_AXIS = 1 << 15,
    MANY = 255,
    LONG_BYTES = 1 << 23,
    MOST_TIMES = 16,
    LARGE_TIMES = 64
};

typedef struct drawing {
    const draw_plan *plan;
    const draw_record *r;
    const draw_group *group;
    const test_case *base;
    test_case *c;
    const granules *axis; /* of the base's experts, rows and columns */
    uint8_t new_dim[OP_MAX_DIMS];
    uint8_t new_param[OP_MAX_PARAMS];
} drawing;

static const granules *granules_at(const drawing *d, int dim)
{
    static const char *const names[] = {"experts", "rows", "cols"};
    static const granules common = {6, {2, 16, 32, 64, 128, 256}};

    for (int a = 0; a < 3; a++) {
        if (strcmp(d->base->schema->dims[dim], names[a]) == 0 &&
            d->axis[1].n + d->axis[2].n > 0) {
            return &d->axis[a];
        }
    }
    return &common;
}

static void change_params(drawing *d)
{
    test_case *c = d->c;

    for (int i = 0; i < c->schema->n_params; i++) {
        const op_param *p = &c->schema->params[i];
        const uint32_t slot = slot16(d->r, DRAW_PARAMS + 2 * i);
        char word[OP_WORD];
        char why[256];
        if (slot == 0 || p->kind == PARAM_SIZE ||
            draw_is_pinned(d->plan, c, p->key)) {
            continue;
        }
        if (value_of_param(c, i, slot - 1, word) &&
            case_vary(c, p->key, word, (mxo_text){why, sizeof why}) == 0) {
            d->new_param[i] = strcmp(c->value[i], d->base->value[i]) != 0;
        }
    }
    /* Dimensions that other parameters brought in have no size yet. */
    for (int k = 0; k < c->schema->n_dims; k++) {
        if (case_uses_dim(c, k) && c->dim[k] == 0 &&
            !(case_uses_dim(d->base, k))) {
            case_vary_dim(c, k, 32);
        }
    }
}

static int is_large(const drawing *d)
{
    return d->r->byte[DRAW_LARGE] == 0xff;
}

static int is_experts(const drawing *d, int dim)
{
    return strcmp(d->base->schema->dims[dim], "experts") == 0;
}

/* Experts are mostly alike, and few of them show what many would: up to five,
   now and then up to 64, and in a large call as many as there are. */
static uint64_t experts_of(const drawing *d, uint64_t n, uint32_t slot)
{
    const uint32_t kind = slot >> 28;

    if (slot < 64 || n > LONG_AXIS || (is_large(d) && kind < 8)) {
        return n;
    }
    return 1 + n % (kind == 0 ? 64 : 5);
}

static void change_dims(drawing *d)
{
    test_case *c = d->c;

    for (int k = 0; k < c->schema->n_dims; k++) {
        const uint32_t slot = slot32(d->r, DRAW_DIMS + 4 * k);
        if (slot == 0 || !case_uses_dim(c, k) ||
            draw_is_pinned(d->plan, c, c->schema->dims[k])) {
            continue;
        }
        const uint64_t n = value_of_dim(granules_at(d, k), slot - 1);
        const uint64_t more = is_large(d) ? (slot >> 28 & 3) * 256 : 0;
        case_vary_dim(c, k,
                      is_experts(d, k) ? experts_of(d, n, slot - 1) : n + more);
        d->new_dim[k] = c->dim[k] != d->base->dim[k];
    }
}

/* The largest dimension that may be made smaller, but for one; -1 if there is
   none. */
static int largest_dim(const drawing *d, int but)
{
    int best = -1;

    for (int k = 0; k < d->c->schema->n_dims; k++) {
        if (k != but && case_uses_dim(d->c, k) && d->c->dim[k] > 1 &&
            !draw_is_pinned(d->plan, d->c, d->c->schema->dims[k]) &&
            (best < 0 || d->c->dim[k] > d->c->dim[best])) {
            best = k;
        }
    }
    return best;
}

/* A very long axis, or many experts; -1 if there is none. */
static int long_dim(const drawing *d)
{
    for (int k = 0; k < d->c->schema->n_dims; k++) {
        if (case_uses_dim(d->c, k) &&
            d->c->dim[k] > (is_experts(d, k) ? MANY : LONG_AXIS)) {
            return k;
        }
    }
    return -1;
}

/* What the plan allows for the inputs of this call. */
static uint64_t allowed_bytes(const drawing *d)
{
    return d->plan->most_bytes * (is_large(d) ? LARGE_TIMES : 1);
}

/* Halve until the call is small: a very long axis stays, once, beside short
   ones. */
static void make_small(drawing *d)
{
    int stays = long_dim(d);
    const uint64_t most =
        stays >= 0 ? LONG_BYTES / 64
                   : allowed_bytes(d) >> (slot16(d->r, DRAW_FLAGS) >> 1 & 3);

    while (draw_bytes(d->c) > most) {
        const int k = largest_dim(d, stays);
        if (k >= 0) {
            case_vary_dim(d->c, k, d->c->dim[k] / 2);
            d->new_dim[k] = 1;
        } else if (stays >= 0 && draw_bytes(d->c) > LONG_BYTES) {
            stays = -1;
        } else {
            return;
        }
    }
}

static void change_data(drawing *d)
{
    const uint32_t slot = slot16(d->r, DRAW_DATA);
    char why[256];
    char word[OP_WORD];

    if (slot > 0 && !draw_is_pinned(d->plan, d->c, "data") &&
        value_of_data(d->group->kinds, slot - 1, word)) {
        (void)case_set(d->c, "data", word, (mxo_text){why, sizeof why});
    }
}

static int is_way_back(const test_case *c)
{
    return strcmp(c->schema->info->name, "layout.apply") == 0 &&
           strcmp(case_value(c, "dir"), "inverse") == 0;
}

static const char *const axes[] = {"experts", "rows", "cols"};

/* Memory of these extents, of which as much is kept as was drawn. */
static void keep_of(drawing *d, const uint64_t memory[3],
                    const uint64_t drawn[3])
{
    static const char *const keeps[] = {NULL, "keep_rows", "keep_cols"};

    for (int a = 0; a < 3; a++) {
        char text[24];
        char why[256];
        if (draw_is_pinned(d->plan, d->c, axes[a]) ||
            (keeps[a] != NULL && draw_is_pinned(d->plan, d->c, keeps[a]))) {
            continue;
        }
        case_vary_dim(d->c, op_dim_index(d->c->schema, axes[a]), memory[a]);
        (void)snprintf(text, sizeof text, "%" PRIu64,
                       memory[a] == drawn[a] ? 0 : drawn[a]);
        if (keeps[a] != NULL) {
            (void)case_set(d->c, keeps[a], text, (mxo_text){why, sizeof why});
        }
    }
}

static void get_extents(const test_case *c, uint64_t extent[3])
{
    for (int a = 0; a < 3; a++) {
        extent[a] = case_dim(c, axes[a]);
    }
}

/* The way back is drawn by what it gives: memory has the padded extents. */
static void turn_round(drawing *d)
{
    uint64_t extent[3];
    uint64_t padded[3];

    if (is_way_back(d->c)) {
        get_extents(d->c, extent);
        if (value_padded(d->c, extent, padded) == 0) {
            keep_of(d, padded, extent);
        }
    }
}

static uint64_t most_bytes(const drawing *d)
{
    return long_dim(d) >= 0 ? LONG_BYTES : MOST_TIMES * allowed_bytes(d);
}

typedef enum fit { FIT, FIT_REFUSED, FIT_LARGE } fit;

static fit fit_of(const drawing *d)
{
    uint64_t most;

    return !draw_is_legal(d->c, &most) ? FIT_REFUSED
           : most <= most_bytes(d)     ? FIT
                                       : FIT_LARGE;
}

/* Taken by the emulator, and small enough. */
static int is_fit(const drawing *d)
{
    return fit_of(d) == FIT;
}

/* Mended sizes on the way back: what was drawn may be what is kept. */
static void keep_drawn(drawing *d, const test_case *drawn)
{
    const test_case whole = *d->c;
    uint64_t memory[3];
    uint64_t extent[3];

    if ((d->r->byte[DRAW_FLAGS] & 8) != 0 && is_way_back(d->c)) {
        get_extents(&whole, memory);
        get_extents(drawn, extent);
        keep_of(d, memory, extent);
        if (!is_fit(d)) {
            *d->c = whole;
        }
    }
}

/* The longest list of granules of a changed dimension. */
static int most_granules(const drawing *d)
{
    int most = 0;

    for (int k = 0; k < d->c->schema->n_dims; k++) {
        const int n = d->new_dim[k] ? granules_at(d, k)->n : 0;
        most = n > most ? n : most;
    }
    return most;
}

/* Every changed dimension up to its granules, the small ones first; one that
   has fewer stays at its last. */
static int mend_sizes(drawing *d)
{
    const test_case drawn = *d->c;
    const int most = most_granules(d);

    for (int g = 0; g < most; g++) {
        int is_other = 0;
        *d->c = drawn;
        for (int k = 0; k < drawn.schema->n_dims; k++) {
            const granules *of = granules_at(d, k);
            if (d->new_dim[k] && of->n > 0) {
                const int at = g < of->n ? g : of->n - 1;
                case_vary_dim(d->c, k, round_up(drawn.dim[k], of->size[at]));
                is_other |= d->c->dim[k] != drawn.dim[k];
            }
        }
        if (is_other && is_fit(d)) {
            keep_drawn(d, &drawn);
            return 1;
        }
    }
    *d->c = drawn;
    return 0;
}

static int take_back_params(drawing *d)
{
    for (int i = d->c->schema->n_params - 1; i >= 0; i--) {
        char why[256];
        if (d->new_param[i]) {
            (void)case_vary(d->c, d->c->schema->params[i].key,
                            d->base->value[i], (mxo_text){why, sizeof why});
            if (is_fit(d)) {
                return 1;
            }
        }
    }
    return 0;
}

static int take_back_dims(drawing *d)
{
    for (int k = 0; k < d->c->schema->n_dims; k++) {
        if (d->new_dim[k]) {
            case_vary_dim(d->c, k, d->base->dim[k]);
            if (is_fit(d)) {
                return 1;
            }
        }
    }
    return 0;
}

/* Refused, or small enough. */
static int is_small(const drawing *d)
{
    uint64_t most;

    return draw_bytes(d->c) <= most_bytes(d) &&
           (!draw_is_legal(d->c, &most) || most <= most_bytes(d));
}

static void mend(drawing *d)
{
    const fit is = fit_of(d);

    /* Larger sizes mend nothing that is too large. */
    if (is == FIT || (is == FIT_REFUSED && mend_sizes(d)) ||
        take_back_params(d) || (is == FIT_REFUSED && mend_sizes(d)) ||
        take_back_dims(d)) {
        return;
    }
    const test_case drawn = *d->c;

    *d->c = *d->base;
    memcpy(d->c->data, drawn.data, sizeof d->c->data);
    memcpy(d->c->flaw, drawn.flaw, sizeof d->c->flaw);
}

/* A flaw is one of a call that is taken without it. */
static void spoil(drawing *d)
{
    const uint32_t kind = slot16(d->r, DRAW_INVALID);
    const int is_given = draw_is_pinned(d->plan, d->c, "flaw");
    const int is_new = kind > 0 && d->base->flaw[0] == '\0' && !is_given;
    const int is_kept = d->c->flaw[0] != '\0' && !is_given;
    char why[256];

    if ((is_new || is_kept) && !draw_is_served(d->c, slot32(d->r, DRAW_SEED))) {
        d->c->flaw[0] = '\0';
    } else if (is_new) {
        value_of_invalid_call(d->c, kind - 1, slot16(d->r, DRAW_TARGET),
                              d->c->flaw);
    }
    if (d->c->flaw[0] != '\0' &&
        case_check_invalid(d->c, (mxo_text){why, sizeof why}) != 0) {
        d->c->flaw[0] = '\0';
    }
}

static void change(drawing *d)
{
    change_params(d);
    change_dims(d);
    change_data(d);
    if (memcmp(d->c->dim, d->base->dim, sizeof d->c->dim) != 0 ||
        memcmp(d->c->value, d->base->value, sizeof d->c->value) != 0) {
        d->c->stretch = 0;
        /* Invalid in the grid's shape may be legal in another. */
        if (!draw_is_pinned(d->plan, d->c, "flaw")) {
            d->c->flaw[0] = '\0';
        }
        make_small(d);
        turn_round(d);
        if ((slot16(d->r, DRAW_FLAGS) & 1) == 0 || !is_small(d)) {
            mend(d);
        }
    }
    if (fill_check_stretch(d->c, (mxo_text){NULL, 0}) != 0) {
        d->c->stretch = 0;
    }
    d->c->repeats |= fill_check_ids(d->c, (mxo_text){NULL, 0}) != 0;
    spoil(d);
}

uint32_t draw_group_of(const draw_plan *p, const uint8_t *bytes, size_t n)
{
    return ((n > 0 ? bytes[0] : 0u) + (n > 1 ? bytes[1] * 256u : 0u)) % p->n;
}

void draw_decode(const draw_plan *p, const uint8_t *bytes, size_t n,
                 test_case *c, uint64_t *seed)
{
    draw_record r;
    drawing d = {.plan = p, .r = &r, .c = c};

    memset(&r, 0, sizeof r);
    if (n > 0) {
        memcpy(r.byte, bytes, n < sizeof r.byte ? n : sizeof r.byte);
    }
    const draw_group *g = &p->group[slot16(&r, DRAW_GROUP) % p->n];

    const uint32_t base = slot16(&r, DRAW_BASE) % g->n;

    d.group = g;
    d.base = &g->base[base];
    d.axis = &g->axis[3 * base];
    *c = *d.base;
    *seed = slot32(&r, DRAW_SEED);
    change(&d);
}
