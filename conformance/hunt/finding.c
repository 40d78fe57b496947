/* SPDX-License-Identifier: Apache-2.0 */
/* See finding.h. */
#include "finding.h"

#include "base/say.h"
#include "data/fill.h"
#include "report/report_file.h"
#include "run/mutant_device.h"
#include "run/native.h"
#include "run/shrink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_repro(finding *f, const backend_ref *ref, int device)
{
    char option[2 * BACKEND_COMMAND];

    device_option(ref, device, option, sizeof option);
    (void)snprintf(f->repro, sizeof f->repro,
                   "mxoracle run %.4000s%s%s --seed=%" PRIu64 " %.4000s",
                   option, f->beside[0] == '\0' ? "" : " --beside=", f->beside,
                   f->seed, f->text);
}

/* With one pool of workers; 0 if it is red there, and once more when small. */
static int make_with(finding *f, worker_pool *c, const char *text,
                     uint64_t seed)
{
    shrinking s;
    char why[512];

    memset(&s, 0, sizeof s);
    s.c = c;
    s.seed = seed;
    if (c == NULL ||
        case_parse(&s.best, text, (mxo_text){why, sizeof why}) != 0 ||
        !verdict_is_red(shrink_case(&s))) {
        return -1;
    }
    case_print(&s.best, 0, f->text);
    memcpy(f->beside, s.beside, sizeof f->beside);
    f->seed = seed;
    const int is_red = worker_pool_case(c, f->text, seed, &f->v) == 0 &&
                       verdict_is_red(f->v.status);

    worker_pool_set_beside(c, "");
    if (!is_red) {
        verdict_clear(&f->v);
        f->beside[0] = '\0';
    }
    return is_red ? 0 : -1;
}

/* As it was drawn: a subject that keeps state, or races, has no smaller one. */
static void take_first(finding *f, const char *text, uint64_t seed,
                       const verdict *first)
{
    verdict_copy(&f->v, first);
    (void)snprintf(f->v.reason, sizeof f->v.reason,
                   "%.440s; judged again it passes", first->reason);
    (void)snprintf(f->text, sizeof f->text, "%s", text);
    f->seed = seed;
}

void finding_make(finding *f, worker_pool *thorough, worker_pool *fast,
                  const backend_ref *ref, int device, const char *text,
                  uint64_t seed, const verdict *first)
{
    memset(f, 0, sizeof *f);
    if (make_with(f, thorough, text, seed) != 0 &&
        make_with(f, fast, text, seed) != 0) {
        take_first(f, text, seed, first);
    }
    write_repro(f, ref, device);
}

/* The report, as comments, and the case. */
static int write_case(const finding *f, const char *path, mxo_text why)
{
    report_file file;

    if (report_file_open(&file, path, why) != 0) {
        return -1;
    }
    (void)fprintf(file.out, "# SPDX-License-Identifier: Apache-2.0\n# %s: %s\n",
                  verdict_name(f->v.status), f->v.reason);
    (void)fprintf(file.out, "# %s\n%s\n", f->repro, f->text);
    return report_file_commit(&file, why);
}

static int write_vector(const finding *f, const char *path, mxo_text why)
{
    tensor_set in = {0};
    native_answer answer = {.has_bytes = 1};
    test_case c;
    int status = case_parse(&c, f->text, why);

    if (status == 0 && c.flaw[0] == '\0') {
        status = fill_inputs(&c, f->seed, &in, why);
        /* A call that must be refused has no answer to keep. */
        if (status == 0 && native_outputs(&c, &in, &answer.out, why) == 0) {
            status = native_write(path, &c, f->seed, &in, &answer, why);
        }
    }
    tensor_set_clear(&in);
    tensor_set_clear(&answer.out);
    return status;
}

static int add_repro(const finding *f, const char *path, mxo_text why)
{
    FILE *out = fopen(path, "a");
    int bad = out == NULL || fprintf(out, "%s\n", f->repro) < 0;

    bad |= out != NULL && fclose(out) != 0;
    if (bad) {
        (void)say(MXO_E_PARAM, why, "%.300s: %s", path, strerror(errno));
    }
    return bad ? -1 : 0;
}

int finding_write(const finding *f, const char *folder, uint64_t number,
                  mxo_text why)
{
    char stem[REPORT_PATH];
    char path[REPORT_PATH + 16];
    const int op = (int)strcspn(f->text, ":");

    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        (void)say(MXO_E_PARAM, why, "%.300s: %s", folder, strerror(errno));
        return -1;
    }
    /* Files of an earlier hunt stay. */
    do {
        (void)snprintf(stem, sizeof stem, "%.3000s/%03" PRIu64 "-%.*s", folder,
                       number++, op, f->text);
        (void)snprintf(path, sizeof path, "%s.case", stem);
    } while (access(path, F_OK) == 0);
    int status = write_case(f, path, why);

    (void)snprintf(path, sizeof path, "%.3000s/repro.sh", folder);
    status = status == 0 ? add_repro(f, path, why) : status;
    (void)snprintf(path, sizeof path, "%s.safetensors", stem);
    return status == 0 ? write_vector(f, path, why) : status;
}

void finding_clear(finding *f)
{
    verdict_clear(&f->v);
}
