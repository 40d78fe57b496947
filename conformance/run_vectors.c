/* SPDX-License-Identifier: Apache-2.0 */
/* mxoracle run --vectors: golden vectors on the chosen backends. */
#include "run_vectors.h"

#include "cli.h"
#include "vectors/vectors.h"

#include <stdlib.h>
#include <string.h>

/* What open_backend() needs to know. */
typedef struct chosen_backend {
    const backend_ref *ref;
    int device;
} chosen_backend;

static mxo_status open_backend(void *state, judge *j, mxo_text why)
{
    const chosen_backend *b = state;
    const mxo_backend *table = NULL;
    const mxo_status status = backend_load(b->ref, &table, why);

    return status == MXO_OK ? judge_open(j, table, b->device, why) : status;
}

static int is_isolated(const run_options *o, const backend_ref *ref)
{
    return ref->is_risky ||
           (o->crew.isolate == ISOLATE_AUTO ? ref->path[0] != '\0'
                                            : o->crew.isolate != ISOLATE_NONE);
}

static int is_given(const run_options *o, const backend_ref *ref)
{
    for (int i = 0; i < o->n_plugins; i++) {
        if (strstr(ref->path, o->plugins[i]) != NULL) {
            return 1;
        }
    }
    return 0;
}

static int run_on(const run_options *o, const backend_list *chosen)
{
    const size_t n = (size_t)chosen->n;
    chosen_backend *states = calloc(n, sizeof *states);
    vector_subject *subjects = calloc(n, sizeof *subjects);
    vector_options options = {o->tap    ? VECTOR_AS_TAP
                              : o->json ? VECTOR_AS_JSON
                                        : VECTOR_AS_TEXT,
                              o->strict, o->verbose > 0, o->verbose < 0};
    int status = EXIT_BROKEN;

    if (states != NULL && subjects != NULL) {
        for (size_t i = 0; i < n; i++) {
            const backend_ref *ref = &chosen->ref[i];
            states[i] = (chosen_backend){ref, o->crew.device};
            subjects[i] = (vector_subject){
                ref->name,           open_backend,     &states[i],
                is_isolated(o, ref), is_given(o, ref), o->crew.timeout_s};
        }
        status = vectors_run(subjects, chosen->n, o->args, o->n_args, &options);
    }
    free(states);
    free(subjects);
    return status;
}

int run_vectors(const run_options *o)
{
    static backend_list known;
    static backend_list chosen;

    if (o->n_args == 0) {
        return cli_refuse("--vectors needs a file or folder of vectors");
    }
    if (o->json_file != NULL || o->junit_file != NULL || o->n_ops > 0) {
        return cli_refuse("--vectors takes no --op, --junit or --json=FILE");
    }
    int status = run_options_backends(o, &known);

    if (status == EXIT_PASS) {
        status = run_options_choose(o, &known, &chosen);
    }
    return status == EXIT_PASS ? run_on(o, &chosen) : status;
}
