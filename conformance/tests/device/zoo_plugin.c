/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A zoo for selftest, made of the example: its devices spoil the first byte of
 * the answer to calls of so many rows.
 *   0  no fault, but spoils 5 rows (-DZOO_FAILS: fails every call)
 *   1  a mutant that spoils 5 rows as well: no case shows it
 *   2  a mutant that spoils 3 rows
 *   3  a legal variant that spoils 5 rows: device 0 does, too
 *   4  a "legal variant" that spoils 3 rows
 */
#define mxo_backend_entry example_entry
/* NOLINTNEXTLINE(bugprone-suspicious-include): the example is one file */
#include "../../../backends/example/example_plugin.c"
#undef mxo_backend_entry

static const struct {
    const char *says;
    uint64_t rows;
} zoo[] = {
    {"none Legal dequant.mx: no fault (-)", 5},
    {"Z1 Codec dequant.mx: wrong where device 0 is (-)", 5},
    {"Z2 Codec dequant.mx: wrong for 3 rows (-)", 3},
    {"Z3 Legal dequant.mx: wrong where device 0 is (-)", 5},
    {"Z4 Legal dequant.mx: wrong for 3 rows (-)", 3},
};

static int devices[sizeof zoo / sizeof zoo[0]];

static mxo_status zoo_open(void **ctx, int device, mxo_text why)
{
    if (device < 0 || device >= (int)(sizeof zoo / sizeof zoo[0])) {
        return refuse(MXO_E_DEVICE, why, "there are five devices");
    }
    devices[device] = device;
    *ctx = &devices[device];
    return MXO_OK;
}

static void zoo_describe(void *ctx, mxo_text device, mxo_text driver)
{
    (void)refuse(MXO_OK, device, "this CPU");
    (void)refuse(MXO_OK, driver, zoo[*(const int *)ctx].says);
}

static mxo_status zoo_run(void *ctx, const mxo_call *call, mxo_text why)
{
    const int device = *(const int *)ctx;
    const mxo_status status = example_run(ctx, call, why);

#ifdef ZOO_FAILS
    if (device == 0) {
        return refuse(MXO_E_DEVICE, why, "device 0 is lost");
    }
#endif
    if (status == MXO_OK && call->out[0].n_bytes > 0 &&
        call->out[0].shape[0] == zoo[device].rows) {
        ((uint8_t *)call->out[0].buffer)[call->out[0].offset] ^= 1;
    }
    return status;
}

MXO_EXPORT const mxo_backend *mxo_backend_entry(uint32_t abi_version);

const mxo_backend *mxo_backend_entry(uint32_t abi_version)
{
    static mxo_backend table;
    const mxo_backend *example = example_entry(abi_version);

    if (example == NULL) {
        return NULL;
    }
    table = *example;
    table.name = "zoo";
    table.open = zoo_open;
    table.describe = zoo_describe;
    table.run = zoo_run;
    /* Calls come one at a time, by run alone. */
    table.stream_open = NULL;
    table.stream_close = NULL;
    table.stream_upload = NULL;
    table.capture = NULL;
    table.launch = NULL;
    table.graph_close = NULL;
    return &table;
}
