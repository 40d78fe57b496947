/* SPDX-License-Identifier: Apache-2.0 */
/* See layer_fault.h. */
#include "layer_fault.h"

#include "case/profile_fact.h"
#include "layer_edit.h"
#include "read_as_sm90.h"

#include <stdio.h>
#include <string.h>

static int set(test_case *c, const char *key, const char *value)
{
    char why[256];

    return case_set(c, key, value, (mxo_text){why, sizeof why});
}

/* The profile's unit for the activation of the case. */
static const char *glu_of(const char *profile, const test_case *c)
{
    return profile_fact(
        profile, strcmp(case_value(c, "activation"), "swiglu") == 0 ? "swiglu"
                 : strcmp(case_value(c, "limit"), "none") == 0      ? "silu"
                                                               : "silu_limit");
}

static int is_constant(const char *key)
{
    return strcmp(key, "alpha") == 0 || strcmp(key, "beta") == 0 ||
           strcmp(key, "limit") == 0;
}

int layer_spell_out(test_case *c)
{
    char profile[OP_WORD];
    int bad = *profile_fact(case_value(c, "profile"), "glu_out") == '\0';
    const char *key;

    (void)snprintf(profile, sizeof profile, "%s", case_value(c, "profile"));
    if (!bad && strcmp(case_value(c, "glu"), "profile") == 0 &&
        strcmp(glu_of(profile, c), "swiglu") == 0) {
        /* The kernel runs swiglu all the same. */
        bad |= set(c, "activation", "swiglu");
    }
    if (!bad && strcmp(case_value(c, "glu"), "profile") == 0) {
        bad |= set(c, "glu", glu_of(profile, c));
    }
    for (int i = 0; !bad && (key = profile_key(i)) != NULL; i++) {
        const char *value = profile_fact(profile, key);
        /* An entry that a profile leaves open was not needed by the call. */
        if ((strcmp(case_value(c, key), "profile") == 0 &&
             strcmp(value, "unknown") != 0 &&
             strcmp(value, profile_fact("exact", key)) != 0) ||
            (is_constant(key) && strcmp(value, "config") != 0 &&
             strcmp(case_value(c, "activation"), "swiglu") == 0)) {
            bad |= set(c, key, value);
        }
    }
    return !bad && set(c, "profile", "exact") == 0;
}

/* "key=value" of a case; 0 if it cannot be set, or is so already. */
static int assign(test_case *c, const char *text)
{
    char key[OP_WORD];
    const size_t n = strcspn(text, "=");

    (void)snprintf(key, sizeof key, "%.*s", (int)n, text);
    return strcmp(case_value(c, key), "") != 0 &&
           strcmp(case_value(c, key), text + n + 1) != 0 &&
           set(c, key, text + n + 1) == 0;
}

layer_edit edit_entry(layer_call *call, const char *on, unsigned which)
{
    return which == 0 && assign(&call->c, on) ? EDIT_DONE : EDIT_END;
}

/* A profile's own constants are beyond the parameters. */
layer_edit edit_constant(layer_call *call, const char *on, unsigned which)
{
    return which == 0 && layer_spell_out(&call->c) && assign(&call->c, on)
               ? EDIT_DONE
               : EDIT_END;
}

static int edit_one(layer_call *call, host_tensor *t, layer_element *from)
{
    const uint64_t n = tensor_elems(t);
    tensor_set copy = {0};
    host_tensor *was;
    int changed = 0;

    if (tensor_set_add(&copy, t->name, t->dtype, t->rank, t->shape, &was) ==
            MXO_OK &&
        n > 0) {
        memcpy(was->data, t->data, t->n_bytes);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t code = from(call, was, i);
            changed |= code != tensor_load(was, i);
            tensor_store(t, i, code);
        }
    }
    tensor_set_clear(&copy);
    return changed;
}

/* The next word of the names; NULL: there is no such tensor, and *may_lack
   says whether that is no matter. */
static host_tensor *next_named(layer_call *call, word_span *rest, int *may_lack)
{
    word_span word = span_cut(rest, ' ');
    char name[OP_WORD];

    *may_lack = word.len > 0 && word.ptr[word.len - 1] == '?';
    word.len -= (size_t)*may_lack;
    return span_copy(word, name) ? tensor_set_find(&call->in, name) : NULL;
}

static layer_edit edit_named(layer_call *call, const char *on,
                             layer_element *from)
{
    word_span rest = {on, strlen(on)};
    int changed = 0;

    while (rest.len > 0) {
        int may_lack;
        host_tensor *t = next_named(call, &rest, &may_lack);
        if (t == NULL && !may_lack) {
            return EDIT_END;
        }
        changed |= t != NULL && edit_one(call, t, from);
    }
    return changed ? EDIT_DONE : EDIT_SAME;
}

layer_edit layer_edit_all(layer_call *call, const char *on, unsigned which,
                          layer_element *from)
{
    return which == 0 && edit_named(call, on, from) == EDIT_DONE ? EDIT_DONE
                                                                 : EDIT_END;
}

