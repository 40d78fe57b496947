/* SPDX-License-Identifier: Apache-2.0 */
/* How a rule reads weights; see gemm_block.h. */
#include "gemm_block.h"

#include "dequant/dequant.h"
#include "number.h"

#include <mxoracle/abi.h>

#include <string.h>

/* Whether every code under byte s has the value of the code times factor. */
static int is_scaled(const cpu_weight_rule *r, int s, double factor)
{
    int same = 1;

    for (int c = 0; c < 16; c++) {
        same = same && r->value[s][c] == factor * cpu_code_int[c];
    }
    return same;
}

static int is_plain_byte(const cpu_weight_rule *r, int s)
{
    return !r->is_odd[s] && r->factor[s] == cpu_pow2(s - 128);
}

/* The stretch around 127 that every rule reads alike. */
static void find_plain(cpu_weight_rule *r)
{
    int from = 127;
    int to = 127;

    if (!is_plain_byte(r, 127)) { /* none, then */
        r->plain_from = 1;
        r->plain_to = 0;
        return;
    }
    while (from > 0 && is_plain_byte(r, from - 1)) {
        from--;
    }
    while (to < 255 && is_plain_byte(r, to + 1)) {
        to++;
    }
    r->plain_from = (uint8_t)from;
    r->plain_to = (uint8_t)to;
}

/* The factors are those of code 2, which is 1. */
static void make_units(cpu_weight_rule *r, const char *name)
{
    float wide[256][16];

    r->has_unit = cpu_dequant_e2m1(name, MXO_F32, wide) == 0;
    for (int s = 0; s < 256; s++) {
        r->unit[s] = r->has_unit ? wide[s][2] : 0;
    }
}

int cpu_weight_rule_make(cpu_weight_rule *r, const char *name, uint32_t narrow)
{
    const int is_plain = strcmp(name, "ocp") == 0; /* not through 16 bits */

    if (cpu_dequant_e2m1(name, narrow, r->narrow) != 0) {
        return -1;
    }
    make_units(r, name);
    for (int s = 0; s < 256; s++) {
        const double unit = cpu_pow2(s - 128);
        for (int c = 0; c < 16; c++) {
            r->value[s][c] = is_plain && s < 255 ? unit * cpu_code_int[c]
                                                 : (double)r->narrow[s][c];
        }
        r->factor[s] = is_scaled(r, s, unit) ? unit : 0;
        r->is_odd[s] = !is_scaled(r, s, r->factor[s]);
    }
    find_plain(r);
    return 0;
}
