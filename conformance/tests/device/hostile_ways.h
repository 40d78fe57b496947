/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hostile plugin's uploads, clock, graphs and workspaces.  Included where
 * is_fault() and the example are.
 */
#ifndef MXO_TESTS_HOSTILE_WAYS_H
#define MXO_TESTS_HOSTILE_WAYS_H

static uint64_t n_uploads;

/* An upload that is copied when anything else comes. */
static struct {
    void *buffer;
    const void *src;
    uint64_t offset;
    uint64_t n;
} copied_late;

static void copy_late(void *ctx)
{
    if (copied_late.n > 0) {
        (void)example_upload(ctx, copied_late.buffer, copied_late.offset,
                             copied_late.src, copied_late.n,
                             (mxo_text){NULL, 0});
    }
    copied_late.n = 0;
}

static mxo_status upload_late(void *ctx, void *buffer, uint64_t offset,
                              const void *src, uint64_t n)
{
    copy_late(ctx);
    copied_late.buffer = buffer;
    copied_late.src = src;
    copied_late.offset = offset;
    copied_late.n = n;
    return MXO_OK;
}

static mxo_status hostile_upload(void *ctx, void *buffer, uint64_t offset,
                                 const void *src, uint64_t n, mxo_text why)
{
    n_uploads++;
    if (is_fault("at-upload-late")) {
        return upload_late(ctx, buffer, offset, src, n);
    }
    if (is_fault("at-upload-refuses") && n_uploads > 9) {
        return refuse(MXO_E_UNSUPPORTED, why, "no such bytes");
    }
    if (is_fault("at-upload-fails") && n_uploads == 9) {
        return refuse(MXO_E_DEVICE, why, "lost on its way");
    }
    return example_upload(ctx, buffer, offset, src,
                          is_fault("short-upload") && n > 0 ? n - 1 : n, why);
}

static void hostile_dealloc(void *ctx, void *buffer)
{
    copy_late(ctx);
    example_dealloc(ctx, buffer);
}

/* Is it asked for one run as it was before, with nothing sent since? */
static int is_unfed(uint32_t repeat)
{
    static uint64_t before;
    const int is = is_fault("time-fed") && repeat == 1 && before == n_uploads;

    before = n_uploads;
    return is;
}

/* A clock that stands still behind the fourth time, or that counts in another
   unit where a first time is there to warm up. */
static void time_later(double *seconds)
{
    static int n;

    n++;
    if (is_fault("time-stops") && n > 4) {
        *seconds = 1e-8;
    } else if (is_fault("time-warms-up")) {
        (void)usleep(n == 1 ? 100000 : 1000);
        *seconds *= 1e-3;
    }
}

static mxo_status hostile_time(void *ctx, const mxo_call *call, uint32_t repeat,
                               double *seconds, mxo_text why)
{
    static const struct {
        const char *fault;
        double seconds;
        int is_each;
    } rows[] = {{"time-tiny", 1e-9, 1},   {"time-huge", 1e3, 0},
                {"time-nan", NAN, 0},     {"time-zero", 0, 0},
                {"time-atom", 5e-324, 0}, {"time-minus", -1, 0},
                {"time-nothing", 1e-6, 1}};
    const mxo_tensor *y = tensor(call->out, call->n_out, "y");

    if (is_fault("time-wordless")) {
        return MXO_E_DEVICE;
    }
    if (is_unfed(repeat)) {
        return refuse(MXO_E_DEVICE, why, "nothing was sent since");
    }
    for (uint32_t i = 0; i < repeat && !is_fault("time-nothing"); i++) {
        (void)example_run(ctx, call, why);
    }
    if (is_fault("time-spoils") && y != NULL) {
        memset((uint8_t *)y->buffer + y->offset, 0x11, (size_t)y->n_bytes);
    }
    *seconds = 1e-3 * repeat;
    time_later(seconds);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_fault(rows[i].fault)) {
            *seconds = rows[i].seconds * (rows[i].is_each ? repeat : 1);
        }
    }
    return MXO_OK;
}

static mxo_status hostile_time_copy(void *ctx, uint64_t n, uint32_t repeat,
                                    double *seconds, mxo_text why)
{
    (void)ctx;
    (void)n;
    (void)why;
    (void)usleep((is_fault("time-copy") ? 1000 : 100) * repeat);
    *seconds = (is_fault("time-copy") ? 1e-9 : 1e-5) * repeat;
    return MXO_OK;
}

static mxo_status hostile_launch(void *ctx, void *graph, void *stream,
                                 mxo_text why)
{
    (void)ctx;
    (void)graph;
    (void)stream;
    (void)why;
    end_at(is_fault("at-launch-none") ? NULL : getenv("FAULT"), "launch");
    return MXO_OK;
}

static mxo_status hostile_capture(void *ctx, const mxo_call *call, void **graph,
                                  mxo_text why)
{
    (void)ctx;
    (void)call;
    (void)graph;
    return refuse(MXO_E_UNSUPPORTED, why, "no such call");
}

static mxo_status hostile_workspace(void *ctx, const mxo_call *call,
                                    uint64_t *n_bytes, mxo_text why)
{
    *n_bytes = UINT64_MAX - 4096;
    if (is_fault("at-workspace-refuses")) {
        return hostile_capture(ctx, call, NULL, why);
    }
    return is_fault("at-workspace-vast") ? MXO_OK
                                         : refuse(MXO_E_DEVICE, why, "lost");
}

/* Only the faults of a graph are made with one: the others are run()'s. */
static void choose_ways(mxo_backend *t, const char *fault)
{
    const int refuses = strncmp(fault, "at-capture", 10) == 0;
    const int is_graph = refuses || strncmp(fault, "at-launch", 9) == 0;

    t->strides = is_fault("strides-of-y") ? "*" : NULL;
    t->stream_open = NULL;
    t->stream_close = NULL;
    t->stream_upload = NULL;
    t->launch = is_graph ? hostile_launch : NULL;
    t->capture = refuses ? hostile_capture : is_graph ? t->capture : NULL;
    t->uncaptured = is_fault("at-capture-declared")
                        ? "dequant.mx:rule=shift|ocp"
                    : is_fault("at-capture-other") ? "dequant.mx:rule=shift"
                                                   : NULL;
    t->graph_close = is_graph ? t->graph_close : NULL;
    t->workspace =
        strncmp(fault, "at-workspace", 12) == 0 ? hostile_workspace : NULL;
}

#endif
