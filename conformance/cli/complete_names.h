/* SPDX-License-Identifier: Apache-2.0 */
/* The names that "mxoracle complete" offers, one a line. */
#ifndef MXO_COMPLETE_NAMES_H
#define MXO_COMPLETE_NAMES_H

/*
 * Words and kinds in turn, divided by blanks: "@backend", "@op", "@layout",
 * "@conversion", "@platform", "@model", "@profile", "@file" (nothing: the
 * shell knows files) and "@case", which goes on from current.
 */
void complete_names(const char *what, const char *current);

#endif
