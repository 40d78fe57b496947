/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Double-doubles for the exponential: 2^(-j/64), 1/n! and ln 2/64 cut into
 * pieces of 38 bits, so that products with k < 2^15 are exact.  Computed with
 * 120 decimal digits; each pair is the nearest double and the nearest double
 * of the rest.
 */
#ifndef CPU_EXACT_TABLE_H
#define CPU_EXACT_TABLE_H

#define LN2_64_A 0x1.62e42fefap-7
#define LN2_64_B 0x1.cf79abc9ep-46
#define LN2_64_C 0x1.d9cc01f97b57ap-85
#define INV_LN2_64 0x1.71547652b82fep+6

static const double power_table[64][2] = {
    {0x1.0000000000000p+0, 0x0.0p+0},
    {0x1.fa7c1819e90d8p-1, 0x1.74853f3a5931ep-56},
    {0x1.f50765b6e4540p-1, 0x1.9d3e12dd8a18bp-55},
    {0x1.efa1bee615a27p-1, 0x1.dc7f486a4b6b0p-55},
    {0x1.ea4afa2a490dap-1, -0x1.e9c23179c2893p-55},
    {0x1.e502ee78b3ff6p-1, 0x1.39e8980a9cc8fp-56},
    {0x1.dfc97337b9b5fp-1, -0x1.1a5cd4f184b5cp-55},
    {0x1.da9e603db3285p-1, 0x1.c2300696db532p-55},
    {0x1.d5818dcfba487p-1, 0x1.2ed02d75b3707p-56},
    {0x1.d072d4a07897cp-1, -0x1.cbc3743797a9cp-55},
    {0x1.cb720dcef9069p-1, 0x1.503cbd1e949dbp-57},
    {0x1.c67f12e57d14bp-1, 0x1.2884dff483cadp-55},
    {0x1.c199bdd85529cp-1, 0x1.11065895048ddp-56},
    {0x1.bcc1e904bc1d2p-1, 0x1.23dd07a2d9e84p-56},
    {0x1.b7f76f2fb5e47p-1, -0x1.5584f7e54ac3bp-57},
    {0x1.b33a2b84f15fbp-1, -0x1.2805e3084d708p-58},
    {0x1.ae89f995ad3adp-1, 0x1.7a1cd345dcc81p-55},
    {0x1.a9e6b5579fdbfp-1, 0x1.0fac90ef7fd31p-55},
    {0x1.a5503b23e255dp-1, -0x1.d2f6edb8d41e1p-55},
    {0x1.a0c667b5de565p-1, -0x1.359495d1cd533p-55},
    {0x1.9c49182a3f090p-1, 0x1.c7c46b071f2bep-57},
    {0x1.97d829fde4e50p-1, -0x1.d185b7c1b85d1p-55},
    {0x1.93737b0cdc5e5p-1, -0x1.75fc781b57ebcp-58},
    {0x1.8f1ae99157736p-1, 0x1.5cc13a2e3976cp-56},
    {0x1.8ace5422aa0dbp-1, 0x1.6e9f156864b27p-55},
    {0x1.868d99b4492edp-1, -0x1.fc6f89bd4f6bap-55},
    {0x1.82589994cce13p-1, -0x1.d4c1dd41532d8p-55},
    {0x1.7e2f336cf4e62p-1, 0x1.05d02ba15797ep-57},
    {0x1.7a11473eb0187p-1, -0x1.41577ee04992fp-56},
    {0x1.75feb564267c9p-1, -0x1.0245957316dd3p-55},
    {0x1.71f75e8ec5f74p-1, -0x1.16e4786887a99p-56},
    {0x1.6dfb23c651a2fp-1, -0x1.bbe3a683c88abp-58},
    {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55},
    {0x1.6623882552225p-1, -0x1.bb60987591c34p-55},
    {0x1.6247eb03a5585p-1, -0x1.383c17e40b497p-55},
    {0x1.5e76f15ad2148p-1, 0x1.ba6f93080e65ep-55},
    {0x1.5ab07dd485429p-1, 0x1.6324c054647adp-55},
    {0x1.56f4736b527dap-1, 0x1.9bb2c011d93adp-55},
    {0x1.5342b569d4f82p-1, -0x1.07abe1db13cadp-56},
    {0x1.4f9b2769d2ca7p-1, -0x1.4b309d25957e3p-55},
    {0x1.4bfdad5362a27p-1, 0x1.d4397afec42e2p-57},
    {0x1.486a2b5c13cd0p-1, 0x1.3c1a3b69062f0p-57},
    {0x1.44e086061892dp-1, 0x1.89b7a04ef80d0p-60},
    {0x1.4160a21f72e2ap-1, -0x1.ef3691c309278p-59},
    {0x1.3dea64c123422p-1, 0x1.ada0911f09ebcp-56},
    {0x1.3a7db34e59ff7p-1, -0x1.5e436d661f5e3p-57},
    {0x1.371a7373aa9cbp-1, -0x1.63aeabf42eae2p-55},
    {0x1.33c08b26416ffp-1, 0x1.32721843659a6p-55},
    {0x1.306fe0a31b715p-1, 0x1.6f46ad23182e4p-56},
    {0x1.2d285a6e4030bp-1, 0x1.0024754db41d5p-55},
    {0x1.29e9df51fdee1p-1, 0x1.612e8afad1255p-56},
    {0x1.26b4565e27cddp-1, 0x1.2bd339940e9d9p-56},
    {0x1.2387a6e756238p-1, 0x1.9b07eb6c70573p-55},
    {0x1.2063b88628cd6p-1, 0x1.dc775814a8495p-56},
    {0x1.1d4873168b9aap-1, 0x1.e016e00a2643cp-55},
    {0x1.1a35beb6fcb75p-1, 0x1.e5b4c7b4968e4p-56},
    {0x1.172b83c7d517bp-1, -0x1.19041b9d78a76p-56},
    {0x1.1429aaea92de0p-1, -0x1.32fbf9af1369ep-55},
    {0x1.11301d0125b51p-1, -0x1.6c51039449b3ap-55},
    {0x1.0e3ec32d3d1a2p-1, 0x1.03a1727c57b53p-60},
    {0x1.0b5586cf9890fp-1, 0x1.8a62e4adc610bp-55},
    {0x1.0874518759bc8p-1, 0x1.186be4bb284ffp-58},
    {0x1.059b0d3158574p-1, 0x1.d73e2a475b465p-56},
    {0x1.02c9a3e778061p-1, -0x1.19083535b085dp-57},
};

/* 1/n! for n = 0..14 */
static const double factorial_table[15][2] = {
    {0x1.0000000000000p+0, 0.0},
    {0x1.0000000000000p+0, 0.0},
    {0x1.0000000000000p-1, 0.0},
    {0x1.5555555555555p-3, 0x1.5555555555555p-57},
    {0x1.5555555555555p-5, 0x1.5555555555555p-59},
    {0x1.1111111111111p-7, 0x1.1111111111111p-63},
    {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
    {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
    {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
    {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
    {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
    {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},
    {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
    {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87},
    {0x1.93974a8c07c9dp-37, 0x1.05d6f8a2efd1fp-92},
};

#endif
