/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of rows, walked one after the other; see groups.h. */
#include "groups.h"

int64_t groups_up(int64_t n, int64_t align)
{
    return (n + align - 1) / align * align;
}

static int64_t entry(const groups *g, uint64_t i)
{
    return (int32_t)(uint32_t)mxo_load(g->list, i);
}

/* Rows of group i: its entry, or the distance of its end from its start. */
static int64_t count(const groups *g, uint64_t i)
{
    if (g->ends_align == 0) {
        return entry(g, i);
    }
    return entry(g, i) - groups_up(i == 0 ? 0 : entry(g, i - 1), g->ends_align);
}

groups_range groups_next(const groups *g, uint64_t i, groups_range before)
{
    const int64_t n = count(g, i);
    groups_range r = {before.src + before.n, 0, n < 0 ? n : 0};

    if (n >= 0) {
        r.n = (n + g->gran - 1) / g->gran;
    }
    if (g->rule == GROUPS_IN_PLACE) {
        r.dst = groups_up(i == 0 ? 0 : entry(g, i - 1), g->ends_align);
        r.src = r.dst;
    } else {
        r.dst = groups_up(before.dst + before.n, g->align);
    }
    return r;
}

mxo_status groups_check(const groups *g, mxo_text why)
{
    groups_range r = {0, 0, 0};

    for (uint64_t i = 0;
         g->rule != GROUPS_REPEAT && i < mxo_tensor_elems(g->list); i++) {
        r = groups_next(g, i, r);
        if (r.n < 0) {
            return mxo_fail(MXO_E_PARAM, why, "group %llu has %lld rows",
                            (unsigned long long)i, (long long)r.n);
        }
        if (r.n > 0 && r.src + r.n > g->rows) {
            return mxo_fail(MXO_E_PARAM, why,
                            "group %llu ends at row %lld of %lld",
                            (unsigned long long)i, (long long)(r.src + r.n),
                            (long long)g->rows);
        }
        if (r.n > 0 && r.dst + r.n > g->to_rows) {
            return mxo_fail(MXO_E_PARAM, why,
                            "group %llu ends at row %lld of a buffer of %lld",
                            (unsigned long long)i, (long long)(r.dst + r.n),
                            (long long)g->to_rows);
        }
    }
    return MXO_OK;
}

int64_t groups_source(const groups *g, int64_t r)
{
    groups_range range = {0, 0, 0};

    if (g->rule == GROUPS_REPEAT) {
        return r / g->gran;
    }
    for (uint64_t i = 0; i < mxo_tensor_elems(g->list); i++) {
        range = groups_next(g, i, range);
        if (r >= range.dst && r < range.dst + range.n) {
            return range.src + (r - range.dst);
        }
    }
    return -1;
}
