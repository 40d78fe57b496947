/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on one file: every row of the table that fits is run, every
 * out.* tensor must be judged by exactly one of them, every in.* be read.
 */
#include "base/say.h"
#include "rows.h"
#include "vectors.h"
#include "wanted.h"

#include <stdio.h>
#include <string.h>

enum { SENTENCE = 512 };

/* Tensors that nobody read, outputs that nobody or two rows judged. */
static void check_coverage(judging *j)
{
    const tensor_set *set = &j->scope.file->tensors;

    /* Where the subject or the table refused, its reason is enough. */
    if (j->found.result->verdict != VECTOR_PASSED &&
        j->found.result->verdict != VECTOR_FAILED) {
        return;
    }
    for (uint32_t i = 0; i < set->n; i++) {
        const char *name = set->t[i].name;
        const int is_out = strncmp(name, "out.", 4) == 0;
        if (is_out && j->scope.judged[i] != 1) {
            finding_add(&j->found, VECTOR_UNKNOWN,
                        j->scope.judged[i] == 0
                            ? "no row of the table judges %s"
                            : "two rows of the table judge %s",
                        name);
        } else if (!is_out && strncmp(name, "tmp.", 4) != 0 &&
                   j->scope.read[i] == 0) {
            finding_add(&j->found, VECTOR_UNKNOWN,
                        "no row of the table reads %s", name);
        }
    }
}

static int has_output(const tensor_set *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        if (strncmp(set->t[i].name, "out.", 4) == 0) {
            return 1;
        }
    }
    return 0;
}

static void check_params(judging *j, const char *op)
{
    const char *key;
    json_t *value;

    json_object_foreach(j->scope.params, key, value)
    {
        if (!map_knows_param(op, key)) {
            finding_add(&j->found, VECTOR_UNKNOWN,
                        "%s has the parameter %.60s, which the table does not "
                        "know",
                        op, key);
        }
    }
}

static void judge_vendor(judging *j, const char *op)
{
    if (!map_knows_op(op)) {
        finding_add(&j->found, VECTOR_UNKNOWN, "operation not built yet");
        return;
    }
    check_params(j, op);
    if (rows_run(j, map_rows(), op) != 0) {
        return;
    }
    if (j->n_rows == 0) {
        finding_add(&j->found, VECTOR_UNKNOWN,
                    "no row of the table fits its parameters %.200s",
                    safetensors_meta(j->scope.file, "params"));
    }
    check_coverage(j);
}

/* Append "left=right " for a name of letters, digits, '_' and '.'. */
static int append_binding(char *list, const char *prefix, const char *left,
                          const char *right)
{
    const size_t n = strlen(list);
    const char *legal = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789_.";

    if (left[strspn(left, legal)] != '\0' || left[0] == '\0') {
        return 0;
    }
    return n + strlen(left) + strlen(right) + 5 < VECTOR_TEXT &&
           snprintf(list + n, VECTOR_TEXT - n, "%s=%s%s%s ", left, prefix,
                    right, prefix[0] == '\0' ? "" : ")") > 0;
}

/* The mask of a rule, if the file has it; a file that lacks a mask its
   operation gives fails for that. */
static int has_mask(const tensor_set *set, const compare_rule *rule)
{
    char name[MXO_NAME_SIZE + 8];

    (void)snprintf(name, sizeof name, "out.%s", rule->mask);
    return rule->kind == RULE_MASK && tensor_set_find(set, name) != NULL;
}

/* A file with canonical names and parameters: its row is its own text. */
static void judge_native(judging *j, const char *op)
{
    char params[VECTOR_TEXT] = "";
    char in[VECTOR_TEXT] = "";
    char out[VECTOR_TEXT] = "";
    const tensor_set *set = &j->scope.file->tensors;
    const map_row rows[2] = {{op, "", "", op, params, in, out, "bits"},
                             {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}};
    const char *key;
    json_t *value;
    int fits = 1;

    json_object_foreach(j->scope.params, key, value)
    {
        fits &= append_binding(params, "$(", key, key);
    }
    for (uint32_t i = 0; i < set->n; i++) {
        const char *name = set->t[i].name;
        if (strncmp(name, "in.", 3) == 0) {
            fits &= append_binding(in, "", name + 3, name);
        } else if (strncmp(name, "out.", 4) == 0) {
            const op_call call = {.op = op};
            const compare_rule *rule = compare_rule_for(&call, "emu", name + 4);
            char glued[TEXT_SIZE];
            (void)snprintf(glued, sizeof glued,
                           has_mask(set, rule) ? "%s>where(%s)" : "%s",
                           name + 4, rule->mask);
            fits &= append_binding(out, "", name, glued);
        }
    }
    if (!fits) {
        finding_add(&j->found, VECTOR_UNKNOWN,
                    "%s has a name that no operation uses", op);
        return;
    }
    if (rows_run(j, rows, op) == 0) {
        check_coverage(j);
    }
}

static void judge_file(judging *j, const char *path, safetensors *file)
{
    const char *op = safetensors_meta(file, "op");
    char sentence[SENTENCE] = "";
    const mxo_text why = {sentence, sizeof sentence};

    if (op == NULL || op[0] == '\0') {
        finding_add(&j->found, VECTOR_FAILED, "names no op in its metadata");
        return;
    }
    finding_op(&j->found, op);
    if (scope_open(&j->scope, path, file, why) != MXO_OK) {
        finding_add(&j->found, VECTOR_FAILED, "%s", sentence);
    } else if (!has_output(&file->tensors)) {
        finding_add(&j->found, VECTOR_FAILED,
                    "has no out.* tensor: there is nothing to judge");
    } else if (op_by_name(op) != NULL) {
        if (wanted_check(j, op) == 0) {
            judge_native(j, op);
        }
    } else {
        judge_vendor(j, op);
    }
    scope_close(&j->scope);
}

void vector_judge_parsed(const char *path, safetensors *file, judge *j,
                         vector_result *result)
{
    judging work;

    memset(result, 0, sizeof *result);
    memset(&work, 0, sizeof work);
    work.j = j;
    work.found.result = result;
    judge_file(&work, path, file);
}

void vector_judge(const char *path, judge *j, vector_result *result)
{
    safetensors file;
    findings found;
    char sentence[SENTENCE] = "";

    memset(result, 0, sizeof *result);
    memset(&found, 0, sizeof found);
    found.result = result;
    if (safetensors_read(path, &file, (mxo_text){sentence, sizeof sentence}) !=
        MXO_OK) {
        finding_add(&found, VECTOR_FAILED, "%s", sentence);
        return;
    }
    vector_judge_parsed(path, &file, j, result);
    safetensors_clear(&file);
}
