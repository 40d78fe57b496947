/* SPDX-License-Identifier: Apache-2.0 */
/* Driving the emulator from unit suites; see emu_call.h. */
#include "emu_call.h"

#include <check.h>
#include <mxoracle/mxoracle.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const mxo_op_info *find_info(const char *op)
{
    const mxo_op_info *info = mxo_emulator()->op_info;

    while (info->name != NULL && strcmp(info->name, op) != 0) {
        info++;
    }
    ck_assert_msg(info->name != NULL, "no operation %s", op);
    return info;
}

/* Copy len bytes into the call's text, terminated. */
static char *keep(emu_call *c, const char *from, size_t len)
{
    char *to = c->text + c->used;

    ck_assert_msg(c->used + len + 1 <= sizeof c->text, "text too long");
    memcpy(to, from, len);
    to[len] = '\0';
    c->used += len + 1;
    return to;
}

static void set_value(mxo_param *p, const char *value)
{
    p->text = value;
    p->number = strtod(value, NULL);
}

static mxo_param *find_param(emu_call *c, const char *key)
{
    for (uint32_t i = 0; i < c->call.n_params; i++) {
        if (strcmp(c->params[i].key, key) == 0) {
            return &c->params[i];
        }
    }
    ck_abort_msg("%s has no parameter %s", c->call.op, key);
    return NULL;
}

/* "key:domain=default key:domain=default": every default. */
static void read_defaults(emu_call *c, const char *text)
{
    while (*text != '\0') {
        const size_t key = strcspn(text, ":");
        const size_t entry = strcspn(text, " ");
        const char *equals = memchr(text, '=', entry);
        mxo_param *p = &c->params[c->call.n_params++];

        ck_assert_msg(c->call.n_params <= EMU_MAX_PARAMS, "too many params");
        p->key = keep(c, text, key);
        /* A size stands for a dimension, which no call here has. */
        set_value(
            p, strncmp(text + key, ":size=", 6) == 0
                   ? "0"
                   : keep(c, equals + 1, (size_t)(text + entry - equals - 1)));
        text += entry + (text[entry] == ' ');
    }
}

static void read_given(emu_call *c, const char *text)
{
    while (*text != '\0') {
        const size_t key = strcspn(text, "=");
        const size_t entry = strcspn(text, ",");

        set_value(find_param(c, keep(c, text, key)),
                  keep(c, text + key + 1, entry - key - 1));
        text += entry + (text[entry] == ',');
    }
}

void emu_begin(emu_call *c, const char *op, const char *params)
{
    memset(c, 0, sizeof *c);
    c->call.struct_size = sizeof c->call;
    c->call.op = op;
    c->call.params = c->params;
    c->call.in = c->in;
    c->call.out = c->out;
    const char *const *texts = find_info(op)->params;

    for (int i = 0; i < MXO_PARAM_TEXTS && texts[i] != NULL; i++) {
        read_defaults(c, texts[i]);
    }
    read_given(c, params);
}

static uint64_t element_bytes(uint32_t dtype)
{
    static const uint8_t bytes[] = {
#define MXO_DTYPE(id, name, file, size, nan) [id] = size,
#include <mxoracle/dtype.def>
#undef MXO_DTYPE
    };
    return bytes[dtype];
}

void emu_in(emu_call *c, const char *name, uint32_t dtype, const void *data,
            uint32_t rank, ...)
{
    mxo_tensor *t = &c->in[c->call.n_in++];
    va_list dims;

    ck_assert_msg(c->call.n_in <= EMU_MAX_TENSORS, "too many inputs");
    t->name = name;
    t->dtype = dtype;
    t->rank = rank;
    t->n_bytes = element_bytes(dtype);
    va_start(dims, rank);
    for (uint32_t i = 0; i < rank; i++) {
        t->shape[i] = (uint64_t)va_arg(dims, int);
        t->n_bytes *= t->shape[i];
    }
    va_end(dims);
    memcpy(&t->buffer, &data, sizeof data); /* read only by the callee */
}

mxo_status emu_run(emu_call *c)
{
    const mxo_backend *emu = mxo_emulator();
    const mxo_text why = {c->why, sizeof c->why};
    uint32_t n = EMU_MAX_TENSORS;
    const mxo_status status = emu->infer(NULL, &c->call, c->out, &n, why);

    if (status != MXO_OK) {
        return status;
    }
    c->call.n_out = n;
    for (uint32_t i = 0; i < n; i++) {
        const size_t size = (size_t)c->out[i].n_bytes;

        c->out[i].buffer = malloc(size + 1);
        ck_assert_ptr_nonnull(c->out[i].buffer);
        memset(c->out[i].buffer, EMU_POISON, size + 1);
    }
    return emu->run(NULL, &c->call, why);
}

const mxo_tensor *emu_out(const emu_call *c, const char *name)
{
    for (uint32_t i = 0; i < c->call.n_out; i++) {
        if (strcmp(c->out[i].name, name) == 0) {
            return &c->out[i];
        }
    }
    ck_abort_msg("no output %s: %s", name, c->why);
    return NULL;
}

const uint8_t *emu_bytes(const emu_call *c, const char *name)
{
    return emu_out(c, name)->buffer;
}

void emu_end(emu_call *c)
{
    for (uint32_t i = 0; i < c->call.n_out; i++) {
        free(c->out[i].buffer);
    }
    c->call.n_out = 0;
}

void emu_refuses(emu_call *c, mxo_status status, const char *word)
{
    const mxo_status got = emu_run(c);

    ck_assert_msg(got == status, "status %d, not %d: %s", got, status, c->why);
    ck_assert_msg(strstr(c->why, word) != NULL, "no \"%s\" in \"%s\"", word,
                  c->why);
    emu_end(c);
}
