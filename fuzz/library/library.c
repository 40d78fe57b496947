/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmxoracle-fuzz: one drawn call, the emulator's answer and the user's.
 * Equal bytes are right and cost nothing more; whatever differs goes to the
 * judge, which knows what may differ and says what is wrong.
 */
#include "call.h"

#include "base/cli.h"
#include "data/fill.h"
#include "draw/draw.h"

#include <mxoracle/fuzz.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of inputs, to be fast. */
enum { MOST_BYTES = 256 };

static struct {
    draw_plan plan;
    mxo_fuzz_function function;
    tensor_set in; /* of the call in hand */
} target;

void mxo_fuzz_begin(const char *wanted, mxo_fuzz_function function)
{
    char why[1024] = "";
    char *copy = strdup(wanted);
    char *list[] = {copy};

    if (copy == NULL || draw_plan_make(&target.plan, list, 1,
                                       (mxo_text){why, sizeof why}) != 0) {
        (void)cli_refuse("%s", copy == NULL ? "out of memory" : why);
        exit(EXIT_USAGE);
    }
    free(copy);
    target.plan.most_bytes = MOST_BYTES;
    target.function = function;
}

/* A corpus of another version is other calls: none of them is judged. */
static void check_version(const uint8_t *bytes, size_t n)
{
    const int version = draw_version_of(bytes, n);

    if (version != DRAW_VERSION) {
        (void)cli_refuse("this input is of version %d of the draw, not %d: "
                         "begin with an empty corpus",
                         version, (int)DRAW_VERSION);
        exit(EXIT_USAGE);
    }
}

int mxo_fuzz_one(const uint8_t *bytes, size_t n)
{
    char why[512] = "";
    uint64_t seed;
    test_case c;

    check_version(bytes, n);
    draw_decode(&target.plan, bytes, n, &c, &seed);
    if (c.flaw[0] == '\0' &&
        fill_inputs(&c, seed, &target.in, (mxo_text){why, sizeof why}) == 0 &&
        !call_is_right(&c, &target.in, target.function)) {
        call_judge(&c, seed, target.function);
    }
    tensor_set_clear(&target.in);
    return 0;
}

size_t mxo_fuzz_mutate(uint8_t *bytes, size_t n, size_t most, unsigned seed)
{
    draw_record r;
    prng rng;

    if (most < sizeof r.byte + DRAW_STAMP) {
        return n;
    }
    prng_seed(&rng, seed);
    if (n == 0) {
        draw_random(&target.plan, &rng, &r);
    } else {
        memset(&r, 0, sizeof r);
        memcpy(r.byte, bytes, n < sizeof r.byte ? n : sizeof r.byte);
        draw_mutate(&target.plan, &rng, &r);
    }
    memcpy(bytes, r.byte, sizeof r.byte);
    draw_stamp(bytes + sizeof r.byte);
    return sizeof r.byte + DRAW_STAMP;
}
