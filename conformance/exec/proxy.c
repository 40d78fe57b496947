/* SPDX-License-Identifier: Apache-2.0 */
/* See proxy.h. */
#include "proxy.h"

#include "base/prng.h"
#include "base/say.h"
#include "call_json.h"
#include "proxy_process.h"
#include "system/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t number_of(const void *buffer)
{
    return (uint64_t)(uintptr_t)buffer;
}

static mxo_status proxy_alloc(void *ctx, uint64_t n_bytes, void **buffer)
{
    proxy *p = ctx;
    const char *text;
    uint64_t n = 0;

    *buffer = NULL;
    if (p->channel.pid == 0) {
        return MXO_E_DEVICE;
    }
    if (!proxy_has_memory(p)) {
        if (shared_memory_take(&p->memory, n_bytes, &n) != 0) {
            return MXO_E_NOMEM;
        }
        *buffer = (void *)(uintptr_t)(n + PROXY_HANDLE);
        return MXO_OK;
    }
    json_t *o = proxy_request("alloc");

    proxy_flush(p);
    (void)json_object_set_new(o, "bytes", json_u64(n_bytes));
    const mxo_status status = proxy_ask(p, o, &text);
    json_t *number = json_string(text);

    if (status == MXO_OK && (!json_to_u64(number, &n) || n == 0)) {
        (void)snprintf(p->left, sizeof p->left,
                       "alloc gave no buffer: \"%.100s\"", text);
    }
    json_decref(number);
    *buffer = (void *)(uintptr_t)n;
    return status != MXO_OK ? status : n != 0 ? MXO_OK : MXO_E_DEVICE;
}

static void proxy_dealloc(void *ctx, void *buffer)
{
    proxy *p = ctx;

    if (buffer == NULL) {
        return;
    }
    if (!proxy_has_memory(p)) {
        shared_memory_give(&p->memory);
        return;
    }
    if (proxy_can_post(p, 0)) {
        proxy_post_dealloc(p, buffer);
        return;
    }
    proxy_give_back(p, "dealloc", "buffer", buffer);
}

/* run is over when it was answered. */
static mxo_status proxy_synchronize(void *ctx, mxo_text why)
{
    (void)ctx;
    (void)why;
    return MXO_OK;
}

static void place_shared(const mxo_tensor *t, json_t *o)
{
    const uint64_t base =
        t->buffer == NULL ? 0 : number_of(t->buffer) - PROXY_HANDLE;

    (void)json_object_set_new(o, "offset", json_u64(base + t->offset));
}

void proxy_place_own(const mxo_tensor *t, json_t *o)
{
    (void)json_object_set_new(o, "offset", json_u64(t->offset));
    (void)json_object_set_new(o, "buffer", json_u64(number_of(t->buffer)));
}

json_t *proxy_call_request(const proxy *p, const char *what,
                           const mxo_call *call)
{
    json_t *o = proxy_request(what);

    call_to_json(call, proxy_has_memory(p) ? proxy_place_own : place_shared, o);
    (void)json_object_set_new(o, "memory", json_u64(p->memory.size));
    return o;
}

/* A request to run or launch, with its fences and the runs ahead. */
mxo_status proxy_ask_to_run(proxy *p, json_t *o, mxo_text why)
{
    const int is_last = p->behind == NULL; /* else the other's kernel is told */
    const char *text;

    if (p->fences != NULL) {
        (void)json_object_set_new(o, "fence", p->fences);
        p->fences = NULL;
    }
    if (p->behind != NULL) {
        (void)json_object_set_new(o, "behind", p->behind);
        p->behind = NULL;
    }
    if (proxy_has_memory(p) && p->n_runs > 1) {
        (void)json_object_set_new(o, "runs", json_integer(p->n_runs));
    }
    if (p->is_busy) {
        (void)json_object_set_new(o, "meanwhile", json_true());
        p->is_busy = 0;
    }
    if (is_last) {
        p->kernel[0] = '\0';
    }
    const mxo_status status = proxy_ask(p, o, &text);

    if (status == MXO_OK && is_last) {
        (void)snprintf(p->kernel, sizeof p->kernel, "%.*s",
                       (int)strcspn(text, "\n"), text);
        say_printable(p->kernel); /* it may have been cut */
    }
    return proxy_give_text(p, status, text, why);
}

