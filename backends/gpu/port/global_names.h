/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both widths of the CPU shim are linked into one program: every name that
 * its units share gets the width in front, simt32_ or simt64_.
 */
#ifndef GPU_GLOBAL_NAMES_H
#define GPU_GLOBAL_NAMES_H

#define SIMT_JOINED(width, name) simt##width##_##name
#define SIMT_JOIN(width, name) SIMT_JOINED(width, name)
#define SIMT_GLOBAL(name) SIMT_JOIN(SIMT_WARP, name)

#define call_dtype SIMT_GLOBAL(call_dtype)
#define dynamic_shared SIMT_GLOBAL(dynamic_shared)
#define glu_numbers SIMT_GLOBAL(glu_numbers)
#define glu_per_expert SIMT_GLOBAL(glu_per_expert)
#define gpu_download SIMT_GLOBAL(gpu_download)
#define gpu_fill SIMT_GLOBAL(gpu_fill)
#define gpu_fork SIMT_GLOBAL(gpu_fork)
#define gpu_free SIMT_GLOBAL(gpu_free)
#define gpu_join SIMT_GLOBAL(gpu_join)
#define gpu_lanes_close SIMT_GLOBAL(gpu_lanes_close)
#define gpu_launch SIMT_GLOBAL(gpu_launch)
#define gpu_malloc SIMT_GLOBAL(gpu_malloc)
#define gpu_open SIMT_GLOBAL(gpu_open)
#define gpu_residents SIMT_GLOBAL(gpu_residents)
#define gpu_synchronize SIMT_GLOBAL(gpu_synchronize)
#define gpu_upload SIMT_GLOBAL(gpu_upload)
#define job_is_small_batch SIMT_GLOBAL(job_is_small_batch)
#define mbarrier_wait SIMT_GLOBAL(mbarrier_wait)
#define named_barrier SIMT_GLOBAL(named_barrier)
#define plan_apply SIMT_GLOBAL(plan_apply)
#define plan_convert SIMT_GLOBAL(plan_convert)
#define plan_dequant SIMT_GLOBAL(plan_dequant)
#define plan_glu SIMT_GLOBAL(plan_glu)
#define plan_grouped SIMT_GLOBAL(plan_grouped)
#define plan_groups SIMT_GLOBAL(plan_groups)
#define plan_index SIMT_GLOBAL(plan_index)
#define plan_is_single_token SIMT_GLOBAL(plan_is_single_token)
#define plan_layer SIMT_GLOBAL(plan_layer)
#define plan_quant SIMT_GLOBAL(plan_quant)
#define plan_single_token SIMT_GLOBAL(plan_single_token)
#define plan_small_batch SIMT_GLOBAL(plan_small_batch)
#define quant_make SIMT_GLOBAL(quant_make)
#define simt_any SIMT_GLOBAL(simt_any)
#define simt_barrier SIMT_GLOBAL(simt_barrier)
#define simt_blocks_barrier SIMT_GLOBAL(simt_blocks_barrier)
#define simt_blocks_launch SIMT_GLOBAL(simt_blocks_launch)
#define simt_die SIMT_GLOBAL(simt_die)
#define simt_now SIMT_GLOBAL(simt_now)
#define simt_shuffle SIMT_GLOBAL(simt_shuffle)
#define simt_stop SIMT_GLOBAL(simt_stop)
#define step_sum SIMT_GLOBAL(step_sum)
#define sum_fill SIMT_GLOBAL(sum_fill)
#define warp_ballot SIMT_GLOBAL(warp_ballot)
#define warp_mma SIMT_GLOBAL(warp_mma)
#define warp_sync SIMT_GLOBAL(warp_sync)

#endif
