/* SPDX-License-Identifier: Apache-2.0 */
/* See call.h. */
#include "call.h"

#include "base/cli.h"
#include "report/report.h"
#include "run/case_run.h"

#include <mxoracle/mxoracle.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OUTPUTS = 32, FILL = 0xaa };

static void describe(mxo_tensor *t, const host_tensor *of, void *buffer)
{
    *t = (mxo_tensor){.name = of->name,
                      .dtype = of->dtype,
                      .rank = of->rank,
                      .n_bytes = of->n_bytes,
                      .buffer = buffer};
    memcpy(t->shape, of->shape, sizeof t->shape);
}

/* Says which elements of another output are defined: nobody's converter gives
   it. */
static int is_mask(const mxo_tensor *t)
{
    return cli_matches("valid", t->name) || cli_matches("*_valid", t->name);
}

/* Memory of its own and of exactly that size, for sanitizers. */
static void *own(const void *bytes, size_t n)
{
    void *copy = malloc(n > 0 ? n : 1);

    if (copy == NULL) {
        abort();
    }
    if (bytes != NULL && n > 0) {
        memcpy(copy, bytes, n);
    }
    return copy;
}

/* Room for outputs, filled. */
static void give_outputs(mxo_tensor *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i].buffer = own(NULL, (size_t)out[i].n_bytes);
        out[i].offset = 0;
        memset(out[i].buffer, FILL, (size_t)out[i].n_bytes);
    }
}

static void release(mxo_tensor *t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        free(t[i].buffer);
    }
}

/* The function on copies of inputs and outputs; 1 if its bytes are want's. */
static int ask(mxo_fuzz_function function, const mxo_call *call,
               const tensor_set *in, const mxo_tensor *want)
{
    mxo_tensor x[MXO_MAX_TENSORS];
    mxo_tensor y[MOST_OUTPUTS];
    mxo_call own_call = *call;
    int is_right = 1;

    for (uint32_t i = 0; i < in->n; i++) {
        describe(&x[i], &in->t[i],
                 own(in->t[i].data, (size_t)in->t[i].n_bytes));
    }
    memcpy(y, want, call->n_out * sizeof y[0]);
    give_outputs(y, call->n_out);
    for (uint32_t i = 0; i < call->n_out; i++) {
        if (is_mask(&y[i])) {
            memcpy(y[i].buffer, want[i].buffer, (size_t)y[i].n_bytes);
        }
    }
    own_call.in = x;
    own_call.out = y;
    const mxo_status status = function(&own_call);

    for (uint32_t i = 0; i < in->n; i++) {
        is_right &=
            memcmp(x[i].buffer, in->t[i].data, (size_t)in->t[i].n_bytes) == 0;
    }
    for (uint32_t i = 0; status == MXO_OK && i < call->n_out; i++) {
        is_right &=
            memcmp(y[i].buffer, want[i].buffer, (size_t)want[i].n_bytes) == 0;
    }
    release(x, in->n);
    release(y, call->n_out);
    return status == MXO_E_UNSUPPORTED || (status == MXO_OK && is_right);
}

int call_is_right(const test_case *c, const tensor_set *in,
                  mxo_fuzz_function function)
{
    const mxo_backend *emu = mxo_emulator();
    mxo_param params[OP_MAX_PARAMS];
    mxo_tensor x[MXO_MAX_TENSORS];
    mxo_tensor y[MOST_OUTPUTS];
    char why[512] = "";
    const mxo_text text = {why, sizeof why};
    int is_right = 1;
    mxo_call call = {.struct_size = sizeof call,
                     .n_params = (uint32_t)c->schema->n_params,
                     .n_in = in->n,
                     .n_out = MOST_OUTPUTS,
                     .op = c->schema->info->name,
                     .params = params,
                     .in = x,
                     .out = y};

    case_params(c, params);
    for (uint32_t i = 0; i < in->n; i++) {
        describe(&x[i], &in->t[i], in->t[i].data);
    }
    if (emu->infer(NULL, &call, y, &call.n_out, text) != MXO_OK) {
        return 1;
    }
    give_outputs(y, call.n_out);
    if (emu->run(NULL, &call, text) == MXO_OK) {
        is_right = ask(function, &call, in, y);
    }
    release(y, call.n_out);
    return is_right;
}

/* The function as a backend; the function itself is its context. */
static struct {
    mxo_fuzz_function function;
    const char *ops[2];
} wrapped;

