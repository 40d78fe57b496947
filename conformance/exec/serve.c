/* SPDX-License-Identifier: Apache-2.0 */
/* See serve.h. */
#include "serve.h"

#include "base/say.h"
#include "call_json.h"
#include "channel.h"
#include "device/fence.h"
#include "greeting.h"
#include "process_state.h"
#include "reply.h"
#include "system/system.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT = 4096 };

typedef struct server {
    serve_load *load;
    void *state;
    const mxo_backend *table;
    mxo_backend greeted; /* the table when it said hello */
    void *ctx;
    uint8_t *memory;
    uint64_t memory_size;
    process_state *order; /* of the process, between calls */
    int is_address;       /* a handle is the bytes' address */
    char text[TEXT];      /* of a reply */
} server;

static void reply_status(server *s, mxo_status status)
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

static mxo_text text_of(server *s)
{
    s->text[0] = '\0';
    return (mxo_text){s->text, sizeof s->text};
}

/* The mapping reaches n bytes at least. */
static int map_memory(server *s, uint64_t n)
{
    struct stat f;
    void *base;

    if (n <= s->memory_size) {
        return 1;
    }
    if (fstat(CHANNEL_MEMORY, &f) != 0 || (uint64_t)f.st_size < n) {
        return 0;
    }
    if (s->memory != NULL) {
        (void)munmap(s->memory, (size_t)s->memory_size);
    }
    base = mmap(NULL, (size_t)f.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                CHANNEL_MEMORY, 0);
    s->memory = base == MAP_FAILED ? NULL : base;
    s->memory_size = s->memory == NULL ? 0 : (uint64_t)f.st_size;
    return s->memory != NULL;
}