static mxo_status proxy_run(void *ctx, const mxo_call *call, mxo_text why)
{
    return proxy_ask_to_run(ctx, proxy_call_request(ctx, "run", call), why);
}

static void proxy_kernel(void *ctx, mxo_text name)
{
    const proxy *p = ctx;

    (void)snprintf(name.ptr, name.size, "%s", p->kernel);
}

static void proxy_set_threads(void *ctx, int n)
{
    proxy *p = ctx;
    const char *text;
    json_t *o = proxy_request("threads");

    proxy_flush(p);
    p->run_clock.request = p->copy_clock.request = 0; /* others take longer */
    (void)json_object_set_new(o, "n", json_integer(n));
    (void)proxy_ask(p, o, &text);
}

/* A request whose answer is seconds, held against the clock here. */
static mxo_status ask_seconds(proxy *p, json_t *o, uint32_t repeat, timed *t,
                              mxo_text why)
{
    const char *text;

    (void)json_object_set_new(o, "repeat", json_integer(repeat));
    mxo_status status = proxy_send_posted(p, &text); /* not on its clock */
    const double start = process_clock();

    if (status != MXO_OK) {
        json_decref(o);
        return proxy_give_text(p, status, text, why);
    }
    status = proxy_ask_now(p, o, &text);
    t->wall = process_clock() - start;
    t->repeat = repeat;
    return status == MXO_OK ? timed_read(t, text, why)
                            : proxy_give_text(p, status, text, why);
}

static uint64_t digest_of(const json_t *request)
{
    char *text = json_dumps(request, JSON_COMPACT);
    const uint64_t digest = fnv_text(FNV_START, text == NULL ? "" : text);

    free(text);
    return digest;
}

static mxo_status ask_for_more(proxy *p, const json_t *o, const timed *few,
                               timed *more, mxo_text why)
{
    return ask_seconds(p, json_copy((json_t *)(uintptr_t)o),
                       clock_check_repeat(few), more, why);
}

/* A first request that takes longer than one of more runs warms up. */
static mxo_status weigh(proxy *p, clock_check *c, const json_t *o,
                        const timed *first, mxo_text why)
{
    timed few = *first;
    timed many;

    MXO_TRY(ask_for_more(p, o, &few, &many, why));
    if (many.wall < few.wall) {
        few = many;
        MXO_TRY(ask_for_more(p, o, &few, &many, why));
    }
    return clock_check_weigh(c, &few, &many, why);
}

/* And against how long further runs take here.  What else the machine does is
   in that, too: refused is what three measurements refuse. */
static mxo_status ask_held(proxy *p, clock_check *c, json_t *o, uint32_t repeat,
                           timed *t, mxo_text why)
{
    const mxo_status status = ask_seconds(p, json_copy(o), repeat, t, why);
    int weighs = status == MXO_OK && clock_check_is_due(c, digest_of(o));
    mxo_status held = status;

    for (int i = 0; status == MXO_OK && i < 3 && (i == 0 || held != MXO_OK);
         i++) {
        held = weighs ? weigh(p, c, o, t, why) : MXO_OK;
        held = held == MXO_OK ? clock_check_hold(c, t, why) : held;
        weighs = 1;
    }
    json_decref(o);
    return held;
}

static mxo_status proxy_time(void *ctx, const mxo_call *call, uint32_t repeat,
                             double *seconds, mxo_text why)
{
    proxy *p = ctx;
    timed t = {0, 0, 0};
    const mxo_status status = ask_held(
        p, &p->run_clock, proxy_call_request(p, "time", call), repeat, &t, why);

    *seconds = t.seconds;
    return status;
}

