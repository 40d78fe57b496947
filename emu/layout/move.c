/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving a tensor through a chain, element by element, plainly.  Values that
 * a change refuses are found before the first byte is written.
 */
#include "../fast/layout_walk.h"

#include <string.h>

/* Element i of a run as it is in memory: itself, or the parts of its byte. */
static uint64_t gather(const mxo_tensor *t, const layout_run *r, uint64_t i)
{
    const uint8_t *bytes = mxo_tensor_data(t);
    uint64_t code = 0;

    if (r->bits == 8) {
        return mxo_load(t, r->base + r->part[r->first[i]].at);
    }
    for (uint16_t k = r->first[i]; k < r->first[i + 1]; k++) {
        const layout_part *p = &r->part[k];
        const uint64_t bit = (r->base + p->at) * r->bits;
        const unsigned part = bytes[bit / 8] >> bit % 8 & p->mask;
        code |= part << p->shift;
    }
    return code;
}

static void scatter(const mxo_tensor *t, const layout_run *r, uint64_t i,
                    uint64_t code)
{
    uint8_t *bytes = mxo_tensor_data(t);

    if (r->bits == 8) {
        mxo_store(t, r->base + r->part[r->first[i]].at, code);
        return;
    }
    for (uint16_t k = r->first[i]; k < r->first[i + 1]; k++) {
        const layout_part *p = &r->part[k];
        const uint64_t bit = (r->base + p->at) * r->bits;
        const unsigned part = (unsigned)(code >> p->shift) & p->mask;
        const unsigned rest = bytes[bit / 8] & ~((unsigned)p->mask << bit % 8);
        bytes[bit / 8] = (uint8_t)(rest | part << bit % 8);
    }
}

/* The pad byte in every byte of an element. */
static uint64_t pad_code(const layout_chain *c, uint8_t byte)
{
    uint64_t code = 0;

    for (uint32_t i = 0; i < mxo_dtype_bytes(chain_last(c)->to); i++) {
        code = code << 8 | byte;
    }
    return code;
}

/* Mark the units that hold parts of element i as defined, or as undefined. */
static void mark(const mxo_tensor *valid, const layout_run *r, uint64_t i,
                 int is_defined)
{
    for (uint16_t k = r->first[i]; k < r->first[i + 1]; k++) {
        mxo_store(valid, (r->base + r->part[k].at) * r->bits / 8,
                  (uint64_t)is_defined);
    }
}

static int values_there(const layout_chain *c, uint64_t *code)
{
    for (int i = 0; i < c->n; i++) {
        if (!c->step[i].values->there(code)) {
            return 0;
        }
    }
    return 1;
}

static int values_back(const layout_chain *c, uint64_t *code)
{
    for (int i = c->n - 1; i >= 0; i--) {
        if (!c->step[i].values->back(code)) {
            return 0;
        }
    }
    return 1;
}

static int has_values(const layout_chain *c)
{
    int changed = 0;

    for (int i = 0; i < c->n; i++) {
        changed = changed || strcmp(c->step[i].values->name, "keep") != 0;
    }
    return changed;
}

static mxo_status refuse_value(const layout_chain *c, uint64_t i, mxo_text why)
{
    return mxo_fail(MXO_E_PARAM, why,
                    "layout %s: element %llu has no value there",
                    c->step[0].map.row->id, (unsigned long long)i);
}

mxo_status chain_check_forward(const layout_chain *c, const mxo_tensor *x,
                               mxo_text why)
{
    for (uint64_t i = 0; has_values(c) && i < mxo_tensor_elems(x); i++) {
        uint64_t code = mxo_load(x, i);
        if (!values_there(c, &code)) {
            return refuse_value(c, i, why);
        }
    }
    return MXO_OK;
}

/* A tensor on its way there: memory is y. */
typedef struct going {
    const layout_chain *c;
    const mxo_tensor *x;
    const mxo_tensor *y;
    const mxo_tensor *valid; /* NULL: not wanted */
    int has_values;
    int has_gaps; /* of records: they have no value */
    int is_plain; /* bytes that are moved and no more */
    const uint8_t *x_bytes;
    uint8_t *y_bytes;
} going;

static void put_bytes(const going *g, const layout_run *r)
{
    const int is_live = r->content == MXO_LAYOUT_LIVE;
    const uint8_t *x = is_live ? g->x_bytes + r->element : NULL;
    const layout_part *part = r->part + r->first[0]; /* one for each element */
    const uint64_t base = r->base;
    const uint64_t n = r->n;
    uint8_t *y = g->y_bytes;

    for (uint64_t i = 0; i < n; i++) {
        y[base + part[i].at] = is_live ? x[i] : r->byte;
    }
}

