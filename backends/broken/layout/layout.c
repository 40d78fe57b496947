/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.apply and layout.index, unit by unit.  The faults are those that
 * loaders and kernels really had: a wrong map (layout_wrong.def), or sizes,
 * pads and indices that are wrong around a right one.
 */
#include "layout.h"

#include "broken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mover {
    const broken *b;
    const lay_row *row;
    const mxo_tensor *x;
    const mxo_tensor *y;
    lay l;
    uint64_t kept[LAY_PARTS]; /* inverse: what is left of each axis */
    int is_over;              /* gaps of records keep what they hold */
} mover;

/* The first layout of a context, for the mutant that never forgets it. */
typedef struct memory {
    int used;
    lay l;
    char name[64];
} memory;

void *broken_layout_memory(void)
{
    return calloc(1, sizeof(memory));
}

static const broken faultless;

static const struct {
    int mutant;
    const char *layout;
    const char *map;
} wrong_maps[] = {
#define LAY_WRONG(id, layout, map) {BROKEN_##id, layout, map},
#include "layout_wrong.def"
#undef LAY_WRONG
};

static uint64_t parts(const lay *l)
{
    return l->axis[LAY_PARTS].padded;
}

static uint64_t load_unit(const mxo_tensor *t, uint64_t n_parts, uint64_t i)
{
    const uint64_t bits = 8 / n_parts;

    return n_parts == 1 ? lay_load(t, i)
                        : lay_load(t, i / n_parts) >> (i % n_parts * bits) &
                              ((1u << bits) - 1);
}

static void store_unit(const mxo_tensor *t, uint64_t n_parts, uint64_t i,
                       uint64_t code)
{
    const uint64_t bits = 8 / n_parts;
    const uint64_t shift = i % n_parts * bits;
    const uint64_t mask = ((1u << bits) - 1) << shift;

    if (i / n_parts >= broken_elems(t)) {
        return; /* a fault led out of the tensor */
    }
    lay_store(t, i / n_parts,
              n_parts == 1
                  ? code
                  : (lay_load(t, i / n_parts) & ~mask) | (code << shift));
}

/* Strides from the logical sizes of the axes of less significant digits. */
static void shrink_strides(lay *l, int experts_only)
{
    for (int i = 0; i < l->n_terms; i++) {
        const int is_expert = l->digit[l->term[i].digit[0]].axis == 0;
        for (int axis = 1; axis < LAY_PARTS; axis++) {
            const lay_axis *a = &l->axis[axis];
            int below = 0;
            for (int j = i + 1; j < l->n_terms; j++) {
                const lay_digit *d = &l->digit[l->term[j].digit[0]];
                below |= d->is_free && d->axis == axis;
            }
            if (below && (is_expert || !experts_only) && a->padded > 0) {
                l->term[i].stride = l->term[i].stride * a->extent / a->padded;
            }
        }
    }
}

static void fault_sizes(const broken *b, lay *l)
{
    if (IS(L06) || IS(L24)) {
        shrink_strides(l, IS(L24));
    }
    if (IS(L08)) {
        for (int i = 0; i < LAY_PARTS; i++) {
            lay_axis *a = &l->axis[i];
            const uint64_t whole = a->extent / a->granule * a->granule;
            a->padded = whole > 0 ? whole : a->padded;
        }
        lay_measure(l);
    }
}

/* The map of the row, or the mutant's where it fits as many units. */
static int read_layout(const broken *b, lay *l, const char *name,
                       uint32_t elem_bytes, const uint64_t *extent)
{
    const lay_row *row = lay_row_of(name);

    if (row == NULL || (!lay_takes_width(row, elem_bytes) && !IS(RF58)) ||
        (!lay_knows(row, name) && !IS(RF59)) ||
        lay_read(l, row, row->map, name, elem_bytes, extent) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof wrong_maps / sizeof wrong_maps[0]; i++) {
        lay other;
        if (b->mutant == wrong_maps[i].mutant &&
            strcmp(wrong_maps[i].layout, row->id) == 0 &&
            lay_read(&other, row, wrong_maps[i].map, name, elem_bytes,
                     extent) == 0 &&
            other.n_units == l->n_units && parts(&other) == parts(l)) {
            *l = other;
        }
    }
    fault_sizes(b, l);
    return 0;
}

