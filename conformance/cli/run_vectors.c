/* SPDX-License-Identifier: Apache-2.0 */
/* mxoracle run --vectors: golden vectors on the chosen backends. */
#include "run_vectors.h"

#include "base/cli.h"
#include "base/memory.h"
#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

/* Files are judged where a crash costs one of them, unless it is declined. */
static int is_isolated(const run_options *o, const backend_ref *ref)
{
    return ref->is_risky ||
           (o->pool.isolate != ISOLATE_AUTO && o->pool.isolate != ISOLATE_NONE);
}

int vectors_on(const run_options *o, const backend_list *chosen,
               const vector_options *options)
{
    const size_t n = (size_t)chosen->n;
    vector_subject *subjects = memory_need_zeros(n, sizeof *subjects);

    for (size_t i = 0; i < n; i++) {
        const backend_ref *ref = &chosen->ref[i];
        subjects[i] = (vector_subject){
            .name = ref->shown[0] == '\0' ? ref->name : ref->shown,
            .ref = *ref,
            .how = {.device = o->pool.device,
                    .timeout_s = o->pool.timeout_s,
                    .in_process = o->pool.isolate == ISOLATE_NONE,
                    .apart = is_isolated(o, ref)},
            .required = ref->is_given};
    }
    const int status =
        vectors_run(subjects, chosen->n, o->args, o->n_args, options);

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
    if (o->n_ops > 0 || o->n_shards > 0 || o->n_excludes > 0 ||
        o->journal != NULL || o->baseline != NULL || o->fail_fast) {
        return cli_refuse("--vectors takes no --op, --exclude, --shard, "
                          "--resume, --baseline or --fail-fast");
    }
    stop_after(o->budget_s);
    int status = run_options_backends(o, &known);

    if (status == EXIT_PASS) {
        status = run_options_choose(o, &known, &chosen);
    }
    const vector_options options = {.command = "run",
                                    .reports = &o->reports,
                                    .strict = o->strict,
                                    .jobs = o->pool.jobs,
                                    .verbose = o->verbose > 0,
                                    .quiet = o->verbose < 0};

    return status == EXIT_PASS ? vectors_on(o, &chosen, &options) : status;
}
