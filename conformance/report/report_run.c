/* SPDX-License-Identifier: Apache-2.0 */
/* Description of a run; see report.h. */
#include "report.h"

#include "base/input.h"
#include "base/prng.h"
#include "base/say.h"
#include "base/stop.h"
#include "system/system.h"

#include <mxoracle/mxoracle.h>

#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "an unknown compiler"
#endif

const char *report_compiler(void)
{
    return COMPILER;
}

/* What the compiler says and the program's own bytes, where they can be read:
   two builds of one version differ. */
static uint64_t digest_program(void)
{
    const uint64_t compiler = fnv_text(FNV_START, COMPILER);

    return system_program() == NULL ? compiler
                                    : input_digest(compiler, system_program());
}

/* Where it runs: POSIX says no more. */
static void name_machine(report_run *run)
{
    struct utsname u;

    if (uname(&u) >= 0) {
        const unsigned cores = system_cores();
        (void)snprintf(run->machine, sizeof run->machine,
                       "%.100s, %.60s, %u core%s", u.nodename, u.machine, cores,
                       cores == 1 ? "" : "s");
        (void)snprintf(run->os, sizeof run->os, "%.100s %.100s", u.sysname,
                       u.release);
    }
}

void report_run_begin(report_run *run, const char *command)
{
    const time_t now = time(NULL);
    struct tm utc;

    memset(run, 0, sizeof *run);
    run->command = command;
    run->version = mxo_version();
    run->compiler = report_compiler();
    run->start_s = clock_s();
    name_machine(run);
    (void)snprintf(run->seeds, sizeof run->seeds, "1");
    if (gmtime_r(&now, &utc) != NULL) {
        (void)strftime(run->started, sizeof run->started, "%Y-%m-%dT%H:%M:%SZ",
                       &utc);
    }
}

const char *report_run_build(const report_run *run)
{
    static char own[24];

    if (run->build[0] != '\0') {
        return run->build;
    }
    if (own[0] == '\0') {
        (void)snprintf(own, sizeof own, "%016" PRIx64, digest_program());
    }
    return own;
}

double report_run_seconds(const report_run *run)
{
    return clock_s() - run->start_s;
}

const backend_info *report_run_backend(report_run *run,
                                       backend_info infos[BACKEND_MAX],
                                       const char *name)
{
    for (int i = 0; i < run->n_backends; i++) {
        if (strcmp(infos[i].name, name) == 0) {
            return &infos[i];
        }
    }
    if (run->n_backends == BACKEND_MAX) {
        return &infos[0];
    }
    backend_info *info = &infos[run->n_backends++];

    memset(info, 0, sizeof *info);
    (void)snprintf(info->name, sizeof info->name, "%s", name);
    return info;
}

void report_op(const report_result *r, char *op, size_t size)
{
    if (r->op != NULL) {
        say_copy(op, size, r->op);
    } else {
        (void)snprintf(op, size, "%.*s", (int)strcspn(r->case_text, ":"),
                       r->case_text);
    }
}
