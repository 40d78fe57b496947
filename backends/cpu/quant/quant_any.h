/* SPDX-License-Identifier: Apache-2.0 */
/* quant.mx where blocks are no runs in memory. */
#ifndef CPU_QUANT_ANY_H
#define CPU_QUANT_ANY_H

#include "cpu.h"
#include "quant.h"

mxo_status cpu_quant_any(cpu_context *ctx, const mxo_call *call,
                         const cpu_quant *quant, mxo_text why);

#endif
