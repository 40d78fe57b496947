/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes into calls; see input.h. */
#include "input.h"

#include "base/cli.h"
#include "case/case_shape.h"

#include <stdio.h>
#include <string.h>

/* Enough for several blocks of every size, small enough for many runs. */
enum { MAX_BYTES = 1 << 12 };

void input_start(fuzz_input *in, const uint8_t *bytes, size_t n)
{
    in->bytes = bytes;
    in->n = n;
    in->state = n;
}

uint64_t input_bits(fuzz_input *in)
{
    uint8_t take[8] = {0};
    const size_t n = in->n < 8 ? in->n : 8;
    uint64_t bits = 0;

    if (n > 0) {
        memcpy(take, in->bytes, n);
    }
    in->bytes += n;
    in->n -= n;
    for (int i = 0; i < 8; i++) {
        bits = bits << 8 | take[i];
    }
    /* splitmix64 over what has been read; the bytes themselves come first. */
    in->state = (in->state ^ bits) + 0x9e3779b97f4a7c15;
    uint64_t z = in->state;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return n == 8 ? bits : z ^ z >> 31;
}

uint32_t input_below(fuzz_input *in, uint32_t n)
{
    uint8_t byte = 0;

    if (n == 0) {
        return 0;
    }
    if (in->n > 0) {
        byte = *in->bytes++;
        in->n--;
        return byte % n;
    }
    return (uint32_t)(input_bits(in) % n);
}

static const char *pick(fuzz_input *in, const char *const words[], uint32_t n)
{
    return words[input_below(in, n)];
}

/* A choice of "a|b|c". */
static void pick_choice(fuzz_input *in, word_span choices, char *word)
{
    word_span rest = choices;
    uint32_t n = 0;

    while (rest.len > 0) {
        (void)span_cut(&rest, '|');
        n++;
    }
    uint32_t at = input_below(in, n);

    rest = choices;
    while (at-- > 0) {
        (void)span_cut(&rest, '|');
    }
    (void)span_copy(span_cut(&rest, '|'), word);
}

void input_value(fuzz_input *in, const op_param *p, char *word)
{
    static const char *const ints[] = {"-1", "-2", "0",  "1",  "2",   "8",
                                       "16", "22", "32", "64", "128", "256"};
    static const char *const reals[] = {"1.702", "1",     "0",   "-1",
                                        "7",     "0.5",   "inf", "1e-40",
                                        "3e38",  "-1.25", "none"};

    switch (p->kind) {
    case PARAM_CHOICE:
        pick_choice(in, p->choices, word);
        break;
    case PARAM_BOOL:
        (void)snprintf(word, OP_WORD, "%d", (int)input_below(in, 2));
        break;
    case PARAM_INT:
        (void)snprintf(word, OP_WORD, "%s", pick(in, ints, 12));
        break;
    default:
        (void)snprintf(word, OP_WORD, "%s",
                       pick(in, reals, p->kind == PARAM_REAL ? 10 : 11));
        break;
    }
}

static const op_schema *pick_operation(fuzz_input *in,
                                       const char *const patterns[])
{
    const op_schema *found[64] = {op_at(0)};
    uint32_t n = 0;

    for (int i = 0; i < op_count() && n < 64; i++) {
        for (int k = 0; patterns[k] != NULL; k++) {
            if (cli_matches(patterns[k], op_at(i)->info->name)) {
                found[n++] = op_at(i);
                break;
            }
        }
    }
    return found[input_below(in, n)];
}

int input_case(fuzz_input *in, const char *const patterns[], test_case *c)
{
    static const uint64_t sizes[] = {32, 64, 96, 128, 1, 2, 3, 5, 16, 33};
    char sentence[256];

    memset(c, 0, sizeof *c);
    c->schema = pick_operation(in, patterns);
    (void)snprintf(c->data, sizeof c->data, "%s", CASE_DATA_STANDARD);
    for (int i = 0; i < c->schema->n_params; i++) {
        const op_param *p = &c->schema->params[i];
        /* Half of the parameters keep their default. */
        if (input_below(in, 2) == 0) {
            memcpy(c->value[i], p->standard, OP_WORD);
        } else {
            input_value(in, p, c->value[i]);
        }
    }
    for (int i = 0; i < c->schema->n_dims; i++) {
        case_resize(c, i,
                    sizes[input_below(in, sizeof sizes / sizeof sizes[0])]);
    }
    for (int i = 0; i < c->schema->n_inputs; i++) {
        uint32_t dtype;
        uint64_t shape[MXO_MAX_RANK];
        if (case_has_input(c, i) &&
            case_input(c, i, &dtype, shape,
                       (mxo_text){sentence, sizeof sentence}) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Elements: bytes as they come, or one of them everywhere in a stretch. */
static void fill(fuzz_input *in, host_tensor *t)
{
    const uint32_t kind = input_below(in, 3);
    const uint64_t base = input_bits(in);

    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        const uint64_t bits = kind == 0 && i % 32 != 0 ? base : input_bits(in);
        /* Scales and indices stay near each other in the third kind. */
        tensor_store(t, i, kind == 2 ? base + (bits & 7) : bits);
    }
}

int input_tensors(fuzz_input *in, const test_case *c, tensor_set *set)
{
    char sentence[256];

    for (int i = 0; i < c->schema->n_inputs; i++) {
        const op_input *input = &c->schema->inputs[i];
        uint32_t dtype;
        uint64_t shape[MXO_MAX_RANK];
        host_tensor *t;
        if (!case_has_input(c, i)) {
            continue;
        }
        if (case_input(c, i, &dtype, shape,
                       (mxo_text){sentence, sizeof sentence}) != 0 ||
            tensor_set_add(set, input->name, dtype, input->rank, shape, &t) !=
                MXO_OK ||
            t->n_bytes > MAX_BYTES) {
            return -1;
        }
        fill(in, t);
    }
    return 0;
}

const char *input_spoil(fuzz_input *in, test_case *c, tensor_set *set)
{
    host_tensor *t = &set->t[input_below(in, set->n)];
    const int p = (int)input_below(in, (uint32_t)c->schema->n_params + 1);

    switch (input_below(in, 4)) {
    case 0:
        t->n_bytes--;
        return "a byte is missing";
    case 1:
        t->dtype = dtype_bytes(t->dtype) == 1 ? MXO_I8 : MXO_U16;
        return "another dtype";
    case 2:
        (void)snprintf(t->name, sizeof t->name, "nobody");
        return "a missing tensor";
    default:
        if (p < c->schema->n_params &&
            c->schema->params[p].kind == PARAM_CHOICE) {
            (void)snprintf(c->value[p], OP_WORD, "no_such_rule");
            return "an unknown choice";
        }
        t->shape[0] += 1;
        return "a shape that is not the bytes'";
    }
}
