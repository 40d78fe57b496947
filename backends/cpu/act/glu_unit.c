/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One gated unit over a run of numbers, whoever wants it: the exact one by
 * the lane, the rest in scalar code, or a dialect's steps.
 */
#include "glu_unit.h"

#include "number.h"

#include <string.h>

int cpu_glu_dialect(cpu_glu_unit *unit, const char *name)
{
    unit->steps = cpu_steps_of(name);
    unit->base.nan =
        (uint8_t)(unit->steps == NULL ? CPU_NAN_KEEP
                                      : cpu_steps_nan(unit->steps));
    return unit->steps == NULL && strcmp(name, "exact") != 0 ? -1 : 0;
}

int cpu_glu_nan(cpu_glu_unit *unit, const char *word)
{
    static const struct {
        const char *word;
        uint8_t nan;
    } own[] = {{"launder", CPU_NAN_LIMIT},
               {"launder_low", CPU_NAN_LOW_LIMIT},
               {"propagate", CPU_NAN_KEEP}};

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strcmp(word, own[i].word) == 0) {
            unit->base.nan = own[i].nan;
            return 0;
        }
    }
    return strcmp(word, "dialect") == 0 ? 0 : -1;
}

mxo_status cpu_glu_check(const cpu_glu_unit *unit, const cpu_glu *c,
                         mxo_text why)
{
    const float finite = c->alpha - c->alpha + (c->beta - c->beta);

    if (c->alpha != c->alpha || c->beta != c->beta) {
        return cpu_fail(MXO_E_PARAM, why, "alpha and beta are numbers");
    }
    if (c->limit != c->limit) {
        return cpu_fail(MXO_E_PARAM, why, "a limit is a number or none");
    }
    if (c->limit < 0 &&
        (unit->steps == NULL || !cpu_steps_any_limit(unit->steps))) {
        return cpu_fail(MXO_E_PARAM, why, "a limit is not negative");
    }
    if (unit->steps != NULL && cpu_steps_two_way(unit->steps) && c->beta != 0 &&
        c->beta != 1) {
        return cpu_fail(MXO_E_PARAM, why, "beta is 0 or 1 in this dialect");
    }
    if (unit->steps != NULL && cpu_steps_scaled(unit->steps) &&
        !(c->scale >= 0 && c->scale - c->scale == 0)) {
        return cpu_fail(MXO_E_PARAM, why, "scale_gate is a positive number");
    }
    if (finite != 0) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend wants finite constants");
    }
    return MXO_OK;
}

static void store(uint32_t to, cpu_codes *out, const float *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (to == MXO_F32) {
            out->f32[i] = y[i] != y[i] ? cpu_float(0x7fc00000u) : y[i];
        } else {
            out->u16[i] = to == MXO_BF16 ? cpu_bf16_of(y[i]) : cpu_f16_of(y[i]);
        }
    }
}

void cpu_glu_operand(const cpu_glu_operands *x, uint32_t i, float *gate,
                     float *up)
{
    const uint8_t *const g = x->gate;
    const uint8_t *const v = x->up;

    if (x->form == CPU_GLU_FLOATS) {
        memcpy(gate, g + 4 * (size_t)i, 4);
        memcpy(up, v + 4 * (size_t)i, 4);
    } else if (x->form == CPU_GLU_APART) {
        cpu_widen(MXO_BF16, g + 2 * (size_t)i, 1, gate);
        cpu_widen(MXO_BF16, v + 2 * (size_t)i, 1, up);
    } else {
        const int first = x->form == CPU_GLU_PAIRS;

        cpu_widen2(MXO_BF16, g + 4 * (size_t)i, 1, first ? gate : up,
                   first ? up : gate);
    }
}

void cpu_glu_exact(const cpu_glu *c, const cpu_isa_ops *lane,
                   const cpu_glu_operands *x, uint32_t n, cpu_codes *out)
{
    const uint32_t padded = (n + 15) / 16 * 16;
    uint16_t hard[CPU_RUN];
    const uint32_t count =
        c->to == MXO_F32
            ? lane->glu32(c, x->gate, x->up, padded, out->f32, hard)
            : lane->glu16(c, x, padded, out->u16, hard);

    for (uint32_t i = 0; i < count; i++) {
        const uint16_t at = hard[i];
        float gate;
        float up;

        cpu_glu_operand(x, at, &gate, &up);
        const uint32_t code = cpu_glu_one(c, gate, up);

        if (c->to == MXO_F32) {
            out->f32[at] = cpu_float(code);
        } else {
            out->u16[at] = (uint16_t)code;
        }
    }
}

void cpu_glu_run(const cpu_glu_unit *unit, const cpu_glu *c,
                 const cpu_isa_ops *lane, float *gate, float *up, uint32_t n,
                 cpu_codes *out)
{
    if (unit->steps == NULL) {
        const cpu_glu_operands x = {CPU_GLU_FLOATS, gate, up};

        cpu_glu_exact(c, lane, &x, n, out);
    } else {
        cpu_steps_run(unit->steps, c, unit->from, lane, gate, up, n);
        store(c->to, out, gate, n);
    }
}
