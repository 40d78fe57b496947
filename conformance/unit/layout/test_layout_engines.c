/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of other engines against what their sources say of one element: which
 * block it is in, where the block begins, and which byte and nibble it gets.
 */
#include "closed_form.h"

typedef uint64_t wide;

/* Nibbles of a record: it begins at nibble 0 of number n, byte b of it. */
static wide nibble(wide n, wide record_bytes, wide byte, wide high)
{
    return 2 * (n * record_bytes + byte) + high;
}

/* Blocks of a row, and the number of one among all. */
static wide block(const wide p[3], wide e, wide r, wide c, wide bytes)
{
    return (e * p[1] + r) * (p[2] / bytes) + c / bytes;
}

/* Element j of 0..15 lies low, j + 16 high. */
static wide mxfp4(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide j = 2 * (c % 16) + u;

    return nibble(block(p, e, r, c, 16), 17, 1 + j % 16, j / 16);
}

static wide nvfp4(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide element = 2 * (c % 32) + u;
    const wide run = element / 16;
    const wide j = element % 16;

    return nibble(block(p, e, r, c, 32), 36, 4 + 8 * run + j % 8, j / 8);
}

/* n rows and chunks of so many bytes in turn behind n scales. */
static wide repacked(const wide p[3], wide e, wide r, wide c, wide u, wide n,
                     wide chunk)
{
    const wide j = 2 * (c % 16) + u;
    const wide group = (e * p[1] + r) / n;
    const wide record = group * (p[2] / 16) + c / 16;
    const wide byte = j % 16;
    const wide at = byte / chunk * n * chunk + r % n * chunk + byte % chunk;

    return nibble(record, 17 * n, n + at, j / 16);
}

static wide x4(const wide p[3], wide e, wide r, wide c, wide u)
{
    return repacked(p, e, r, c, u, 4, 4);
}

static wide x8(const wide p[3], wide e, wide r, wide c, wide u)
{
    return repacked(p, e, r, c, u, 8, 8);
}

static wide ik_r8(const wide p[3], wide e, wide r, wide c, wide u)
{
    return repacked(p, e, r, c, u, 8, 4);
}

static wide scale_of(const wide p[3], wide e, wide r, wide c, wide n)
{
    return ((e * p[1] + r) / n * p[2] + c) * 17 * n + r % n;
}

static wide scale1(const wide p[3], wide e, wide r, wide c, wide u)
{
    return scale_of(p, e, r, c, 1) + u;
}

static wide scale4(const wide p[3], wide e, wide r, wide c, wide u)
{
    return scale_of(p, e, r, c, 4) + u;
}

static wide scale8(const wide p[3], wide e, wide r, wide c, wide u)
{
    return scale_of(p, e, r, c, 8) + u;
}

static wide nvfp4_scale(const wide p[3], wide e, wide r, wide c, wide u)
{
    return block(p, e, r, c, 4) * 36 + c % 4 + u;
}

/* Records of 256 elements: all rows of a range of K, then the next range. */
static wide mmq_record(const wide p[3], wide e, wide r, wide c, wide n)
{
    return (e * (p[2] / n) + c / n) * p[1] + r;
}

static wide mmq4(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide element = 2 * (c % 128) + u;
    const wide j = element % 32;

    return nibble(mmq_record(p, e, r, c, 128), 144,
                  16 + element / 32 * 16 + j % 16, j / 16);
}

static wide mmq_nv(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide element = 2 * (c % 128) + u;
    const wide j = element % 16;

    return nibble(mmq_record(p, e, r, c, 128), 144,
                  16 + element / 16 * 8 + j % 8, j / 8);
}

static wide mmq4_scale(const wide p[3], wide e, wide r, wide c, wide u)
{
    return mmq_record(p, e, r, c, 8) * 144 + c % 8 / 2 * 4 + c % 2 + u;
}

static wide mmq_nv_scale(const wide p[3], wide e, wide r, wide c, wide u)
{
    return mmq_record(p, e, r, c, 16) * 144 + c % 16 + u;
}

static wide q8(const wide p[3], wide e, wide r, wide c, wide u)
{
    return block(p, e, r, c, 32) * 34 + 2 + c % 32 + u;
}

static wide q8_scale(const wide p[3], wide e, wide r, wide c, wide u)
{
    return block(p, e, r, c, 1) * 17 + u; /* in units of two bytes */
}

static wide quark(const wide p[3], wide e, wide r, wide c, wide u)
{
    return block(p, e, r, c, 16) * 17 + 1 + c % 16 + u;
}

static wide as_is(const wide p[3], wide e, wide r, wide c, wide u)
{
    return (e * p[1] + r) * p[2] + c + u;
}

static wide high_first(const wide p[3], wide e, wide r, wide c, wide u)
{
    return 2 * as_is(p, e, r, c, 0) + 1 - u;
}

/* Nibble k of row n to nibble n of row k. */
static wide ort(const wide p[3], wide e, wide r, wide c, wide u)
{
    return (e * 2 * p[2] + 2 * c + u) * p[1] + r;
}

static wide to_row(const wide p[3], wide e, wide row, wide c)
{
    return (e * p[1] + row) * p[2] + c;
}

