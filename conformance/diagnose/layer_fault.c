/* SPDX-License-Identifier: Apache-2.0 */
/* See layer_fault.h. */
#include "layer_fault.h"

#include "case/profile_fact.h"
#include "read_as_sm90.h"

#include <stdio.h>
#include <string.h>

/* Experts and slots that are tried one by one. */
enum { MOST = 64 };

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

static layer_edit edit_entry(layer_call *call, const char *on, unsigned which)
{
    return which == 0 && assign(&call->c, on) ? EDIT_DONE : EDIT_END;
}

/* A profile's own constants are beyond the parameters. */
static layer_edit edit_constant(layer_call *call, const char *on,
                                unsigned which)
{
    return which == 0 && layer_spell_out(&call->c) && assign(&call->c, on)
               ? EDIT_DONE
               : EDIT_END;
}

/* Element i of the edited tensor from the tensor as it was. */
typedef uint64_t (*element)(const layer_call *call, const host_tensor *was,
                            uint64_t i);

static int edit_one(layer_call *call, host_tensor *t, element from)
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

/* All the tensors named, or none: each must be there. */
static layer_edit edit_all(layer_call *call, const char *on, unsigned which,
                           element from)
{
    word_span rest = {on, strlen(on)};
    char name[OP_WORD];
    int changed = 0;

    while (which == 0 && rest.len > 0) {
        host_tensor *t = span_copy(span_cut(&rest, ' '), name)
                             ? tensor_set_find(&call->in, name)
                             : NULL;
        if (t == NULL) {
            return EDIT_END;
        }
        changed |= edit_one(call, t, from);
    }
    return changed ? EDIT_DONE : EDIT_END;
}

/* Every edit of single elements: edit_NAME() by element_NAME(). */
#define EDIT(name)                                                  \
    static layer_edit edit_##name(layer_call *call, const char *on, \
                                  unsigned which)                   \
    {                                                               \
        return edit_all(call, on, which, element_##name);           \
    }

static uint64_t element_clear(const layer_call *call, const host_tensor *was,
                              uint64_t i)
{
    (void)call;
    (void)was;
    (void)i;
    return 0;
}
EDIT(clear)

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
EDIT(twice)

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
EDIT(next)

static uint64_t element_first(const layer_call *call, const host_tensor *was,
                              uint64_t i)
{
    (void)call;
    return tensor_load(was, i % per_expert(was));
}
EDIT(first)

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
EDIT(reversed)

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
EDIT(exchange)

static uint64_t element_other_rows(const layer_call *call,
                                   const host_tensor *was, uint64_t i)
{
    return of_row(call, was, i, 1);
}
EDIT(other_rows)

/* The columns of an expert. */
static uint64_t element_woven(const layer_call *call, const host_tensor *was,
                              uint64_t i)
{
    const uint64_t n = per_expert(was);

    (void)call;
    return tensor_load(was, i - i % n + woven(i % n, n));
}
EDIT(woven)

static uint64_t element_parted(const layer_call *call, const host_tensor *was,
                               uint64_t i)
{
    const uint64_t n = per_expert(was);

    (void)call;
    return tensor_load(was, i - i % n + parted(i % n, n));
}
EDIT(parted)

/* 1.0 as binary32, or the scale 2^0. */
static uint64_t element_ones(const layer_call *call, const host_tensor *was,
                             uint64_t i)
{
    (void)call;
    (void)i;
    return was->dtype == MXO_F32 ? 0x3f800000 : 127;
}
EDIT(ones)

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
EDIT(square)

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
EDIT(normalised)

static uint64_t element_nibbles(const layer_call *call, const host_tensor *was,
                                uint64_t i)
{
    const uint64_t code = tensor_load(was, i);

    (void)call;
    return (code << 4 | code >> 4) & 0xff;
}
EDIT(nibbles)

static uint64_t element_even_codes(const layer_call *call,
                                   const host_tensor *was, uint64_t i)
{
    (void)call;
    return tensor_load(was, i) & 0x0f;
}
EDIT(even_codes)

static uint64_t element_odd_codes(const layer_call *call,
                                  const host_tensor *was, uint64_t i)
{
    (void)call;
    return tensor_load(was, i) & 0xf0;
}
EDIT(odd_codes)

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
EDIT(raw_rev1)

static uint64_t element_raw_rev2(const layer_call *call, const host_tensor *was,
                                 uint64_t i)
{
    return as_sm90(call, was, i, 2);
}
EDIT(raw_rev2)

/* The last scale of a row. */
static uint64_t element_last_of_next(const layer_call *call,
                                     const host_tensor *was, uint64_t i)
{
    const uint64_t blocks = was->shape[was->rank - 1];

    return blocks > 1 && i % blocks == blocks - 1 ? element_next(call, was, i)
                                                  : tensor_load(was, i);
}
EDIT(last_of_next)

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
EDIT(last_block)

/* Of the slot so many further, behind the last one the first. */
static uint64_t slot_at(const host_tensor *was, uint64_t i, uint64_t further)
{
    const uint64_t topk = was->shape[1];

    return i - i % topk + (i % topk + further) % topk;
}

/* Edits that take another element. */
#define TAKE(name, at)                                                 \
    static uint64_t element_##name(const layer_call *call,             \
                                   const host_tensor *was, uint64_t i) \
    {                                                                  \
        (void)call;                                                    \
        return tensor_load(was, at);                                   \
    }                                                                  \
    EDIT(name)
