/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins that must be refused with a sentence, one per -DFAULT=n: 1 built
 * for another ABI version, 2 with a table of another size, 3 no entry, 4 an
 * entry that returns NULL, 5 a table without run(), 6 without a name,
 * 7 with an alignment that is none, 8 and 9 with part of streams and graphs,
 * 10 with a name of 64 bytes.
 */
#include <mxoracle/abi.h>

#include <stddef.h>

static mxo_status nothing(void *ctx, const mxo_call *call, mxo_text why)
{
    (void)ctx;
    (void)call;
    (void)why;
    return MXO_E_UNSUPPORTED;
}

static void one(void *ctx, void *thing)
{
    (void)ctx;
    (void)thing;
}

MXO_EXPORT const mxo_backend *mxo_backend_entry(uint32_t abi_version);
MXO_EXPORT const mxo_backend *mxo_other_entry(uint32_t abi_version);

#if FAULT == 3
#define ENTRY mxo_other_entry
#else
#define ENTRY mxo_backend_entry
#endif

const mxo_backend *ENTRY(uint32_t abi_version)
{
    static const char *const ops[] = {"dequant.mx", NULL};
    static const mxo_backend table = {
        .abi_version = FAULT == 1 ? MXO_ABI_VERSION + 1 : MXO_ABI_VERSION,
        .struct_size = sizeof(mxo_backend) - (FAULT == 2 ? 16 : 0),
        .name = FAULT == 6 ? NULL
                : FAULT == 10
                    ? "bad_0123456789abcdef0123456789abcdef0123456789ab"
                      "cdef0123456789ab"
                    : "bad",
        .version = "1",
        .ops = ops,
        .run = FAULT == 5 ? NULL : nothing,
        .align = FAULT == 7 ? 3 : 0,
        .stream_close = FAULT == 8 ? one : NULL,
        .graph_close = FAULT == 9 ? one : NULL,
    };

    (void)abi_version;
    return FAULT == 4 ? NULL : &table;
}
