/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of a layout as a part of an HTML page. */
#ifndef MXO_LAYOUT_DRAWING_H
#define MXO_LAYOUT_DRAWING_H

#include "base/strbuf.h"

#include <stdint.h>

/* Of a layout or CONVERSION.TENSOR on experts, rows and columns of elements
   of so many bytes. 0, or -1 and nothing added: there is no such layout. */
int drawing_add(const char *layout, uint32_t elem_bytes,
                const uint64_t extent[3], strbuf *out);

#endif