static int put_run(void *state, const layout_run *r)
{
    const going *g = state;

    if (g->is_plain && r->bits == 8 && r->content != MXO_LAYOUT_UNDEFINED) {
        put_bytes(g, r);
        return 1;
    }
    const uint64_t pad = pad_code(g->c, r->byte);

    for (uint64_t i = 0; i < r->n; i++) {
        uint64_t code = pad;
        if (r->content == MXO_LAYOUT_LIVE) {
            code = mxo_load(g->x, r->element + i);
            (void)(g->has_values && values_there(g->c, &code));
        }
        if (g->valid != NULL &&
            (g->has_gaps || r->content == MXO_LAYOUT_UNDEFINED)) {
            mark(g->valid, r, i, r->content != MXO_LAYOUT_UNDEFINED);
        }
        scatter(g->y, r, i, code);
    }
    return 1;
}

mxo_status chain_forward(const layout_chain *c, const mxo_tensor *x,
                         const mxo_tensor *y, const mxo_tensor *valid,
                         mxo_text why)
{
    const layout_experts all = {0, chain_last(c)->map.logical[0]};
    const int has_gaps = chain_last(c)->map.n_records > 0;
    const int changes = has_values(c);
    const int is_plain = !changes && !has_gaps &&
                         mxo_dtype_bytes(x->dtype) == 1 &&
                         mxo_dtype_bytes(y->dtype) == 1;
    going g = {.c = c,
               .x = x,
               .y = y,
               .valid = valid,
               .has_values = changes,
               .has_gaps = has_gaps,
               .is_plain = is_plain,
               .x_bytes = mxo_tensor_data(x),
               .y_bytes = mxo_tensor_data(y)};

    MXO_TRY(chain_check_forward(c, x, why));
    if (valid != NULL && valid->n_bytes > 0) {
        memset(mxo_tensor_data(valid), !has_gaps, (size_t)valid->n_bytes);
    }
    if (has_gaps && y->n_bytes > 0) {
        memset(mxo_tensor_data(y), 0, (size_t)y->n_bytes);
    }
    (void)layout_walk(c, all, put_run, &g);
    return MXO_OK;
}

/* On the way back: memory is x, of which rows and columns are kept. */
typedef struct returning {
    const layout_chain *c;
    const mxo_tensor *x;
    const mxo_tensor *y; /* NULL: values are only looked at */
    const uint64_t *kept;
    int has_values;
    uint64_t first;   /* element of what is kept at which y begins */
    uint64_t refused; /* the element whose value is */
} returning;

/* n elements from number i of what is kept on; 0 if a value is refused. */
static int take(returning *b, const layout_run *r, uint64_t i, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++) {
        uint64_t code = gather(b->x, r, k);
        if (b->has_values && !values_back(b->c, &code)) {
            b->refused = i + k;
            return 0;
        }
        if (b->y != NULL) {
            mxo_store(b->y, i + k - b->first, code);
        }
    }
    return 1;
}

static int take_run(void *state, const layout_run *r)
{
    returning *b = state;
    const uint64_t *extent = b->c->step[0].map.logical;

    if (r->content != MXO_LAYOUT_LIVE) {
        return 1;
    }
    const uint64_t row = r->element / extent[2];
    const uint64_t col = r->element % extent[2];

    if (row % extent[1] >= b->kept[1] || col >= b->kept[2]) {
        return 1;
    }
    const uint64_t kept_row = row / extent[1] * b->kept[1] + row % extent[1];
    const uint64_t left = b->kept[2] - col;

    return take(b, r, kept_row * b->kept[2] + col, r->n < left ? r->n : left);
}

mxo_status chain_check_back(const layout_chain *c, const mxo_tensor *x,
                            const uint64_t kept[3], mxo_text why)
{
    const layout_experts all = {0, chain_last(c)->map.logical[0]};
    returning b = {c, x, NULL, kept, has_values(c), 0, 0};

    return !b.has_values || layout_walk(c, all, take_run, &b)
               ? MXO_OK
               : refuse_value(c, b.refused, why);
}

void chain_take_back(const layout_chain *c, const mxo_tensor *x,
                     const mxo_tensor *y, const uint64_t kept[3],
                     layout_experts experts)
{
    const uint64_t first = experts.first * kept[1] * kept[2];
    returning b = {c, x, y, kept, has_values(c), first, 0};

    (void)layout_walk(c, experts, take_run, &b);
}

mxo_status chain_back(const layout_chain *c, const mxo_tensor *x,
                      const mxo_tensor *y, const uint64_t kept[3], mxo_text why)
{
    const layout_experts all = {0, chain_last(c)->map.logical[0]};

    MXO_TRY(chain_check_back(c, x, kept, why));
    chain_take_back(c, x, y, kept, all);
    return MXO_OK;
}
