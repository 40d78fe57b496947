/* SPDX-License-Identifier: Apache-2.0 */
/* The shared libraries of this process; see system.h. */
#ifndef MXO_SYSTEM_LIBRARIES_H
#define MXO_SYSTEM_LIBRARIES_H

#include <stddef.h>
#include <stdint.h>

/* One library: the name by which it was found, and the linker's digest of what
   it holds; n_id is 0 where there is none. */
typedef void system_library_fn(void *state, const char *path, const uint8_t *id,
                               size_t n_id);

/* Each that is loaded now.  None where the system does not tell. */
void system_each_library(system_library_fn *see, void *state);

#endif
