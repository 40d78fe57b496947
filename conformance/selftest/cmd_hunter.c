/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle hunter ZOO LEVEL SEED PART TIMEOUT: the other end of
 * hunters.h.  Not for people; started by selftest.
 */
#include "hunters.h"

#include "base/cli.h"
#include "run/worker.h"
#include "system/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ARGS = 6 };

static json_t *judge_device(zoo *z, const char *line)
{
    json_t *request = json_loads(line, 0, NULL);
    const json_t *device = json_object_get(request, "device");
    const case_share share = {
        (uint64_t)json_integer_value(json_object_get(request, "share")),
        (uint64_t)json_integer_value(json_object_get(request, "of"))};
    hunt h = {.n = 0};
    int status = EXIT_BROKEN;

    if (json_is_integer(device) && share.number < share.of) {
        status = zoo_judge(z, (int)json_integer_value(device), &share, &h);
    }
    json_decref(request);
    return json_pack(
        "{s:i, s:I, s:b, s:I, s:s, s:I, s:o}", "status", status, "asked",
        (json_int_t)h.n, "red", h.red, "at", (json_int_t)h.at, "case",
        h.killer.text == NULL ? "" : h.killer.text, "seed",
        (json_int_t)h.killer.seed, "verdict", verdict_to_json(&h.first));
}

int cmd_hunter(int argc, char **argv)
{
    static backend_list known;
    FILE *in = argc == N_ARGS ? fdopen(WORKER_SOCKET, "r") : NULL;
    zoo z = {.ref = NULL};
    char *line = NULL;
    size_t size = 0;
    int status = EXIT_BROKEN;

    if (in == NULL) {
        return cli_refuse("hunter is started by selftest, not by hand");
    }
    system_end_with_parent();
    backends_known(&known);
    z.ref = backends_find(&known, argv[1]);
    z.level = atoi(argv[2]);
    z.seed = strtoull(argv[3], NULL, 10);
    z.legal_part = strtoull(argv[4], NULL, 10);
    z.timeout_s = atof(argv[5]);
    status = z.ref == NULL ? EXIT_BROKEN : zoo_plan(&z);
    int alive = worker_send(WORKER_SOCKET,
                            json_pack("{s:i, s:I}", "status", status, "cases",
                                      (json_int_t)z.pool.cases.n)) == 0 &&
                status == EXIT_PASS;

    while (alive && getline(&line, &size, in) > 0) {
        alive = worker_send(WORKER_SOCKET, judge_device(&z, line)) == 0;
    }
    free(line);
    zoo_clear(&z);
    (void)fclose(in);
    return EXIT_PASS;
}
