/* SPDX-License-Identifier: Apache-2.0 */
/* See proxy_process.h. */
#include "proxy_process.h"

#include "base/say.h"
#include "call_json.h"
#include "libraries.h"
#include "system/system.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A message of one line and so many bytes stands in the sentence whole. */
enum { SHORT_MESSAGE = 256 };

int proxy_has_memory(const proxy *p)
{
    return (p->hello.can & CAN_MEMORY) != 0;
}

json_t *proxy_request(const char *what)
{
    json_t *o = json_object();

    (void)json_object_set_new(o, "do", json_string(what));
    return o;
}

mxo_status proxy_ask(proxy *p, json_t *request, const char **text)
{
    const mxo_status status = proxy_send_posted(p, text);

    if (status != MXO_OK) {
        json_decref(request);
        return status;
    }
    return proxy_ask_now(p, request, text);
}

mxo_status proxy_ask_now(proxy *p, json_t *request, const char **text)
{
    *text = p->gone;
    if (p->channel.pid == 0) {
        json_decref(request);
        return MXO_E_DEVICE;
    }
    if (p->in_second) {
        (void)json_object_set_new(request, "context", json_integer(1));
    }
    const int status = channel_ask(&p->channel, request, text);

    if (status < 0) {
        (void)snprintf(p->gone, sizeof p->gone, "%s", p->channel.end);
        p->is_late = p->channel.is_late;
        *text = p->gone;
        return MXO_E_DEVICE;
    }
    if (status == REPLY_LEFT) {
        (void)snprintf(p->left, sizeof p->left, "%s",
                       (*text)[0] == '\0' ? "it does not say what" : *text);
        say_printable(p->left);
        *text = "";
        return MXO_OK;
    }
    return (mxo_status)status;
}

void proxy_say_left(proxy *p, const char *what, const char *text)
{
    if (p->gone[0] == '\0') {
        (void)snprintf(p->left, sizeof p->left, "%s: \"%.100s\"", what, text);
        say_printable(p->left);
    }
}

void proxy_give_back(proxy *p, const char *what, const char *key,
                     const void *handle)
{
    const char *text;
    json_t *o = proxy_request(what);

    proxy_flush(p);
    (void)json_object_set_new(o, key, json_u64((uint64_t)(uintptr_t)handle));
    if (proxy_ask(p, o, &text) != MXO_OK) {
        char fails[64];
        (void)snprintf(fails, sizeof fails, "%s fails", what);
        proxy_say_left(p, fails, text);
    }
}

mxo_status proxy_give_text(proxy *p, mxo_status status, const char *text,
                           mxo_text why)
{
    if (status == MXO_E_NOMEM || status == MXO_E_DEVICE) {
        strbuf_clear(&p->message);
        strbuf_add(&p->message, "%s", text);
    }
    if (status != MXO_OK && why.size > 0) {
        (void)say(status, why, "%.*s", (int)strcspn(text, "\n"), text);
    }
    return status;
}

/* Which file the plugin is: what a later process loads is the same only if this
   is. */
static void note_file(proxy *p)
{
    const proxy_options *o = &p->options;
    struct stat s;

    p->file[0] = '\0';
    if (o->plugin != NULL && !o->is_linked && stat(o->plugin, &s) == 0) {
        (void)snprintf(p->file, sizeof p->file, "%jx %jx %jd %jd.%09ld",
                       (uintmax_t)s.st_dev, (uintmax_t)s.st_ino,
                       (intmax_t)s.st_size, (intmax_t)s.st_mtim.tv_sec,
                       (long)s.st_mtim.tv_nsec);
    }
}

/* The process, ready for a hello. */
static mxo_status start(proxy *p, mxo_text why)
{
    const proxy_options *o = &p->options;
    char *const by_shell[] = {"sh", "-c", (char *)o->command, NULL};
    char *const by_us[] = {(char *)system_program_name(), "serve",
                           (char *)o->plugin,
                           o->is_linked        ? "linked"
                           : o->global_symbols ? "global"
                                               : "local",
                           NULL};
    const process_plan plan = {.file = o->plugin == NULL ? "/bin/sh"
                                                         : system_program(),
                               .args = o->plugin == NULL ? by_shell : by_us};

    channel_stop(&p->channel);
    note_file(p);
    p->n_started++;
    p->channel.timeout_s = o->timeout_s;
    (void)setenv("MXORACLE_EXEC", "1 3 4", 1);
    const int status = channel_start(&p->channel, &plan, p->memory.fd);

    (void)unsetenv("MXORACLE_EXEC");
    return status == 0 ? MXO_OK
                       : say(MXO_E_NOMEM, why, "no process for it: %s",
                             strerror(errno));
}

/* Show people its output if it failed to say hello. */
static void show_noise(proxy *p)
{
    strbuf lines = {NULL, 0, 0};

    channel_say_noise(&p->channel, &lines);
    if (lines.used > 0) {
        (void)fprintf(stderr, "%s\n", lines.text);
    }
    strbuf_clear(&lines);
}

