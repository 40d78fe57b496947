/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shim itself: exchanges, shared memory and barriers give what a device
 * gives, and kernels that a device would run into undefined behaviour die.
 * TAP on standard output; compiled for both warp widths.
 */
#include "port/device.h"
#include "port/runtime.h"

#include <sys/wait.h>
#include <unistd.h>

typedef struct test_args {
    uint32_t *out; /* [grid][GPU_BLOCK] */
} test_args;

GPU_FN void put(const test_args *a, uint32_t value)
{
    a->out[gpu_block() * GPU_BLOCK + gpu_thread()] = value;
}

/* The lane opposite in its warp, twice in a row with different values. */
GPU_FN void mirror(const test_args *a)
{
    const uint32_t t = gpu_thread();
    const uint32_t first = gpu_shfl(t, GPU_WARP - 1 - (int)(t % GPU_WARP));
    const uint32_t second = gpu_shfl(first, GPU_WARP - 1 - (int)(t % GPU_WARP));

    put(a, first * 1000 + second);
}

/* Sum of a warp's thread numbers by a butterfly. */
GPU_FN void butterfly(const test_args *a)
{
    uint32_t sum = gpu_thread();

    for (int m = 1; m < GPU_WARP; m *= 2) {
        sum += gpu_shfl_xor(sum, m);
    }
    put(a, sum);
}

/* Whether thread 70 is in this warp. */
GPU_FN void vote(const test_args *a)
{
    put(a, (uint32_t)gpu_any(gpu_thread() == 70));
}

/* Across warps: through shared memory, read only after the barrier. */
GPU_FN void reverse_block(const test_args *a)
{
    GPU_SHARED uint32_t box[GPU_BLOCK];
    const uint32_t t = gpu_thread();
    uint32_t value = t;

    for (int round = 0; round < 3; round++) {
        box[t] = value + 1;
        gpu_barrier();
        value = box[GPU_BLOCK - 1 - t];
        gpu_barrier();
    }
    put(a, value + 1000 * gpu_block());
}

GPU_FN void part(const test_args *a)
{
    if (gpu_thread() % 2 == 0) {
        put(a, gpu_shfl_xor(0, 2));
    }
}

GPU_FN void misalign(const test_args *a)
{
    (void)gpu_load_u32x4(a->out + 1, 0);
}

GPU_ENTRY(kernel_mirror, test_args, mirror(a))
GPU_ENTRY(kernel_butterfly, test_args, butterfly(a))
GPU_ENTRY(kernel_vote, test_args, vote(a))
GPU_ENTRY(kernel_reverse, test_args, reverse_block(a))
GPU_ENTRY(kernel_part, test_args, part(a))
GPU_ENTRY(kernel_misalign, test_args, misalign(a))

enum { GRID = 2 };

static _Alignas(16) uint32_t out[GRID * GPU_BLOCK];
static int n_claims;
static int n_failed;

static void claim(int holds, const char *what)
{
    n_claims++;
    n_failed += !holds;
    printf("%sok %d - warps of %d: %s\n", holds ? "" : "not ", n_claims,
           SIMT_WARP, what);
}

static void run(void (*entry)(const void *), int meets)
{
    const gpu_kernel k = {"test", (gpu_entry)entry, meets};
    const test_args args = {out};
    const gpu_shape shape = {GRID, GPU_BLOCK, 0, 0, NULL, 0};
    const mxo_text nowhere = {NULL, 0};

    memset(out, 0xaa, sizeof out);
    if (gpu_launch(&k, &shape, &args, nowhere) != MXO_OK) {
        claim(0, "a launch finds memory");
    }
}

/* 1 if out[b][t] is what want says. */
static int all(uint32_t (*want)(uint32_t block, uint32_t thread))
{
    for (uint32_t i = 0; i < GRID * GPU_BLOCK; i++) {
        if (out[i] != want(i / GPU_BLOCK, i % GPU_BLOCK)) {
            printf("# block %u thread %u: got %u\n", (unsigned)(i / GPU_BLOCK),
                   (unsigned)(i % GPU_BLOCK), (unsigned)out[i]);
            return 0;
        }
    }
    return 1;
}