/* L19: the first layout of this name serves every later shape. */
static void remember(const broken *b, lay *l, const char *name)
{
    memory *m = b->layout;

    if (!IS(L19) || m == NULL || strlen(name) >= sizeof m->name) {
        return;
    }
    if (!m->used) {
        m->used = 1;
        m->l = *l;
        (void)strcpy(m->name, name);
    } else if (strcmp(m->name, name) == 0) {
        for (int i = 0; i < l->n_terms; i++) {
            l->term[i].stride = m->l.term[i].stride;
        }
    }
}

static lay_at unflat(const lay *l, uint64_t i)
{
    lay_at at;

    for (int axis = LAY_AXES - 1; axis >= 0; axis--) {
        at.at[axis] = i % l->axis[axis].padded;
        i /= l->axis[axis].padded;
    }
    return at;
}

static uint64_t place_of(const broken *b, const lay *l, lay_at at)
{
    const lay_axis *rows = &l->axis[LAY_ROWS];
    const lay_axis *cols = &l->axis[LAY_COLS];

    if (IS(L17) && rows->padded == cols->padded) {
        const uint64_t row = at.at[LAY_ROWS];
        at.at[LAY_ROWS] = at.at[LAY_COLS];
        at.at[LAY_COLS] = row;
    }
    if (IS(L29) && parts(l) == 2) {
        at.at[LAY_PARTS] ^= 1;
    }
    const uint64_t place = lay_place(l, at);

    return IS(L21) && place < l->n_units ? lay_place(l, unflat(l, place))
                                         : place;
}

/* The pad byte of what lies beyond, LAY_ANYTHING, or -2: it is live. */
static int pad_of(const lay *l, lay_at at)
{
    int pad = -2;

    for (int axis = LAY_PARTS - 1; axis >= 0; axis--) {
        const lay_axis *a = &l->axis[axis];
        if (at.at[axis] < a->extent) {
            continue;
        }
        if (a->pad == LAY_ANYTHING) {
            return LAY_ANYTHING;
        }
        pad = a->pad;
    }
    return pad;
}

static uint64_t logical(const lay *l, lay_at at)
{
    uint64_t i = 0;

    for (int axis = 0; axis < LAY_AXES; axis++) {
        i = i * l->axis[axis].extent + at.at[axis];
    }
    return i;
}

static uint64_t pad_code(const mover *m, lay_at at, int pad)
{
    const broken *b = m->b;
    const uint64_t bits = 8 / parts(&m->l);
    const uint64_t byte = !IS(L09) ? (uint64_t)pad : pad == 0 ? 127 : 0;

    return parts(&m->l) == 1
               ? byte * 0x0101010101010101u
               : byte >> (at.at[LAY_PARTS] * bits) & ((1u << bits) - 1);
}

static void forward(const mover *m, const mxo_tensor *valid)
{
    const broken *b = m->b;
    const uint64_t n_parts = parts(&m->l);
    const uint64_t n = m->l.axis[0].padded * m->l.axis[1].padded *
                       m->l.axis[2].padded * n_parts;

    const int has_gaps = m->l.n_records > 0;

    if (valid != NULL) {
        memset(tensor_address(valid), !has_gaps, (size_t)valid->n_bytes);
    }
    if (has_gaps && !m->is_over) {
        memset(tensor_address(m->y), 0, (size_t)m->y->n_bytes);
    }
    for (uint64_t i = 0; i < n; i++) {
        const lay_at at = unflat(&m->l, i);
        const int pad = pad_of(&m->l, at);
        const uint64_t place = place_of(b, &m->l, at);
        if (pad == -2) {
            const uint64_t code = load_unit(m->x, n_parts, logical(&m->l, at));
            store_unit(m->y, n_parts, place,
                       lay_changed(b, m->row->values, code, 0));
        } else if (!IS(L10)) {
            store_unit(m->y, n_parts, place,
                       IS(V25) && pad < 0 ? ~UINT64_C(0)
                                          : pad_code(m, at, pad < 0 ? 0 : pad));
        }
        if (has_gaps && valid != NULL) {
            store_unit(valid, 1, place / n_parts, pad != LAY_ANYTHING);
        } else if (pad == LAY_ANYTHING && valid != NULL) {
            store_unit(valid, 1, place / n_parts, 0);
        }
    }
}

