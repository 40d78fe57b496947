/* SPDX-License-Identifier: Apache-2.0 */
/* See zoo.h. */
#include "zoo.h"

#include "base/cli.h"

#include <stdio.h>

enum { SHARES = 8 }; /* of all cases */

int zoo_plan(zoo *z)
{
    char text[512];
    const mxo_text why = {text, sizeof text};
    const mxo_backend *table;
    size_t n = 0;

    if (backend_load(z->ref, &table, why) != MXO_OK) {
        return cli_refuse("%s: %s", z->ref->name, text);
    }
    while (table->ops[n] != NULL) {
        n++;
    }
    if (grid_append(&z->pool.cases, z->level, (char *const *)table->ops, n,
                    z->seed, why) != 0) {
        return cli_refuse("%s", text);
    }
    return case_pool_begin(&z->pool) == 0 ? EXIT_PASS : EXIT_BROKEN;
}

void zoo_clear(zoo *z)
{
    case_pool_clear(&z->pool);
}

/* In this process: opening and describing are safe. */
int zoo_identify(const zoo *z, int device, mutant *m)
{
    char text[2][256] = {"", ""};
    const mxo_text why = {text[0], sizeof text[0]};
    const mxo_text driver = {text[1], sizeof text[1]};
    const mxo_backend *table = NULL;
    void *ctx = NULL;
    mxo_status status = backend_load(z->ref, &table, why);

    if (status == MXO_OK) {
        status = table->open(&ctx, device, why);
    }
    if (status == MXO_E_DEVICE && device > 0) {
        return EXIT_SKIP;
    }
    if (status != MXO_OK) {
        return cli_refuse("%s, device %d: %s", z->ref->name, device, text[0]);
    }
    table->describe(ctx, why, driver);
    table->close(ctx);
    if (mutant_parse(m, text[1]) != 0) {
        return cli_refuse("%s, device %d does not say what is wrong: \"%s\"",
                          z->ref->name, device, text[1]);
    }
    return EXIT_PASS;
}

/* A legal call ends: on crowded cores later than a mutant may hang. */
enum { PATIENCE = 12 };

static worker_pool *open_device(const zoo *z, int device, int is_legal,
                                backend_info *info)
{
    const worker_pool_options how = {
        .isolate = ISOLATE_BATCH,
        .jobs = 1,
        .device = device,
        .timeout_s = z->timeout_s * (is_legal ? PATIENCE : 1),
        /* A library's last words at a planted fault. */
        .is_silent = 1};
    worker_pool *c = worker_pool_create(z->ref, &how, info);

    worker_pool_set_brief(c, 1); /* what explains a verdict is not kept */
    return c;
}

static int open_faultless(zoo *z)
{
    backend_info info;

    if (z->pool.faultless != NULL) {
        return EXIT_PASS;
    }
    z->pool.faultless = open_device(z, 0, 1, &info);
    if (info.why_not[0] != '\0') {
        return cli_refuse("%s, device 0: %s", z->ref->name, info.why_not);
    }
    return EXIT_PASS;
}

/* The judge would not even begin: that is red. */
static void note_absent(hunt *h, const char *why_not)
{
    h->red = 1;
    h->first.status = VERDICT_ERROR;
    (void)snprintf(h->first.kind, sizeof h->first.kind, "open");
    (void)snprintf(h->first.reason, sizeof h->first.reason, "%.500s", why_not);
}

static int judge_other(zoo *z, int device, const mutant *m,
                       const case_share *share, hunt *h)
{
    backend_info info;
    worker_pool *c = open_device(z, device, m->legal, &info);
    int status;

    if (info.why_not[0] != '\0') {
        note_absent(h, info.why_not);
        status = 0;
    } else if (m->legal) {
        status = hunt_legal(&z->pool, c, m, z->legal_part, share, h);
    } else {
        status = hunt_mutant(&z->pool, c, m, h);
    }
    worker_pool_destroy(&c);
    return status == 0 ? EXIT_PASS : EXIT_BROKEN;
}

uint64_t zoo_shares(const zoo *z, const zoo_device *device)
{
    const int takes_all = device->number == 0 || device->m.legal;

    return takes_all && z->legal_part < SHARES ? SHARES / z->legal_part : 1;
}

int zoo_judge(zoo *z, int device, const case_share *share, hunt *h)
{
    mutant m = {.legal = 0};
    int status = zoo_identify(z, device, &m);

    status = status == EXIT_PASS ? open_faultless(z) : status;
    if (status != EXIT_PASS) {
        return status;
    }
    if (device > 0) {
        status = judge_other(z, device, &m, share, h);
    } else if (hunt_faultless(&z->pool, z->legal_part, share, h) != 0) {
        status = EXIT_BROKEN;
    }
    if (status == EXIT_PASS && !m.legal && !hunt_concludes(&z->pool, h)) {
        (void)cli_refuse("%s passes no case: nothing can be concluded",
                         z->ref->name);
        status = EXIT_BROKEN;
    }
    return status;
}
