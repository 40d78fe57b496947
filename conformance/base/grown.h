/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that grow by one element at a time. */
#ifndef MXO_GROWN_H
#define MXO_GROWN_H

#include <stddef.h>

/* The list of n elements with room for one more, moved at every sixteenth part
   of its length at most: n additions cost the time of n. */
void *grown(void *list, size_t n, size_t element_bytes);

#endif
