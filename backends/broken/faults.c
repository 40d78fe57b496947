/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults around an operation: what crashes, hangs, writes too little or too
 * much, or remembers.  Each needs the right answer or the former bytes, so
 * they are applied after the operation, to a copy of what was there before.
 */
#include "broken.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 16384 }; /* a page at least */

static int odd_rows(const mxo_call *call)
{
    return call->n_in > 0 && call->in[0].rank > 0 &&
           call->in[0].shape[0] % 2 == 1;
}

static void spend(double seconds)
{
    const clock_t start = clock();

    while ((double)(clock() - start) < seconds * CLOCKS_PER_SEC) {
    }
}

static const struct {
    int mutant;
    const char *input;
    int is_before;
} behind[] = {
#define BROKEN_BEHIND(mutant, input) {BROKEN_##mutant, input, 0},
#define BROKEN_BEFORE(mutant, input) {BROKEN_##mutant, input, 1},
#include "out_of_bounds_reads.def"
#undef BROKEN_BEHIND
#undef BROKEN_BEFORE
};

static void look(const volatile uint8_t *byte)
{
    (void)*byte;
}

void broken_look_behind(const broken *b, const mxo_call *call)
{
    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++) {
        for (uint32_t k = 0; k < call->n_in; k++) {
            const mxo_tensor *t = &call->in[k];
            if (b->mutant == behind[i].mutant &&
                strcmp(t->name, behind[i].input) == 0) {
                look(behind[i].is_before ? tensor_address(t) - 1
                                         : tensor_address(t) + t->n_bytes);
            }
        }
    }
    /* Sixteen bytes of two codes each have one scale. */
    if (IS(H36) && strcmp(call->op, "dequant.mx") == 0 && call->n_in == 2 &&
        call->in[1].n_bytes > 0) {
        look(tensor_address(&call->in[0]) + 16 * call->in[1].n_bytes - 1);
    }
}

/* Faults that need no answer; OK means: go on. */
static mxo_status before(const broken *b, const mxo_call *call, mxo_text why)
{
    while (IS(H06)) {
        (void)pause();
    }
    if (IS(H07)) {
        (void)raise(SIGSEGV);
    }
    if (IS(H08)) {
        abort();
    }
    if (IS(H25)) {
        _Exit(0);
    }
    if (IS(H15) && odd_rows(call)) {
        return broken_fail(MXO_E_SHAPE, why, "the number of rows is odd");
    }
    if (IS(V12) && odd_rows(call)) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "even rows only");
    }
    if (IS(V10) && b->runs < 20) {
        spend(0.02);
    }
    if (IS(V11) && b->runs == 0) {
        printf("ok 1 - running %s\n", call->op);
        (void)fflush(stdout);
    }
    return MXO_OK;
}

/* A number that changes with every constant of a call. */
static double constants_of(const mxo_call *call)
{
    double sum = 0;

    for (uint32_t i = 0; i < call->n_params; i++) {
        if (strchr(call->params[i].text, '.') != NULL) {
            sum += (i + 1) * strtod(call->params[i].text, NULL);
        }
    }
    return sum;
}

/* Whether a call that was refused spoils this one. */
static int is_spoilt_by_refusal(const broken *b, const mxo_call *call)
{
    const broken_past *past = b->past;
    const int is_own = strcmp(past->refused, call->op) == 0;

    return (IS(H71) && is_own && past->n_since == 0) ||
           (IS(H72) && is_own && past->n_since == 1) ||
           (IS(H73) && past->refused[0] != '\0' && !is_own &&
            past->n_since == 0);
}

/* Whether the places of its tensors, or how it is made, spoil this one. */
static int is_spoilt_by_places(const broken *b)
{
    return (IS(H79) && b->shares_a_buffer) || (IS(H80) && b->starts_a_buffer) ||
           b->is_wrong_way;
}

/* Whether the state of an earlier call spoils this one. */
static int is_spoilt_by_past(const broken *b, const mxo_call *call)
{
    const broken_past *past = b->past;

    return (IS(H55) && past->size != 0 && past->size != call->in[0].n_bytes) ||
           (IS(H56) && past->size != 0 &&
            past->constants != constants_of(call)) ||
           (IS(H57) && b->is_former) || (IS(H76) && b->is_later) ||
           (IS(H81) && b->n_closed != broken_closed()) ||
           (IS(H115) && b->is_crossed && strcmp(call->op, "dequant.mx") == 0) ||
           (IS(H82) && b->is_fourth) || (IS(H83) && b->n_waiting > 3) ||
           (IS(H77) && b->n_waiting > 0 &&
            call->in[0].buffer == b->last_output) ||
           (IS(H74) && b->n_waiting > 0 && past->size != call->in[0].n_bytes) ||
           (IS(H68) && strcmp(call->op, "act.glu") == 0 &&
            strcmp(past->op, "dequant.mx") == 0) ||
           (IS(H69) && past->op[0] != '\0' &&
            strcmp(past->op, call->op) != 0) ||
           is_spoilt_by_refusal(b, call);
}

/* Bytes from which on output t keeps its former contents. */
static uint64_t written(const broken *b, const mxo_tensor *t, uint32_t i)
{
    const uint64_t rows = t->rank > 0 && t->shape[0] > 0 ? t->shape[0] : 1;

    if (IS(H01) || (IS(H19) && i == 1)) {
        return 0;
    }
    if (IS(H02)) {
        return t->n_bytes - t->n_bytes / rows;
    }
    return t->n_bytes - (IS(H03) && t->n_bytes > 0);
}