static wide gran16(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide half = p[1] / 2;
    const wide is_up = r / half;
    const wide i = r % half;

    return to_row(p, e, i / 16 * 32 + i % 2 * 16 + is_up * 8 + i % 16 / 2, c) +
           u;
}

static wide utccp(const wide p[3], wide e, wide r, wide c, wide u)
{
    return to_row(p, e, r / 128 * 128 + r % 32 * 4 + r % 128 / 32, c) + u;
}

static wide halves_to_pairs(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide half = p[1] / 2;

    return to_row(p, e, r < half ? 2 * r + 1 : 2 * (r - half), c) + u;
}

static wide pairs(const wide p[3], wide e, wide r, wide c, wide u)
{
    return to_row(p, e, r % 2 == 0 ? r + 1 : r - 1, c) + u;
}

static wide transposed(const wide p[3], wide e, wide r, wide c, wide u)
{
    return (e * p[2] + c) * p[1] + r + u;
}

#define WHOLE CLOSED_REFUSED, CLOSED_REFUSED, 0, 0
#define PADDED CLOSED_NOT_TRIED, CLOSED_PADDED, 0, 0

static const closed_form forms[] = {
    {"compressed_tensors.global_scale", 4, 1, as_is, 1, 1, WHOLE},
    {"ggml.cuda_mxfp4_codes", 1, 2, mmq4, 1, 256, PADDED},
    {"ggml.cuda_mxfp4_codes/pad=256", 1, 2, mmq4, 1, 128, PADDED},
    {"ggml.cuda_mxfp4_scale", 1, 1, mmq4_scale, 1, 16, PADDED},
    {"ggml.cuda_nvfp4_codes", 1, 2, mmq_nv, 1, 128, PADDED},
    {"ggml.cuda_nvfp4_scale", 1, 1, mmq_nv_scale, 1, 16, PADDED},
    {"ggml.ik_mxfp4_r8_codes", 1, 2, ik_r8, 8, 16, WHOLE},
    {"ggml.ik_mxfp4_r8_scale", 1, 1, scale8, 8, 1, WHOLE},
    {"ggml.mxfp4_codes", 1, 2, mxfp4, 1, 16, WHOLE},
    {"ggml.mxfp4_scale", 1, 1, scale1, 1, 1, WHOLE},
    {"ggml.mxfp4_x4_codes", 1, 2, x4, 4, 16, WHOLE},
    {"ggml.mxfp4_x4_scale", 1, 1, scale4, 4, 1, WHOLE},
    {"ggml.mxfp4_x8_codes", 1, 2, x8, 8, 16, WHOLE},
    {"ggml.mxfp4_x8_scale", 1, 1, scale8, 8, 1, WHOLE},
    {"ggml.nvfp4_codes", 1, 2, nvfp4, 1, 32, WHOLE},
    {"ggml.nvfp4_raw_scale", 1, 1, nvfp4_scale, 1, 4, WHOLE},
    {"ggml.nvfp4_scale", 1, 1, nvfp4_scale, 1, 4, WHOLE},
    {"ggml.q8_0_codes", 1, 1, q8, 1, 32, WHOLE},
    {"ggml.q8_0_scale", 2, 1, q8_scale, 1, 1, WHOLE},
    {"mlx.global_scale", 4, 1, as_is, 1, 1, WHOLE},
    {"openvino.pack_data", 1, 2, high_first, 1, 1, WHOLE},
    {"ort.nvfp4_n_packed", 1, 2, ort, 2, 1, WHOLE},
    {"quark.mxfp4_17_codes", 1, 1, quark, 1, 16, WHOLE},
    {"quark.mxfp4_17_scale", 1, 1, scale1, 1, 1, WHOLE},
    {"sglang.mega_gran16", 1, 1, gran16, 32, 1, WHOLE},
    {"sglang.mega_sf_utccp", 4, 1, utccp, 128, 1, WHOLE},
    {"sglang.trtllm_pairs_halves", 1, 1, halves_to_pairs, 2, 1, WHOLE},
    {"sglang.trtllm_pairs_interleaved", 1, 1, pairs, 2, 1, WHOLE},
    {"transformers.dequantized", 2, 1, transposed, 1, 1, WHOLE},
};

enum { N_FORMS = sizeof forms / sizeof forms[0] };

START_TEST(row_follows_the_source)
{
    closed_form_holds(&forms[_i]);
}
END_TEST

START_TEST(every_engine_row_has_a_formula)
{
    static const char *const prefixes[] = {
        "ggml.",   "mlx.",          "ort.",      "quark.",
        "sglang.", "transformers.", "openvino.", "compressed_tensors."};

    closed_forms_cover(forms, N_FORMS, prefixes[_i]);
}
END_TEST

Suite *suite_layout_engines(void);

Suite *suite_layout_engines(void)
{
    Suite *s = suite_create("layout_engines");
    TCase *t = tcase_create("closed forms");

    tcase_add_loop_test(t, row_follows_the_source, 0, N_FORMS);
    tcase_add_loop_test(t, every_engine_row_has_a_formula, 0, 8);
    suite_add_tcase(s, t);
    return s;
}
