/* SPDX-License-Identifier: Apache-2.0 */
/* Output of "mxoracle list" and of the --list-* options. */
#ifndef MXO_LISTING_H
#define MXO_LISTING_H

#include "runopts.h"

/* what: "ops", "backends", "devices" or "cases". Returns the exit status. */
int list_things(const run_options *o, const char *what);

#endif
