/* SPDX-License-Identifier: Apache-2.0 */
/* Every tensor of a block is checked before the result is begun. */
#include "base/say.h"
#include "block.h"
#include "numbers.h"
#include "parse.h"

#include <stdio.h>
#include <string.h>

int gguf_complain(const gguf *g, uint64_t block, int p, int part,
                  const char *sentence)
{
    (void)say(MXO_E_SHAPE, g->why, "%s: blk.%llu.ffn_%s_exps.%s %s", g->path,
              (unsigned long long)block, gguf_names[p], gguf_parts[part],
              sentence);
    return -1;
}

static const char *type_name(uint32_t type)
{
    return type == GGUF_NVFP4   ? " (NVFP4)"
           : type == GGUF_MXFP4 ? " (MXFP4)"
                                : "";
}

/* Type and size of one tensor: rows x cols for each expert, rows, or one
   number; it lies in the file. */
static int check_tensor(const gguf *g, uint64_t n, int p, int part)
{
    const gguf_block *b = &g->block[n];
    const gguf_tensor *t = &b->part[part][p];
    const uint64_t rows = p == DOWN ? b->hidden : b->inter;
    const uint64_t cols = p == DOWN ? b->inter : b->hidden;
    const uint64_t dims[3] = {cols, rows, b->experts};
    const uint32_t rank = part == WEIGHT ? 3 : part == BIAS ? 2 : 1;
    const uint32_t type = part != WEIGHT   ? GGUF_F32
                          : b->group == 16 ? GGUF_NVFP4
                                           : GGUF_MXFP4;
    char sentence[96];

    if (!t->present) {
        return gguf_complain(g, n, p, part, "is missing");
    }
    if (t->type != type) {
        (void)snprintf(sentence, sizeof sentence, "has type %u%s, not %s",
                       (unsigned)t->type, type_name(t->type),
                       type == GGUF_F32     ? "0 (F32)"
                       : type == GGUF_NVFP4 ? "40 (NVFP4)"
                                            : "39 (MXFP4)");
        return gguf_complain(g, n, p, part, sentence);
    }
    if (t->rank != rank ||
        memcmp(t->dim, dims + 3 - rank, rank * sizeof dims[0]) != 0) {
        return gguf_complain(
            g, n, p, part, "has another size than the other experts' tensors");
    }
    return 0;
}

uint32_t gguf_factor(const gguf *g, const gguf_block *b, uint64_t e, int p,
                     int kind)
{
    const gguf_tensor *t = &b->part[SCALE + kind][p];
    const uint8_t *x = g->map + g->data + t->offset + 4 * e;

    return (uint32_t)x[0] | (uint32_t)x[1] << 8 | (uint32_t)x[2] << 16 |
           (uint32_t)x[3] << 24;
}

uint32_t gguf_global(const gguf *g, const gguf_block *b, uint64_t e, int p,
                     int kind)
{
    const uint64_t kinds = gguf_kinds(b->globals);
    const uint64_t row = e * PROJECTIONS + (uint64_t)p;

    return b->numbers == NULL
               ? gguf_factor(g, b, e, p, kind)
               : gguf_number(b->numbers, b->experts * PROJECTIONS * kinds,
                             row * kinds + (uint64_t)kind);
}

/* A positive number; of the global scale that the file tells; and of all
   experts, where the checkpoint has one scale for them. */
static int check_factor(const gguf *g, uint64_t n, uint64_t e, int p, int kind)
{
    const gguf_block *b = &g->block[n];
    const uint32_t bits = gguf_factor(g, b, e, p, kind);
    const uint32_t global = gguf_global(g, b, e, p, kind);

    if (bits == 0 || bits >= 0x7f800000U) {
        return gguf_complain(g, n, p, SCALE + kind, "is no positive number");
    }
    if (global == 0 || gguf_factor_of(b->globals, global) != bits) {
        return gguf_complain(g, n, p, SCALE + kind,
                             "is not of the global scale that the file tells");
    }
    return b->style->is_transposed &&
                   global != gguf_global(g, b, 0, p == DOWN ? DOWN : GATE, kind)
               ? gguf_complain(g, n, p, SCALE + kind,
                               "has numbers that differ, where the checkpoint "
                               "has one for all experts")
               : 0;
}