static mxo_status proxy_time_copy(void *ctx, uint64_t n_bytes, uint32_t repeat,
                                  double *seconds, mxo_text why)
{
    proxy *p = ctx;
    timed t = {0, 0, 0};
    json_t *o = proxy_request("time_copy");

    (void)json_object_set_new(o, "bytes", json_u64(n_bytes));
    const mxo_status status = ask_held(p, &p->copy_clock, o, repeat, &t, why);

    *seconds = t.seconds;
    return status;
}

/* What it says of itself now; NULL where that is nothing of the kind, which is
   told as what the call left behind. */
static json_t *ask_description(proxy *p)
{
    const char *text;

    proxy_flush(p);
    const mxo_status status = proxy_ask(p, proxy_request("describe"), &text);
    json_t *o = status == MXO_OK
                    ? json_loads(text, JSON_REJECT_DUPLICATES, NULL)
                    : NULL;

    if (json_object_size(o) == 2 &&
        json_is_string(json_object_get(o, "device")) &&
        json_is_string(json_object_get(o, "driver"))) {
        return o;
    }
    if (p->left[0] != '\0' && text[0] == '\0') {
        return NULL; /* what it left was said */
    }
    proxy_say_left(p,
                   status == MXO_OK ? "describe gives no device and driver"
                                    : "describe fails",
                   text);
    json_decref(o);
    return NULL;
}

static void proxy_describe(void *ctx, mxo_text device, mxo_text driver)
{
    proxy *p = ctx;
    const int asks = (p->hello.can & CAN_DESCRIBE) != 0 && p->channel.pid != 0;
    json_t *o = asks ? ask_description(p) : NULL;

    (void)snprintf(device.ptr, device.size, "%s",
                   o == NULL ? p->hello.device
                             : json_string_value(json_object_get(o, "device")));
    (void)snprintf(driver.ptr, driver.size, "%s",
                   o == NULL ? p->hello.driver
                             : json_string_value(json_object_get(o, "driver")));
    say_printable(device.ptr);
    say_printable(driver.ptr);
    json_decref(o);
}

/* The table's open and close: the process is started before there is a table
   and ended after it. */
static mxo_status proxy_is_open(void **ctx, int device, mxo_text why)
{
    (void)ctx;
    (void)device;
    return say(MXO_E_DEVICE, why, "a subject is opened by its command");
}

static void proxy_keep(void *ctx)
{
    (void)ctx;
}

static void fill_table(proxy *p)
{
    const unsigned can = p->hello.can;

    p->table = (mxo_backend){
        .abi_version = MXO_ABI_VERSION,
        .struct_size = sizeof p->table,
        .name = p->hello.name,
        .version = p->hello.version,
        .ops = p->hello.ops,
        .open = proxy_is_open,
        .close = proxy_keep,
        .describe = proxy_describe,
        .alloc = proxy_alloc,
        .dealloc = proxy_dealloc,
        .upload = proxy_upload,
        .download = proxy_download,
        .synchronize = proxy_synchronize,
        .run = proxy_run,
        .kernel = can & CAN_KERNEL ? proxy_kernel : NULL,
        .set_threads = can & CAN_THREADS ? proxy_set_threads : NULL,
        .time = can & CAN_TIME ? proxy_time : NULL,
        .time_copy = can & CAN_TIME_COPY ? proxy_time_copy : NULL};
    proxy_fill_launches(p);
    p->link =
        (subject_link){.state = p,
                       .has_fence = (can & CAN_FENCE) != 0,
                       .has_runs = proxy_has_memory(p),
                       .begin = proxy_begin,
                       .fetch = (can & CAN_TOGETHER) != 0 ? proxy_fetch : NULL,
                       .fence = proxy_fence,
                       .has_behind = (can & CAN_BEHIND) != 0,
                       .has_behind_graph = (can & CAN_BEHIND_GRAPH) != 0,
                       .has_behind_context = (can & CAN_BEHIND_CONTEXT) != 0,
                       .left = p->hello.left,
                       .ahead = proxy_ahead,
                       .behind = proxy_behind,
                       .has_meanwhile = (can & CAN_MEANWHILE) != 0,
                       .meanwhile = proxy_meanwhile,
                       .second = proxy_use_second,
                       .close_second = proxy_close_second,
                       .seen = proxy_seen,
                       .say = proxy_say};
}