/* The first answer again, when it has the size of this one. */
static void repeat_first(broken *b, const mxo_tensor *t)
{
    if (b->first == NULL) {
        b->first = malloc((size_t)t->n_bytes + 1);
        b->n_first = t->n_bytes;
        if (b->first != NULL) {
            memcpy(b->first, tensor_address(t), (size_t)t->n_bytes);
        }
    } else if (b->n_first == t->n_bytes) {
        memcpy(tensor_address(t), b->first, (size_t)t->n_bytes);
    }
}

/* The last answer again, when the first input begins, or ends, like that call's
   and both sizes are the same. */
static void repeat_alike(broken *b, const mxo_tensor *in, const mxo_tensor *t)
{
    const uint64_t n = in->n_bytes < 16 ? in->n_bytes : 16;
    const uint8_t *at = tensor_address(in) + (IS(H63) ? 0 : in->n_bytes - n);
    uint64_t key = in->n_bytes;

    for (uint64_t i = 0; i < n; i++) {
        key = (key ^ at[i]) * UINT64_C(0x100000001b3);
    }
    if (b->first != NULL && b->n_first == t->n_bytes && b->first_key == key) {
        memcpy(tensor_address(t), b->first, (size_t)t->n_bytes);
        return;
    }
    free(b->first);
    b->first = NULL;
    repeat_first(b, t);
    b->first_key = key;
}

static void spoil(broken *b, const mxo_call *call, uint32_t i,
                  const uint8_t *former)
{
    const mxo_tensor *t = &call->out[i];
    const mxo_tensor *in = &call->in[0];
    uint8_t *data = tensor_address(t);
    const uint64_t keep = written(b, t, i);
    const uint64_t last = t->n_bytes - 1;

    memcpy(data + keep, former + keep, (size_t)(t->n_bytes - keep));
    if (IS(H04)) {
        data[t->n_bytes] ^= 1;
    } else if (IS(H05)) {
        data[-1] ^= 1;
    } else if (IS(H09)) {
        data[last] ^= (uint8_t)(b->runs & 1);
    } else if (IS(H10) && i == 0) {
        tensor_address(in)[0] ^= 1;
    } else if (IS(H13)) {
        data[last] ^= (uint8_t)(former[last] & 1);
    } else if (IS(H14)) {
        memset(data, 0, (size_t)t->n_bytes);
    } else if (IS(H17) && i == 0) {
        repeat_first(b, t);
    } else if ((IS(H63) || IS(H64)) && i == 0) {
        repeat_alike(b, in, t);
    } else if (IS(H18)) {
        data[last] ^= (uint8_t)(tensor_address(in)[in->n_bytes] != 0);
    } else if (is_spoilt_by_past(b, call) || is_spoilt_by_places(b)) {
        data[last] ^= 1;
    } else if (IS(H24)) {
        memset(data + t->n_bytes, 0x5a, PAGE);
    }
}

static mxo_status with_former(broken *b, broken_op_fn op, const mxo_call *call,
                              mxo_text why)
{
    uint64_t n_bytes = 0;
    uint64_t from = 0;

    for (uint32_t i = 0; i < call->n_out; i++) {
        n_bytes += call->out[i].n_bytes;
    }
    uint8_t *former = malloc((size_t)n_bytes + 1);
    if (former == NULL) {
        return broken_fail(MXO_E_NOMEM, why, "no memory for a copy");
    }
    for (uint32_t i = 0; i < call->n_out; i++) {
        const mxo_tensor *t = &call->out[i];
        memcpy(former + from, tensor_address(t), (size_t)t->n_bytes);
        from += t->n_bytes;
    }
    const mxo_status status = op(b, call, why);

    from = 0;
    for (uint32_t i = 0; status == MXO_OK && i < call->n_out; i++) {
        if (call->out[i].n_bytes > 0) {
            spoil(b, call, i, former + from);
        }
        from += call->out[i].n_bytes;
    }
    b->past->size = call->in[0].n_bytes;
    b->past->constants = constants_of(call);
    (void)snprintf(b->past->op, sizeof b->past->op, "%s", call->op);
    free(former);
    return status;
}

/* H23: the tensors as if they began where their buffers do. */
static mxo_status at_offset_zero(const broken *b, broken_op_fn op,
                                 const mxo_call *call, mxo_text why)
{
    broken_job job;

    if (!broken_keep(&job, call)) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "too many arguments");
    }
    for (uint32_t i = 0; i < call->n_out; i++) {
        job.out[i].offset = 0;
    }
    return op(b, &job.call, why);
}

/* V09: outputs hold other bytes for a while; a refused call writes none. */
static mxo_status over_scratch(const broken *b, broken_op_fn op,
                               const mxo_call *call, mxo_text why)
{
    MXO_TRY(op(b, call, why));
    for (uint32_t i = 0; i < call->n_out; i++) {
        memset(tensor_address(&call->out[i]), 0xcc,
               (size_t)call->out[i].n_bytes);
    }
    return op(b, call, why);
}

mxo_status broken_around(broken *b, broken_op_fn op, const mxo_call *call,
                         mxo_text why)
{
    MXO_TRY(before(b, call, why));
    b->runs++;
    if (IS(H16)) {
        return op(b, call, why) == MXO_OK ? (mxo_status)99 : MXO_E_UNSUPPORTED;
    }
    if (IS(H23)) {
        return at_offset_zero(b, op, call, why);
    }
    if (IS(V09)) {
        return over_scratch(b, op, call, why);
    }
    if (broken_has_size_fault(b)) {
        return broken_beyond_size(b, op, call, why);
    }
    return b->mutant >= BROKEN_H01 ? with_former(b, op, call, why)
                                   : op(b, call, why);
}
