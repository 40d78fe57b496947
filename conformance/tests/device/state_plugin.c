/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example plugin with state that a call leaves for another, chosen by the
 * environment variable FAULT: state.test wants each of them red.  Without
 * FAULT, and with those that begin with "ok-", it is right.
 */
#define mxo_backend_entry example_entry
/* NOLINTNEXTLINE(bugprone-suspicious-include): wraps it */
#include "../../../backends/example/example_plugin.c"
#undef mxo_backend_entry

#include "kept_answer.h"

static bytes bytes_of(const mxo_tensor *t)
{
    return (bytes){(uint8_t *)t->buffer + t->offset, t->n_bytes};
}

#include "late_calls.h"
#include "moved_graph.h"
#include "refused_calls.h"
#include "two_operations.h"

static char contexts[64]; /* their addresses are what tells them apart */
static int n_open;
static int n_closed;
static void *latest; /* the context that was opened last */

static int is_fault(const char *name)
{
    const char *given = getenv("FAULT");

    return given != NULL && strcmp(given, name) == 0;
}

/* State that an earlier call left. */
typedef struct memory {
    uint64_t size; /* of its first input; 0: there was none */
    double constants;
    uint64_t n_runs;
    int had_three_rows;
} memory;

static memory kept;

static double sum_of_constants(const mxo_call *call)
{
    double sum = 0;

    for (uint32_t i = 0; i < call->n_params; i++) {
        sum += strtod(call->params[i].text, NULL) * (i + 1);
    }
    return sum;
}

/* Three steps of the same size from byte to byte: bytes that somebody made. */
static int has_slope(const uint8_t *out)
{
    return (uint8_t)(out[1] - out[0]) == (uint8_t)(out[2] - out[1]) &&
           (uint8_t)(out[2] - out[1]) == (uint8_t)(out[3] - out[2]);
}

/* Buffers that came back with other bytes than one and the same, behind the
   one by which the judge finds out whether handles are addresses. */
static int n_freed;
static int n_unknown_scrubs;

/* An answer, and whether its bytes had gone when its buffer came back. */
static struct {
    const void *buffer;
    const uint8_t *place;
    uint8_t bytes[16];
    int n_gone;
} answer;

/* As many threads as it was told to use; 0: all. */
static int n_threads;

static void state_set_threads(void *ctx, int n)
{
    (void)ctx;
    n_threads = n;
}

static void state_dealloc(void *ctx, void *buffer)
{
    const uint8_t *bytes = buffer;

    n_deallocs++;
    if (buffer == answer.buffer) {
        answer.n_gone +=
            memcmp(answer.place, answer.bytes, sizeof answer.bytes) != 0;
        answer.buffer = NULL;
    }
    n_unknown_scrubs += n_freed++ > 0 && memcmp(bytes, bytes + 1, 48) != 0;
    example_dealloc(ctx, buffer);
}

/* Whether the state of earlier calls spoils this one.  made: the bytes before
   the output and in it have a slope. */
static int is_spoilt(void *ctx, const mxo_call *call, int guard_is_made,
                     int was_made)
{
    const uint64_t size = call->in[0].n_bytes;
    const double constants = sum_of_constants(call);
    const memory before = kept;

    kept.size = before.size == 0 ? size : before.size;
    kept.constants = before.size == 0 ? constants : before.constants;
    kept.n_runs++;
    kept.had_three_rows |= call->in[0].shape[0] == 3;
    return (is_fault("first-size") && size != kept.size) ||
           (is_fault("last-size") && before.size != 0 && size != before.size) ||
           (is_fault("first-constants") && constants != kept.constants) ||
           (is_fault("last-context") && ctx != latest) ||
           (is_fault("second-context") && ctx != contexts) ||
           (is_fault("one-thread") && n_threads == 1) ||
           (is_fault("some-threads") && n_threads > 1) ||
           (is_fault("after-close") && n_closed > 0) ||
           (is_fault("one-buffer") &&
            call->in[0].buffer == call->out[0].buffer) ||
           (is_fault("at-start") &&
            (call->in[0].offset == 0 || call->in[1].offset == 0 ||
             call->out[0].offset == 0)) ||
           (is_fault("thousandth") && kept.n_runs > 1000) ||
           (is_fault("after-three-rows") && before.had_three_rows &&
            call->in[0].shape[0] != 3) ||
           (is_fault("knows-guard") && !guard_is_made) ||
           (is_fault("knows-scrub") && n_unknown_scrubs > 0) ||
           (is_fault("needs-freed") && answer.n_gone > 0) ||
           (is_fault("knows-slope") && !was_made);
}

/* Is it the first call of its size? */
static int is_new(uint64_t size)
{
    static uint64_t seen[256];
    static int n_seen;

    for (int i = 0; i < n_seen; i++) {
        if (seen[i] == size) {
            return 0;
        }
    }
    if (n_seen < 256) {
        seen[n_seen++] = size;
    }
    return 1;
}

