/* SPDX-License-Identifier: Apache-2.0 */
/* The unit of the four layout operations, which share the kernels that move. */
#include "host/plan_convert.h"
#include "host/plan_groups.h"
#include "host/plan_index.h"
#include "host/plan_layout.h"