static mxo_status wrap_open(void **ctx, int device, mxo_text why)
{
    (void)why;
    *ctx = &wrapped;
    return device == 0 ? MXO_OK : MXO_E_DEVICE;
}

static void wrap_close(void *ctx)
{
    (void)ctx;
}

static void wrap_describe(void *ctx, mxo_text device, mxo_text driver)
{
    (void)ctx;
    (void)snprintf(device.ptr, device.size, "this process");
    (void)snprintf(driver.ptr, driver.size, "none");
}

static mxo_status wrap_alloc(void *ctx, uint64_t n_bytes, void **buffer)
{
    (void)ctx;
    *buffer = malloc((size_t)n_bytes + 1);
    return *buffer == NULL ? MXO_E_NOMEM : MXO_OK;
}

static void wrap_dealloc(void *ctx, void *buffer)
{
    (void)ctx;
    free(buffer);
}

static mxo_status wrap_upload(void *ctx, void *buffer, uint64_t offset,
                              const void *src, uint64_t n_bytes, mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy((char *)buffer + offset, src, (size_t)n_bytes);
    return MXO_OK;
}

static mxo_status wrap_download(void *ctx, void *dst, void *buffer,
                                uint64_t offset, uint64_t n_bytes, mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy(dst, (char *)buffer + offset, (size_t)n_bytes);
    return MXO_OK;
}

static mxo_status wrap_synchronize(void *ctx, mxo_text why)
{
    (void)ctx;
    (void)why;
    return MXO_OK;
}

/* The emulator's masks; other outputs hold what they held. */
static void fill_masks(const mxo_call *call, mxo_text why)
{
    mxo_tensor out[MOST_OUTPUTS];
    mxo_call masks = *call;

    memcpy(out, call->out, call->n_out * sizeof out[0]);
    give_outputs(out, call->n_out);
    masks.out = out;
    if (mxo_emulator()->run(NULL, &masks, why) == MXO_OK) {
        for (uint32_t i = 0; i < call->n_out; i++) {
            if (is_mask(&out[i])) {
                memcpy(mxo_fuzz_data(&call->out[i]), out[i].buffer,
                       (size_t)out[i].n_bytes);
            }
        }
    }
    release(out, call->n_out);
}

static mxo_status wrap_run(void *ctx, const mxo_call *call, mxo_text why)
{
    (void)ctx;
    fill_masks(call, why);
    const mxo_status status = wrapped.function(call);

    if (status != MXO_OK) {
        (void)snprintf(why.ptr, why.size, "the function returned %d",
                       (int)status);
    }
    return status;
}

/* The block of a red case, as mxoracle run has it. */
static void print_red(const char *text, uint64_t seed, const verdict *v)
{
    const backend_info info = {.name = "function"};
    verdict copy = *v; /* borrows what v owns */
    report_result r = {.backend = &info,
                       .case_text = text,
                       .judged = v->status,
                       .n_cases = 1,
                       .seed = seed,
                       .v = &copy};
    report_run run;
    reporter block = report_text;

    report_run_begin(&run, "fuzz");
    run.verbose = -1;
    block.out = stderr;
    block.begin(&block, &run);
    (void)snprintf(r.repro, sizeof r.repro,
                   "mxoracle run --plugin=YOURS --seed=%" PRIu64 " %s", seed,
                   text);
    block.result(&block, &r);
}

void call_judge(const test_case *c, uint64_t seed, mxo_fuzz_function function)
{
    const mxo_backend table = {.abi_version = MXO_ABI_VERSION,
                               .struct_size = sizeof table,
                               .name = "function",
                               .version = "under test",
                               .ops = wrapped.ops,
                               .open = wrap_open,
                               .close = wrap_close,
                               .describe = wrap_describe,
                               .alloc = wrap_alloc,
                               .dealloc = wrap_dealloc,
                               .upload = wrap_upload,
                               .download = wrap_download,
                               .synchronize = wrap_synchronize,
                               .run = wrap_run};
    char why[512] = "";
    char text[CASE_TEXT];
    verdict v;
    judge j;

    wrapped.function = function;
    wrapped.ops[0] = c->schema->info->name;
    if (judge_open(&j, &table, 0, (mxo_text){why, sizeof why}) != MXO_OK) {
        (void)fprintf(stderr, "mxoracle: %s\n", why);
        abort();
    }
    case_run(&j, c, seed, &v);
    if (verdict_is_red(v.status)) {
        case_print(c, 0, text);
        print_red(text, seed, &v);
        abort();
    }
    verdict_clear(&v);
    judge_close(&j);
}
