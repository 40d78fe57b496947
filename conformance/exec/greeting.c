/* SPDX-License-Identifier: Apache-2.0 */
/* See greeting.h. */
#include "greeting.h"

#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    greeting_can can;
    const char *word;
} words[] = {{CAN_TIME, "time"},
             {CAN_TIME_COPY, "time_copy"},
             {CAN_THREADS, "threads"},
             {CAN_FENCE, "fence"},
             {CAN_DESCRIBE, "describe"},
             {CAN_MEMORY, "memory"},
             {CAN_KERNEL, "kernel"},
             {CAN_WORKSPACE, "workspace"},
             {CAN_STREAM, "stream"},
             {CAN_GRAPH, "graph"},
             {CAN_CONTEXTS, "contexts"},
             {CAN_BEHIND, "behind"},
             {CAN_BEHIND_GRAPH, "behind_graph"},
             {CAN_CLOSE, "close"},
             {CAN_MEANWHILE, "meanwhile"},
             {CAN_BEHIND_CONTEXT, "behind_context"},
             {CAN_TOGETHER, "together"}};

enum { N_WORDS = sizeof words / sizeof words[0] };

const char *greeting_word(greeting_can can)
{
    int i = 0;

    while (words[i].can != can) {
        i++;
    }
    return words[i].word;
}

static int no(mxo_text why, const char *format, const char *word)
{
    (void)say(MXO_E_UNSUPPORTED, why, format, word);
    say_printable(why.ptr);
    return -1;
}

static int read_text(const json_t *o, const char *key, char *to, size_t size,
                     int may_be_empty, mxo_text why)
{
    const char *text = json_string_value(json_object_get(o, key));

    if (text == NULL || (text[0] == '\0' && !may_be_empty)) {
        return no(why, "its hello has no %s", key);
    }
    if (strlen(text) >= size) {
        return no(why, "its hello has a %s that is too long", key);
    }
    (void)snprintf(to, size, "%s", text);
    say_printable(to);
    return 0;
}

/* A name stands in repro lines, file names and reports. */
static int check_name(const char *name, mxo_text why)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";

    return name[strspn(name, good)] == '\0' && strchr("._-", name[0]) == NULL
               ? 0
               : no(why, "its name is not made of a-z, 0-9 and ._-: \"%s\"",
                    name);
}

static int read_does(greeting *g, const json_t *list, mxo_text why)
{
    if (list != NULL && !json_is_array(list)) {
        return no(why, "%s is not a list", "does");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        int k = 0;
        while (word != NULL && k < N_WORDS &&
               strcmp(words[k].word, word) != 0) {
            k++;
        }
        if (word == NULL || k == N_WORDS) {
            return no(why, "does holds \"%s\", which no request is called",
                      word == NULL ? "" : word);
        }
        g->can |= words[k].can;
    }
    if ((g->can & (CAN_STREAM | CAN_GRAPH)) != 0 &&
        (g->can & CAN_MEMORY) == 0) {
        return no(why, "it does streams or graphs and not %s", "memory");
    }
    if ((g->can & CAN_BEHIND) != 0 && (g->can & CAN_MEMORY) == 0) {
        return no(why, "it does behind and not %s", "memory");
    }
    if ((g->can & CAN_MEANWHILE) != 0 && (g->can & CAN_MEMORY) == 0) {
        return no(why, "it does meanwhile and not %s", "memory");
    }
    if ((g->can & CAN_TOGETHER) != 0 && (g->can & CAN_MEMORY) == 0) {
        return no(why, "it does together and not %s", "memory");
    }
    if ((g->can & CAN_CLOSE) != 0 && (g->can & CAN_CONTEXTS) == 0) {
        return no(why, "it does close and not %s", "contexts");
    }
    if ((g->can & CAN_BEHIND_GRAPH) != 0 &&
        (g->can & (CAN_BEHIND | CAN_GRAPH)) != (CAN_BEHIND | CAN_GRAPH)) {
        return no(why, "it does behind_graph and not %s",
                  (g->can & CAN_GRAPH) == 0 ? "graph" : "behind");
    }
    if ((g->can & CAN_BEHIND_CONTEXT) != 0 &&
        (g->can & (CAN_BEHIND | CAN_CONTEXTS)) != (CAN_BEHIND | CAN_CONTEXTS)) {
        return no(why, "it does behind_context and not %s",
                  (g->can & CAN_CONTEXTS) == 0 ? "contexts" : "behind");
    }
    return (g->can & CAN_TIME) != 0 && (g->can & CAN_TIME_COPY) == 0
               ? no(why, "it does time and not %s", "time_copy")
               : 0;
}

