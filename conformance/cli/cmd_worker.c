/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle worker NAME PATH COMMAND GLOBAL DEVICE TIMEOUT INSIDE DRAWN SOAK:
 * the other end of worker.h.  Not for people; started by the judge so that a
 * backend that is linked in can crash or hang alone, and to judge several cases
 * at once.
 */
#include "base/cli.h"
#include "base/say.h"
#include "run/worker.h"
#include "system/fence.h"
#include "system/system.h"
#include "vectors/lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { N_ARGS = 10 };

static mxo_status open_backend(opened_judge *o, char **argv, mxo_text why)
{
    static backend_list known;
    const char *name = argv[1];
    const backend_ref *ref;
    backend_ref given;
    const open_options how = {.device = atoi(argv[5]),
                              .timeout_s = atof(argv[6]),
                              .in_process = atoi(argv[7]),
                              .is_drawn = atoi(argv[8]),
                              .soak = (uint32_t)atoi(argv[9])};

    memset(&given, 0, sizeof given);
    (void)snprintf(given.path, sizeof given.path, "%s", argv[2]);
    (void)snprintf(given.command, sizeof given.command, "%s", argv[3]);
    given.global_symbols = atoi(argv[4]);
    backends_known(&known);
    ref = given.path[0] == '\0' && given.command[0] == '\0'
              ? backends_find(&known, name)
              : &given;
    if (ref == NULL) {
        return say(MXO_E_PARAM, why, "%s is not a backend", name);
    }
    return opened_judge_open(o, ref, &how, why);
}

static json_t *hello(const opened_judge *o, mxo_status status, const char *why)
{
    const subject *s = &o->j.subject;
    json_t *line = json_pack("{s:i, s:s}", "status", (int)status, "why", why);

    if (status != MXO_OK) {
        return line;
    }
    (void)json_object_set_new(line, "name", json_string(s->table->name));
    (void)json_object_set_new(line, "version", json_string(s->table->version));
    (void)json_object_set_new(line, "device", json_string(s->device));
    (void)json_object_set_new(line, "driver", json_string(s->driver));
    if (o->proxy != NULL) {
        (void)json_object_set(line, "said", proxy_hello(o->proxy));
    }
    return line;
}

static json_t *judge_file(opened_judge *by, json_t *request)
{
    const char *path = json_string_value(json_object_get(request, "file"));
    vector_result result;

    vector_judge(path, &by->j, &result);
    json_decref(request);
    return vector_result_json(&result);
}

/* How its subject ends; nothing more is asked. */
static json_t *judge_end(opened_judge *by)
{
    verdict v;

    opened_judge_finish(by, &v);
    json_t *o = verdict_to_json(&v);

    verdict_clear(&v);
    return o;
}

static json_t *answer(opened_judge *by, const char *line)
{
    json_t *request = json_loads(line, 0, NULL);

    if (json_is_true(json_object_get(request, "end"))) {
        json_decref(request);
        return judge_end(by);
    }
    if (json_is_string(json_object_get(request, "file"))) {
        return judge_file(by, request);
    }
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
        by->j.is_brief = json_is_true(json_object_get(request, "brief"));
        worker_field(by->j.beside, sizeof by->j.beside, request, "beside");
        opened_judge_case(by, &c, (uint64_t)seed, &v);
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
    FILE *in = argc == N_ARGS ? fdopen(WORKER_SOCKET, "r") : NULL;
    char *line = NULL;
    size_t size = 0;
    char why[512] = "";
    opened_judge o;

    if (in == NULL) {
        return cli_refuse("worker is started by the judge, not by hand");
    }
    /* A backend that hangs must not outlive a judge that was killed. */
    system_end_with_parent();
    fence_tell(send_fault);
    memset(&o, 0, sizeof o);
    const mxo_status status =
        open_backend(&o, argv, (mxo_text){why, sizeof why});
    int alive = worker_send(WORKER_SOCKET, hello(&o, status, why)) == 0 &&
                status == MXO_OK;

    while (alive && getline(&line, &size, in) > 0) {
        alive = worker_send(WORKER_SOCKET, answer(&o, line)) == 0 && o.is_open;
    }
    free(line);
    opened_judge_close(&o);
    fclose(in);
    return EXIT_PASS;
}