TAKE(first_slot, i - i % was->shape[1])
TAKE(next_slot, slot_at(was, i, 1))
TAKE(former_slot, slot_at(was, i, was->shape[1] - 1))
TAKE(first_token, i % was->shape[1])
TAKE(one_for_two, i - i % was->shape[was->rank - 1] % 2)
TAKE(one_for_four, i - i % was->shape[was->rank - 1] % 4)
TAKE(one_for_sixteen, i - i % was->shape[was->rank - 1] % 16)

/* Pairs that take part (ids that are not negative), by slot or by expert. */
typedef enum choice { ALL_BUT_SLOT, ALL_BUT_EXPERT, EXPERT_ALONE } choice;

static layer_edit choose(layer_call *call, const char *on, unsigned which,
                         choice how)
{
    host_tensor *ids = tensor_set_find(&call->in, on);
    const uint64_t n = ids == NULL ? 0 : tensor_elems(ids);
    uint64_t n_out = 0;
    uint64_t n_left = 0;
    uint64_t most = 0;

    for (uint64_t i = 0; i < n; i++) {
        const int32_t id = (int32_t)(uint32_t)tensor_load(ids, i);
        const unsigned slot = (unsigned)(i % ids->shape[1]);
        const int is_it = how == ALL_BUT_SLOT
                              ? slot == which
                              : id >= 0 && (unsigned)id == which;
        const uint64_t number = how == ALL_BUT_SLOT ? slot : (uint64_t)id;
        most = id >= 0 && number > most ? number : most;
        if (id >= 0 && is_it != (how == EXPERT_ALONE)) {
            tensor_store(ids, i, UINT32_MAX);
            n_out++;
        }
        n_left += id >= 0 && is_it == (how == EXPERT_ALONE);
    }
    if (n_out > 0) {
        (void)set(&call->c, "absent", "skip"); /* whatever the profile says */
    }
    return n == 0 || which > most || which >= MOST ? EDIT_END
           : n_out > 0 && n_left > 0               ? EDIT_DONE
                                                   : EDIT_SAME;
}

static layer_edit edit_no_slot(layer_call *call, const char *on, unsigned which)
{
    return choose(call, on, which, ALL_BUT_SLOT);
}

static layer_edit edit_no_expert(layer_call *call, const char *on,
                                 unsigned which)
{
    return choose(call, on, which, ALL_BUT_EXPERT);
}

static layer_edit edit_one_expert(layer_call *call, const char *on,
                                  unsigned which)
{
    return choose(call, on, which, EXPERT_ALONE);
}

const layer_fault layer_faults[] = {
#define MXO_LAYER_FAULT(edit, on, says) {edit_##edit, on, says},
#include "layer_faults.def"
#undef MXO_LAYER_FAULT
    {NULL, NULL, NULL},
};
