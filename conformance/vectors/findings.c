/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of one file as lines of text.  See findings.h. */
#include "findings.h"

#include "base/say.h"
#include "diagnose/diff_location.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 24 };

/* From harmless to worst. */
static int severity(vector_verdict v)
{
    switch (v) {
    case VECTOR_FAILED:
        return 3;
    case VECTOR_UNKNOWN:
        return 2;
    case VECTOR_UNSUPPORTED:
        return 1;
    default:
        return 0;
    }
}

void finding_op(findings *f, const char *op)
{
    (void)snprintf(f->result->op, sizeof f->result->op, "%s", op);
    say_printable(f->result->op);
}

void finding_case(findings *f, const test_case *c)
{
    size_t n =
        (size_t)snprintf(f->as, sizeof f->as, "%s", c->schema->info->name);

    for (int i = 0; i < c->schema->n_params; i++) {
        const op_param *p = &c->schema->params[i];
        if (strcmp(c->value[i], p->standard) != 0 && n < sizeof f->as) {
            n += (size_t)snprintf(f->as + n, sizeof f->as - n, "%c%s=%s",
                                  strchr(f->as, ':') == NULL ? ':' : ',',
                                  p->key, c->value[i]);
        }
    }
    const size_t used = strlen(f->result->cases);

    (void)snprintf(f->result->cases + used, sizeof f->result->cases - used,
                   "%s%s", used == 0 ? "" : " ", f->as);
}

static void append_line(findings *f, const char *line)
{
    char *text = f->result->text;
    const size_t n = strlen(text);

    if (f->n_lines == MAX_LINES) {
        line = "...";
    } else if (f->n_lines > MAX_LINES) {
        return;
    }
    f->n_lines++;
    if (n + strlen(line) + 2 <= VECTOR_TEXT) {
        (void)snprintf(text + n, VECTOR_TEXT - n, "%s%s", n == 0 ? "" : "\n",
                       line);
    }
}

void finding_add(findings *f, vector_verdict what, const char *format, ...)
{
    char line[CASE_TEXT + TEXT_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    say_printable(line);
    append_line(f, line);
    if (severity(what) > severity(f->result->verdict)) {
        f->result->verdict = what;
    }
}

void finding_status(findings *f, mxo_status status, const char *sentence)
{
    switch (status) {
    case MXO_E_UNSUPPORTED:
        finding_add(f, VECTOR_UNSUPPORTED, "%s", sentence);
        break;
    case MXO_E_PARAM:
        finding_add(f, VECTOR_UNKNOWN, "%s", sentence);
        break;
    default:
        finding_add(f, VECTOR_FAILED, "%s", sentence);
        break;
    }
}

void finding_codes(findings *f, uint32_t dtype, uint64_t in_file,
                   uint64_t computed, const char *who)
{
    const int digits = (int)dtype_bytes(dtype) * 2;

    finding_add(f, VECTOR_FAILED,
                "  file has %0*" PRIx64 " = %.9g   %s gives %0*" PRIx64
                " = %.9g",
                digits, in_file, dtype_value(dtype, in_file), who, digits,
                computed, dtype_value(dtype, computed));
    finding_add(f, VECTOR_FAILED, "  judged as %s", f->as);
}

/* Where it differs, as the judge of cases has it. */
static char *map_of(const host_tensor *t, const glue *computed,
                    const map_rule *rule)
{
    const tensor_set nothing = {0};
    const tensor_set set = {.n = 1, .t = {*t}};
    const op_call call = {.in = &nothing};
    uint8_t *wrong = calloc(computed->n + 1, 1);
    const evidence e = {
        .call = &call, .want = &set, .got = &set, .bound = {.fails = wrong}};
    vector_difference d;
    char *map = NULL;

    if (wrong != NULL) {
        vector_compare(t, computed, rule, &d, wrong);
        map = diff_location_map(&e, NULL);
    }
    free(wrong);
    return map;
}

void finding_place(findings *f, const host_tensor *t, const glue *computed,
                   const map_rule *rule, const vector_difference *d)
{
    const int digits = (int)dtype_bytes(t->dtype) * 2;
    vector_result *r = f->result;

    r->n_differ += d->n_differ;
    if (r->tensor[0] != '\0') {
        return;
    }
    char *map = map_of(t, computed, rule);

    (void)snprintf(r->tensor, sizeof r->tensor, "%.*s",
                   (int)sizeof r->tensor - 1, t->name);
    finding_index(t, d->first, r->index, sizeof r->index);
    (void)snprintf(r->want, sizeof r->want, "%0*" PRIx64, digits, d->in_file);
    (void)snprintf(r->got, sizeof r->got, "%0*" PRIx64, digits, d->computed);
    if (map != NULL && strlen(map) < sizeof r->map) {
        (void)snprintf(r->map, sizeof r->map, "%s", map);
    }
    free(map);
}

void finding_count(findings *f, uint64_t n_elements, const map_rule *rule)
{
    f->result->n_outputs++;
    f->result->n_elements += n_elements;
    if (rule->kind > MAP_STRICT) {
        f->result->n_by_rule++;
        (void)snprintf(f->result->rule, sizeof f->result->rule, "%s",
                       rule->name);
    }
}

void finding_free(findings *f, uint64_t n_elements)
{
    if (n_elements > 0) {
        f->result->n_by_rule++;
        (void)snprintf(f->result->rule, sizeof f->result->rule, "nan_block");
        finding_add(f, VECTOR_PASSED,
                    "%" PRIu64 " elements under scale byte 255 are not the "
                    "emulator's: their codes mean nothing",
                    n_elements);
    }
}

static void list(const uint64_t *numbers, uint32_t n, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "[");

    for (uint32_t i = 0; i < n && at < size; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s%" PRIu64,
                               i == 0 ? "" : ",", numbers[i]);
    }
    if (at < size) {
        (void)snprintf(text + at, size - at, "]");
    }
}

void finding_shape(const uint64_t *shape, uint32_t rank, char *text,
                   size_t size)
{
    list(shape, rank, text, size);
}

void finding_index(const host_tensor *t, uint64_t i, char *text, size_t size)
{
    uint64_t index[MXO_MAX_RANK] = {0};

    for (uint32_t axis = t->rank; axis-- > 0;) {
        index[axis] = i % t->shape[axis];
        i /= t->shape[axis];
    }
    list(index, t->rank, text, size);
}
