/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of a run over vectors.  See report.h. */
#include "report.h"

#include "cli.h"
#include "map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"passed", "failed", "unknown",
                                    "unsupported"};

void report_start(vector_report *r, size_t n_planned,
                  const vector_options *options)
{
    memset(r, 0, sizeof *r);
    r->options = *options;
    if (options->format == VECTOR_AS_TAP) {
        printf("TAP version 13\n1..%zu\n", n_planned);
    }
}

static op_tally *tally_of(vector_report *r, const char *op)
{
    for (size_t i = 0; i < r->n_ops; i++) {
        if (strcmp(r->ops[i].op, op) == 0) {
            return &r->ops[i];
        }
    }
    if (r->n_ops == r->room) {
        const size_t room = r->room == 0 ? 64 : 2 * r->room;
        op_tally *grown = realloc(r->ops, room * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        r->ops = grown;
        r->room = room;
    }
    op_tally *t = &r->ops[r->n_ops++];

    memset(t, 0, sizeof *t);
    (void)snprintf(t->op, sizeof t->op, "%s", op);
    return t;
}

/* Print every line of text behind a prefix. */
static void indented(const char *prefix, const char *text)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, "\n");
        printf("%s%.*s\n", prefix, (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void print_path(const char *path)
{
    for (; *path != '\0'; path++) {
        const unsigned char c = (unsigned char)*path;
        putchar(c < 0x20 || c == 0x7f ? '?' : c);
    }
}

static int is_red(const vector_report *r, vector_verdict v)
{
    return v == VECTOR_FAILED || (v != VECTOR_PASSED && r->options.strict);
}

static void file_as_text(const vector_report *r, const char *path,
                         const vector_result *v)
{
    if (v->verdict == VECTOR_FAILED) {
        printf("FAIL ");
        print_path(path);
        printf("%s%s\n", v->op[0] == '\0' ? "" : "  ", v->op);
        indented("  ", v->text);
    } else if (r->options.verbose) {
        printf("%-7s ",
               v->verdict == VECTOR_PASSED ? "pass" : words[v->verdict]);
        print_path(path);
        printf("  %s\n", v->op);
        indented("  ", v->text);
    }
}

static void file_as_tap(const vector_report *r, const char *path,
                        const vector_result *v)
{
    printf("%s %zu - ", is_red(r, v->verdict) ? "not ok" : "ok", r->n_done);
    print_path(path);
    if (v->verdict >= VECTOR_UNKNOWN) {
        printf(" # SKIP %.*s", (int)strcspn(v->text, "\n"), v->text);
    }
    putchar('\n');
    if (v->verdict == VECTOR_FAILED) {
        indented("# ", v->text);
    }
}

static void print_json(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);

    if (text != NULL) {
        puts(text);
    }
    free(text);
    json_decref(object);
}

/* Paths need not be UTF-8; JSON must be. */
static json_t *json_path(const char *path)
{
    json_t *s = json_string(path);

    return s != NULL ? s : json_string("(a path that is not UTF-8)");
}

static void file_as_json(const vector_report *r, const char *path,
                         const vector_result *v)
{
    print_json(json_pack(
        "{s:s, s:o, s:s, s:s, s:s, s:I, s:I, s:s, s:o}", "backend", r->subject,
        "file", json_path(path), "op", v->op, "cases", v->cases, "status",
        words[v->verdict], "outputs", (json_int_t)v->n_outputs, "elements",
        (json_int_t)v->n_elements, "rule", v->n_by_rule > 0 ? v->rule : "bits",
        "text", json_path(v->text)));
}

void report_subject(vector_report *r, const vector_subject *who,
                    const cell_greeting *greeting)
{
    r->subject = who->name;
    if (r->options.format == VECTOR_AS_JSON) {
        print_json(json_pack("{s:s, s:s, s:s}", "backend", who->name, "version",
                             greeting->version, "device", greeting->device));
    } else if (r->options.format == VECTOR_AS_TEXT && !r->options.quiet) {
        printf("%s %s on %s\n", who->name, greeting->version, greeting->device);
    }
}

void report_absent(vector_report *r, const vector_subject *who,
                   const cell_greeting *greeting, size_t n_files)
{
    r->subject = who->name;
    if (who->required && greeting->status == MXO_E_UNSUPPORTED) {
        r->refused = 1;
        (void)cli_refuse("%s: %s", who->name, greeting->why);
    } else if (r->options.format == VECTOR_AS_JSON) {
        print_json(json_pack("{s:s, s:s, s:s}", "backend", who->name, "status",
                             "skip", "text", greeting->why));
    } else if (r->options.format == VECTOR_AS_TAP) {
        for (size_t i = 0; i < n_files; i++) {
            printf("ok %zu - %s # SKIP %s\n", ++r->n_done, who->name,
                   greeting->why);
        }
    } else {
        printf("skip: %s: %s\n", who->name, greeting->why);
    }
}

int report_file(vector_report *r, const char *path, const vector_result *v)
{
    op_tally *t = tally_of(r, v->op[0] == '\0' ? "(no operation)" : v->op);

    if (t == NULL) {
        return -1;
    }
    r->n_done++;
    r->n[v->verdict]++;
    t->n[v->verdict]++;
    t->n_outputs += v->n_outputs;
    t->n_elements += v->n_elements;
    if (v->n_by_rule > 0) {
        t->n_by_rule += v->n_by_rule;
        memcpy(t->rule, v->rule, sizeof t->rule);
    }
    if (v->verdict >= VECTOR_UNKNOWN && t->reason[0] == '\0') {
        (void)snprintf(t->reason, sizeof t->reason, "%.*s",
                       (int)strcspn(v->text, "\n"), v->text);
    }
    if (r->options.format == VECTOR_AS_TAP) {
        file_as_tap(r, path, v);
    } else if (r->options.format == VECTOR_AS_JSON) {
        file_as_json(r, path, v);
    } else {
        file_as_text(r, path, v);
    }
    return 0;
}

static int by_op(const void *a, const void *b)
{
    return strcmp(((const op_tally *)a)->op, ((const op_tally *)b)->op);
}

/* Per operation: files, outputs, elements, and by which rule. */
static void print_tally(const vector_report *r)
{
    printf("\n%-44s %6s %6s %7s %8s %10s  rule\n", "operation", "passed",
           "failed", "outputs", "elements", "by rule");
    for (size_t i = 0; i < r->n_ops; i++) {
        const op_tally *t = &r->ops[i];
        if (t->n[VECTOR_PASSED] + t->n[VECTOR_FAILED] == 0) {
            continue;
        }
        printf("%-44s %6" PRIu64 " %6" PRIu64 " %7" PRIu64 " %8" PRIu64
               " %10" PRIu64 "  %s\n",
               t->op, t->n[VECTOR_PASSED], t->n[VECTOR_FAILED], t->n_outputs,
               t->n_elements, t->n_by_rule,
               t->n_by_rule > 0 ? t->rule : "bits");
    }
}

static void print_rules(const vector_report *r)
{
    for (size_t i = 0; i < r->n_ops; i++) {
        const map_rule *rule =
            r->ops[i].n_by_rule > 0 ? map_find_rule(r->ops[i].rule) : NULL;
        int seen = 0;
        for (size_t k = 0; rule != NULL && k < i; k++) {
            seen |= r->ops[k].n_by_rule > 0 &&
                    strcmp(r->ops[k].rule, rule->name) == 0;
        }
        if (rule != NULL && !seen) {
            printf("rule %s: %s (%s)\n", rule->name, rule->reason,
                   rule->source);
        }
    }
}

/* Files with verdict v that ops i.. share a first reason for; *n_ops of them.
   0 if an earlier operation has said it. */
static uint64_t of_reason(const vector_report *r, size_t i, int v,
                          size_t *n_ops)
{
    uint64_t n = 0;

    *n_ops = 0;
    for (size_t k = 0; k < r->n_ops; k++) {
        const op_tally *t = &r->ops[k];
        if (t->n[v] == 0 || strcmp(t->reason, r->ops[i].reason) != 0) {
            continue;
        }
        if (k < i) {
            return 0;
        }
        n += t->n[v];
        ++*n_ops;
    }
    return n;
}

static void print_not_judged(const vector_report *r)
{
    for (size_t i = 0; i < r->n_ops; i++) {
        const op_tally *t = &r->ops[i];
        for (int v = VECTOR_UNKNOWN; v <= VECTOR_UNSUPPORTED; v++) {
            size_t n_ops;
            const uint64_t n = t->n[v] > 0 ? of_reason(r, i, v, &n_ops) : 0;
            if (n > 0 && n_ops == 1) {
                printf("%s: %" PRIu64 " of %s: %s\n", words[v], n, t->op,
                       t->reason);
            } else if (n > 0) {
                printf("%s: %" PRIu64 " of %s and %zu more operations: %s\n",
                       words[v], n, t->op, n_ops - 1, t->reason);
            }
        }
    }
}

void report_subject_end(vector_report *r)
{
    if (r->n_ops > 0) {
        qsort(r->ops, r->n_ops, sizeof r->ops[0], by_op);
    }
    if (r->options.format == VECTOR_AS_TEXT) {
        if (!r->options.quiet && r->n_ops > 0) {
            print_tally(r);
            putchar('\n');
            print_rules(r);
        }
        print_not_judged(r);
    }
    r->n_ops = 0;
}

static int exit_status(const vector_report *r)
{
    const uint64_t open = r->n[VECTOR_UNKNOWN] + r->n[VECTOR_UNSUPPORTED];

    if (r->n[VECTOR_FAILED] > 0 || (r->options.strict && open > 0)) {
        return EXIT_RED;
    }
    return r->n[VECTOR_PASSED] > 0 ? EXIT_PASS : EXIT_SKIP;
}

int report_end(vector_report *r)
{
    if (r->options.format == VECTOR_AS_JSON) {
        print_json(json_pack("{s:I, s:I, s:I, s:I}", "passed",
                             (json_int_t)r->n[VECTOR_PASSED], "failed",
                             (json_int_t)r->n[VECTOR_FAILED], "unknown",
                             (json_int_t)r->n[VECTOR_UNKNOWN], "unsupported",
                             (json_int_t)r->n[VECTOR_UNSUPPORTED]));
        return exit_status(r);
    }
    const char *lead = r->options.format == VECTOR_AS_TAP ? "# " : "";

    if (r->n[VECTOR_UNSUPPORTED] > 0) {
        printf("%s%" PRIu64 " unsupported\n", lead, r->n[VECTOR_UNSUPPORTED]);
    }
    printf("%s%" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " unknown\n",
           lead, r->n[VECTOR_PASSED], r->n[VECTOR_FAILED],
           r->n[VECTOR_UNKNOWN]);
    return exit_status(r);
}

void report_clear(vector_report *r)
{
    free(r->ops);
    r->ops = NULL;
}