/* Element i of what is kept, as memory has it. */
static uint64_t code_back(const mover *m, uint64_t i)
{
    const uint64_t n_parts = parts(&m->l);
    lay_at at;

    at.at[LAY_PARTS] = i % n_parts;
    i /= n_parts;
    for (int axis = LAY_PARTS - 1; axis >= 0; axis--) {
        at.at[axis] = i % m->kept[axis];
        i /= m->kept[axis];
    }
    const uint64_t place = place_of(m->b, &m->l, at);

    return place < m->l.n_units ? load_unit(m->x, n_parts, place) : 0;
}

static uint64_t elements_back(const mover *m)
{
    return m->kept[0] * m->kept[1] * m->kept[2] * parts(&m->l);
}

static void back(const mover *m, const mxo_tensor *valid)
{
    if (valid != NULL) {
        memset(tensor_address(valid), 1, (size_t)valid->n_bytes);
    }
    for (uint64_t i = 0; i < elements_back(m); i++) {
        store_unit(m->y, parts(&m->l), i,
                   lay_changed(m->b, m->row->values, code_back(m, i), 1));
    }
}

static int has_images(const mover *m, int is_back)
{
    const uint64_t n = is_back ? elements_back(m) : broken_elems(m->x);
    int has = 1;

    for (uint64_t i = 0; i < n && strcmp(m->row->values, "keep") != 0; i++) {
        has &= lay_has_image(m->row->values,
                             is_back ? code_back(m, i) : lay_load(m->x, i),
                             is_back);
    }
    return has;
}

mxo_status broken_move(const broken *b, const char *name,
                       const broken_step *step, mxo_text why)
{
    mover m = {.b = b, .row = lay_row_of(name), .x = step->x, .y = step->y};

    if (m.row == NULL || m.x->rank != 3) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "no such layout here");
    }
    if (IS(L25) && !step->back) {
        m.b = &faultless;
    }
    const int to_records = step->back && strchr(m.row->map, '@') != NULL;

    const int is_kept = strcmp(m.row->values, "keep") == 0;

    if (read_layout(m.b, &m.l, name,
                    lay_width(step->back || is_kept ? m.x : m.y),
                    to_records ? m.y->shape : m.x->shape) != 0) {
        return broken_fail(MXO_E_SHAPE, why, "the layout does not fit");
    }
    memcpy(m.kept, m.y->shape, sizeof m.kept);
    if (!has_images(&m, step->back)) {
        return broken_fail(MXO_E_PARAM, why, "an element has no value there");
    }
    if (step->only_check) {
        return MXO_OK;
    }
    remember(b, &m.l, name);
    if (step->back) {
        back(&m, step->valid);
    } else {
        forward(&m, step->valid);
    }
    return MXO_OK;
}

mxo_status broken_layout_apply(const broken *b, const mxo_call *call,
                               mxo_text why)
{
    const broken_step step = {call_in(call, "x"), call_out(call, "y"),
                              call_out(call, "valid"),
                              call_is(call, "dir", "inverse"), 0};

    return step.x == NULL || step.y == NULL
               ? broken_fail(MXO_E_SHAPE, why, "tensors are missing")
               : broken_move(b, call_text(call, "layout"), &step, why);
}

/* One part of a record, and the buffer as that part sees it. */
typedef struct record_part {
    mover m;
    mxo_tensor y;
} record_part;

static mxo_status read_part(const broken *b, const mxo_call *call,
                            const char *part, record_part *p, mxo_text why)
{
    const char *record = call_text(call, "record");
    const int id = (int)strcspn(record, "/");
    mover *const m = &p->m;
    char name[128];

    (void)snprintf(name, sizeof name, "%.*s_%s%s", id, record, part,
                   record + id);
    *m = (mover){.b = b, .row = lay_row_of(name), .x = call_in(call, part)};
    m->y = &p->y;
    p->y = *call_out(call, "y");
    if (m->x == NULL || m->row == NULL) {
        return broken_fail(MXO_E_PARAM, why, "no such record here");
    }
    p->y.dtype = m->x->dtype;
    p->y.rank = 1;
    p->y.shape[0] = p->y.n_bytes / lay_width(m->x);
    return read_layout(b, &m->l, name, lay_width(m->x), m->x->shape) != 0 ||
                   m->l.n_records == 0
               ? broken_fail(MXO_E_SHAPE, why, "the record does not fit")
               : MXO_OK;
}