mxo_status proxy_greet(proxy *p, greeting *g, mxo_text why)
{
    const char *text;
    mxo_status status = start(p, why);

    if (status != MXO_OK) {
        return status;
    }
    json_t *o = proxy_request("hello");

    (void)json_object_set_new(o, "protocol", json_integer(1));
    (void)json_object_set_new(o, "device", json_integer(p->options.device));
    p->channel.start_s = 60; /* its imports */
    const int reply = channel_ask(&p->channel, o, &text);

    if (reply < 0) {
        show_noise(p);
        return say(MXO_E_UNSUPPORTED, why, "it says no hello: %s",
                   p->channel.end);
    }
    if (reply != MXO_OK) {
        (void)say(MXO_OK, why, "%s%.*s",
                  reply == REPLY_LEFT ? "its hello leaves something behind: "
                                      : "",
                  (int)strcspn(text, "\n"), text);
        show_noise(p);
        channel_stop(&p->channel); /* the next hello is for a new process */
        return reply == REPLY_LEFT ? MXO_E_UNSUPPORTED : (mxo_status)reply;
    }
    status = greeting_read(g, text, why) == 0 ? MXO_OK : MXO_E_UNSUPPORTED;
    if (status != MXO_OK) {
        channel_stop(&p->channel);
        return status;
    }
    (void)json_object_set_new(g->object, "file", json_string(p->file));
    return status;
}

static int is_other_file(const greeting *a, const greeting *b)
{
    return !json_equal(json_object_get(a->object, "file"),
                       json_object_get(b->object, "file"));
}

/* Check that its greeting is the one of before, and its files. */
static mxo_status greet_again(proxy *p, mxo_text why)
{
    greeting again = {.object = NULL};
    mxo_status status = proxy_greet(p, &again, why);
    const char *const library = libraries_other(p->hello.object, again.object);

    if (status == MXO_OK && is_other_file(&again, &p->hello)) {
        status = say(MXO_E_UNSUPPORTED, why,
                     "its file was replaced or written while it was judged");
        channel_stop(&p->channel);
    } else if (status == MXO_OK && library != NULL) {
        status = say(MXO_E_UNSUPPORTED, why,
                     "its library %.200s was replaced or written while it was "
                     "judged",
                     library);
        say_printable(why.ptr);
        channel_stop(&p->channel);
    } else if (status == MXO_OK &&
               !libraries_alone_differ(again.object, p->hello.object)) {
        status =
            say(MXO_E_UNSUPPORTED, why, "started again, it says another hello");
    }
    greeting_clear(&again);
    return status;
}

/* What ended it behind a case, unseen by that one, for the next to tell. */
static void note_end(proxy *p)
{
    if (!p->wants_renewal && !p->is_told && channel_is_over(&p->channel)) {
        (void)snprintf(p->untold, sizeof p->untold,
                       "behind the case before: %.400s", p->channel.end);
    }
    p->is_told = 0;
}

mxo_status proxy_begin(void *state, mxo_text why)
{
    proxy *p = state;

    proxy_flush(p);
    note_end(p);
    p->left[0] = p->gone[0] = p->kernel[0] = '\0';
    p->is_late = 0;
    p->in_second = 0;
    strbuf_clear(&p->message);
    json_decref(p->fences);
    json_decref(p->behind);
    p->fences = p->behind = NULL;
    if (p->wants_renewal) {
        p->wants_renewal = 0;
        channel_stop(&p->channel);
    }
    if (channel_is_over(&p->channel)) {
        proxy_drop_posted(p);
        p->memory.n_live = 0;
        p->memory.top = 0;
        const mxo_status status = greet_again(p, why);
        if (status != MXO_OK) {
            (void)snprintf(p->gone, sizeof p->gone, "%.300s", why.ptr);
            p->is_told = 1;
            return status;
        }
    }
    (void)snprintf(p->gone, sizeof p->gone, "%s", p->untold);
    channel_begin(&p->channel);
    return MXO_OK;
}

void proxy_seen(void *state, run_checks *d)
{
    proxy *p = state;

    proxy_flush(p);
    if (p->gone[0] == '\0' && channel_is_over(&p->channel)) {
        (void)snprintf(p->gone, sizeof p->gone, "%s", p->channel.end);
    }
    (void)snprintf(d->left, sizeof d->left, "%s", p->left);
    (void)snprintf(d->gone, sizeof d->gone, "%s", p->gone);
    if (d->kernel[0] == '\0') { /* else it is of an earlier run */
        (void)snprintf(d->kernel, sizeof d->kernel, "%s", p->kernel);
    }
    d->is_late = p->is_late;
    p->is_told = p->channel.pid == 0;
    p->untold[0] = '\0';
}

void proxy_say(void *state, strbuf *lines)
{
    proxy *p = state;
    strbuf noise = {NULL, 0, 0};

    if (strchr(strbuf_text(&p->message), '\n') != NULL ||
        p->message.used > SHORT_MESSAGE) {
        strbuf_add(lines, "%sits message:\n%s", lines->used > 0 ? "\n" : "",
                   p->message.text);
    }
    channel_say_noise(&p->channel, &noise);
    if (noise.used > 0) {
        strbuf_add(lines, "%sit printed:\n%s", lines->used > 0 ? "\n" : "",
                   noise.text);
    }
    strbuf_clear(&noise);
}
