/* SPDX-License-Identifier: Apache-2.0 */
/* Cases as vector files; see native.h. */
#include "native.h"

#include "safetensors.h"
#include "say.h"
#include "subject.h"

#include <mxoracle/mxoracle.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The parameters as JSON that reads back as the same canonical texts. */
static json_t *params_object(const test_case *c)
{
    json_t *o = json_object();

    for (int i = 0; i < c->schema->n_params; i++) {
        const op_param *p = &c->schema->params[i];
        const double number = strtod(c->value[i], NULL);
        json_t *value;
        if (strcmp(c->value[i], "none") == 0 && p->kind != PARAM_CHOICE &&
            p->kind != PARAM_NAME) {
            value = json_null();
        } else if (p->kind == PARAM_BOOL) {
            value = json_boolean(number != 0);
        } else if (p->kind == PARAM_INT || p->kind == PARAM_SIZE) {
            value = json_integer((json_int_t)number);
        } else {
            /* A real as text keeps its spelling, infinities included. */
            value = json_string(c->value[i]);
        }
        json_object_set_new(o, p->key, value);
    }
    return o;
}

static json_t *metadata_of(const test_case *c, uint64_t seed_number)
{
    json_t *params = params_object(c);
    char *text = json_dumps(params, JSON_COMPACT);
    char seed[24];
    char made_by[64];
    char spelled[CASE_TEXT];

    case_print(c, 0, spelled);
    (void)snprintf(seed, sizeof seed, "%" PRIu64, seed_number);
    (void)snprintf(made_by, sizeof made_by, "mxoracle %s", mxo_version());
    json_t *metadata = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s}", "op", c->schema->info->name, "params",
        text == NULL ? "{}" : text, "source", "a case of mxoracle", "made_by",
        made_by, "case", spelled, "seed", seed);

    free(text);
    json_decref(params);
    return metadata;
}

/* Append copies of a set's tensors under "in." or "out.". */
static int add_all(tensor_set *to, const char *prefix, const tensor_set *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        const host_tensor *t = &from->t[i];
        char name[MXO_NAME_SIZE + 8];
        host_tensor *copy;
        (void)snprintf(name, sizeof name, "%s%s", prefix, t->name);
        if (tensor_set_add(to, name, t->dtype, t->rank, t->shape, &copy) !=
            MXO_OK) {
            return -1;
        }
        if (t->n_bytes > 0) {
            memcpy(copy->data, t->data, (size_t)t->n_bytes);
        }
    }
    return 0;
}

int native_write(const char *path, const test_case *c, uint64_t seed,
                 const tensor_set *in, const tensor_set *out, mxo_text why)
{
    json_t *metadata = metadata_of(c, seed);
    tensor_set file;

    memset(&file, 0, sizeof file);
    mxo_status status = MXO_E_NOMEM;

    if (metadata == NULL || add_all(&file, "in.", in) != 0 ||
        (out != NULL && add_all(&file, "out.", out) != 0)) {
        (void)say(status, why, "no memory for %s", path);
    } else {
        status = safetensors_write(path, &file, metadata, why);
    }
    tensor_set_clear(&file);
    json_decref(metadata);
    return status == MXO_OK ? 0 : -1;
}

int native_outputs(const test_case *c, const tensor_set *in, tensor_set *out,
                   mxo_text why)
{
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = {c->schema->info->name, params,
                          (uint32_t)c->schema->n_params, in};
    distrust doubts;
    subject emulator;

    case_params(c, params);
    mxo_status status = subject_open(&emulator, mxo_emulator(), 0, why);

    if (status == MXO_OK) {
        status = subject_infer(&emulator, &call, out, why);
    }
    if (status == MXO_OK) {
        status = subject_run(&emulator, &call, out, &doubts, why);
    }
    subject_close(&emulator);
    return status == MXO_OK ? 0 : -1;
}