static uint64_t memory_bytes(const mover *m)
{
    return m->l.n_units / parts(&m->l) * lay_width(m->x);
}

/* What the codes left there stays beside the scales. */
mxo_status broken_layout_record(const broken *b, const mxo_call *call,
                                mxo_text why)
{
    record_part codes;
    record_part scale;

    MXO_TRY(read_part(b, call, "codes", &codes, why));
    MXO_TRY(read_part(b, call, "scale", &scale, why));
    const uint64_t n = memory_bytes(&codes.m);

    if (memory_bytes(&scale.m) > n ||
        (memory_bytes(&scale.m) < n && !IS(RF57))) {
        return broken_fail(MXO_E_SHAPE, why, "codes and scales do not fit");
    }
    forward(&codes.m, NULL);
    scale.m.is_over = 1;
    if (!IS(EN20)) {
        forward(&scale.m, NULL);
    }
    return MXO_OK;
}

static int64_t index_forward(const broken *b, const lay *l, int64_t at)
{
    uint64_t rest = (uint64_t)at;
    lay_at from;

    for (int axis = LAY_AXES - 1; axis >= 0; axis--) {
        const uint64_t extent = l->axis[axis].extent;
        if (extent == 0) {
            return -1;
        }
        from.at[axis] = rest % extent;
        rest /= extent;
    }
    return at < 0 || rest > 0 ? -1 : (int64_t)place_of(b, l, from);
}

static int64_t index_back(const lay *l, int64_t at)
{
    if (at < 0 || (uint64_t)at >= l->n_units) {
        return -1;
    }
    if (lay_is_gap(l, (uint64_t)at)) {
        return -3;
    }
    const lay_at from = lay_source(l, (uint64_t)at);
    const int pad = pad_of(l, from);

    return pad == -2             ? (int64_t)logical(l, from)
           : pad == LAY_ANYTHING ? -3
                                 : -2;
}

/* Arithmetic of too few bits. */
static int64_t narrowed(const broken *b, int64_t i)
{
    if (i >= 0 && IS(L26)) {
        return i & 0xffffffff;
    }
    if (i >= 0 && IS(L27)) {
        return (i & 0xffffffff) - ((i & 0x80000000) != 0 ? 0x100000000 : 0);
    }
    return i;
}

static void store_i64(const mxo_tensor *t, uint64_t i, int64_t value)
{
    memcpy(tensor_address(t) + 8 * i, &value, 8);
}

mxo_status broken_layout_index(const broken *b, const mxo_call *call,
                               mxo_text why)
{
    const mxo_tensor *at = call_in(call, "at");
    const mxo_tensor *to = call_out(call, "to");
    const mxo_tensor *sizes = call_out(call, "sizes");
    const char *name = call_text(call, "layout");
    const uint64_t extent[] = {(uint64_t)call_number(call, "experts"),
                               (uint64_t)call_number(call, "rows"),
                               (uint64_t)call_number(call, "cols")};
    lay l;

    if (lay_row_of(name) == NULL || at == NULL || to == NULL || sizes == NULL) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "no such layout here");
    }
    if (read_layout(b, &l, name, (uint32_t)call_number(call, "elem_bytes"),
                    extent) != 0) {
        return broken_fail(MXO_E_SHAPE, why, "the layout does not fit");
    }
    for (uint64_t i = 0; i < broken_elems(at); i++) {
        int64_t index;
        memcpy(&index, tensor_address(at) + 8 * i, 8);
        index = IS(L28) && index >= 0 ? index & 0xffffffff : index;
        index = call_is(call, "dir", "inverse") ? index_back(&l, index)
                                                : index_forward(b, &l, index);
        store_i64(to, i, narrowed(b, index));
    }
    const uint64_t n = parts(&l) * extent[0] * extent[1] * extent[2];

    store_i64(sizes, 0, (int64_t)parts(&l));
    store_i64(sizes, 1, (int64_t)n);
    store_i64(sizes, 2, (int64_t)l.n_units);
    for (int axis = 0; axis < LAY_PARTS; axis++) {
        store_i64(sizes, 3 + (uint64_t)axis, (int64_t)l.axis[axis].padded);
    }
    return MXO_OK;
}
