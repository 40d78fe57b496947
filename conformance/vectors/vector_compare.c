/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on one tensor.  Equality is bits; see rules.def for the rest. */
#include "vector_compare.h"

#include <math.h>
#include <string.h>

static int is_integer(uint32_t dtype)
{
    return dtype <= MXO_I64 || dtype == MXO_BOOL;
}

static int is_wide_float(uint32_t dtype)
{
    return dtype >= MXO_F16 && dtype <= MXO_F64;
}

int vector_can_retag(uint32_t a, uint32_t b)
{
    return a == b || (dtype_bytes(a) == dtype_bytes(b) &&
                      (is_integer(a) || is_integer(b)));
}

static uint32_t squeeze(const uint64_t *shape, uint32_t rank, uint64_t *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] != 1) {
            out[n++] = shape[i];
        }
    }
    return n;
}

int vector_same_shape(const host_tensor *file, const glue *computed)
{
    uint64_t a[GLUE_RANK];
    uint64_t b[GLUE_RANK];

    if (tensor_elems(file) != computed->n) {
        return 0;
    }
    const uint32_t n = squeeze(file->shape, file->rank, a);
    const uint32_t m = squeeze(computed->shape, computed->rank, b);

    /* Leading axes may be one axis on one side: vendors have batches. */
    return n <= 1 || ((n <= 2 || m <= 2) && m > 0 && a[n - 1] == b[m - 1]) ||
           (n == m && memcmp(a, b, n * sizeof a[0]) == 0);
}

/* Codes between two patterns of one float type, over both signs. */
static uint64_t distance(uint32_t dtype, uint64_t a, uint64_t b)
{
    const uint64_t sign = UINT64_C(1) << (8 * dtype_bytes(dtype) - 1);
    const uint64_t ma = a & (sign - 1);
    const uint64_t mb = b & (sign - 1);

    if ((a & sign) != (b & sign)) {
        return ma + mb;
    }
    return ma > mb ? ma - mb : mb - ma;
}

/* Whether one is a zero and the other a subnormal or zero of its sign. */
static int is_flush(uint32_t dtype, uint64_t a, uint64_t b)
{
    const uint64_t sign = UINT64_C(1) << (8 * dtype_bytes(dtype) - 1);
    const double tiny = dtype == MXO_F32 ? 0x1p-126 : 0;

    return (a & sign) == (b & sign) &&
           ((a & (sign - 1)) == 0 || (b & (sign - 1)) == 0) &&
           fabs(dtype_value(dtype, a)) < tiny &&
           fabs(dtype_value(dtype, b)) < tiny;
}

/* Root of the mean square of a file's tensor. */
static double root_mean_square(const host_tensor *file)
{
    const uint64_t n = tensor_elems(file);
    double sum = 0;

    for (uint64_t i = 0; i < n; i++) {
        const double x = dtype_value(file->dtype, tensor_load(file, i));
        sum += x * x;
    }
    return sqrt(sum / (double)n);
}

/* The rule with its limit as a distance of numbers, where it has such one. */
static map_rule settle_rule(const map_rule *rule, const host_tensor *file)
{
    map_rule settled = *rule;

    if (rule->kind == MAP_RMS) {
        settled.limit *= root_mean_square(file);
    }
    return settled;
}

static int close_enough(uint32_t dtype, uint64_t a, uint64_t b,
                        const map_rule *rule)
{
    const double x = dtype_value(dtype, a);
    const double y = dtype_value(dtype, b);

    if (rule->kind == MAP_LOG) {
        return fabs(x - y) <= rule->limit * fmax(1, fabs(y));
    }
    if (rule->kind == MAP_RMS) {
        return fabs(x - y) <= rule->limit;
    }
    double limit = rule->limit;

    if (rule->kind != MAP_ULP && is_flush(dtype, a, b)) {
        return 1;
    }
    /* A zero, an infinity or a NaN on one side alone is no rounding. */
    if (x == 0 || y == 0 || x - x != 0 || y - y != 0) {
        return 0;
    }
    if (rule->kind == MAP_EXPF) {
        limit += floor(1.173 * fabs(log(fabs(y))));
    }
    return (double)distance(dtype, a, b) <= limit;
}

static int equal(uint32_t dtype, uint64_t a, uint64_t b, const map_rule *rule)
{
    if (a == b) {
        return 1;
    }
    if (rule->kind == MAP_STRICT ||
        !(is_wide_float(dtype) ||
          (rule->kind == MAP_CLASS && !is_integer(dtype)))) {
        return 0;
    }
    if (dtype_is_nan(dtype, a) && dtype_is_nan(dtype, b)) {
        return 1;
    }
    return rule->kind >= MAP_ULP && close_enough(dtype, a, b, rule);
}

void vector_compare(const host_tensor *file, const glue *computed,
                    const map_rule *rule, vector_difference *d, uint8_t *wrong)
{
    const map_rule settled = settle_rule(rule, file);

    memset(d, 0, sizeof *d);
    for (uint64_t i = 0; i < computed->n; i++) {
        if (computed->valid != NULL && !computed->valid[i]) {
            continue;
        }
        const uint64_t a = tensor_load(file, i);
        const uint64_t b = glue_load(computed, i);
        d->n_judged++;
        if (!equal(file->dtype, a, b, &settled)) {
            if (d->n_differ == 0) {
                d->first = i;
                d->in_file = a;
                d->computed = b;
            }
            d->n_differ++;
            if (wrong != NULL) {
                wrong[i] = 1;
            }
        }
    }
}
