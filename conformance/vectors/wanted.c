/* SPDX-License-Identifier: Apache-2.0 */
/* See wanted.h. */
#include "wanted.h"

#include "case/opinfo.h"

#include <string.h>

/* "quant.mx" or "quant.mx:rows=3,cols=96" */
static int is_case(const char *text, const char *op)
{
    const size_t n = strlen(op);

    return strncmp(text, op, n) == 0 && (text[n] == '\0' || text[n] == ':');
}

/* "rule=floor axis=-1", of parameters that the operation has; may be empty. */
static int are_params(const char *text, const char *op)
{
    const op_schema *schema = op_by_name(op);

    while (*text != '\0') {
        const size_t n = strcspn(text, " ");
        const size_t key = strcspn(text, "= ");
        int i = 0;

        while (i < schema->n_params &&
               (strlen(schema->params[i].key) != key ||
                strncmp(schema->params[i].key, text, key) != 0)) {
            i++;
        }
        if (i == schema->n_params || text[key] != '=') {
            return 0;
        }
        text += n + (text[n] == ' ');
    }
    return 1;
}

/* "out.q U8[3,48] out.scale F8_E8M0[3,3]" */
static int are_outputs(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    while (*text != '\0') {
        const size_t name = strcspn(text, " ");
        const char *const type = text + name + 1;

        if (strncmp(text, "out.", 4) != 0 || name == 4 || text[name] != ' ') {
            return 0;
        }
        const size_t n = strspn(type, letters);
        const char *const sizes = type + n + 1;

        if (n == 0 || type[n] != '[') {
            return 0;
        }
        const size_t end = strspn(sizes, "0123456789,");

        if (sizes[end] != ']' ||
            (sizes[end + 1] != '\0' && sizes[end + 1] != ' ')) {
            return 0;
        }
        text = sizes + end + 1 + (sizes[end + 1] == ' ');
    }
    return 1;
}

int wanted_check(judging *j, const char *op)
{
    const safetensors *f = j->scope.file;
    const char *name = safetensors_meta(f, "case");
    const char *params = safetensors_meta(f, "params_text");
    const char *outputs = safetensors_meta(f, "outputs");

    if (name != NULL && !is_case(name, op)) {
        finding_add(&j->found, VECTOR_FAILED,
                    "has a case in its metadata that is none of %s: %.60s", op,
                    name);
    } else if (params != NULL && !are_params(params, op)) {
        finding_add(&j->found, VECTOR_FAILED,
                    "has params_text in its metadata that is no \"key=value "
                    "...\" of %s: %.60s",
                    op, params);
    } else if (outputs != NULL && !are_outputs(outputs)) {
        finding_add(&j->found, VECTOR_FAILED,
                    "has outputs in its metadata that are no \"out.NAME "
                    "TYPE[SIZES] ...\": %.60s",
                    outputs);
    } else {
        return 0;
    }
    return -1;
}
