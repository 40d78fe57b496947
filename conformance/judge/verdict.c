/* SPDX-License-Identifier: Apache-2.0 */
/* See verdict.h. */
#include "verdict.h"

#include "base/memory.h"
#include "base/say.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[N_VERDICTS] = {
    [VERDICT_PASS] = "pass",         [VERDICT_FAIL] = "fail",
    [VERDICT_CRASH] = "crash",       [VERDICT_TIMEOUT] = "timeout",
    [VERDICT_VACUOUS] = "vacuous",   [VERDICT_ERROR] = "error",
    [VERDICT_SKIP] = "skip",         [VERDICT_UNSUPPORTED] = "unsupported",
    [VERDICT_EXPECTED] = "expected",
};

/* Text fields, by name. */
static const struct {
    const char *key;
    size_t offset;
    size_t size;
} fields[] = {
#define FIELD(name)                                                \
    {                                                              \
#name, offsetof(verdict, name), sizeof((verdict *)0)->name \
    }
    FIELD(reason), FIELD(tensor), FIELD(index),  FIELD(want),
    FIELD(got),    FIELD(kind),   FIELD(rule),   FIELD(kernel),
    FIELD(called), FIELD(also),   FIELD(before), FIELD(beside),
#undef FIELD
};

enum { N_FIELDS = sizeof fields / sizeof fields[0] };

const char *verdict_name(verdict_status status)
{
    return names[status];
}

int verdict_by_name(const char *name, verdict_status *status)
{
    for (int i = 0; i < N_VERDICTS; i++) {
        if (strcmp(names[i], name) == 0) {
            *status = (verdict_status)i;
            return 0;
        }
    }
    return -1;
}

int verdict_is_red(verdict_status status)
{
    return status >= VERDICT_FAIL && status <= VERDICT_ERROR;
}

void verdict_conclude(verdict *v, verdict_status status, const char *kind,
                      const char *format, ...)
{
    va_list args;

    v->status = status;
    (void)snprintf(v->kind, sizeof v->kind, "%s", kind);
    va_start(args, format);
    (void)vsnprintf(v->reason, sizeof v->reason, format, args);
    va_end(args);
    say_printable(v->reason); /* it may have been cut */
}

void verdict_clear(verdict *v)
{
    free(v->detail);
    free(v->map);
    free(v->asked);
    memset(v, 0, sizeof *v);
}

static char *copy_of(const char *text)
{
    return text == NULL ? NULL : memory_need_text(text);
}

void verdict_copy(verdict *to, const verdict *from)
{
    *to = *from;
    to->detail = copy_of(from->detail);
    to->map = copy_of(from->map);
    to->asked = copy_of(from->asked);
}

void verdict_keep_red(verdict *v, verdict *more)
{
    if (verdict_is_red(v->status) || !verdict_is_red(more->status)) {
        verdict_clear(more);
        return;
    }
    verdict_clear(v);
    *v = *more;
}

/* Bytes from a backend need not be UTF-8; jansson refuses others. */
json_t *verdict_text_json(const char *text)
{
    json_t *plain = json_string(text);

    if (plain != NULL) {
        return plain;
    }
    char *copy = memory_need_text(text);

    say_printable_lines(copy);
    plain = json_string(copy);
    free(copy);
    return plain;
}

static json_t *use_json(const verdict_use *use)
{
    json_t *bins = json_array();

    for (int i = 0; i < VERDICT_BINS; i++) {
        json_array_append_new(bins, json_integer((json_int_t)use->n[i]));
    }
    return json_pack("{s:f, s:o}", "most", use->most, "bins", bins);
}

void verdict_use_from_json(verdict_use *use, const json_t *o)
{
    const json_t *bins = json_object_get(o, "bins");

    use->most = json_real_value(json_object_get(o, "most"));
    for (size_t i = 0; i < VERDICT_BINS; i++) {
        use->n[i] = (uint64_t)json_integer_value(json_array_get(bins, i));
    }
}

json_t *verdict_to_json(const verdict *v)
{
    json_t *o = json_object();

    json_object_set_new(o, "status", json_string(names[v->status]));
    json_object_set_new(o, "n_diff", json_integer((json_int_t)v->n_diff));
    json_object_set_new(o, "n_total", json_integer((json_int_t)v->n_total));
    json_object_set_new(o, "ms", json_real(v->ms));
    json_object_set_new(o, "limits", json_integer(v->limits));
    json_object_set_new(o, "use", use_json(&v->use));
    for (int i = 0; i < N_FIELDS; i++) {
        json_object_set_new(
            o, fields[i].key,
            verdict_text_json((const char *)v + fields[i].offset));
    }
    if (v->detail != NULL) {
        json_object_set_new(o, "detail", verdict_text_json(v->detail));
    }
    if (v->asked != NULL) {
        json_object_set_new(o, "asked", verdict_text_json(v->asked));
    }
    if (v->map != NULL) {
        json_object_set_new(o, "map", verdict_text_json(v->map));
    }
    return o;
}

int verdict_from_json(verdict *v, const json_t *object)
{
    const char *status = json_string_value(json_object_get(object, "status"));
    const char *detail = json_string_value(json_object_get(object, "detail"));
    const char *map = json_string_value(json_object_get(object, "map"));
    const char *asked = json_string_value(json_object_get(object, "asked"));

    memset(v, 0, sizeof *v);
    if (status == NULL || verdict_by_name(status, &v->status) != 0) {
        return -1;
    }
    v->n_diff = (uint64_t)json_integer_value(json_object_get(object, "n_diff"));
    v->n_total =
        (uint64_t)json_integer_value(json_object_get(object, "n_total"));
    v->ms = json_real_value(json_object_get(object, "ms"));
    v->limits = (int)json_integer_value(json_object_get(object, "limits"));
    verdict_use_from_json(&v->use, json_object_get(object, "use"));
    for (int i = 0; i < N_FIELDS; i++) {
        const char *text =
            json_string_value(json_object_get(object, fields[i].key));
        (void)snprintf((char *)v + fields[i].offset, fields[i].size, "%s",
                       text == NULL ? "" : text);
    }
    v->detail = copy_of(detail);
    v->map = copy_of(map);
    v->asked = copy_of(asked);
    return 0;
}
