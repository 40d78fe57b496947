/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of triton_kernels and of vLLM's conversion for them, against the
 * index arithmetic of the vendors' swizzle functions.  The bit packing of
 * Hopper values is derived from the other side: from the kernel's decode.
 */
#include "closed_form.h"

typedef uint64_t wide;

/* Nibble u / 4, bit u % 4 of byte j, as the kernel's four masks read it. */
static wide decode(wide x, wide j)
{
    switch (j) {
    case 0:
        return x & 0x81c081c0u;
    case 1:
        return x << 3 & 0x81c081c0u;
    case 2:
        return x << 6 & 0x81c081c0u;
    default:
        return (x << 1 & 0x80008000u) | (x >> 3 & 0x01800180u) |
               (x >> 7 & 0x00400040u);
    }
}

/* The bit of the word that the kernel reads as bit u of byte j. */
static wide word_bit(wide j, wide u)
{
    const wide half = u / 4 * 16;
    const wide want = (wide)1 << (half + (u % 4 == 3 ? 15 : 6 + u % 4));
    wide at = 0;

    while (at < 32 && decode((wide)1 << at, j) != want) {
        at++;
    }
    return at;
}

static wide packed(wide byte, wide u)
{
    return byte / 4 * 32 + word_bit(byte % 4, u);
}

static wide pack_bits(const wide p[3], wide e, wide r, wide c, wide u)
{
    return packed((e * p[1] + r) * p[2] + c, u);
}

static wide value_mma3(const wide p[3], wide e, wide n, wide kb, wide u)
{
    const wide m = n % 16;
    const wide k = kb % 32;
    const wide row = 4 * (n / 16) + m / 2 % 4;
    const wide col = 128 * (kb / 32) + 64 * (m % 2) + 16 * (k % 4) +
                     4 * (k / 8) + 2 * (k / 4 % 2) + m / 8;

    (void)u;
    return (e * (p[1] / 4) + row) * (4 * p[2]) + col;
}

static wide value_mma2(const wide p[3], wide e, wide n, wide kb, wide u)
{
    const wide m = n % 16;
    const wide k = kb % 32;
    const wide row = 4 * (n / 16) + m / 2 % 4;
    const wide col = 128 * (kb / 32) + 64 * (m % 2) + 16 * (k / 4 % 4) +
                     8 * (k / 16) + 4 * (m / 8) + k % 4;

    (void)u;
    return (e * (p[1] / 4) + row) * (4 * p[2]) + col;
}

static wide packed_mma3(const wide p[3], wide e, wide n, wide kb, wide u)
{
    return packed(value_mma3(p, e, n, kb, 0), u);
}

static wide packed_mma2(const wide p[3], wide e, wide n, wide kb, wide u)
{
    return packed(value_mma2(p, e, n, kb, 0), u);
}

static wide hopper_scale(const wide p[3], wide e, wide n, wide g, wide w)
{
    const wide m = n % (32 * w);
    const wide row = w * (n / (32 * w)) + m / 16 % w;
    const wide col = 64 * (g / 2) + 32 * (m / (16 * w)) + 4 * (m % 8) +
                     2 * (g % 2) + m / 8 % 2;

    return (e * (p[1] / 32) + row) * (32 * p[2]) + col;
}

static wide scale_1(const wide p[3], wide e, wide n, wide g, wide u)
{
    (void)u;
    return hopper_scale(p, e, n, g, 1);
}

static wide scale_4(const wide p[3], wide e, wide n, wide g, wide u)
{
    (void)u;
    return hopper_scale(p, e, n, g, 4);
}

static wide scale_8(const wide p[3], wide e, wide n, wide g, wide u)
{
    (void)u;
    return hopper_scale(p, e, n, g, 8);
}

static wide blackwell_scale(const wide p[3], wide b, wide n, wide g, wide u)
{
    (void)u;
    return (((b * (p[1] / 128) + n / 128) * (p[2] / 4) + g / 4) * 32 + n % 32) *
               16 +
           n % 128 / 32 * 4 + g % 4;
}

static wide same_place(const wide p[3], wide e, wide r, wide c, wide u)
{
    (void)u;
    return (e * p[1] + r) * p[2] + c;
}

/* out[e][i][j][a][b] = w[e][j * block_n + a][i * tile + b] */
static wide shuffled(const wide p[3], wide e, wide n, wide kb, wide block_n,
                     wide tile)
{
    const wide i = kb / tile;
    const wide j = n / block_n;
    const wide blocks = p[1] / block_n;

    return (((e * (p[2] / tile) + i) * blocks + j) * block_n + n % block_n) *
               tile +
           kb % tile;
}

static wide shuffled_default(const wide p[3], wide e, wide n, wide kb, wide u)
{
    (void)u;
    return shuffled(p, e, n, kb, 256, 64);
}

static wide shuffled_64(const wide p[3], wide e, wide n, wide kb, wide u)
{
    (void)u;
    return shuffled(p, e, n, kb, 64, 32);
}

static wide cdna4(const wide p[3], wide e, wide n, wide g, wide u)
{
    const wide col = 256 * (g / 8) + 64 * (g % 4) + 4 * (n % 16) +
                     2 * (g % 8 / 4) + n % 32 / 16;

    (void)u;
    return (e * (p[1] / 32) + n / 32) * (32 * p[2]) + col;
}

/* n = 128 R + 32 ((y / ak) % 4) + y / (4 ak), g = ak (X / 128 ak) + y % ak */
static wide gfx1250(const wide p[3], wide e, wide n, wide g, wide ak)
{
    const wide y = n % 128 % 32 * (4 * ak) + n % 128 / 32 * ak + g % ak;
    const wide col = 128 * ak * (g / ak) + y;

    return (e * (p[1] / 128) + n / 128) * (128 * p[2]) + col;
}