/* The right answer y, or the last one to inputs in the same place. */
static void keep_by_place(const mxo_tensor *in, bytes y)
{
    static uint8_t last[1 << 14];
    static const void *place;
    static uint64_t n;
    const void *at = (uint8_t *)in->buffer + in->offset;

    if (place == at && n == y.n) {
        memcpy(y.at, last, n);
    } else if (y.n <= sizeof last) {
        memcpy(last, y.at, y.n);
        place = at;
        n = y.n;
    }
}

static mxo_status decode_run(const char *fault, const mxo_call *call,
                             mxo_text why)
{
    if (!says(call, "format", "e2m1") || !says(call, "to", "f32") ||
        !says(call, "nan", "quiet") || !says(call, "zero", "keep") ||
        !says(call, "packed", "0")) {
        if (strcmp(fault, "keeps-bytes") == 0 && says(call, "nan", "ones") &&
            call->n_in == 1 && call->in[0].n_bytes > 16) {
            note_bytes(bytes_of(&call->in[0]));
        }
        return refuse(MXO_E_UNSUPPORTED, why, "E2M1 to binary32 only");
    }
    if (call->n_params != 5) {
        return refuse(MXO_E_PARAM, why, "format.decode has five parameters");
    }
    if (call->n_in != 1 || call->n_out != 1 ||
        call->out[0].n_bytes != 4 * call->in[0].n_bytes) {
        return refuse(MXO_E_SHAPE, why, "code and y do not fit each other");
    }
    if (strcmp(fault, "decode-ends") == 0) {
        abort();
    }
    const bytes code = bytes_of(&call->in[0]);
    const bytes y = bytes_of(&call->out[0]);

    decode_codes(code.at, code.n, y.at);
    if (code.n > 16 && is_noted(code)) {
        y.at[0] ^= 1;
    }
    if (finds_other(fault, 1)) {
        y.at[0] ^= 1;
    }
    return MXO_OK;
}

/* How the answers so far began. */
static uint8_t given_bytes[4096][16];
static int n_given;

/* Do the codes begin as an answer did? */
static int was_given(bytes q)
{
    for (int i = 0; i < n_given && q.n >= sizeof given_bytes[0]; i++) {
        if (memcmp(given_bytes[i], q.at, sizeof given_bytes[0]) == 0) {
            return 1;
        }
    }
    return 0;
}

static void note_given(bytes y)
{
    if (n_given < 4096 && y.n >= sizeof given_bytes[0]) {
        memcpy(given_bytes[n_given++], y.at, sizeof given_bytes[0]);
    }
}

/* dequant.mx; *end is how it ends. */
static mxo_status dequant_run(const char *fault, void *ctx,
                              const mxo_call *call, int *end, mxo_text why)
{
    if (strcmp(fault, "ok-declines-own") == 0 && call->n_in == 2 &&
        was_given(bytes_of(&call->in[0]))) {
        *end = DECLINED_DATA;
        return refuse(MXO_E_UNSUPPORTED, why, "not what it gave itself");
    }
    if (call->n_in == 2 && declines_scales(fault, bytes_of(&call->in[1]).at,
                                           call->in[1].n_bytes)) {
        *end = DECLINED_DATA;
        return refuse(MXO_E_UNSUPPORTED, why, "no scales near 1");
    }
    const mxo_status status = example_run(ctx, call, why);

    *end = (int)status;
    if (status == MXO_OK && call->n_out == 1) {
        note_given(bytes_of(&call->out[0]));
    }
    return status;
}

/* What it keeps of answers in this way of calling alone. */
static const char *kept_in(const char *fault, const void *ctx,
                           const mxo_call *call)
{
    const int is_there = strncmp(fault, "second-keeps-", 13) == 0
                             ? ctx != contexts
                             : call->stream != NULL;

    return strncmp(fault, "second-keeps-", 13) != 0 &&
                   strncmp(fault, "stream-keeps-", 13) != 0
               ? fault
           : is_there ? fault + 7
                      : "";
}

