/* SPDX-License-Identifier: Apache-2.0 */
/* Mutants of the backend "broken" by their ids. */
#ifndef MXO_MUTANT_DEVICE_H
#define MXO_MUTANT_DEVICE_H

/* The device number of a mutant such as "C10"; -1 if there is none. */
int mutant_device(const char *id);

#endif
