/* SPDX-License-Identifier: Apache-2.0 */
/* See mutant_device.h.  Opening and describing a mutant is safe. */
#include "mutant_device.h"

#include <stdio.h>
#include <string.h>

enum { MUTANT_ID = 16 };

/* The mutant's id stands in place of a driver; "" if the device is none. */
static mxo_status mutant_id(const mxo_backend *table, int device, char *id)
{
    char text[2][256] = {"", ""};
    const mxo_text name = {text[0], sizeof text[0]};
    const mxo_text driver = {text[1], sizeof text[1]};
    void *ctx = NULL;
    const mxo_status status = table->open(&ctx, device, name);

    id[0] = '\0';
    if (status == MXO_OK) {
        table->describe(ctx, name, driver);
        table->close(ctx);
        const size_t n = strcspn(text[1], " ");
        if (text[1][n] != '\0' && n < MUTANT_ID) {
            (void)snprintf(id, MUTANT_ID, "%.*s", (int)n, text[1]);
        }
    }
    return status;
}

static const mxo_backend *open_broken(void)
{
    static backend_list all;
    char text[256];
    const mxo_backend *table = NULL;

    backends_known(&all);
    const backend_ref *ref = backends_find(&all, "broken");

    return ref != NULL && backend_load(ref, &table,
                                       (mxo_text){text, sizeof text}) == MXO_OK
               ? table
               : NULL;
}

int mutant_device(const char *id)
{
    const mxo_backend *table = open_broken();
    char found[MUTANT_ID];

    for (int i = 0; table != NULL && mutant_id(table, i, found) == MXO_OK;
         i++) {
        if (strcmp(found, id) == 0) {
            return i;
        }
    }
    return -1;
}

void device_option(const backend_ref *ref, int device, char *text, size_t size)
{
    const int is_broken = !ref->is_given && strcmp(ref->name, "broken") == 0;
    const mxo_backend *table = is_broken && device != 0 ? open_broken() : NULL;
    char id[MUTANT_ID] = "";

    if (table != NULL && mutant_id(table, device, id) == MXO_OK &&
        id[0] != '\0') {
        (void)snprintf(text, size, "--mutant=%s", id);
        return;
    }
    backend_option(ref, text, size);
    if (device != 0) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, size - used, " --device=%d", device);
    }
}
