/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a subject: the text of a reply as a hello with its limits, as a
 * time and as a buffer's number, and a request as the serving side reads it.
 * Each is refused by a sentence, or what was read keeps its promises and comes
 * back the same when it is written and read again.
 */
#include "exec/call_json.h"
#include "exec/clock_check.h"
#include "exec/greeting.h"
#include "run/limits.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 16 };

static void die(const char *what)
{
    (void)fprintf(stderr, "%s\nrepro: a subject that replies with this input\n",
                  what);
    abort();
}

/* Names end up in repro lines, the rest on a terminal. */
static void check_hello(const greeting *g)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *const texts[] = {g->version, g->device, g->driver};

    if (g->name[0] == '\0' || g->name[strspn(g->name, good)] != '\0') {
        die("a name that no repro line can hold");
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (const char *c = texts[i]; *c != '\0'; c++) {
            if ((unsigned char)*c < 0x20 || *c == 0x7f) {
                die("a text that moves a terminal");
            }
        }
    }
    if (g->ops[0] == NULL ||
        ((g->can & CAN_TIME) != 0 && (g->can & CAN_TIME_COPY) == 0)) {
        die("a hello that promises too little");
    }
}

static void read_hello(const char *text)
{
    char why[512] = "";
    const mxo_text room = {why, sizeof why};
    greeting g;

    if (greeting_read(&g, text, room) == 0) {
        const json_t *limits = json_object_get(g.object, "limits");
        check_hello(&g);
        if (limits != NULL && limits_check(limits, room) != 0 &&
            why[0] == '\0') {
            die("limits refused without a word");
        }
    } else if (why[0] == '\0') {
        die("a hello refused without a word");
    }
    greeting_clear(&g);
}

static void read_time(const char *text)
{
    char why[512] = "";
    timed t = {1, 0, 1};

    if (timed_read(&t, text, (mxo_text){why, sizeof why}) != MXO_OK) {
        if (why[0] == '\0') {
            die("a time refused without a word");
        }
    } else if (!(t.seconds > 0 && t.seconds <= t.wall)) {
        die("a time of nothing, or of more than has passed");
    }
}

static void place_again(const mxo_tensor *t, json_t *o)
{
    (void)json_object_set_new(o, "offset", json_u64(t->offset));
    (void)json_object_set_new(o, "buffer",
                              json_u64((uint64_t)(uintptr_t)t->buffer));
}

/* The members that a call has, and no others. */
static void read_call_again(const read_call *first)
{
    json_t *once = json_object();
    json_t *twice = json_object();
    read_call again;

    call_to_json(&first->call, place_again, once);
    if (call_from_json(&again, once) != 0) {
        die("a call that cannot be read when it is written");
    }
    call_to_json(&again.call, place_again, twice);
    if (!json_equal(once, twice)) {
        die("writing and reading changes a call");
    }
    json_decref(once);
    json_decref(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(LONGEST);
    read_call call;

    if (text == NULL) {
        return 0;
    }
    n = n < LONGEST ? n : LONGEST - 1;
    if (n > 0) {
        memcpy(text, bytes, n);
    }
    text[n] = '\0';
    read_hello(text);
    read_time(text);
    json_t *request = json_loads(text, 0, NULL);

    if (request != NULL && call_from_json(&call, request) == 0) {
        read_call_again(&call);
    }
    json_decref(request);
    free(text);
    return 0;
}
