/* SPDX-License-Identifier: Apache-2.0 */
/* Cases as vector files; see native.h. */
#include "native.h"

#include "base/number.h"
#include "base/say.h"
#include "base/strbuf.h"
#include "device/device_under_test.h"
#include "files/safetensors.h"

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
        const double number = number_decimal(c->value[i], NULL);
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

/* Every parameter as text, as a subject gets it: "key=value key=value". */
static char *params_text(const test_case *c)
{
    strbuf b = {NULL, 0, 0};

    for (int i = 0; i < c->schema->n_params; i++) {
        strbuf_add(&b, "%s%s=%s", i == 0 ? "" : " ", c->schema->params[i].key,
                   c->value[i]);
    }
    return b.text;
}

/* Names, types and shapes of the outputs, as the header of the file will say
   them: "out.q U8[3,48] out.scale F8_E8M0[3,3]". */
static char *outputs_text(const tensor_set *out)
{
    strbuf b = {NULL, 0, 0};

    for (uint32_t i = 0; out != NULL && i < out->n; i++) {
        const host_tensor *t = &out->t[i];

        strbuf_add(&b, "%sout.%s %s[", i == 0 ? "" : " ", t->name,
                   dtype_file_name(t->dtype));
        for (uint32_t r = 0; r < t->rank; r++) {
            strbuf_add(&b, "%s%" PRIu64, r == 0 ? "" : ",", t->shape[r]);
        }
        strbuf_add(&b, "]");
    }
    return b.text;
}

static json_t *metadata_of(const test_case *c, uint64_t seed_number,
                           const tensor_set *out)
{
    char *const words = params_text(c);
    char *const outputs = outputs_text(out);
    json_t *params = params_object(c);
    char *text = json_dumps(params, JSON_COMPACT);
    char seed[24];
    char made_by[64];
    char spelled[CASE_TEXT];

    case_print(c, 0, spelled);
    (void)snprintf(seed, sizeof seed, "%" PRIu64, seed_number);
    (void)snprintf(made_by, sizeof made_by, "mxoracle %s", mxo_version());
    json_t *metadata = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "op", c->schema->info->name,
        "params", text == NULL ? "{}" : text, "source", "a case of mxoracle",
        "made_by", made_by, "case", spelled, "seed", seed, "params_text",
        words == NULL ? "" : words, "outputs", outputs == NULL ? "" : outputs);

    free(words);
    free(outputs);
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
                 const tensor_set *in, const native_answer *a, mxo_text why)
{
    json_t *metadata = metadata_of(c, seed, &a->out);
    tensor_set file;

    memset(&file, 0, sizeof file);
    mxo_status status = MXO_E_NOMEM;

    if (metadata == NULL || add_all(&file, "in.", in) != 0 ||
        (a->has_bytes && add_all(&file, "out.", &a->out) != 0)) {
        (void)say(status, why, "no memory for %s", path);
    } else {
        status = safetensors_write(path, &file, metadata, why);
    }
    tensor_set_clear(&file);
    json_decref(metadata);
    return status == MXO_OK ? 0 : -1;
}

/* Shapes, and bytes if run. */
static int answer(const test_case *c, const tensor_set *in, int run,
                  tensor_set *out, mxo_text why)
{
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = {c->schema->info->name, params,
                          (uint32_t)c->schema->n_params, in};
    run_checks doubts;
    subject emulator;

    case_params(c, params);
    mxo_status status = subject_open(&emulator, mxo_emulator(), 0, why);

    if (status == MXO_OK) {
        status = subject_infer(&emulator, &call, out, why);
    }
    if (status == MXO_OK && run) {
        status = subject_run(&emulator, &call, out, &doubts, why);
    }
    subject_close(&emulator);
    return status == MXO_OK ? 0 : -1;
}

int native_outputs(const test_case *c, const tensor_set *in, tensor_set *out,
                   mxo_text why)
{
    return answer(c, in, 1, out, why);
}

int native_shapes(const test_case *c, const tensor_set *in, tensor_set *out,
                  mxo_text why)
{
    return answer(c, in, 0, out, why);
}
