/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for texts and lists, without which nothing can be said or judged:
 * where there is none, the program says so and ends with EXIT_BROKEN.  What a
 * case needs for its tensors is asked for with malloc(), and refused with the
 * case.
 */
#ifndef MXO_MEMORY_H
#define MXO_MEMORY_H

#include <stddef.h>

void *memory_need(size_t n_bytes);
/* As realloc(). */
void *memory_need_more(void *memory, size_t n_bytes);
/* As calloc(). */
void *memory_need_zeros(size_t n, size_t element_bytes);
/* As strdup(). */
char *memory_need_text(const char *text);

#endif
