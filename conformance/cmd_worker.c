/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle worker NAME PATH DEVICE: the other end of worker.h.  Not for
 * people; started by the judge so that a backend can crash or hang alone.
 */
#include "cli.h"
#include "fence.h"
#include "judge.h"
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#ifdef __linux__
#include <signal.h>
#include <sys/prctl.h>
#endif

static mxo_status open_backend(judge *j, const char *name, const char *path,
                               int device, mxo_text why)
{
    static backend_list known;
    const mxo_backend *table = NULL;
    const backend_ref *ref;
    backend_ref by_path;
    mxo_status status;

    memset(&by_path, 0, sizeof by_path);
    (void)snprintf(by_path.path, sizeof by_path.path, "%s", path);
    backends_known(&known);
    ref = path[0] == '\0' ? backends_find(&known, name) : &by_path;
    if (ref == NULL) {
        (void)snprintf(why.ptr, why.size, "%s is not a backend", name);
        return MXO_E_PARAM;
    }
    status = backend_load(ref, &table, why);
    return status == MXO_OK ? judge_open(j, table, device, why) : status;
}

static json_t *hello(const judge *j, mxo_status status, const char *why)
{
    const subject *s = &j->subject;
    json_t *o = json_pack("{s:i, s:s}", "status", (int)status, "why", why);

    if (status == MXO_OK) {
        json_object_set_new(o, "name", json_string(s->table->name));
        json_object_set_new(o, "version", json_string(s->table->version));
        json_object_set_new(o, "device", json_string(s->device));
        json_object_set_new(o, "driver", json_string(s->driver));
    }
    return o;
}

static json_t *answer(judge *j, const char *line)
{
    json_t *request = json_loads(line, 0, NULL);
    const char *text = json_string_value(json_object_get(request, "case"));
    const json_int_t seed =
        json_integer_value(json_object_get(request, "seed"));
    json_t *o;
    verdict v = {.status = VERDICT_ERROR};
    test_case c;

    if (text == NULL) {
        (void)snprintf(v.reason, sizeof v.reason, "not a request");
    } else if (case_parse(&c, text, (mxo_text){v.reason, sizeof v.reason}) ==
               0) {
        judge_case(j, &c, (uint64_t)seed, &v);
    }
    o = verdict_to_json(&v);
    verdict_clear(&v);
    json_decref(request);
    return o;
}

/* From within a signal handler: names hold nothing that JSON would escape. */
static void send_fault(const char *sentence)
{
    static const char head[] = "{\"fault\": \"";
    static const char tail[] = "\"}\n";

    (void)send(WORKER_SOCKET, head, sizeof head - 1, MSG_NOSIGNAL);
    (void)send(WORKER_SOCKET, sentence, strlen(sentence), MSG_NOSIGNAL);
    (void)send(WORKER_SOCKET, tail, sizeof tail - 1, MSG_NOSIGNAL);
}

int cmd_worker(int argc, char **argv)
{
    FILE *in = argc == 4 ? fdopen(WORKER_SOCKET, "r") : NULL;
    char *line = NULL;
    size_t size = 0;
    char why[512] = "";
    judge j;

    if (in == NULL) {
        return cli_refuse("worker is started by the judge, not by hand");
    }
#ifdef __linux__
    /* A backend that hangs must not outlive a judge that was killed. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    fence_tell(send_fault);
    memset(&j, 0, sizeof j);
    const mxo_status status = open_backend(&j, argv[1], argv[2], atoi(argv[3]),
                                           (mxo_text){why, sizeof why});
    int alive = worker_send(WORKER_SOCKET, hello(&j, status, why)) == 0 &&
                status == MXO_OK;

    while (alive && getline(&line, &size, in) > 0) {
        alive = worker_send(WORKER_SOCKET, answer(&j, line)) == 0;
    }
    free(line);
    if (status == MXO_OK) {
        judge_close(&j);
    }
    fclose(in);
    return EXIT_PASS;
}
