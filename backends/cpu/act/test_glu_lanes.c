/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gated units of 16-bit results: what a lane does not hand back is what the
 * scalar code has, which decides by other arithmetic.  Constants and operands
 * are ordinary and extreme ones, in every form that operands come in.  TAP on
 * standard output.
 */
#include "cpu.h"

#include "act/act.h"
#include "act/glu_unit.h"
#include "isa/isa_ops.h"
#include "number.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 4000, DEVICES = 5, FORMS = 4 };

static const float alphas[] = {1.702f, 1,  0.5f,  -1.3f,  1e-30f,
                               1e30f,  88, 1e-3f, 3.4e38f};
static const float betas[] = {1, 0, -0.5f, 1e10f, 1e-20f};
static const float limits[] = {7, 1e30f, 0.1f, 0, 0x1p-120f};

static uint64_t drawn = 88172645463325252u;

/* Marsaglia's xorshift with 13, 7 and 17. */
static uint32_t draw(void)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return (uint32_t)(drawn >> 16);
}

/* The pattern of an operand: any, near 1, of a wide range, in steps. */
static uint32_t operand(uint32_t kind)
{
    const uint32_t x = draw();

    switch (kind) {
    case 0:
        return x;
    case 1:
        return (x & 0x83ffffffu) | 0x3c000000u;
    case 2:
        return (x & 0x87ffffffu) | 0x38000000u;
    default:
        return cpu_bits32((float)((int32_t)(x % 200001) - 100000) * 1e-3f);
    }
}

static cpu_glu constants(uint32_t run)
{
    cpu_glu c = {.alpha = alphas[0],
                 .beta = betas[0],
                 .limit = limits[0],
                 .no_mul = (uint8_t)(draw() % 8 == 0),
                 .to = draw() % 4 == 0 ? MXO_F16 : MXO_BF16};

    if (run % 3 != 0) {
        c.alpha = alphas[draw() % (sizeof alphas / sizeof alphas[0])];
        c.beta = betas[draw() % (sizeof betas / sizeof betas[0])];
        c.limit = limits[draw() % (sizeof limits / sizeof limits[0])];
    }
    return c;
}

/* Operands of a run as the lane takes them, in room for two floats each. */
static cpu_glu_operands lay(cpu_glu_form form, uint32_t kind, uint32_t *room)
{
    uint16_t *const half = (uint16_t *)room;

    for (uint32_t i = 0; i < 2 * CPU_RUN; i++) {
        const uint32_t x = operand(kind);

        if (form == CPU_GLU_FLOATS) {
            room[i] = x;
        } else {
            half[i] = (uint16_t)(x >> 16);
        }
    }
    if (form == CPU_GLU_FLOATS) {
        return (cpu_glu_operands){form, room, room + CPU_RUN};
    }
    return (cpu_glu_operands){form, half,
                              form == CPU_GLU_APART ? half + CPU_RUN : half};
}

/* Results of one run that are neither handed back nor right. */
static uint32_t wrong(const cpu_isa_ops *lane, const cpu_glu *c,
                      const cpu_glu_operands *x, uint32_t n, uint32_t *handed)
{
    uint16_t code[CPU_RUN];
    uint16_t hard[CPU_RUN];
    uint8_t is_hard[CPU_RUN] = {0};
    const uint32_t count = lane->glu16(c, x, n, code, hard);
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        found += hard[i] >= n;
        is_hard[hard[i] % CPU_RUN] = 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        float gate;
        float up;

        cpu_glu_operand(x, i, &gate, &up);
        found += !is_hard[i] && code[i] != cpu_glu_one(c, gate, up);
    }
    *handed += count;
    return found;
}

static int judge(const cpu_isa_ops *lane, int number)
{
    static uint32_t room[2 * CPU_RUN];
    uint32_t found = 0;
    uint32_t handed = 0;
    uint32_t all = 0;

    for (uint32_t run = 0; run < RUNS; run++) {
        const cpu_glu c = constants(run);
        const cpu_glu_operands x =
            lay((cpu_glu_form)(draw() % FORMS), draw() % 4, room);
        const uint32_t n = CPU_RUN - 16 * (draw() % 3);

        found += wrong(lane, &c, &x, n, &handed);
        all += n;
    }
    /* Handing everything back would be right, too. */
    const int holds = found == 0 && handed < all * 6 / 10;

    printf("%sok %d - %s: %u of %u wrong, %u handed back\n",
           holds ? "" : "not ", number, lane->isa, found, all, handed);
    return holds;
}

int main(void)
{
    int n_failed = 0;
    int n = 0;

    for (int device = 1; device <= DEVICES; device++) {
        mxo_text why;
        const cpu_isa_ops *lane = cpu_isa_of(device, why);

        if (lane != NULL) {
            n_failed += !judge(lane, ++n);
        }
    }
    printf("1..%d\n", n);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