/* Is a handle of this backend the address of its bytes? */
static int handles_are_addresses(server *s)
{
    uint8_t bytes[64];
    void *buffer = NULL;
    int is_address = 0;

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(0x3b + 89 * i);
    }
    if (s->table->alloc(s->ctx, sizeof bytes, &buffer) != MXO_OK ||
        buffer == NULL) {
        return 0;
    }
    if (s->table->upload(s->ctx, buffer, 0, bytes, sizeof bytes, text_of(s)) ==
        MXO_OK) {
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

static void add_device(server *s, json_t *o)
{
    char device[GREETING_TEXT] = "";
    char driver[GREETING_TEXT] = "";

    s->table->describe(s->ctx, (mxo_text){device, sizeof device},
                       (mxo_text){driver, sizeof driver});
    device[sizeof device - 1] = driver[sizeof driver - 1] = '\0';
    (void)json_object_set_new(o, "device", text_json(device));
    (void)json_object_set_new(o, "driver", text_json(driver));
}

static json_t *list_does(const server *s)
{
    const mxo_backend *t = s->table;
    const int own_clock = t->time != NULL && t->time_copy != NULL;
    const unsigned can =
        CAN_MEMORY | CAN_DESCRIBE | (own_clock ? CAN_TIME | CAN_TIME_COPY : 0) |
        (t->set_threads != NULL ? CAN_THREADS : 0) |
        (t->kernel != NULL ? CAN_KERNEL : 0) | (s->is_address ? CAN_FENCE : 0);
    json_t *list = json_array();

    for (unsigned bit = 1; bit <= CAN_KERNEL; bit *= 2) {
        if ((can & bit) != 0) {
            (void)json_array_append_new(
                list, json_string(greeting_word((greeting_can)bit)));
        }
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

static mxo_status make_hello(server *s)
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
        reply_status(s, status == MXO_OK ? MXO_E_NOMEM : status);
    }
    free(text);
    return status;
}

static void do_hello(server *s, const json_t *request)
{
    const int device =
        (int)json_integer_value(json_object_get(request, "device"));
    mxo_status status = MXO_OK;

    reply_is_ours();
    if (s->table == NULL) {
        status = s->load(s->state, &s->table, text_of(s));
    }
    if (status == MXO_OK) {
        status = s->table->open(&s->ctx, device, text_of(s));
    }
    if (status != MXO_OK) {
        s->table = NULL;
        reply_status(s, status);
        return;
    }
    s->greeted = *s->table;
    process_state_reset(s->order); /* what loading it changed is no call's */
    s->is_address = handles_are_addresses(s);
    (void)make_hello(s);
}

static void do_describe(server *s, const json_t *request)
{
    json_t *o = json_object();
    char *text;

    (void)request;
    add_device(s, o);
    text = json_dumps(o, JSON_COMPACT);
    reply_send("0", text == NULL ? "{}" : text);
    free(text);
    json_decref(o);
}

static void *buffer_of(const json_t *request)
{
    uint64_t n = 0;

    (void)json_to_u64(json_object_get(request, "buffer"), &n);
    return (void *)(uintptr_t)n;
}

static uint64_t number_in(const json_t *request, const char *key)
{
    uint64_t n = 0;

    (void)json_to_u64(json_object_get(request, key), &n);
    return n;
}

static void do_alloc(server *s, const json_t *request)
{
    void *buffer = NULL;
    const mxo_status status =
        s->table->alloc(s->ctx, number_in(request, "bytes"), &buffer);

    (void)snprintf(s->text, sizeof s->text, "%" PRIu64,
                   (uint64_t)(uintptr_t)buffer);
    reply_status(s, status);
}

static void do_dealloc(server *s, const json_t *request)
{
    s->table->dealloc(s->ctx, buffer_of(request));
    (void)text_of(s);
    reply_status(s, MXO_OK);
}

/* Both ways: from the shared memory, or to it. */
static void do_transfer(server *s, const json_t *request, int is_upload)
{
    const uint64_t at = number_in(request, is_upload ? "from" : "to");
    const uint64_t n = number_in(request, "bytes");
    const uint64_t offset = number_in(request, "offset");
    void *buffer = buffer_of(request);

    (void)text_of(s);
    if (at > UINT64_MAX - n || !map_memory(s, at + n)) {
        (void)snprintf(s->text, sizeof s->text, "the memory cannot be mapped");
        reply_status(s, MXO_E_NOMEM);
        return;
    }
    reply_status(s, is_upload
                        ? s->table->upload(s->ctx, buffer, offset,
                                           s->memory + at, n, text_of(s))
                        : s->table->download(s->ctx, s->memory + at, buffer,
                                             offset, n, text_of(s)));
}

static void do_upload(server *s, const json_t *request)
{
    do_transfer(s, request, 1);
}

static void do_download(server *s, const json_t *request)
{
    do_transfer(s, request, 0);
}

static void do_threads(server *s, const json_t *request)
{
    if (s->table->set_threads != NULL) {
        s->table->set_threads(s->ctx, (int)number_in(request, "n"));
    }
    (void)text_of(s);
    reply_status(s, MXO_OK);
}

/* Is what the backend downloads what lies at the address? */
static int is_at_address(server *s, void *buffer, uint64_t at)
{
    uint8_t bytes[16];

    return s->table->download(s->ctx, bytes, buffer, at, sizeof bytes,
                              text_of(s)) == MXO_OK &&
           system_sees((const uint8_t *)buffer + at, bytes, sizeof bytes);
}

static void raise_fences(server *s, const json_t *fences)
{
    for (size_t i = 0; i < json_array_size(fences); i++) {
        const json_t *o = json_array_get(fences, i);
        const char *side = json_string_value(json_object_get(o, "side"));
        const int is_before = side != NULL && strcmp(side, "before") == 0;
        const uint64_t edge = number_in(o, "edge");
        const fence_place f = {json_string_value(json_object_get(o, "name")),
                               is_before ? FENCE_BEFORE : FENCE_BEHIND, edge,
                               number_in(o, "at")};
        uint8_t *buffer = buffer_of(o);
        if (f.name != NULL && s->is_address && buffer != NULL &&
            is_at_address(s, buffer, is_before ? edge - 16 : edge)) {
            fence_add_page(&f, buffer);
        }
    }
    fence_raise();
}

/* What a call left changed, or its status. */
static void reply_after_call(server *s, mxo_status status)
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
    reply_status(s, status);
}

