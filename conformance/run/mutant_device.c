/* SPDX-License-Identifier: Apache-2.0 */
/* See mutant_device.h.  Opening and describing a mutant is safe. */
#include "mutant_device.h"

#include "backends.h"

#include <string.h>

/* Does this device say, in place of a driver, that it is the mutant? */
static mxo_status is_device(const mxo_backend *table, int device,
                            const char *id, int *is)
{
    char text[2][256] = {"", ""};
    const mxo_text name = {text[0], sizeof text[0]};
    const mxo_text driver = {text[1], sizeof text[1]};
    const size_t n = strlen(id);
    void *ctx = NULL;
    const mxo_status status = table->open(&ctx, device, name);

    if (status == MXO_OK) {
        table->describe(ctx, name, driver);
        table->close(ctx);
    }
    *is = strncmp(text[1], id, n) == 0 && text[1][n] == ' ';
    return status;
}

int mutant_device(const char *id)
{
    static backend_list all;
    char text[256];
    const mxo_backend *table = NULL;
    int is = 0;

    backends_known(&all);
    const backend_ref *ref = backends_find(&all, "broken");

    if (ref == NULL ||
        backend_load(ref, &table, (mxo_text){text, sizeof text}) != MXO_OK) {
        return -1;
    }
    for (int i = 0; is_device(table, i, id, &is) == MXO_OK; i++) {
        if (is) {
            return i;
        }
    }
    return -1;
}
