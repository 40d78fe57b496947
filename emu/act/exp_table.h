/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants of tier 1.  Each is the real number in its comment, rounded to
 * nearest (power_of_two, taylor) or down (the rest); the unit test
 * test_act_fast.c recomputes them from the series of e^x and of ln 2.
 */
#ifndef MXO_EMU_ACT_EXP_TABLE_H
#define MXO_EMU_ACT_EXP_TABLE_H

#include <stdint.h>

/* 64/ln 2 * 2^57; ln 2/64 * 2^64 and the 64 bits after it. */
#define MXO_64_BY_LN2 UINT64_C(0xb8aa3b295c17f0bb)
#define MXO_LN2_BY_64_HI UINT64_C(0x02c5c85fdf473de6)
#define MXO_LN2_BY_64_LO UINT64_C(0xaf278ece600fcbda)

/* 2^64/i! for i = 2..7. */
static const uint64_t mxo_taylor[6] = {
    UINT64_C(0x8000000000000000), UINT64_C(0x2aaaaaaaaaaaaaab),
    UINT64_C(0x0aaaaaaaaaaaaaab), UINT64_C(0x0222222222222222),
    UINT64_C(0x005b05b05b05b05b), UINT64_C(0x000d00d00d00d00d),
};

/* 2^(63 - j/64). */
static const uint64_t mxo_power_of_two[64] = {
    UINT64_C(0x8000000000000000), UINT64_C(0x7e9f06067a4360ba),
    UINT64_C(0x7d41d96db915019d), UINT64_C(0x7be86fb985689ddc),
    UINT64_C(0x7a92be8a92436616), UINT64_C(0x7940bb9e2cffd89d),
    UINT64_C(0x77f25ccdee6d7ae6), UINT64_C(0x76a7980f6cca15c2),
    UINT64_C(0x75606373ee921c97), UINT64_C(0x741cb5281e25ee34),
    UINT64_C(0x72dc8373be41a454), UINT64_C(0x719fc4b95f452d29),
    UINT64_C(0x70666f76154a7089), UINT64_C(0x6f307a412f074892),
    UINT64_C(0x6dfddbcbed791bab), UINT64_C(0x6cce8ae13c57ebdb),
    UINT64_C(0x6ba27e656b4eb57a), UINT64_C(0x6a79ad55e7f6fd10),
    UINT64_C(0x69540ec8f895722d), UINT64_C(0x683199ed779592ca),
    UINT64_C(0x6712460a8fc24072), UINT64_C(0x65f60a7f79393e2e),
    UINT64_C(0x64dcdec3371793d1), UINT64_C(0x63c6ba6455dcd8ae),
    UINT64_C(0x62b39508aa836d6f), UINT64_C(0x61a3666d124bb204),
    UINT64_C(0x6096266533384a2b), UINT64_C(0x5f8bccdb3d398841),
    UINT64_C(0x5e8451cfac061b5f), UINT64_C(0x5d7fad59099f22fe),
    UINT64_C(0x5c7dd7a3b17dcf75), UINT64_C(0x5b7ec8f19468bbc9),
    UINT64_C(0x5a827999fcef3242), UINT64_C(0x5988e20954889245),
    UINT64_C(0x5891fac0e95612c8), UINT64_C(0x579dbc56b48521ba),
    UINT64_C(0x56ac1f752150a563), UINT64_C(0x55bd1cdad49f699c),
    UINT64_C(0x54d0ad5a753e077c), UINT64_C(0x53e6c9da74b29ab5),
    UINT64_C(0x52ff6b54d8a89c75), UINT64_C(0x521a8ad704f3404f),
    UINT64_C(0x513821818624b40c), UINT64_C(0x50582887dcb8a7e1),
    UINT64_C(0x4f7a993048d088d7), UINT64_C(0x4e9f6cd3967fdba8),
    UINT64_C(0x4dc69cdceaa72a9c), UINT64_C(0x4cf022c9905bfd32),
    UINT64_C(0x4c1bf828c6dc54b8), UINT64_C(0x4b4a169b900c2d00),
    UINT64_C(0x4a7a77d47f7b84b1), UINT64_C(0x49ad159789f37496),
    UINT64_C(0x48e1e9b9d588e19b), UINT64_C(0x4818ee218a3358ee),
    UINT64_C(0x47521cc5a2e6a9e0), UINT64_C(0x468d6fadbf2dd4f3),
    UINT64_C(0x45cae0f1f545eb73), UINT64_C(0x450a6abaa4b77ecd),
    UINT64_C(0x444c0740496d4294), UINT64_C(0x438fb0cb4f468808),
    UINT64_C(0x42d561b3e6243d8a), UINT64_C(0x421d1461d66f2023),
    UINT64_C(0x4166c34c5615d0ec), UINT64_C(0x40b268f9de0183ba),
};

#endif
