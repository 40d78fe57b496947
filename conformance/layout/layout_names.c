/* SPDX-License-Identifier: Apache-2.0 */
/* See layout_names.h. */
#include "layout_names.h"

#include <mxoracle/layout.h>

#include <stdio.h>

void layout_names_print(void)
{
    for (uint32_t i = 0; mxo_layout_at(i) != NULL; i++) {
        puts(mxo_layout_at(i)->id);
    }
}

void conversion_names_print(void)
{
    for (uint32_t i = 0; mxo_conversion_at(i) != NULL; i++) {
        puts(mxo_conversion_at(i)->id);
    }
}
