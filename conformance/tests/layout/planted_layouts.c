/* SPDX-License-Identifier: Apache-2.0 */
/* See planted_layouts.h. */
#include "planted_layouts.h"

int up(int n, int granule)
{
    return (n + granule - 1) / granule * granule;
}

static int hopper(int r, int c, int cols, int warps)
{
    const int q = r % 8;
    const int p = r / 8 % 2;
    const int w = r / 16 % warps;
    const int b = r / (16 * warps) % 2;
    const int a = r / (32 * warps);

    return (a * warps + w) * cols * 32 + c / 2 * 64 + b * 32 + q * 4 +
           c % 2 * 2 + p;
}

static int hopper8(int r, int c, int f, int rows, int cols)
{
    (void)f, (void)rows;
    return hopper(r, c, up(cols, 2), 8);
}

static int hopper4(int r, int c, int f, int rows, int cols)
{
    (void)f, (void)rows;
    return hopper(r, c, up(cols, 2), 4);
}

static int tile_128x4(int r, int c, int f, int rows, int cols)
{
    (void)f, (void)rows;
    return (r / 128 * (up(cols, 4) / 4) + c / 4) * 512 + r % 32 * 16 +
           r / 32 % 4 * 4 + c % 4;
}

static int tile_8x4(int r, int c, int f, int rows, int cols)
{
    (void)f, (void)rows;
    return (r / 8 * (up(cols, 4) / 4) + c / 4) * 32 + r % 8 * 4 + c % 4;
}

/* Rows g0, u0, g1, u1 ..; pairs exchanged, rows of an epilogue tile shuffled.
 */
static int trtllm(int r, int tile, int c, int cols)
{
    const int in = r % 32;
    const int pair = in % 2 == 0 ? in + 1 : in - 1;
    const int half = tile == 128 ? 4 : 2;
    const int to = tile == 128 ? pair % half * 8 + pair / half
                               : pair / 16 * 16 + pair % 2 * 8 + pair % 16 / 2;

    return tile_128x4(r / 32 * 32 + to, c, 0, 0, cols);
}

static int trtllm128(int r, int c, int f, int rows, int cols)
{
    (void)f, (void)rows;
    return trtllm(r, 128, c, cols);
}

static int trtllm64(int r, int c, int f, int rows, int cols)
{
    (void)f, (void)rows;
    return trtllm(r, 64, c, cols);
}

static int gfx950(int r, int c, int f, int rows, int cols)
{
    (void)f, (void)rows;
    return (r / 32 * (up(cols, 8) / 8) + c / 8) * 256 + c % 4 * 64 +
           r % 16 * 4 + c / 4 % 2 * 2 + r / 16 % 2;
}

/* Bytes of two codes, in nibbles: tiles of 64 rows by 16 codes. */
static int marlin_weight(int r, int c, int f, int rows, int cols)
{
    const int k = 2 * c + f;
    const int lane = r % 8 * 4 + k % 8 / 2;
    const int slot = k % 2 * 4 + k / 8 % 2 + r / 8 % 2 * 2;

    (void)cols;
    return (k / 16 * (rows / 64) + r / 64) * 1024 + lane * 32 + r / 16 % 4 * 8 +
           slot;
}

static int nibbles_row_major(int r, int c, int f, int rows, int cols)
{
    (void)rows;
    return 2 * (r * cols + c) + f;
}

static int marlin_scale(int r, int c, int f, int rows, int cols)
{
    const int b = r % 64;

    (void)f, (void)cols;
    return c * rows + r / 64 * 64 + b % 8 * 8 + b / 32 * 4 + b / 8 % 2 * 2 +
           b / 16 % 2;
}

/* vLLM until 2025-11: scales of two columns side by side. */
static int marlin_scale_old(int r, int c, int f, int rows, int cols)
{
    const int b = r % 64;

    (void)f, (void)cols;
    return c / 2 * 2 * rows + r / 64 * 128 + b % 8 * 16 + c % 2 * 8 +
           b / 32 * 4 + b / 8 % 2 * 2 + b / 16 % 2;
}

const layout layouts[N_LAYOUTS] = {
    {"triton.hopper_scale", "num_warps=4", hopper8, hopper4, 448, 9, 512, 2, 0,
     64, 2},
    {"flashinfer.128x4", "flashinfer.8x4", tile_128x4, tile_8x4, 250, 10, 128,
     4, 0, 512, 32},
    {"trtllm.w13_gptoss_sf", "epilogue_tile_m=64", trtllm128, trtllm64, 256, 10,
     128, 4, 0, 512, 32},
    {"triton.cdna4_scale_37", "flashinfer.8x4", gfx950, tile_8x4, 90, 13, 32, 8,
     0, 256, 4},
    {"marlin.repack", "no layout", marlin_weight, nibbles_row_major, 128, 24,
     64, 8, 1, 512, 32},
    {"marlin.scale", "marlin.scale_2025_08", marlin_scale, marlin_scale_old,
     128, 6, 64, 2, 0, 64, 8},
};
