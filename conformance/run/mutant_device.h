/* SPDX-License-Identifier: Apache-2.0 */
/* Mutants of the backend "broken" by their ids. */
#ifndef MXO_MUTANT_DEVICE_H
#define MXO_MUTANT_DEVICE_H

#include "backends.h"

/* The device number of a mutant such as "C10"; -1 if there is none. */
int mutant_device(const char *id);

/* The options that choose a backend and its device, as a shell takes them:
   -b cuda --device=1, or --mutant=C10. */
void device_option(const backend_ref *ref, int device, char *text, size_t size);

#endif
