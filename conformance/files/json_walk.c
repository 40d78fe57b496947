/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a member ends is found by counting brackets outside of texts; each
 * key and each value is then parsed by jansson, which knows the rest.
 */
#include "json_walk.h"

#include <stdio.h>
#include <string.h>

/* A tree takes some twenty times its text: none is made of more. */
enum { MOST_OF_A_TREE = 1 << 16 };

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static const char *after_blanks(const char *p, const char *end)
{
    while (p < end && is_blank(*p)) {
        p++;
    }
    return p;
}

/* p is at a quote; behind the closing one, or the end. */
static const char *after_text(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++) {
        p += *p == '\\' && p + 1 < end;
    }
    return p < end ? p + 1 : end;
}

/* Behind a value: its last bracket or quote, or at what cannot be part. */
static const char *after_value(const char *p, const char *end)
{
    size_t depth = 0;

    while (p < end) {
        const size_t opens = *p == '{' || *p == '[';
        const size_t closes = *p == '}' || *p == ']';
        const int quotes = *p == '"';
        if (depth == 0 && (closes > 0 || *p == ',' || is_blank(*p))) {
            return p;
        }
        depth += opens;
        depth -= closes;
        p = quotes ? after_text(p, end) : p + 1;
        if (depth == 0 && (closes > 0 || quotes)) {
            return p;
        }
    }
    return end;
}

static int fail(json_walk *w, const char *sentence)
{
    (void)snprintf(w->error, sizeof w->error, "%s", sentence);
    w->at = w->end;
    return -1;
}

static json_t *parse(json_walk *w, const char *text, size_t n)
{
    json_error_t error;
    json_t *value = NULL;

    /* Jansson passes over one behind a number. */
    if (memchr(text, '\0', n) != NULL) {
        (void)fail(w, "a byte 00 stands in it");
        return NULL;
    }
    value =
        json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (value == NULL) {
        (void)fail(w, error.text);
    }
    return value;
}

json_walk json_walk_begin(const char *text, size_t n)
{
    json_walk w = {.end = text + n};

    w.at = after_blanks(text, w.end);
    if (w.at < w.end && (*w.at == '{' || *w.at == '[')) {
        w.closer = *w.at++ == '{' ? '}' : ']';
    }
    return w;
}

json_walk json_walk_of(const char *text)
{
    return text == NULL ? json_walk_begin("", 0)
                        : json_walk_begin(text, strlen(text));
}

static void drop_member(json_walk *w)
{
    json_decref(w->key);
    json_decref(w->value);
    w->key = NULL;
    w->value = NULL;
}

/* The key and its colon. */
static int read_key(json_walk *w)
{
    const char *first = w->at;

    if (first == w->end || *first != '"') {
        return fail(w, "a name in quotes is expected");
    }
    w->at = after_text(first, w->end);
    w->key = parse(w, first, (size_t)(w->at - first));
    if (w->key == NULL) {
        return -1;
    }
    w->at = after_blanks(w->at, w->end);
    if (w->at == w->end || *w->at != ':') {
        return fail(w, "a colon is expected");
    }
    w->at = after_blanks(w->at + 1, w->end);
    return 0;
}

int json_walk_next(json_walk *w)
{
    drop_member(w);
    if (w->closer == 0) {
        return fail(w, "neither object nor array");
    }
    w->at = after_blanks(w->at, w->end);
    if (w->at < w->end && *w->at == w->closer) {
        const char *rest = after_blanks(w->at + 1, w->end);
        return rest == w->end ? 0 : fail(w, "something follows its end");
    }
    if (w->n > 0) {
        if (w->at == w->end || *w->at != ',') {
            return fail(w, "a comma or the end is expected");
        }
        w->at = after_blanks(w->at + 1, w->end);
    }
    if (w->closer == '}' && read_key(w) != 0) {
        return -1;
    }
    w->text = w->at;
    w->at = after_value(w->text, w->end);
    w->n_text = (size_t)(w->at - w->text);
    w->n++;
    return w->n_text > 0 ? 1 : fail(w, "a value is expected");
}

const char *json_walk_key(const json_walk *w)
{
    return w->key == NULL ? "" : json_string_value(w->key);
}

const json_t *json_walk_value(json_walk *w)
{
    if (w->value == NULL && w->text[0] != '"' && w->n_text > MOST_OF_A_TREE) {
        (void)fail(w, "a value of more than 65536 bytes");
    } else if (w->value == NULL) {
        w->value = parse(w, w->text, w->n_text);
    }
    return w->value;
}

void json_walk_end(json_walk *w)
{
    drop_member(w);
}
