/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of experts in FP4 that are known and whose bytes are not read: the
 * checkpoint is refused rather than copied as it is.
 */
#include "base/say.h"
#include "layers.h"

#include <string.h>

/* Ends of names of scales in bytes: those in F32 are of other formats. */
static const struct {
    const char *suffix;
    const char *why;
} unread[] = {
    /* engines 6.1: U8[E, K/2, N] and [E, K/16, N], one global scale of all. */
    {".gate_up_proj_weight_scale",
     "is of a fused export of ModelOpt, whose weights and scales are "
     "transposed: whether its gate and up rows are in turn (gpt-oss) or "
     "in halves (Llama 4) is not known"},
    {".down_proj_weight_scale",
     "is of a fused export of ModelOpt, whose weights and scales are "
     "transposed: how its gate_up_proj has gate and up rows is not known"},
    /* engines 7: U32[E, N, K/8] beside U8[E, N, K/32], gates and ups apart. */
    {".switch_mlp.gate_proj.scales",
     "is of experts as MLX keeps them, which are not read"},
    {".experts.gate_proj.scales",
     "is of experts as MLX keeps them, which are not read"},
};

static int ends_in(const char *name, const char *suffix)
{
    const size_t n = strlen(name);
    const size_t m = strlen(suffix);

    return n > m && strcmp(name + n - m, suffix) == 0;
}

int layers_check_unread(const checkpoint *c, mxo_text why)
{
    for (size_t i = 0; i < c->n; i++) {
        const checkpoint_tensor *t = &c->tensor[i];
        for (size_t k = 0; k < sizeof unread / sizeof unread[0]; k++) {
            if (ends_in(t->name, unread[k].suffix) &&
                (layer_weight_dtype(t->dtype) != NULL ||
                 layer_scale_dtype(t->dtype) != NULL)) {
                (void)say(MXO_E_SHAPE, why, "%.200s %s", t->name,
                          unread[k].why);
                return -1;
            }
        }
    }
    return 0;
}
