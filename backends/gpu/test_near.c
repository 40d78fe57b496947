/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exponential of few steps (glu_exact.h) says the same as that of many,
 * which has another polynomial, or that it has to wait; and it seldom has to.
 * No layer and no act.glu asks it often enough to see a unit too much.  TAP on
 * standard output.
 */
#include "ops/glu_exact.h"
#include "port/device.h"
#include "port/runtime.h"

enum { GRID = 2, EACH = 4096, SAMPLES = GRID * GPU_BLOCK * EACH };

/* Of a thread's samples: how many differ, how many have to wait. */
typedef struct near_args {
    uint32_t *differ;
    uint32_t *waiting;
} near_args;

static uint32_t differ[GRID * GPU_BLOCK];
static uint32_t waiting[GRID * GPU_BLOCK];

static int n_claims, n_failed;

static void claim(int holds, const char *what)
{
    n_claims++;
    n_failed += !holds;
    printf("%sok %d - %s\n", holds ? "" : "not ", n_claims, what);
}

/* The next number of magnitude 2^-24 to 2^6, either sign. */
static float draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    const uint32_t bits = (uint32_t)(*state >> 33);
    const uint32_t exponent = 127 - 24 + bits % 30;

    const uint32_t sign = (uint32_t)(*state >> 32) & 0x80000000u;
    const uint32_t rest = (uint32_t)(*state >> 17 & 0x7fffffu);

    return gpu_float(sign | exponent << 23 | rest);
}

GPU_FN void compare(const near_args *a)
{
    const uint32_t self = gpu_block() * GPU_BLOCK + gpu_thread();
    uint64_t state = self;

    a->differ[self] = 0;
    a->waiting[self] = 0;
    for (int i = 0; i < EACH; i++) {
        const float x = draw(&state);
        int waits = 0;
        const float y = glu_exp32_near(x, &waits);
        a->waiting[self] += waits != 0;
        a->differ[self] += !waits && gpu_bits(y) != gpu_bits(glu_exp32(x));
    }
}

GPU_ENTRY(kernel_compare, near_args, compare(a))

static void run(void)
{
    const gpu_kernel k = {"compare", (gpu_entry)kernel_compare, 0};
    const near_args args = {differ, waiting};
    const gpu_shape shape = {GRID, GPU_BLOCK, 0, 0, NULL, 0};
    const mxo_text nowhere = {NULL, 0};

    if (gpu_launch(&k, &shape, &args, nowhere) != MXO_OK) {
        claim(0, "a launch finds memory");
    }
}

static uint64_t sum(const uint32_t *n)
{
    uint64_t all = 0;

    for (int i = 0; i < GRID * GPU_BLOCK; i++) {
        all += n[i];
    }
    return all;
}

static int must_wait(float x)
{
    int waits = 0;

    (void)glu_exp32_near(x, &waits);
    return waits;
}

int main(void)
{
    run();
    claim(sum(differ) == 0, "what does not wait is rounded to nearest");
    claim(sum(waiting) > 0 && sum(waiting) < SAMPLES / 1000,
          "few have to wait");
    claim(must_wait((float)NAN) && must_wait((float)INFINITY) &&
              must_wait(-(float)INFINITY) && must_wait(80.0f) &&
              must_wait(-110.0f),
          "what is no number, or large, waits");
    claim(!must_wait(0.0f) && !must_wait(79.0f) && !must_wait(-79.0f),
          "what is small does not");
    printf("1..%d\n", n_claims);
    return n_failed != 0;
}
