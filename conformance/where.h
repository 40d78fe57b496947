/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an output is wrong: which rows, columns, tiles and experts.  A verdict
 * is per element; this is what the wrong ones have in common.
 */
#ifndef MXO_WHERE_H
#define MXO_WHERE_H

#include "judge.h"
#include "strbuf.h"

/* Lines about the first output that differs; none if it has no rows. */
void where_say(const evidence *e, strbuf *lines);

#endif