layer_edit layer_edit_expert(layer_call *call, const char *on, unsigned which,
                             layer_element *from)
{
    word_span rest = {on, strlen(on)};
    int may_lack;
    const host_tensor *first = next_named(call, &rest, &may_lack);

    call->which = which;
    return first == NULL || which >= first->shape[0] || which >= LAYER_EDIT_MOST
               ? EDIT_END
               : edit_named(call, on, from);
}

static uint64_t element_clear(const layer_call *call, const host_tensor *was,
                              uint64_t i)
{
    (void)call;
    (void)was;
    (void)i;
    return 0;
}
LAYER_EDIT(clear)

/* Mantissa bits of the types a bias may have. */
static int mantissa_of(uint32_t dtype)
{
    return dtype == MXO_F16 ? 10 : dtype == MXO_BF16 ? 7 : 23;
}

/* One up in the exponent, but for zeros, infinities, NaN and what has no
   normal double. */
static uint64_t element_twice(const layer_call *call, const host_tensor *was,
                              uint64_t i)
{
    const uint64_t code = tensor_load(was, i);
    const uint64_t one = UINT64_C(1) << mantissa_of(was->dtype);
    const uint64_t all =
        (UINT64_C(1) << (8 * dtype_bytes(was->dtype) - 1)) - one;
    const uint64_t exponent = code & all;

    (void)call;
    return exponent == 0 || exponent >= all - one ? code : code + one;
}
LAYER_EDIT(twice)

/* Elements per expert, the first axis. */
static uint64_t per_expert(const host_tensor *t)
{
    return tensor_elems(t) / t->shape[0];
}

static uint64_t element_next(const layer_call *call, const host_tensor *was,
                             uint64_t i)
{
    (void)call;
    return tensor_load(was, (i + per_expert(was)) % tensor_elems(was));
}
LAYER_EDIT(next)

static uint64_t element_first(const layer_call *call, const host_tensor *was,
                              uint64_t i)
{
    (void)call;
    return tensor_load(was, i % per_expert(was));
}
LAYER_EDIT(first)

static int is_interleaved(const layer_call *call)
{
    return strcmp(case_value(&call->c, "rows"), "interleaved") == 0;
}

static uint64_t element_reversed(const layer_call *call, const host_tensor *was,
                                 uint64_t i)
{
    const uint64_t one = per_expert(was);

    (void)call;
    return tensor_load(was, (was->shape[0] - 1 - i / one) * one + i % one);
}
LAYER_EDIT(reversed)

/* Of n in halves, what comes c-th once the halves take turns. */
static uint64_t woven(uint64_t c, uint64_t n)
{
    return c % 2 * ((n + 1) / 2) + c / 2;
}

/* The reverse: of n, what comes c-th once even ones stand before odd ones. */
static uint64_t parted(uint64_t c, uint64_t n)
{
    const uint64_t half = (n + 1) / 2;

    return c % half * 2 + c / half;
}

/* Element i with another row of its expert's 2 n; what = 0: the row of the
   other kind for the same column, 1: of the other order of rows. */
static uint64_t of_row(const layer_call *call, const host_tensor *was,
                       uint64_t i, int what)
{
    const uint64_t rows = was->shape[1];
    const uint64_t width = per_expert(was) / rows;
    const uint64_t r = i / width % rows;
    const int in_pairs = is_interleaved(call);
    const uint64_t other = in_pairs ? r ^ 1 : (r + rows / 2) % rows;
    const uint64_t moved = in_pairs ? woven(r, rows) : parted(r, rows);

    return tensor_load(was,
                       i - r * width + (what == 0 ? other : moved) * width);
}

static uint64_t element_exchange(const layer_call *call, const host_tensor *was,
                                 uint64_t i)
{
    return of_row(call, was, i, 0);
}
LAYER_EDIT(exchange)

static uint64_t element_other_rows(const layer_call *call,
                                   const host_tensor *was, uint64_t i)
{
    return of_row(call, was, i, 1);
}
LAYER_EDIT(other_rows)

/* The columns of an expert. */
static uint64_t element_woven(const layer_call *call, const host_tensor *was,
                              uint64_t i)
{
    const uint64_t n = per_expert(was);

    (void)call;
    return tensor_load(was, i - i % n + woven(i % n, n));
}
LAYER_EDIT(woven)

static uint64_t element_parted(const layer_call *call, const host_tensor *was,
                               uint64_t i)
{
    const uint64_t n = per_expert(was);

    (void)call;
    return tensor_load(was, i - i % n + parted(i % n, n));
}
LAYER_EDIT(parted)

/* 1.0 as binary32, or the scale 2^0. */
static uint64_t element_ones(const layer_call *call, const host_tensor *was,
                             uint64_t i)
{
    (void)call;
    (void)i;
    return was->dtype == MXO_F32 ? 0x3f800000 : 127;
}
LAYER_EDIT(ones)

static float float_at(const host_tensor *t, uint64_t i)
{
    const uint32_t code = (uint32_t)tensor_load(t, i);
    float x;

    memcpy(&x, &code, sizeof x);
    return x;
}

