/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the example plugin that are made when it is asked to synchronize:
   each of them, the last alone, or the one that a pointer still leads to. */
#ifndef MXO_LATE_CALLS_H
#define MXO_LATE_CALLS_H

enum { MOST_LATE = 64 };

static job late[MOST_LATE];
static int n_late;
static const mxo_call *late_pointer;

static int is_late(const char *fault)
{
    return strcmp(fault, "ok-late") == 0 || strcmp(fault, "one-place") == 0 ||
           strcmp(fault, "late-pointer") == 0;
}

static mxo_status late_run(const char *fault, const mxo_call *call,
                           mxo_text why)
{
    job j;
    const mxo_status status = check(call, &j, why);

    if (status == MXO_OK) {
        n_late = strcmp(fault, "one-place") == 0 ? 0 : n_late % MOST_LATE;
        late[n_late++] = j;
        late_pointer = strcmp(fault, "late-pointer") == 0 ? call : NULL;
    }
    return status;
}

static mxo_status late_synchronize(void *ctx, mxo_text why)
{
    (void)ctx;
    for (int i = 0; i < n_late; i++) {
        if (late_pointer != NULL) {
            (void)check(late_pointer, &late[i], why);
        }
        work(&late[i]);
    }
    n_late = 0;
    late_pointer = NULL;
    return MXO_OK;
}

#endif