/* What its hello named must be what it says when it is asked. */
static mxo_status hold_device(proxy *p, mxo_text why)
{
    char device[GREETING_TEXT] = "";
    char driver[GREETING_TEXT] = "";

    proxy_describe(p, (mxo_text){device, sizeof device},
                   (mxo_text){driver, sizeof driver});
    return strcmp(device, p->hello.device) == 0
               ? MXO_OK
               : say(MXO_E_UNSUPPORTED, why,
                     "its hello names the device \"%.120s\", and describe "
                     "\"%.120s\"",
                     p->hello.device, device);
}

/* The words that it is started by, again and again, are its own. */
static int keep_options(proxy *p, const proxy_options *o)
{
    p->command = o->command == NULL ? NULL : strdup(o->command);
    p->plugin = o->plugin == NULL ? NULL : strdup(o->plugin);
    p->options = *o;
    p->options.command = p->command;
    p->options.plugin = p->plugin;
    return (p->command == NULL) == (o->command == NULL) &&
                   (p->plugin == NULL) == (o->plugin == NULL)
               ? 0
               : -1;
}

mxo_status proxy_open(proxy **made, const proxy_options *o, mxo_text why)
{
    proxy *p = calloc(1, sizeof *p);
    mxo_status status = MXO_OK;

    *made = p;
    if (p == NULL) {
        return say(MXO_E_NOMEM, why, "out of memory");
    }
    if (shared_memory_create(&p->memory) != 0) {
        status =
            say(MXO_E_NOMEM, why, "no memory to share: %s", strerror(errno));
    } else if (keep_options(p, o) != 0) {
        status = say(MXO_E_NOMEM, why, "out of memory");
    } else {
        status = proxy_greet(p, &p->hello, why);
    }
    if (status == MXO_OK) {
        fill_table(p);
        status = hold_device(p, why);
    }
    if (status != MXO_OK) {
        proxy_close(made);
    }
    return status;
}

proxy_end proxy_finish(proxy *p, mxo_text why, strbuf *lines)
{
    proxy_flush(p);
    channel_begin(&p->channel);
    if (channel_finish(&p->channel) == 0) {
        return PROXY_END_WELL;
    }
    (void)say(MXO_E_DEVICE, why, "behind its last call: %s", p->channel.end);
    channel_say_noise(&p->channel, lines);
    return p->channel.is_late ? PROXY_END_LATE : PROXY_END_CRASH;
}

void proxy_close(proxy **made)
{
    proxy *p = *made;

    *made = NULL;
    if (p == NULL) {
        return;
    }
    channel_stop(&p->channel);
    shared_memory_destroy(&p->memory);
    greeting_clear(&p->hello);
    strbuf_clear(&p->message);
    proxy_drop_posted(p);
    json_decref(p->fences);
    json_decref(p->behind);
    free(p->command);
    free(p->plugin);
    free(p);
}

const mxo_backend *proxy_table(const proxy *p)
{
    return &p->table;
}

const subject_link *proxy_link(const proxy *p)
{
    return &p->link;
}

void proxy_name(proxy *p, const char *name)
{
    say_copy(p->hello.name, sizeof p->hello.name, name);
}

json_t *proxy_hello(const proxy *p)
{
    return p->hello.object;
}

const json_t *proxy_limits(const proxy *p)
{
    return json_object_get(p->hello.object, "limits");
}

uint64_t proxy_n_started(const proxy *p)
{
    return p->n_started;
}

void proxy_renew(proxy *p)
{
    p->wants_renewal = 1;
}