static uint32_t float_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t element_square(const layer_call *call, const host_tensor *was,
                               uint64_t i)
{
    (void)call;
    return float_bits(float_at(was, i) * float_at(was, i));
}
LAYER_EDIT(square)

/* Divided by the sum over the slots, in doubles: in which order does not show
   in a float. */
static uint64_t element_normalised(const layer_call *call,
                                   const host_tensor *was, uint64_t i)
{
    const uint64_t topk = was->shape[1];
    double sum = 0;

    (void)call;
    for (uint64_t j = 0; j < topk; j++) {
        sum += (double)float_at(was, i - i % topk + j);
    }
    return float_bits((float)((double)float_at(was, i) / sum));
}
LAYER_EDIT(normalised)

static uint64_t element_nibbles(const layer_call *call, const host_tensor *was,
                                uint64_t i)
{
    const uint64_t code = tensor_load(was, i);

    (void)call;
    return (code << 4 | code >> 4) & 0xff;
}
LAYER_EDIT(nibbles)

static uint64_t element_even_codes(const layer_call *call,
                                   const host_tensor *was, uint64_t i)
{
    (void)call;
    return tensor_load(was, i) & 0x0f;
}
LAYER_EDIT(even_codes)

static uint64_t element_odd_codes(const layer_call *call,
                                  const host_tensor *was, uint64_t i)
{
    (void)call;
    return tensor_load(was, i) & 0xf0;
}
LAYER_EDIT(odd_codes)

/* Only where the kernel of the profile wants that order. */
static uint64_t as_sm90(const layer_call *call, const host_tensor *was,
                        uint64_t i, int revision)
{
    const row_order order = strcmp(was->name, "w2") == 0 ? ROWS_PLAIN
                            : is_interleaved(call)       ? ROWS_INTERLEAVED
                                                         : ROWS_HALVES;

    return strcmp(case_value(&call->c, "profile"),
                  "FLASHINFER_CUTLASS_MXFP4_BF16") == 0
               ? read_as_sm90(was, i, order, revision)
               : tensor_load(was, i);
}

static uint64_t element_raw_rev1(const layer_call *call, const host_tensor *was,
                                 uint64_t i)
{
    return as_sm90(call, was, i, 1);
}
LAYER_EDIT(raw_rev1)

static uint64_t element_raw_rev2(const layer_call *call, const host_tensor *was,
                                 uint64_t i)
{
    return as_sm90(call, was, i, 2);
}
LAYER_EDIT(raw_rev2)

/* The last scale of a row. */
static uint64_t element_last_of_next(const layer_call *call,
                                     const host_tensor *was, uint64_t i)
{
    const uint64_t blocks = was->shape[was->rank - 1];

    return blocks > 1 && i % blocks == blocks - 1 ? element_next(call, was, i)
                                                  : tensor_load(was, i);
}
LAYER_EDIT(last_of_next)

/* Codes of the last 32 of K, or of what there is of them, are +0. */
static uint64_t element_last_block(const layer_call *call,
                                   const host_tensor *was, uint64_t i)
{
    const uint64_t bytes = was->shape[was->rank - 1];

    (void)call;
    return bytes > 16 && i % bytes >= (bytes - 1) / 16 * 16
               ? 0
               : tensor_load(was, i);
}
LAYER_EDIT(last_block)

LAYER_TAKE(one_for_two, i - i % was->shape[was->rank - 1] % 2)
LAYER_TAKE(one_for_four, i - i % was->shape[was->rank - 1] % 4)
LAYER_TAKE(one_for_sixteen, i - i % was->shape[was->rank - 1] % 16)

/* Is row i of an expert's behind the last whole so many? */
static int is_behind(const host_tensor *was, uint64_t i, uint64_t granule)
{
    const uint64_t rows = was->shape[1];
    const uint64_t row = i / (per_expert(was) / rows) % rows;

    return rows >= granule && row >= rows - rows % granule;
}

/* Element i, or for rows behind the last whole so many: a code. */
#define TAIL(name, granule, code)                                         \
    static uint64_t element_##name(const layer_call *call,                \
                                   const host_tensor *was, uint64_t i)    \
    {                                                                     \
        (void)call;                                                       \
        return is_behind(was, i, granule) ? (code) : tensor_load(was, i); \
    }                                                                     \
    LAYER_EDIT(name)
/* The same of the rows from the start on. */
static uint64_t from_start(const host_tensor *was, uint64_t i, uint64_t granule)
{
    const uint64_t rows = was->shape[1];

    return tensor_load(was,
                       i - (rows - rows % granule) * (per_expert(was) / rows));
}
TAIL(tail_32_clear, 32, 0)
TAIL(tail_128_clear, 128, 0)
TAIL(tail_32_ones, 32, element_ones(call, was, i))
TAIL(tail_128_ones, 128, element_ones(call, was, i))
TAIL(tail_32_first, 32, from_start(was, i, 32))
TAIL(tail_128_first, 128, from_start(was, i, 128))

const layer_fault layer_faults[] = {
#define MXO_LAYER_FAULT(edit, on, says) {edit_##edit, on, says},
#include "layer_faults.def"
#undef MXO_LAYER_FAULT
    {NULL, NULL, NULL},
};
