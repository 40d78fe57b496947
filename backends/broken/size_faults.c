/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that begin at a size: right below it, wrong from there on; and those
 * of rows of nothing but NaN.  Inputs are changed in a copy before the
 * operation, outputs after it.
 */
#include "broken.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum size_effect {
    LOST,    /* rows from there on are zero */
    LAST_OF, /* of just so many rows the last is zero */
    TURNED,  /* bytes, or rows of an output, are those of the start */
    FORMER,  /* rows are those before them */
    WRAPPED, /* indices are too small by a multiple of it */
    MOVED,   /* indices that came so often are their neighbours */
    SINGLE,  /* an index that came once, between two that came so often, is the
                one before */
    PASSED,  /* indices that came so often, like the last but one before where
                the last did not come, are that last */
    QUADS,   /* rows from there on are zero if scales have 4 k + 3 columns */
    CUT,     /* columns from there on are zero */
    VOID,    /* rows that an input of NaN alone leads to are zero */
    SCALES   /* see broken_scale_is_former() */
} size_effect;

typedef struct size_fault {
    int mutant;
    const char *tensor;
    size_effect effect;
    uint64_t from;
} size_fault;

static const size_fault faults[] = {
#define BROKEN_SIZE(id, tensor, effect, from) \
    {BROKEN_##id, tensor, effect, from},
#include "size_faults.def"
#undef BROKEN_SIZE
};

static const size_fault *fault_of(const broken *b)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (faults[i].mutant == b->mutant) {
            return &faults[i];
        }
    }
    return NULL;
}

int broken_has_size_fault(const broken *b)
{
    return fault_of(b) != NULL;
}

int broken_scale_is_former(const broken *b, uint64_t row)
{
    const size_fault *f = fault_of(b);

    return f != NULL && f->effect == SCALES && row >= f->from;
}

static uint64_t rows_of(const mxo_tensor *t)
{
    return t->rank > 0 ? t->shape[0] : 0;
}

/* Is row r of the call's first input, one of floats, NaN throughout? */
static int is_void(const mxo_call *call, uint64_t r)
{
    const mxo_tensor *x = &call->in[0];
    const uint64_t cols = x->rank == 2 && r < x->shape[0] ? x->shape[1] : 0;
    uint64_t n = 0;

    while (n < cols && isnan(broken_load(x, r * cols + n))) {
        n++;
    }
    return cols > 0 && n == cols;
}

/* Has a tensor of weights, of whole blocks, 4 k + 3 columns of scales? */
static int has_quads(const mxo_call *call)
{
    static const char *const names[][2] = {{"w13", "w13_scale"},
                                           {"w2", "w2_scale"}};
    int found = 0;

    for (int i = 0; i < 2; i++) {
        const mxo_tensor *w = call_in(call, names[i][0]);
        const mxo_tensor *scale = call_in(call, names[i][1]);
        found |= w != NULL && scale != NULL && scale->shape[2] % 4 == 3 &&
                 w->shape[2] == 16 * scale->shape[2];
    }
    return found;
}

static void spoil_output(const size_fault *f, const mxo_call *call,
                         const mxo_tensor *t)
{
    const uint64_t rows = rows_of(t);
    const size_t bytes = rows > 0 ? (size_t)(t->n_bytes / rows) : 0;
    uint8_t *data = tensor_address(t);

    const int loses =
        f->effect == LOST || (f->effect == QUADS && has_quads(call));

    for (uint64_t r = 0; r < rows; r++) {
        if ((loses && r >= f->from) ||
            (f->effect == VOID && is_void(call, r)) ||
            (f->effect == LAST_OF && rows == f->from && r + 1 == rows)) {
            memset(data + r * bytes, 0, bytes);
        } else if (f->effect == TURNED && r >= f->from) {
            memcpy(data + r * bytes, data + r % f->from * bytes, bytes);
        }
    }
}

