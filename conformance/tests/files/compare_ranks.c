/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_ranks WHOLE RANK0 RANK1: are the tensors of two ranks' files, made by
 * convert --tp=R/2, the halves of a whole one's?  Rows of w13 are gates, then
 * ups, and each rank has a half of both; sizes may be rounded up.
 */
#include "convert/checkpoint.h"

#include <stdio.h>
#include <string.h>

/* Is tensor t, whose rows are two halves or whose columns are cut, in the files
   of two ranks? */
static int in_halves(const checkpoint_tensor *t, checkpoint *c)
{
    const int is_w2 = strstr(t->name, "w2") || strstr(t->name, "down");
    const uint64_t rows = t->shape[1];
    const uint64_t n = t->n_bytes / t->shape[0] / rows / (is_w2 ? 2 : 1);
    int bad = 0;

    for (uint64_t i = 0; i < 2 * t->shape[0] * rows; i++) {
        const uint64_t k = is_w2 ? i % 2 : i / (rows / 4) % 2;
        const checkpoint_tensor *u = checkpoint_find(&c[k], t->name);
        const uint64_t pitch = u->n_bytes / u->shape[0] / u->shape[1];
        const uint64_t row =
            is_w2 ? i / 2 : i / (rows / 2) * (u->shape[1] / 2) + i % (rows / 4);
        bad |= (is_w2 || i < t->shape[0] * rows) &&
               memcmp(t->bytes + i * n, u->bytes + row * pitch, (size_t)n) != 0;
    }
    return bad;
}

/* Of weights, MXFP4's scales and w13's bias that no layout has moved. */
static int compare(char **path)
{
    checkpoint c[3];
    int bad = 0;

    for (int i = 0; i < 3; i++) {
        char text[300] = "";
        if (checkpoint_open(path[i], &c[i], (mxo_text){text, 300}) != 0) {
            printf("%s\n", text);
            return 1;
        }
    }
    for (size_t i = 0; i < c[0].n; i++) {
        const checkpoint_tensor *t = &c[0].tensor[i];
        const int is_w13 = strstr(t->name, "w13") || strstr(t->name, "gate_up");
        bad |=
            (is_w13 || (t->rank == 3 && strstr(t->name, "lm_head") == NULL)) &&
            strcmp(t->dtype, "F32") != 0 && strcmp(t->dtype, "F8_E4M3") != 0 &&
            in_halves(t, c + 1);
    }
    return bad;
}

int main(int argc, char **argv)
{
    return argc == 4 ? compare(argv + 1) : 99;
}
