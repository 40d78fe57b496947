/* SPDX-License-Identifier: Apache-2.0 */
/* See serve.h. */
#include "serve.h"

#include "base/say.h"
#include "exec/call_json.h"
#include "exec/channel.h"
#include "exec/greeting.h"
#include "exec/libraries.h"
#include "process_state.h"
#include "reply.h"
#include "server.h"
#include "system/fence.h"
#include "system/system.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void serve_reply_status(server *s, mxo_status status)
{
    char number[2] = {'5', '\0'};

    if (status >= MXO_OK && status <= MXO_E_DEVICE) {
        number[0] = (char)('0' + (int)status);
    } else {
        (void)snprintf(s->text, sizeof s->text, "it returns the status %d",
                       (int)status);
    }
    s->text[sizeof s->text - 1] = '\0';
    reply_send(number, s->text);
}

/* Bytes behind a text, as they are to stay. */
enum { UNTOUCHED = 0xa5 };

static int was_touched(const char *behind)
{
    size_t n = 0;

    while (n < BEHIND_TEXT && (uint8_t)behind[n] == UNTOUCHED) {
        n++;
    }
    return n < BEHIND_TEXT;
}

static void reply_overrun(server *s)
{
    memset(s->behind, UNTOUCHED, sizeof s->behind);
    reply_send("left", "bytes behind the room for a sentence or a name");
}

mxo_text serve_text_of(server *s)
{
    s->text[0] = '\0';
    return (mxo_text){s->text, sizeof s->text};
}

/* Whether a handle of this backend is the address of its bytes. */
static int handles_are_addresses(server *s)
{
    uint8_t bytes[64];
    void *buffer = NULL;
    int is_address = 0;

    if (system_random(bytes, sizeof bytes) != 0 ||
        s->table->alloc(s->ctx, sizeof bytes, &buffer) != MXO_OK ||
        buffer == NULL) {
        return 0;
    }
    if (s->table->upload(s->ctx, buffer, 0, bytes, sizeof bytes,
                         serve_text_of(s)) == MXO_OK) {
        is_address = system_sees(buffer, bytes, sizeof bytes);
    }
    s->table->dealloc(s->ctx, buffer);
    return is_address;
}

/* Text of a plugin as JSON, which must be UTF-8. */
static json_t *text_json(const char *text)
{
    json_t *o = json_string(text);

    return o != NULL ? o : json_string("(not UTF-8)");
}

/* A text of describe(), and what must stay behind it. */
typedef struct described {
    char text[GREETING_TEXT];
    char behind[BEHIND_TEXT];
} described;

/* What is written behind either text is told as bytes behind the server's. */
static void add_device(server *s, json_t *o)
{
    described device = {.text = ""};
    described driver = {.text = ""};

    memset(device.behind, UNTOUCHED, sizeof device.behind);
    memset(driver.behind, UNTOUCHED, sizeof driver.behind);
    s->table->describe(s->ctx, (mxo_text){device.text, sizeof device.text},
                       (mxo_text){driver.text, sizeof driver.text});
    if (was_touched(device.behind) || was_touched(driver.behind)) {
        s->behind[0] = '\0';
    }
    device.text[GREETING_TEXT - 1] = driver.text[GREETING_TEXT - 1] = '\0';
    (void)json_object_set_new(o, "device", text_json(device.text));
    (void)json_object_set_new(o, "driver", text_json(driver.text));
}

static json_t *list_does(const server *s)
{
    const mxo_backend *t = s->table;
    const int own_clock = t->time != NULL && t->time_copy != NULL;
    const unsigned can =
        CAN_MEMORY | CAN_DESCRIBE | (own_clock ? CAN_TIME | CAN_TIME_COPY : 0) |
        (t->set_threads != NULL ? CAN_THREADS : 0) |
        (t->kernel != NULL ? CAN_KERNEL : 0) | (s->is_address ? CAN_FENCE : 0) |
        (t->workspace != NULL ? CAN_WORKSPACE : 0) |
        (t->stream_open != NULL ? CAN_STREAM : 0) |
        (t->capture != NULL ? CAN_GRAPH | CAN_BEHIND_GRAPH : 0) | CAN_CONTEXTS |
        CAN_CLOSE | CAN_MEANWHILE | CAN_BEHIND | CAN_BEHIND_CONTEXT |
        CAN_TOGETHER;
    json_t *list = json_array();

    for (unsigned bit = 1; bit <= CAN_LAST; bit *= 2) {
        if ((can & bit) != 0) {
            (void)json_array_append_new(
                list, json_string(greeting_word((greeting_can)bit)));
        }
    }
    return list;
}

