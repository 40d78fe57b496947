/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target without libFuzzer: replays files, and with --draws=N makes up
 * N inputs from a fixed seed, some of them from the files with bytes changed.
 */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 20 };

static uint8_t bytes[LARGEST];

static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Bytes read into the buffer; ends the program if it cannot. */
static size_t read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    const size_t n = f == NULL ? 0 : fread(bytes, 1, sizeof bytes, f);

    if (f == NULL || ferror(f)) {
        (void)fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    (void)fclose(f);
    return n;
}

static void change(size_t n, uint64_t *state)
{
    for (uint64_t k = 1 + draw(state) % 4; n > 0 && k > 0; k--) {
        const size_t at = (size_t)(draw(state) % n);
        bytes[at] ^= (uint8_t)(1u << draw(state) % 8);
    }
}

static size_t make_up(uint64_t *state)
{
    const size_t n = (size_t)(draw(state) % 512);

    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)draw(state);
    }
    return n;
}

int main(int argc, char **argv)
{
    const char option[] = "--draws=";
    uint64_t state = 1;
    long n_draws = 0;
    int first = 1;

    if (argc > 1 && strncmp(argv[1], option, sizeof option - 1) == 0) {
        n_draws = strtol(argv[1] + sizeof option - 1, NULL, 10);
        first = 2;
    }
    for (int i = first; i < argc; i++) {
        const size_t n = read_file(argv[i]);
        (void)LLVMFuzzerTestOneInput(bytes, n);
    }
    for (long i = 0; i < n_draws; i++) {
        size_t n;
        if (first < argc && i % 2 == 0) {
            n = read_file(argv[first + i / 2 % (argc - first)]);
            change(n, &state);
        } else {
            n = make_up(&state);
        }
        (void)LLVMFuzzerTestOneInput(bytes, n);
    }
    printf("%d files, %ld draws\n", argc - first, n_draws);
    return 0;
}
