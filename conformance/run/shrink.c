/* SPDX-License-Identifier: Apache-2.0 */
/* See shrink.h. */
#include "shrink.h"

#include "case/case_shape.h"
#include "data/fill.h"

#include <stdio.h>
#include <string.h>

/* Does the candidate fail in the same way, and itself, not another within
   declared limits?  Then it becomes the best. */
static int keep_if_same(shrinking *h, const test_case *candidate)
{
    char text[CASE_TEXT];
    verdict v;
    int same;

    if (h->n_hangs >= SHRINK_HANGS) {
        return 0;
    }
    case_print(candidate, 0, text);
    if (h->progress != NULL) {
        progress_show(h->progress, h->n_tried, 0, text);
    }
    h->n_tried++;
    if (worker_pool_case(h->c, text, h->seed, &v) != 0) {
        return 0;
    }
    h->n_hangs += v.status == VERDICT_TIMEOUT;
    same = verdict_is_red(v.status) && strcmp(v.kind, h->kind) == 0 &&
           v.asked == NULL;
    verdict_clear(&v);
    if (same) {
        h->best = *candidate;
        h->n_kept++;
    }
    return same;
}

/* A dimension a third of the way and below, on several granules. */
static int shrink_dim(shrinking *h, int dim)
{
    static const uint64_t granules[] = {128, 64, 32, 16, 8, 4, 2, 1};
    const uint64_t now = h->best.dim[dim];

    for (uint64_t part = 2; part <= 16; part *= 2) {
        /* The smallest first: 1/16, 1/8, 1/4, 1/2. */
        const uint64_t target = now / (32 / part);
        for (size_t g = 0; g < sizeof granules / sizeof granules[0]; g++) {
            test_case c = h->best;
            case_resize(&c, dim, target / granules[g] * granules[g]);
            if (c.dim[dim] > 0 && c.dim[dim] < now && keep_if_same(h, &c)) {
                return 1;
            }
        }
    }
    for (uint64_t less = 32; less > 0; less /= 32) {
        test_case c = h->best;
        case_resize(&c, dim, now > less ? now - less : now);
        if (c.dim[dim] < now && keep_if_same(h, &c)) {
            return 1;
        }
    }
    return 0;
}

static void shrink_dims(shrinking *h)
{
    int changed = 1;

    while (changed) {
        changed = 0;
        for (int d = 0; d < h->best.schema->n_dims; d++) {
            while (case_uses_dim(&h->best, d) && shrink_dim(h, d)) {
                changed = 1;
            }
        }
    }
}

static void shrink_params(shrinking *h)
{
    char why[128];

    for (int i = 0; i < h->best.schema->n_params; i++) {
        const op_param *p = &h->best.schema->params[i];
        test_case c = h->best;
        if (strcmp(c.value[i], p->standard) != 0 &&
            case_set(&c, p->key, p->standard, (mxo_text){why, sizeof why}) ==
                0) {
            (void)keep_if_same(h, &c);
        }
    }
}

/* Elements of the first input of the case; 0 if it cannot be filled. */
static uint64_t first_elems(const shrinking *h)
{
    tensor_set in = {0};
    char why[256];
    uint64_t n = 0;

    if (fill_inputs(&h->best, h->seed, &in, (mxo_text){why, sizeof why}) == 0 &&
        in.n > 0) {
        n = tensor_elems(&in.t[0]);
    }
    tensor_set_clear(&in);
    return n;
}

/* Move one end of what is kept by ever smaller steps. */
static void narrow(shrinking *h, int from_left)
{
    uint64_t step = (h->best.keep_last - h->best.keep_first + 1) / 2;

    while (step > 0) {
        test_case c = h->best;
        c.keep_first += from_left ? step : 0;
        c.keep_last -= from_left ? 0 : step;
        if (c.keep_first > c.keep_last || !keep_if_same(h, &c)) {
            step /= 2;
        }
    }
}

static void shrink_data(shrinking *h)
{
    const uint64_t n = first_elems(h);
    test_case whole = h->best;

    if (n == 0 || !case_keeps_all(&whole)) {
        return;
    }
    whole.keep_last = n - 1;
    h->best = whole;
    narrow(h, 1);
    narrow(h, 0);
    if (h->best.keep_first == 0 && h->best.keep_last == n - 1) {
        h->best.keep_last = UINT64_MAX;
    }
}

verdict_status shrink_case(shrinking *h)
{
    char text[CASE_TEXT];
    char why[256];
    verdict v;

    case_print(&h->best, 0, text);
    if (worker_pool_case(h->c, text, h->seed, &v) != 0) {
        return VERDICT_ERROR;
    }
    const verdict_status status = v.status;

    memcpy(h->kind, v.kind, sizeof h->kind);
    if (h->beside[0] == '\0' && v.beside[0] != '\0') {
        (void)snprintf(h->beside, sizeof h->beside, "%s", v.beside);
        worker_pool_set_beside(h->c, h->beside);
    }
    if (v.asked != NULL) {
        (void)case_parse(&h->best, v.asked, (mxo_text){why, sizeof why});
    }
    verdict_clear(&v);
    if (verdict_is_red(status)) {
        worker_pool_set_brief(h->c, 1);
        shrink_dims(h);
        shrink_params(h);
        shrink_dims(h);
        shrink_data(h);
        worker_pool_set_brief(h->c, 0);
    }
    return status;
}
