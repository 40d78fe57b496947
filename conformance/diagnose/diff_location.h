/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an output is wrong: which rows, columns, tiles and experts.  A verdict
 * is per element; this is what the wrong ones have in common.
 */
#ifndef MXO_WHERE_H
#define MXO_WHERE_H

#include "base/strbuf.h"
#include "judge/judge.h"

#include <jansson.h>

/* Lines about the first output that differs; none if it has no rows. */
void diff_location_say(const evidence *e, strbuf *lines);

/*
 * The share of wrong elements in a grid of at most 48 x 48 cells, as JSON:
 * {"tensor", "rows", "cols", "down", "across", "tile", "experts", "wrong"},
 * where wrong goes row by row from 0 to 1, and experts is the first expert of
 * each row of cells (-1: none) where rows are tokens. NULL if the output has
 * no rows, or codes share bytes; the caller frees it. layout, which is taken
 * over and may be NULL, is told beside these.
 */
char *diff_location_map(const evidence *e, json_t *layout);

#endif
