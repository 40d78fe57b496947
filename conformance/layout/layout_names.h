/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of layouts and conversions, one a line, for completions. */
#ifndef MXO_LAYOUT_NAMES_H
#define MXO_LAYOUT_NAMES_H

void layout_names_print(void);
void conversion_names_print(void);

#endif