/* Does this index stand for an expert that came often enough before? */
static int came_often(const int32_t *index, uint64_t i, uint64_t often)
{
    uint64_t n = 0;

    for (uint64_t k = 0; k < i; k++) {
        n += index[k] == index[i];
    }
    return n >= often;
}

static uint64_t times(const int32_t *index, uint64_t n, int32_t id)
{
    uint64_t found = 0;

    for (uint64_t i = 0; i < n; i++) {
        found += index[i] == id;
    }
    return found;
}

static int is_single(const int32_t *index, uint64_t n, int32_t id,
                     uint64_t often)
{
    return times(index, n, id) == 1 && times(index, n, id - 1) >= often &&
           times(index, n, id + 1) >= often;
}

static int is_behind_none(const int32_t *index, uint64_t n, int32_t id,
                          uint64_t often)
{
    return times(index, n, id) >= often && times(index, n, id - 1) == 0 &&
           times(index, n, id - 2) >= often;
}

static void spoil_indices(const size_fault *f, int32_t *to,
                          const int32_t *index, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (f->effect == WRAPPED && index[i] >= (int32_t)f->from) {
            to[i] = index[i] % (int32_t)f->from;
        } else if (f->effect == MOVED && came_often(index, i, f->from)) {
            to[i] = index[i] ^ 1;
        } else if ((f->effect == SINGLE &&
                    is_single(index, n, index[i], f->from)) ||
                   (f->effect == PASSED &&
                    is_behind_none(index, n, index[i], f->from))) {
            to[i] = index[i] - 1;
        }
    }
}

static void spoil_bytes(const size_fault *f, const mxo_tensor *t, uint8_t *to)
{
    const uint8_t *from = tensor_address(t);
    const uint64_t cols =
        t->n_bytes / (broken_elems(t) / t->shape[t->rank - 1]);
    const uint64_t row = t->n_bytes / rows_of(t);

    for (uint64_t i = 0; i < t->n_bytes; i++) {
        if ((f->effect == CUT && i % cols >= f->from) ||
            (f->effect == LAST_OF && rows_of(t) == f->from &&
             i / row + 1 == f->from)) {
            to[i] = 0;
        } else if (f->effect == TURNED && i >= f->from) {
            to[i] = from[i % f->from];
        } else if (f->effect == FORMER && i / row >= f->from) {
            to[i] = from[i - row];
        }
    }
}

/* A copy with the fault in it, NULL if there is no memory. */
static void *spoilt_copy(const size_fault *f, const mxo_tensor *t)
{
    uint8_t *copy = malloc((size_t)t->n_bytes + 1);

    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, tensor_address(t), (size_t)t->n_bytes);
    if (broken_elems(t) > 0) {
        spoil_bytes(f, t, copy);
        if (t->dtype == MXO_I32) {
            spoil_indices(f, (int32_t *)(void *)copy,
                          (const int32_t *)(const void *)tensor_address(t),
                          broken_elems(t));
        }
    }
    return copy;
}

/* The call with one input exchanged. */
static mxo_status with_input(const broken *b, const size_fault *f,
                             broken_op_fn op, const mxo_call *call,
                             mxo_text why)
{
    broken_job job;

    if (!broken_keep(&job, call)) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "too many arguments");
    }
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (strcmp(call->in[i].name, f->tensor) == 0) {
            void *copy = spoilt_copy(f, &call->in[i]);
            if (copy == NULL) {
                return broken_fail(MXO_E_NOMEM, why, "no memory for a copy");
            }
            job.in[i].buffer = copy;
            job.in[i].offset = 0;
            const mxo_status status = op(b, &job.call, why);
            free(copy);
            return status;
        }
    }
    return op(b, call, why);
}

mxo_status broken_beyond_size(const broken *b, broken_op_fn op,
                              const mxo_call *call, mxo_text why)
{
    const size_fault *f = fault_of(b);
    const mxo_tensor *y = call_out(call, f->tensor);

    MXO_TRY(y != NULL ? op(b, call, why) : with_input(b, f, op, call, why));
    if (y != NULL) {
        spoil_output(f, call, y);
    }
    return MXO_OK;
}
