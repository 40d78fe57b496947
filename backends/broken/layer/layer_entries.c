/* SPDX-License-Identifier: Apache-2.0 */
/* The profiles that the layer knows, and what a call says instead. */
#include "layer.h"

#include <string.h>

typedef struct profile {
    const char *name;
    const char *words; /* "key=value ..." */
} profile;

static const profile profiles[] = {
    {"exact",
     "weight_rule=ocp scale_at=weight order=exact quant=none requant=none "
     "bias_type=f32 bias1=order gemm1_out=f32 glu=exact glu_out=bf16 "
     "bias2=order routing_at=sum routing_type=f32 row_out=f32 sum=exact "
     "out=bf16 "
     "absent=skip "},
    {"MARLIN",
     "weight_rule=marlin scale_at=weight order=any quant=none requant=none "
     "bias_type=bf16 bias1=rounded gemm1_out=bf16 glu=vllm_swigluoai "
     "glu_out=bf16 bias2=rounded routing_at=rounded routing_type=bf16 "
     "row_out=bf16 sum=moe_sum out=bf16 absent=zero "},
    {"TRITON",
     "weight_rule=triton_matmul scale_at=weight order=any quant=none "
     "requant=none bias_type=f32 bias1=acc gemm1_out=f32 glu=triton "
     "glu_out=bf16 bias2=acc routing_at=acc routing_type=bf16 row_out=bf16 "
     "sum=slots out=bf16 absent=skip "},
    {"TRITON_UNFUSED",
     "weight_rule=triton_matmul scale_at=weight order=any quant=none "
     "requant=none bias_type=f32 bias1=acc gemm1_out=bf16 "
     "glu=vllm_swigluoai glu_out=bf16 bias2=acc routing_at=acc "
     "routing_type=bf16 row_out=bf16 sum=moe_sum out=bf16 absent=none "},
};

int broken_entry_is(const mxo_call *call, const char *key, const char *word)
{
    const char *own = call_text(call, key);
    char wanted[64];

    if (own[0] != '\0' && strcmp(own, "profile") != 0) {
        return strcmp(own, word) == 0;
    }
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        if (call_is(call, "profile", profiles[i].name)) {
            (void)snprintf(wanted, sizeof wanted, "%s=%s ", key, word);
            const char *at = strstr(profiles[i].words, wanted);
            while (at != NULL && at != profiles[i].words && at[-1] != ' ') {
                at = strstr(at + 1, wanted); /* the end of a longer key */
            }
            return at != NULL;
        }
    }
    return 0;
}

int broken_knows_profile(const mxo_call *call)
{
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        if (call_is(call, "profile", profiles[i].name)) {
            return 1;
        }
    }
    return 0;
}