static uint32_t want_mirror(uint32_t block, uint32_t t)
{
    const uint32_t warp = t / SIMT_WARP * SIMT_WARP;

    (void)block;
    return (warp + (SIMT_WARP - 1 - (t - warp))) * 1000 + t;
}

static uint32_t want_sum(uint32_t block, uint32_t t)
{
    const uint32_t warp = t / SIMT_WARP * SIMT_WARP;

    (void)block;
    return SIMT_WARP * warp + SIMT_WARP * (SIMT_WARP - 1) / 2;
}

static uint32_t want_vote(uint32_t block, uint32_t t)
{
    (void)block;
    return t / SIMT_WARP == 70 / SIMT_WARP;
}

static uint32_t want_reverse(uint32_t block, uint32_t t)
{
    return GPU_BLOCK - 1 - t + 3 + 1000 * block;
}

/* Work of a stream is done when that is waited for, and that of a graph when it
   is launched. */
static void claim_streams(void)
{
    static union {
        test_args a;
        uint8_t bytes[GPU_ARGS_BYTES];
    } args = {.a = {out}};
    const mxo_text nowhere = {NULL, 0};
    const gpu_kernel vote = {"vote", (gpu_entry)kernel_vote, 1};
    const gpu_kernel mirror = {"mirror", (gpu_entry)kernel_mirror, 1};
    gpu_shape shape = {GRID, GPU_BLOCK, 0, 0, NULL, 0};
    void *graph = NULL;
    void *p = NULL;
    int good = gpu_stream_open(&shape.stream, nowhere) == MXO_OK;

    memset(out, 0xaa, sizeof out);
    good &= gpu_launch(&vote, &shape, &args, nowhere) == MXO_OK &&
            out[0] == 0xaaaaaaaau;
    good &= gpu_stream_wait(shape.stream, nowhere) == MXO_OK;
    claim(good && all(want_vote),
          "a stream is late, and right when waited for");

    good = gpu_capture_begin(shape.stream, nowhere) == MXO_OK &&
           gpu_launch(&mirror, &shape, &args, nowhere) == MXO_OK;
    claim(good && gpu_malloc(&p, 8) != MXO_OK &&
              gpu_stream_wait(shape.stream, nowhere) != MXO_OK,
          "a capture gives no memory, and nobody waits for it");
    good = gpu_capture_end(shape.stream, &graph, nowhere) == MXO_OK &&
           gpu_stream_wait(shape.stream, nowhere) == MXO_OK && all(want_vote);
    claim(good, "what is captured is not done");
    for (int i = 0; i < 2; i++) {
        memset(out, 0xaa, sizeof out);
        good &= gpu_graph_launch(graph, i == 0 ? shape.stream : NULL,
                                 nowhere) == MXO_OK &&
                gpu_stream_wait(shape.stream, nowhere) == MXO_OK &&
                all(want_mirror);
    }
    claim(good, "a graph is launched twice");
    gpu_graph_close(graph);
    gpu_stream_close(shape.stream);
}

/* Does the kernel end its process? */
static int dies(void (*entry)(const void *), int meets)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL) {
            _exit(0);
        }
        run(entry, meets);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child &&
           WIFSIGNALED(status);
}

int main(void)
{
    (void)setvbuf(stdout, NULL, _IONBF, 0); /* nothing for a child to repeat */
    run(kernel_mirror, 1);
    claim(all(want_mirror), "two exchanges in a row");
    run(kernel_butterfly, 1);
    claim(all(want_sum), "a butterfly adds up a warp");
    run(kernel_vote, 1);
    claim(all(want_vote), "a vote is the warp's");
    run(kernel_reverse, 1);
    claim(all(want_reverse), "shared memory across a barrier");
    claim_streams();
    claim(dies(kernel_part, 1), "lanes that part before an exchange die");
    claim(dies(kernel_butterfly, 0), "an exchange nobody announced dies");
    claim(dies(kernel_misalign, 0), "a misaligned vector dies");
    printf("1..%d\n", n_claims);
    return n_failed != 0;
}