static int read_align(greeting *g, const json_t *align, mxo_text why)
{
    const json_int_t n = json_integer_value(align);

    if (align == NULL) {
        return 0;
    }
    if (!json_is_integer(align) || n < 1 || n > 256 || (n & (n - 1)) != 0) {
        return no(why, "%s is no power of two from 1 to 256", "align");
    }
    g->align = (uint32_t)n;
    return 0;
}

/* A list of names as the words of one text. */
static int read_words(const json_t *o, const char *key, char *to, mxo_text why)
{
    const json_t *list = json_object_get(o, key);
    size_t used = 0;

    if (list != NULL && (!json_is_array(list) || json_array_size(list) == 0)) {
        return no(why, "%s is no list of names, or too long a one", key);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name == NULL || name[0] == '\0' || strchr(name, ' ') != NULL) {
            return no(why, "%s is no list of names, or too long a one", key);
        }
        used += (size_t)snprintf(to + used, GREETING_WORDS - used, "%s%s",
                                 i == 0 ? "" : " ", name);
        if (used >= GREETING_WORDS) {
            return no(why, "%s is no list of names, or too long a one", key);
        }
    }
    return 0;
}

static int read_ops(greeting *g, const json_t *list, mxo_text why)
{
    const size_t n = json_array_size(list);

    if (!json_is_array(list) || n == 0) {
        return no(why, "its hello has no %s", "ops");
    }
    g->ops = calloc(n + 1, sizeof *g->ops);
    if (g->ops == NULL) {
        return no(why, "no memory for %s", "ops");
    }
    for (size_t i = 0; i < n; i++) {
        g->ops[i] = json_string_value(json_array_get(list, i));
        if (g->ops[i] == NULL) {
            return no(why, "%s is not a list of names", "ops");
        }
    }
    return 0;
}

static int check_keys(const json_t *o, mxo_text why)
{
    static const char *const known[] = {
        "name",   "version",   "device", "driver",  "ops",
        "limits", "does",      "align",  "strides", "uncaptured",
        "left",   "libraries", "code"};
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)o, key, value)
    {
        size_t i = 0;
        while (i < sizeof known / sizeof known[0] &&
               strcmp(known[i], key) != 0) {
            i++;
        }
        if (i == sizeof known / sizeof known[0]) {
            return no(why, "its hello has a key nobody knows: \"%s\"", key);
        }
    }
    return 0;
}

/* The files that it has loaded, if it names them. */
static int check_libraries(const json_t *list, mxo_text why)
{
    const char *path;
    json_t *file;

    if (list != NULL && !json_is_object(list)) {
        return no(why, "%s is no object of texts", "libraries");
    }
    json_object_foreach((json_t *)list, path, file)
    {
        if (!json_is_string(file)) {
            return no(why, "libraries has no text for \"%.100s\"", path);
        }
    }
    return 0;
}

/* A text that may be left out. */
static int read_choice(const json_t *o, const char *key, char *to, size_t size,
                       mxo_text why)
{
    return json_object_get(o, key) == NULL
               ? 0
               : read_text(o, key, to, size, 0, why);
}

int greeting_read(greeting *g, const char *text, mxo_text why)
{
    memset(g, 0, sizeof *g);
    json_error_t error;

    g->object = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    const json_t *o = g->object;

    if (o == NULL) {
        return no(why, "its hello is no JSON object: %.150s", error.text);
    }
    if (!json_is_object(o)) {
        return no(why, "its hello is no JSON object: %.100s", text);
    }
    if (check_keys(o, why) != 0 ||
        read_text(o, "name", g->name, sizeof g->name, 0, why) != 0 ||
        check_name(g->name, why) != 0 ||
        read_text(o, "version", g->version, sizeof g->version, 0, why) != 0 ||
        read_text(o, "device", g->device, sizeof g->device, 1, why) != 0 ||
        read_text(o, "driver", g->driver, sizeof g->driver, 1, why) != 0) {
        return -1;
    }
    if (read_choice(o, "left", g->left, sizeof g->left, why) != 0 ||
        read_choice(o, "code", g->code, sizeof g->code, why) != 0 ||
        check_libraries(json_object_get(o, "libraries"), why) != 0) {
        return -1;
    }
    return read_does(g, json_object_get(o, "does"), why) == 0 &&
                   read_align(g, json_object_get(o, "align"), why) == 0 &&
                   read_words(o, "strides", g->strides, why) == 0 &&
                   read_words(o, "uncaptured", g->uncaptured, why) == 0 &&
                   read_ops(g, json_object_get(o, "ops"), why) == 0
               ? 0
               : -1;
}

void greeting_clear(greeting *g)
{
    free(g->ops);
    json_decref(g->object);
    memset(g, 0, sizeof *g);
}
