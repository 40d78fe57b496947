/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.record: codes and scales of blocks side by side in one buffer.
 * Record NAME is the pair of layouts NAME_codes and NAME_scale, whose maps
 * leave each other's bytes free; bytes that neither fills are zero.
 */
#include "chain.h"

#include <stdio.h>
#include <string.h>

enum { CODES, SCALE, N_PARTS };

static const char *const parts[N_PARTS] = {"codes", "scale"};

typedef struct record {
    layout_chain chain[N_PARTS];
    uint64_t n_bytes;
} record;

/* "NAME_codes/parameter=value". */
static mxo_status bind_part(const mxo_call *call, record *r, int part,
                            mxo_text why)
{
    const char *name = mxo_call_text(call, "record");
    const mxo_tensor *t = mxo_call_in(call, parts[part]);
    const int id = (int)strcspn(name, "/");
    char layout[MXO_LAYOUT_NAME];

    if (snprintf(layout, sizeof layout, "%.*s_%s%s", id, name, parts[part],
                 name + id) >= (int)sizeof layout) {
        return mxo_fail(MXO_E_PARAM, why,
                        "layout.record: the name is too long");
    }
    return chain_bind(&r->chain[part], layout, t->dtype, t->shape, why);
}

static uint64_t memory_bytes(const layout_chain *c)
{
    const layout_step *last = chain_last(c);

    return last->map.n_units / last->map.units * mxo_dtype_bytes(last->to);
}

static mxo_status plan(const mxo_call *call, record *r, mxo_text why)
{
    for (int part = 0; part < N_PARTS; part++) {
        const mxo_tensor *t = mxo_call_in(call, parts[part]);
        MXO_TRY(mxo_call_expect(call, parts[part], 3, t->shape, why));
        MXO_TRY(bind_part(call, r, part, why));
        if (chain_last(&r->chain[part])->map.n_records == 0) {
            return mxo_fail(MXO_E_PARAM, why, "layout %s has no records",
                            chain_last(&r->chain[part])->map.row->id);
        }
    }
    r->n_bytes = memory_bytes(&r->chain[CODES]);
    return memory_bytes(&r->chain[SCALE]) == r->n_bytes
               ? MXO_OK
               : mxo_fail(MXO_E_SHAPE, why,
                          "layout.record: the codes need %llu bytes of "
                          "records, the scales %llu",
                          (unsigned long long)r->n_bytes,
                          (unsigned long long)memory_bytes(&r->chain[SCALE]));
}

mxo_status infer_layout_record(const mxo_call *call, mxo_tensor *out_tensor,
                               uint32_t *n_out, mxo_text why)
{
    record r;

    MXO_TRY(plan(call, &r, why));
    const mxo_layout *map = &chain_last(&r.chain[CODES])->map;
    mxo_out(out_tensor, 0, "y", MXO_U8, map->rank, map->shape);
    *n_out = 1;
    return MXO_OK;
}

/* Elements of one part go where its map says, over what is there. */
typedef struct placing {
    const layout_step *step;
    const mxo_tensor *x;
    uint8_t *y;
} placing;

/* One unit of memory from the logical tensor. */
static mxo_status place(const placing *p, uint64_t dst, mxo_text why)
{
    const mxo_layout *l = &p->step->map;
    const uint32_t width = mxo_dtype_bytes(p->step->to);
    const uint32_t bits = 8 * width / l->units;
    uint64_t src = 0;
    uint8_t pad = 0;
    uint64_t code;
    const mxo_layout_content content =
        mxo_layout_content_at(l, dst, &src, &pad);

    if (content == MXO_LAYOUT_UNDEFINED) {
        return MXO_OK;
    }
    code = pad * UINT64_C(0x0101010101010101);
    if (content == MXO_LAYOUT_LIVE) {
        code = mxo_load(p->x, src / l->units);
        if (!p->step->values->there(&code)) {
            return mxo_fail(MXO_E_PARAM, why,
                            "layout %s: element %llu has no value there",
                            l->row->id, (unsigned long long)(src / l->units));
        }
        code >>= src % l->units * bits;
    }
    for (uint32_t i = 0; i < bits; i++) { /* the buffer begins as zeros */
        const uint64_t bit = dst * bits + i;
        p->y[bit / 8] |= (uint8_t)((code >> i & 1) << bit % 8);
    }
    return MXO_OK;
}

mxo_status run_layout_record(const mxo_call *call, mxo_text why)
{
    uint8_t *y = mxo_tensor_data(mxo_call_out(call, "y"));
    record r;

    MXO_TRY(plan(call, &r, why));
    if (r.n_bytes > 0) {
        memset(y, 0, (size_t)r.n_bytes);
    }
    for (int part = 0; part < N_PARTS; part++) {
        const layout_step *step = chain_last(&r.chain[part]);
        const placing p = {step, mxo_call_in(call, parts[part]), y};
        for (uint64_t i = 0; i < step->map.n_units; i++) {
            MXO_TRY(place(&p, i, why));
        }
    }
    return MXO_OK;
}
