/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row per small element format: the facts that decoding and encoding
 * need, so that no operation switches on a format's name.
 */
#ifndef CPU_ELEMENT_H
#define CPU_ELEMENT_H

#include <mxoracle/abi.h>

#include <stdint.h>

typedef struct cpu_element {
    const char *name;
    uint32_t dtype; /* of the tensor that carries the codes */
    int ebits;
    int mbits;
    int bias;
    uint8_t largest; /* magnitude code of the largest finite value */
    uint8_t sign;    /* mask of the sign bit */
    uint8_t nan;     /* positive NaN; 0 if the format has none */
    uint8_t nan_sat; /* code of a NaN, without its sign */
    int emax;        /* floor(log2(largest)) */
    int bits;        /* 4: two codes per byte */
} cpu_element;

/* NULL for another name. */
const cpu_element *cpu_element_of(const char *name);
float cpu_element_value(const cpu_element *e, uint8_t code);

#endif
