/* SPDX-License-Identifier: Apache-2.0 */
/* The unit of the layout operations, which share the kernels that move. */
#include "layout_plan/plan_convert.h"
#include "layout_plan/plan_groups.h"
#include "layout_plan/plan_index.h"
#include "layout_plan/plan_layout.h"
#include "layout_plan/plan_loaded.h"
#include "layout_plan/plan_record.h"