/* One run, or more of them before one synchronize(). */
static mxo_status run_ahead(server *s, const mxo_call *call, uint64_t n_runs)
{
    mxo_status status = s->table->run(s->ctx, call, text_of(s));

    for (uint64_t i = 1; status == MXO_OK && i < n_runs; i++) {
        status = s->table->run(s->ctx, call, text_of(s));
    }
    return status;
}

static void do_run(server *s, const json_t *request)
{
    read_call r;
    mxo_status status;

    if (call_from_json(&r, request) != 0) {
        (void)snprintf(s->text, sizeof s->text, "no call");
        reply_status(s, MXO_E_PARAM);
        return;
    }
    process_state_reset(s->order);
    raise_fences(s, json_object_get(request, "fence"));
    status = run_ahead(s, &r.call, number_in(request, "runs"));
    s->text[sizeof s->text - 1] = '\0';
    if (status == MXO_OK) {
        status = s->table->synchronize(s->ctx, text_of(s));
    } else {
        char unheard[64];
        (void)s->table->synchronize(s->ctx,
                                    (mxo_text){unheard, sizeof unheard});
    }
    const int is_fenced = fence_is_intact();

    fence_lower();
    if (status == MXO_OK && s->table->kernel != NULL) {
        s->table->kernel(s->ctx, text_of(s));
    }
    if (!is_fenced && !reply_is_child()) {
        process_state_reset(s->order);
        reply_send("left", "the handler of the signal \"Segmentation fault\"");
        return;
    }
    reply_after_call(s, status);
}

static void do_time(server *s, const json_t *request)
{
    read_call r;
    double seconds = 0;
    mxo_status status = MXO_E_UNSUPPORTED;

    process_state_reset(s->order);
    (void)text_of(s);
    if (call_from_json(&r, request) == 0 && s->table->time != NULL) {
        status = s->table->time(s->ctx, &r.call,
                                (uint32_t)number_in(request, "repeat"),
                                &seconds, text_of(s));
    }
    if (status == MXO_OK) {
        (void)snprintf(s->text, sizeof s->text, "%.17g", seconds);
    }
    reply_after_call(s, status);
}

static void do_time_copy(server *s, const json_t *request)
{
    double seconds = 0;
    mxo_status status = MXO_E_UNSUPPORTED;

    (void)text_of(s);
    if (s->table->time_copy != NULL) {
        status = s->table->time_copy(s->ctx, number_in(request, "bytes"),
                                     (uint32_t)number_in(request, "repeat"),
                                     &seconds, text_of(s));
    }
    if (status == MXO_OK) {
        (void)snprintf(s->text, sizeof s->text, "%.17g", seconds);
    }
    reply_status(s, status);
}

static const struct {
    const char *name;
    void (*serve)(server *s, const json_t *request);
} requests[] = {{"run", do_run},
                {"upload", do_upload},
                {"download", do_download},
                {"alloc", do_alloc},
                {"dealloc", do_dealloc},
                {"time", do_time},
                {"time_copy", do_time_copy},
                {"threads", do_threads},
                {"describe", do_describe},
                {"hello", do_hello}};

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
            requests[i].serve(s, request);
            return 0;
        }
    }
    (void)snprintf(s->text, sizeof s->text, "no request is called %.60s", what);
    reply_status(s, MXO_E_UNSUPPORTED);
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
    fence_tell(reply_fault);
    (void)atexit(reply_exit);
    s.order = process_state_take();
    while (s.order != NULL && status == 0 && getline(&line, &size, in) > 0) {
        json_t *request = json_loads(line, 0, NULL);
        status = answer(&s, request);
        json_decref(request);
    }
    free(line);
    if (s.table != NULL) {
        s.table->close(s.ctx);
    }
    process_state_free(&s.order);
    (void)fclose(in);
    return 0;
}
