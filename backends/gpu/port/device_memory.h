/* SPDX-License-Identifier: Apache-2.0 */
/* The names of device.h for CUDA and HIP that read and write memory. */
#ifndef GPU_DEVICE_MEMORY_H
#define GPU_DEVICE_MEMORY_H

/*
 * Data streams through once.  AMD can be told so; on NVIDIA's the hint to evict
 * early made every kernel slower (H200), so loads are only read-only.
 */
#if defined(__HIPCC__)
typedef uint32_t gpu_vec4 __attribute__((ext_vector_type(4)));
typedef uint32_t gpu_vec2 __attribute__((ext_vector_type(2)));
#define GPU_STREAM_LOAD(type, p) __builtin_nontemporal_load((const type *)(p))
#define GPU_STREAM_STORE(type, p, v) \
    __builtin_nontemporal_store((v), (type *)(p))
#else
typedef uint4 gpu_vec4;
typedef uint2 gpu_vec2;
#define GPU_STREAM_LOAD(type, p) __ldg((const type *)(p))
#define GPU_STREAM_STORE(type, p, v) (*(type *)(p) = (v))
#endif

GPU_FN gpu_u128 gpu_load_u8x16(const void *p, uint64_t i)
{
    const gpu_vec4 v = GPU_STREAM_LOAD(gpu_vec4, (const gpu_vec4 *)p + i);
    gpu_u128 out;

    out.w[0] = v.x;
    out.w[1] = v.y;
    out.w[2] = v.z;
    out.w[3] = v.w;
    return out;
}

GPU_FN void gpu_store_u8x16(void *p, uint64_t i, gpu_u128 x)
{
    gpu_vec4 v;

    v.x = x.w[0];
    v.y = x.w[1];
    v.z = x.w[2];
    v.w = x.w[3];
    GPU_STREAM_STORE(gpu_vec4, (gpu_vec4 *)p + i, v);
}

/* Devices are little endian: elements of any width arrive alike. */
#define gpu_load_u16x8 gpu_load_u8x16
#define gpu_load_u32x4 gpu_load_u8x16
#define gpu_store_u16x8 gpu_store_u8x16
#define gpu_store_u32x4 gpu_store_u8x16

GPU_FN void gpu_store_u8x8(void *p, uint64_t i, uint32_t low, uint32_t high)
{
    gpu_vec2 v;

    v.x = low;
    v.y = high;
    GPU_STREAM_STORE(gpu_vec2, (gpu_vec2 *)p + i, v);
}

GPU_FN void gpu_store_u8x4(void *p, uint64_t i, uint32_t x)
{
    GPU_STREAM_STORE(uint32_t, (uint32_t *)p + i, x);
}

#define gpu_store_u16x2 gpu_store_u8x4
#define gpu_store_u16x4 gpu_store_u8x8
#define gpu_store_u32x2 gpu_store_u8x8

GPU_FN void gpu_store_u16(void *p, uint64_t i, uint32_t x)
{
    ((uint16_t *)p)[i] = (uint16_t)x;
}

GPU_FN void gpu_store_u32(void *p, uint64_t i, uint32_t x)
{
    ((uint32_t *)p)[i] = x;
}

GPU_FN void gpu_store_u8x2(void *p, uint64_t i, uint32_t x)
{
    GPU_STREAM_STORE(uint16_t, (uint16_t *)p + i, (uint16_t)x);
}

/* Element i of an array of numbers. */
GPU_FN uint32_t gpu_load_u16(const void *p, uint64_t i)
{
    return ((const uint16_t *)p)[i];
}

GPU_FN uint32_t gpu_load_u32(const void *p, uint64_t i)
{
    return ((const uint32_t *)p)[i];
}

GPU_FN uint32_t gpu_load_u8x4(const void *p, uint64_t i)
{
    return GPU_STREAM_LOAD(uint32_t, (const uint32_t *)p + i);
}

GPU_FN uint32_t gpu_load_u8x2(const void *p, uint64_t i)
{
    return GPU_STREAM_LOAD(uint16_t, (const uint16_t *)p + i);
}

/* Shared memory, without the hints for streams. */
GPU_FN gpu_u128 gpu_cell_load_u8x16(const void *p)
{
    const gpu_vec4 v = *(const gpu_vec4 *)p;
    gpu_u128 x;

    x.w[0] = v.x;
    x.w[1] = v.y;
    x.w[2] = v.z;
    x.w[3] = v.w;
    return x;
}

#define gpu_cell_load_u16x8 gpu_cell_load_u8x16

GPU_FN uint32_t gpu_cell_load_u8x4(const void *p)
{
    return *(const uint32_t *)p;
}

GPU_FN uint32_t gpu_cell_load_u8x2(const void *p)
{
    return *(const uint16_t *)p;
}

GPU_FN void gpu_cell_store_u8x16(void *p, gpu_u128 x)
{
    gpu_vec4 v;

    v.x = x.w[0];
    v.y = x.w[1];
    v.z = x.w[2];
    v.w = x.w[3];
    *(gpu_vec4 *)p = v;
}

GPU_FN void gpu_cell_store_u8x4(void *p, uint32_t x)
{
    *(uint32_t *)p = x;
}

GPU_FN void gpu_cell_store_u8x2(void *p, uint32_t x)
{
    *(uint16_t *)p = (uint16_t)x;
}

#endif
