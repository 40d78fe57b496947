/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the judge writes to a subject's memory beside inputs.  Guards and
 * scrubbed memory are drawn with a secret of this process by buffer and place:
 * no subject can know them and be right only where it sees them.  No verdict
 * depends on the secret: where a byte may pass by chance in one run, every bit
 * of it is another in the next.
 */
#ifndef MXO_JUDGE_BYTES_H
#define MXO_JUDGE_BYTES_H

#include <stdint.h>

/* Both 0: not drawn yet. */
typedef struct judge_secret {
    uint64_t before; /* mixing, and after it */
    uint64_t after;
} judge_secret;

/* Once for each secret. 0, or -1: the system has no random bytes. */
int judge_bytes_draw(judge_secret *s);

/* n bytes from place at on.  salt: of the buffer, no other has it. */
void judge_bytes_guard(const judge_secret *s, uint64_t salt, int is_flipped,
                       uint8_t *to, uint64_t n, uint64_t at);
void judge_bytes_scrub(const judge_secret *s, uint64_t salt, uint8_t *to,
                       uint64_t n, uint64_t at);
/* Fill of an output before run number 0 or 1; in run 1 every bit differs.
   Without the secret: the right bytes that equal the fill by chance, and so the
   count of unwritten ones, are the same from process to process. */
void judge_bytes_fill(uint64_t salt, int run, uint8_t *to, uint64_t n,
                      uint64_t at);
/* Noise in the inputs of a call before the first: other floating-point numbers
   and codes, finite and positive; never an index.  Without the secret: a crash
   on it is reproduced. */
void judge_bytes_noise(uint32_t dtype, uint64_t salt, uint8_t *to, uint64_t n,
                       uint64_t at);

/* Bytes at .. at + n. */
typedef struct judge_span {
    uint64_t at;
    uint64_t n;
} judge_span;

/* Span number i of those that are filled of very many bytes: 1 MiB at each end,
   and 16 KiB in each part of 4 MiB or less, where the salt draws them; n is 0
   behind the last one. */
judge_span judge_bytes_sample(uint64_t n_bytes, uint64_t salt, uint64_t i);

#endif