/* Names of tensors, from the words of a text. */
static json_t *list_words(const char *text)
{
    json_t *list = json_array();

    while (*text != '\0') {
        const size_t n = strcspn(text, " ");
        if (n > 0) {
            (void)json_array_append_new(list, json_stringn(text, n));
        }
        text += n + (text[n] == ' ');
    }
    return list;
}

/* The limits of the table as JSON; NULL and a sentence: they are none. */
static json_t *read_limits(server *s)
{
    json_error_t error;
    json_t *o = json_loads(s->table->limits, JSON_REJECT_DUPLICATES, &error);

    if (o == NULL) {
        (void)snprintf(s->text, sizeof s->text,
                       "its limits are no JSON: %.200s", error.text);
    }
    return o;
}

/* left: what loading and opening it changed; "": nothing. */
static mxo_status make_hello(server *s, const char *left)
{
    const mxo_backend *t = s->table;
    json_t *ops = json_array();
    json_t *o = json_object();
    mxo_status status = MXO_OK;
    char *text;

    (void)json_object_set_new(o, "name", text_json(t->name));
    (void)json_object_set_new(o, "version", text_json(t->version));
    add_device(s, o);
    for (size_t i = 0; t->ops[i] != NULL; i++) {
        (void)json_array_append_new(ops, text_json(t->ops[i]));
    }
    (void)json_object_set_new(o, "ops", ops);
    (void)json_object_set_new(o, "does", list_does(s));
    if (t->align != 0) {
        (void)json_object_set_new(o, "align", json_integer(t->align));
    }
    if (t->strides != NULL) {
        (void)json_object_set_new(o, "strides", list_words(t->strides));
    }
    if (t->uncaptured != NULL) {
        (void)json_object_set_new(o, "uncaptured", list_words(t->uncaptured));
    }
    if (left[0] != '\0') {
        (void)json_object_set_new(o, "left", text_json(left));
    }
    libraries_tell(&s->libraries, o);
    if (t->limits != NULL) {
        json_t *limits = read_limits(s);
        status = limits == NULL ? MXO_E_UNSUPPORTED : MXO_OK;
        (void)json_object_set_new(o, "limits", limits);
    }
    text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    if (status == MXO_OK && text != NULL) {
        reply_send("0", text);
    } else {
        serve_reply_status(s, status == MXO_OK ? MXO_E_NOMEM : status);
    }
    free(text);
    return status;
}

static void do_hello(server *s, const json_t *request)
{
    const int device =
        (int)json_integer_value(json_object_get(request, "device"));
    mxo_status status = MXO_OK;
    char left[GREETING_TEXT] = "";

    reply_is_ours();
    if (s->table == NULL) {
        status = s->load(s->state, &s->table, serve_text_of(s));
    }
    libraries_note(&s->libraries);
    if (status == MXO_OK) {
        status = s->table->open(&s->ctx, device, serve_text_of(s));
    }
    if (status != MXO_OK) {
        s->table = NULL;
        serve_reply_status(s, status);
        return;
    }
    (void)process_state_numbers_differ((mxo_text){left, sizeof left});
    libraries_note(&s->libraries);
    s->contexts[0] = s->ctx;
    s->device = device;
    s->greeted = *s->table;
    process_state_loaded(s->order); /* no call is blamed for it */
    s->is_address = handles_are_addresses(s);
    (void)make_hello(s, left);
}

static void do_describe(server *s, const json_t *request)
{
    json_t *o = json_object();
    char *text;

    (void)request;
    add_device(s, o);
    text = json_dumps(o, JSON_COMPACT);
    if (was_touched(s->behind)) {
        reply_overrun(s);
    } else {
        reply_send("0", text == NULL ? "{}" : text);
    }
    free(text);
    json_decref(o);
}