static mxo_status state_run(void *ctx, const mxo_call *call, mxo_text why)
{
    const char *const given = getenv("FAULT");
    int end = ANSWERED;

    if (strcmp(call->op, "format.decode") == 0) {
        const mxo_status status =
            decode_run(given == NULL ? "" : given, call, why);
        (void)finds_refused(given == NULL ? "" : given, 1, (int)status);
        return status;
    }
    if (given != NULL && is_late(given)) {
        return late_run(given, ctx, call, why);
    }
    if (call->n_in == 0 || call->n_out == 0 || call->out[0].n_bytes < 4) {
        const mxo_status status = example_run(ctx, call, why);
        (void)finds_refused(given == NULL ? "" : given, 0, (int)status);
        return status;
    }
    uint8_t *out = (uint8_t *)call->out[0].buffer + call->out[0].offset;
    uint8_t former[4];
    const int guard_is_made = has_slope(out - 4);
    const int was_made = has_slope(out);

    memcpy(former, out, sizeof former);
    const mxo_status status =
        dequant_run(given == NULL ? "" : given, ctx, call, &end, why);
    const int was_there = memcmp(former, out, sizeof former) == 0;

    if (status == MXO_OK && call->n_in == 2) {
        const char *fault = given == NULL ? "" : given;
        keep_answer(kept_in(fault, ctx, call), bytes_of(&call->in[0]),
                    bytes_of(&call->in[1]), bytes_of(&call->out[0]));
        out[0] ^= (uint8_t)finds_other(fault, 0);
    }
    out[0] ^= (uint8_t)finds_refused(given == NULL ? "" : given, 0, end);
    if (status == MXO_OK && is_fault("keeps-place")) {
        keep_by_place(&call->in[0], bytes_of(&call->out[0]));
    }
    if (status == MXO_OK && is_fault("first-of-size") &&
        is_new(call->in[0].n_bytes)) {
        out[0] ^= 1;
    }
    if (status == MXO_OK &&
        is_spoilt(ctx, call, guard_is_made, was_made || was_there)) {
        out[0] ^= 1;
    }
    kept.size = is_fault("last-size") ? call->in[0].n_bytes : kept.size;
    if (call->out[0].n_bytes >= sizeof answer.bytes) {
        answer.buffer = call->out[0].buffer;
        answer.place = out;
        memcpy(answer.bytes, out, sizeof answer.bytes);
    }
    return status;
}

static mxo_status state_open(void **ctx, int device, mxo_text why)
{
    if (is_fault("ok-one-context") && n_open > 0) {
        return refuse(MXO_E_DEVICE, why, "it has one context");
    }
    const mxo_status status = example_open(ctx, device, why);

    *ctx = latest = &contexts[n_open % 64];
    n_open += status == MXO_OK;
    return status;
}

static mxo_status state_alloc(void *ctx, uint64_t n_bytes, void **buffer)
{
    spoil_late(is_fault("alloc-meanwhile"));
    n_allocs++;
    return example_alloc(ctx, n_bytes, buffer);
}

static mxo_status state_upload(void *ctx, void *buffer, uint64_t offset,
                               const void *src, uint64_t n_bytes, mxo_text why)
{
    spoil_late(is_fault("upload-meanwhile"));
    return example_upload(ctx, buffer, offset, src, n_bytes, why);
}

static void state_close(void *ctx)
{
    n_closed++;
    example_close(ctx);
}

/* A subject that takes legal calls alone ends where it is given another. */
static mxo_status legal_run(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_status status = state_run(ctx, call, why);

    if (status != MXO_OK) {
        abort();
    }
    return status;
}

static const char legal_limits[] =
    "{\"*\":{\"calls\":\"legal\"},\"dequant.mx\":{\"params\":{\"rule\":["
    "\"ocp\"],"
    "\"element\":[\"e2m1\"],\"to\":[\"bf16\"],\"axis\":[\"-1\"],\"zero\":["
    "\"keep\"]"
    "}},\"format.decode\":{\"params\":{\"format\":[\"e2m1\"],\"to\":[\"f32\"],"
    "\"nan\":[\"quiet\"],\"zero\":[\"keep\"],\"packed\":[\"0\"]}}}";

MXO_EXPORT const mxo_backend *mxo_backend_entry(uint32_t abi_version);

const mxo_backend *mxo_backend_entry(uint32_t abi_version)
{
    static const char *const ops[] = {"dequant.mx", "format.decode", NULL};
    static mxo_backend table;
    const char *const given = getenv("FAULT");
    const int given_graphs = given != NULL && has_graphs(given);

    table = *example_entry(abi_version);
    table.name = "state";
    table.ops = ops;
    table.open = state_open;
    table.close = state_close;
    table.alloc = state_alloc;
    table.upload = state_upload;
    table.dealloc = state_dealloc;
    table.run = is_fault("ok-legal-alone") ? legal_run : state_run;
    table.limits = is_fault("ok-legal-alone") ? legal_limits : NULL;
    table.synchronize = late_synchronize;
    table.set_threads = state_set_threads;
    table.strides = NULL;
    if (!is_fault("graph-to-none") && !is_fault("graph-from-none") &&
        !is_fault("ok-graph-streams") && !is_fault("stream-keeps-head")) {
        table.stream_open = NULL;
        table.stream_close = NULL;
        table.stream_upload = NULL;
    }
    table.launch = given_graphs ? moved_launch : NULL;
    table.capture = given_graphs ? moved_capture : NULL;
    table.graph_close = given_graphs ? moved_close : NULL;
    table.workspace = NULL;
    return &table;
}