static int check_factors(const gguf *g, uint64_t n)
{
    const gguf_block *b = &g->block[n];

    for (uint64_t i = 0; i < b->experts * 6 && b->group == 16; i++) {
        const int kind = (int)(i % 2);
        if (gguf_has_part(b, SCALE + kind) &&
            check_factor(g, n, i / 6, (int)(i / 2 % PROJECTIONS), kind) != 0) {
            return -1;
        }
    }
    return 0;
}

int gguf_has_part(const gguf_block *b, int part)
{
    const int is_mlx = b->group == 16 && gguf_kinds(b->globals) == 1;

    if (part == WEIGHT || part == BIAS) {
        return part == WEIGHT || b->biased;
    }
    return b->group != 32 &&
           (!is_mlx || (part == SCALE && b->global_rank != 0));
}

/* MXFP4 has no factors, NVFP4 those of its checkpoint. */
static int check_part(const gguf *g, uint64_t n, int p, int part)
{
    const gguf_block *b = &g->block[n];

    if (gguf_has_part(b, part)) {
        return check_tensor(g, n, p, part);
    }
    return part != BIAS && b->part[part][p].present
               ? gguf_complain(g, n, p, part,
                               b->group == 32
                                   ? "is a factor of each expert, which no "
                                     "checkpoint of MXFP4 has"
                                   : "is a factor that the checkpoint which "
                                     "the file tells of has not")
               : 0;
}

/* The sign of NVFP4's scale bytes is nothing to llama.cpp, and a sign to a
   checkpoint's reader. */
static int check_scales(const gguf *g, uint64_t n)
{
    const gguf_block *b = &g->block[n];
    const uint64_t blocks =
        b->experts * b->inter * (b->hidden / gguf_block_elements(b->group));

    for (int p = 0; p < PROJECTIONS && b->group == 16; p++) {
        const uint8_t *at = g->map + g->data + b->part[WEIGHT][p].offset;
        for (uint64_t i = 0; i < blocks; i++) {
            const uint8_t *block = at + i * gguf_block_bytes(b->group);
            if (i % GGUF_STOP_EVERY == 0 && gguf_stopped(g->why)) {
                return -1;
            }
            for (uint64_t k = 0; k < gguf_block_scales(b->group); k++) {
                if (block[k] >= 0x80) {
                    return gguf_complain(g, n, p, WEIGHT,
                                         "has a scale byte with a sign");
                }
            }
        }
    }
    return 0;
}

int gguf_check_block(const gguf *g, uint64_t n)
{
    gguf_block *b = &g->block[n];
    const gguf_tensor *gate = &b->part[WEIGHT][GATE];
    const uint64_t unit = gguf_block_elements(b->group);
    int bad = 0;

    if (b->is_fused) {
        (void)say(MXO_E_SHAPE, g->why,
                  "%s: blk.%llu.ffn_gate_up_exps.weight has gate and up in one "
                  "tensor, which is not read",
                  g->path, (unsigned long long)n);
        return -1;
    }
    if (!gate->present) {
        return gguf_complain(g, n, GATE, WEIGHT, "is missing");
    }
    b->hidden = gate->dim[0];
    b->inter = gate->dim[1];
    b->experts = gate->rank == 3 ? gate->dim[2] : 0;
    b->biased = b->part[BIAS][GATE].present || b->part[BIAS][UP].present ||
                b->part[BIAS][DOWN].present;
    if (b->experts == 0 || b->hidden == 0 || b->inter == 0 ||
        b->hidden % unit != 0 || b->inter % unit != 0 || b->experts > 65536) {
        return gguf_complain(g, n, GATE, WEIGHT,
                             b->group == 16
                                 ? "is no tensor of experts in blocks of 64"
                                 : "is no tensor of experts in blocks of 32");
    }
    for (int i = 0; i < PROJECTIONS * PARTS && !bad; i++) {
        bad = check_part(g, n, i / PARTS, i % PARTS) != 0;
    }
    return bad || check_factors(g, n) != 0 || check_scales(g, n) != 0 ? -1 : 0;
}