static void do_threads(server *s, const json_t *request)
{
    if (s->table->set_threads != NULL) {
        s->table->set_threads(s->ctx, (int)serve_number_in(request, "n"));
    }
    (void)serve_text_of(s);
    serve_reply_status(s, MXO_OK);
}

/* Reply with the state that a call left changed, or with its status. */
void serve_reply_after_call(server *s, mxo_status status)
{
    char left[256];

    if (reply_is_child()) {
        _exit(0); /* a child that came back: the parent answers */
    }
    if (process_state_differs(s->order, (mxo_text){left, sizeof left})) {
        process_state_reset(s->order);
        reply_send("left", left);
        return;
    }
    if (memcmp(&s->greeted, s->table, sizeof s->greeted) != 0) {
        reply_send("left", "it changes its table");
        return;
    }
    if (was_touched(s->behind)) {
        reply_overrun(s);
        return;
    }
    serve_reply_status(s, status);
}

static const struct {
    const char *name;
    void (*serve)(server *s, const json_t *request);
} requests[] = {{"run", serve_run},
                {"upload", serve_upload},
                {"download", serve_download},
                {"alloc", serve_alloc},
                {"dealloc", serve_dealloc},
                {"time", serve_time},
                {"time_copy", serve_time_copy},
                {"threads", do_threads},
                {"describe", do_describe},
                {"close", serve_close},
                {"hello", do_hello},
                {"workspace", serve_workspace},
                {"stream_open", serve_stream_open},
                {"stream_close", serve_stream_close},
                {"stream_upload", serve_stream_upload},
                {"capture", serve_capture},
                {"launch", serve_launch},
                {"graph_close", serve_graph_close}};

/* The context that the request is for; the second is opened by the first that
   is for it. */
static mxo_status choose_context(server *s, const json_t *request)
{
    const int i = serve_number_in(request, "context") == 1;
    mxo_status status = MXO_OK;

    if (i == 1 && s->contexts[1] == NULL) {
        const int was_changed =
            process_state_differs(s->order, serve_text_of(s));
        status = s->table->open(&s->contexts[1], s->device, serve_text_of(s));
        s->contexts[1] = status == MXO_OK ? s->contexts[1] : NULL;
        if (!was_changed) {
            process_state_loaded(s->order);
        }
    }
    s->ctx = status == MXO_OK ? s->contexts[i] : s->ctx;
    return status;
}

/* 0, or -1: it is no request. */
static int answer(server *s, const json_t *request)
{
    const char *what = json_string_value(json_object_get(request, "do"));
    const char *token = json_string_value(json_object_get(request, "token"));

    if (what == NULL || reply_begin(token) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        if (strcmp(requests[i].name, what) == 0) {
            if (s->table == NULL && requests[i].serve != do_hello) {
                return -1;
            }
            const mxo_status status = requests[i].serve == do_hello
                                          ? MXO_OK
                                          : choose_context(s, request);
            if (status == MXO_OK) {
                requests[i].serve(s, request);
            } else {
                serve_reply_status(s, status);
            }
            return 0;
        }
    }
    (void)snprintf(s->text, sizeof s->text, "no request is called %.60s", what);
    serve_reply_status(s, MXO_E_UNSUPPORTED);
    return 0;
}

int serve(serve_load *load, void *state)
{
    server s = {.load = load, .state = state};
    FILE *in = fdopen(CHANNEL_SOCKET, "r");
    char *line = NULL;
    size_t size = 0;
    int status = 0;

    if (in == NULL) {
        return -1;
    }
    memset(s.behind, UNTOUCHED, sizeof s.behind);
    fence_tell(reply_fault);
    (void)atexit(reply_exit);
    s.order = process_state_take();
    while (s.order != NULL && status == 0 && getline(&line, &size, in) > 0) {
        json_t *request = json_loads(line, 0, NULL);
        status = answer(&s, request);
        json_decref(request);
    }
    free(line);
    reply_close(1);
    for (int i = 1; i >= 0; i--) {
        if (s.table != NULL && s.contexts[i] != NULL) {
            s.table->close(s.contexts[i]);
        }
    }
    reply_close(0);
    process_state_free(&s.order);
    json_decref(s.libraries);
    (void)fclose(in);
    return 0;
}