static wide gfx1250_any(const wide p[3], wide e, wide n, wide g, wide u)
{
    (void)u;
    return gfx1250(p, e, n, g, p[2] < 4 ? p[2] : 4);
}

/* out[e][k][n / 2] holds nib(w[e][n], k) as its nibble n % 2 */
static wide repack(const wide p[3], wide e, wide n, wide c, wide u)
{
    return (e * (2 * p[2]) + 2 * c + u) * p[1] + n;
}

/* out[2 j] = in[j], out[2 j + 1] = in[h + j] along the last axis */
static wide last_axis(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide half = p[2] / 2;

    (void)u;
    return (e * p[1] + r) * p[2] + (c < half ? 2 * c : 2 * (c - half) + 1);
}

enum {
    NO = CLOSED_REFUSED,
    PAD = CLOSED_PADDED,
    EVEN = CLOSED_EVEN,
    WHOLE = CLOSED_NOT_TRIED
};

static const closed_form forms[] = {
    {"triton.hopper_pack_bits", 1, 8, pack_bits, 1, 4, NO, NO, 0, 0},
    {"triton.hopper_value_34", 1, 1, value_mma3, 16, 32, NO, NO, 0, 0},
    {"triton.hopper_value_35", 1, 8, packed_mma3, 16, 32, PAD, PAD, 0, 0},
    {"triton.hopper_value_36", 1, 8, packed_mma3, 64, 64, PAD, PAD, 0, 0},
    {"triton.hopper_value_37", 1, 8, packed_mma3, 64, 64, EVEN, PAD, 0, 0},
    {"triton.hopper_value_38", 1, 8, packed_mma3, 256, 64, EVEN, PAD, 0, 0},
    {"triton.hopper_value_mma2_34", 1, 1, value_mma2, 16, 32, NO, NO, 0, 0},
    {"triton.hopper_value_mma2_35", 1, 8, packed_mma2, 16, 32, PAD, PAD, 0, 0},
    {"triton.hopper_value_mma2_36", 1, 8, packed_mma2, 64, 64, PAD, PAD, 0, 0},
    {"triton.hopper_value_mma2_37", 1, 8, packed_mma2, 64, 64, EVEN, PAD, 0, 0},
    {"triton.hopper_value_mma2_38", 1, 8, packed_mma2, 256, 64, EVEN, PAD, 0,
     0},
    {"triton.hopper_scale/num_warps=1", 1, 1, scale_1, 32, 2, PAD, PAD, 0, 0},
    {"triton.hopper_scale/num_warps=4", 1, 1, scale_4, 128, 2, PAD, PAD, 0, 0},
    {"triton.hopper_scale", 1, 1, scale_8, 256, 2, PAD, PAD, 0, 0},
    {"triton.hopper_scale_34", 1, 1, scale_8, 256, 2, NO, NO, 0, 0},
    {"triton.hopper_scale_34/num_warps=4", 1, 1, scale_4, 128, 2, NO, NO, 0, 0},
    {"triton.hopper_scale_pad4", 1, 1, scale_8, 256, 4, PAD, PAD, 0, 0},
    {"triton.hopper_scale_pad4/num_warps=4", 1, 1, scale_4, 128, 4, PAD, PAD, 0,
     0},
    {"triton.blackwell_act_scale", 1, 1, blackwell_scale, 128, 8, PAD, PAD, 0,
     0},
    {"triton.blackwell_scale", 1, 1, blackwell_scale, 128, 8, PAD, PAD, 0, 0},
    {"triton.blackwell_value", 1, 1, same_place, 1, 128, PAD, PAD, 0, 0},
    {"triton.blackwell_value_37", 1, 1, same_place, 2, 128, NO, PAD, 0,
     CLOSED_UNDEFINED},
    {"triton.blackwell_value_shuffled", 1, 1, shuffled_default, 256, 128, EVEN,
     PAD, 0, 0},
    {"triton.blackwell_value_shuffled/block_k=64/block_n=64", 1, 1, shuffled_64,
     64, 128, EVEN, PAD, 0, 0},
    {"triton.cdna4_scale", 1, 1, cdna4, 32, 8, NO, NO, 0, 0},
    {"triton.cdna4_scale_37", 1, 1, cdna4, 32, 8, PAD, PAD, 0, 0},
    {"triton.gfx1250_scale", 1, 1, gfx1250_any, 128, 4, PAD, WHOLE, 0, 0},
    {"triton.gfx1250_scale", 1, 1, gfx1250_any, 128, 1, PAD, WHOLE, 0, 0},
    {"triton.strided", 2, 1, same_place, 1, 1, PAD, PAD, 0, 0},
    {"triton.strided_repack_k_to_n", 1, 2, repack, 2, 1, NO, PAD, 0, 0},
    {"triton.interleave_last_axis", 1, 1, last_axis, 1, 2, PAD, NO, 0, 0},
    {"triton.interleave_last_axis", 4, 1, last_axis, 1, 2, PAD, NO, 0, 0},
};

enum { N_FORMS = (int)(sizeof forms / sizeof forms[0]) };

START_TEST(the_rows_are_the_closed_forms)
{
    closed_form_holds(&forms[_i]);
}
END_TEST

Suite *suite_layout_triton(void);
Suite *suite_layout_triton(void)
{
    Suite *s = suite_create("layout_triton");
    TCase *t = tcase_create("closed forms");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, the_rows_are_the_closed_forms, 0, N_FORMS);
    suite_add_tcase(s, t);
    return s;
}
