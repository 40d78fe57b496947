/* SPDX-License-Identifier: Apache-2.0 */
/* See report.h. Lines wrap at the terminal's width, under their label. */
#include "report.h"

#include "answer.h"
#include "base/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 14, NARROWEST = 40, SENTENCE = 4096 };

/* A label and a text that wraps at blanks. */
static void row(const char *label, const char *text)
{
    const int given = cli_columns(stdout);
    const int width = (given < NARROWEST ? NARROWEST : given) - LABEL;

    printf("  %-*s", LABEL - 2, label);
    for (;;) {
        int n = (int)strlen(text);
        if (n <= width || strchr(text, ' ') == NULL) {
            break;
        }
        n = width;
        while (n > 0 && text[n] != ' ') {
            n--;
        }
        if (n == 0) { /* one long word */
            n = (int)strcspn(text, " ");
        }
        printf("%.*s\n%*s", n, text, LABEL, "");
        text += n;
        text += *text == ' ';
    }
    printf("%s\n", text);
}

void select_say_activations(const mxo_select_config *c, mxo_sel_backend b,
                            mxo_text text)
{
    mxo_sel_quant q;

    mxo_select_quant(c, b, &q);
    if (q.from_layer) {
        (void)snprintf(text.ptr, text.size, "as the layer says");
    } else if (q.dtype == NULL) {
        (void)snprintf(text.ptr, text.size, "16 bits, not quantised");
    } else if (q.static_scale) {
        (void)snprintf(text.ptr, text.size, "%s, one static scale per tensor",
                       q.dtype);
    } else if (q.shape[0] > 0) {
        (void)snprintf(text.ptr, text.size,
                       "%s, a scale per %d, quantised on the fly", q.dtype,
                       q.shape[1]);
    } else {
        (void)snprintf(text.ptr, text.size,
                       "%s, an E8M0 scale per 32, quantised on the fly%s%s",
                       q.dtype,
                       strcmp(q.dtype, "mxfp8") != 0 ? ""
                       : q.is_scale_swizzled         ? ", scales swizzled"
                                                     : ", scales linear",
                       q.mx_alignment > 0 ? ", K padded to 256" : "");
    }
}

static void head(const select_question *q)
{
    const mxo_select_config *c = &q->config;
    const char *kind =
        mxo_select_word(MXO_SEL_WORDS_PLATFORM, (int)c->platform);

    printf("%s on %s",
           q->model != NULL ? q->model->name : "an MXFP4 mixture of experts",
           q->hardware != NULL ? q->hardware->name : "");
    printf("%s%s", q->hardware != NULL ? " (" : "", kind);
    if (c->gfx != NULL) {
        printf(":%s", c->gfx);
    } else if (c->platform == MXO_SEL_PLATFORM_cuda && c->major >= 0) {
        printf(":%d.%d", c->major, c->minor);
    }
    printf("%s\n", q->hardware != NULL ? ")" : "");
    row("vLLM", mxo_select_word(MXO_SEL_WORDS_VERSION, (int)c->version));
    row("", mxo_select_word(MXO_SEL_WORDS_SOURCE, (int)c->version));
}

static void print_trace(const mxo_select_config *c, const mxo_select_result *r)
{
    char text[SENTENCE];
    char label[16];

    puts(r->n_trace > 0 ? "asked, in this order:" : "no class was asked");
    for (uint32_t i = 0; i < r->n_trace; i++) {
        const mxo_sel_candidate *t = &r->trace[i];
        const char *key = mxo_select_word(MXO_SEL_WORDS_KEY, t->key);
        (void)snprintf(label, sizeof label, "%" PRIu32, i + 1);
        (void)snprintf(text, sizeof text, "%s / %s%s%s",
                       mxo_select_word(MXO_SEL_WORDS_BACKEND, t->backend),
                       mxo_select_word(MXO_SEL_WORDS_EXPERTS, t->experts),
                       key == NULL ? "" : ", key ", key == NULL ? "" : key);
        row(label, text);
        (void)mxo_select_reason_text(c, t, (mxo_text){text, sizeof text});
        row("", t->reason == MXO_SEL_BECAUSE_NONE ? "taken" : text);
    }
}

/* "hidden 2880 -> 3072 (a multiple of 256)" */
static void say_size(mxo_text text, const char *name, int64_t from, int64_t to,
                     int64_t alignment)
{
    char before[64] = "";
    char after[64] = "";

    if (from > 0) {
        (void)snprintf(before, sizeof before, " %" PRId64 " -> %" PRId64, from,
                       to);
    }
    if (alignment > 1) {
        (void)snprintf(after, sizeof after, " (a multiple of %" PRId64 ")",
                       alignment);
    }
    (void)snprintf(text.ptr, text.size, "%s%s%s", name, before,
                   alignment > 1 ? after : " (as it is)");
}

static void print_sizes(const select_page *page)
{
    const mxo_select_config *c = &page->q->config;
    char text[256];
    int64_t h;
    int64_t i;

    mxo_select_alignment(c, page->r->backend, &h, &i);
    if (page->asked_hidden != c->hidden) {
        (void)snprintf(
            text, sizeof text, "%s wants hidden %" PRId64 " as %" PRId64,
            c->parallel.all2all_backend, page->asked_hidden, c->hidden);
        row("transport", text);
    }
    say_size((mxo_text){text, sizeof text}, "hidden", c->hidden,
             page->r->hidden, h);
    row("sizes", text);
    say_size((mxo_text){text, sizeof text}, "intermediate", c->intermediate,
             page->r->intermediate, i);
    row("", text);
}

static void print_conversion(const mxo_select_config *c, mxo_sel_backend b)
{
    char text[SENTENCE];
    mxo_sel_failure f;
    const char *id = mxo_select_conversion(c, b, &f);
    int n;

    if (id != NULL) {
        (void)snprintf(text, sizeof text, "%s: %s", id,
                       mxo_select_conversion_text(id));
    } else {
        n = snprintf(text, sizeof text, "none: later vLLM raises %s: ",
                     mxo_select_error_type(f.error));
        (void)mxo_select_failure_text(
            c, &f, (mxo_text){text + n, sizeof text - (size_t)n});
    }
    row("byte order", text);
    if (id != NULL && strcmp(id, "convert/humming") == 0 &&
        c->platform == MXO_SEL_PLATFORM_cuda && c->major == 9) {
        row("", "Humming's WGMMA path on SM90 wants humming/mma=wgmma; which "
                "path it takes is not decided here");
    }
    /* Dequantised weights are no order of bytes. */
    if (id != NULL && strcmp(id, "convert/dequantised_bf16") != 0) {
        (void)snprintf(text, sizeof text,
                       "layout.convert:conversion=%s,experts=1,inter=256,"
                       "hidden=256,bias=%d",
                       strchr(id, '/') + 1, c->has_bias);
        row("as a case", text);
    }
}

static void print_weights(const select_page *page)
{
    mxo_sel_weights w;
    mxo_sel_failure f;
    char text[256];

    if (page->q->experts == 0 || page->q->config.hidden == 0 ||
        page->q->config.intermediate == 0) {
        return;
    }
    mxo_select_weights(&page->q->config, page->r->backend, page->q->experts, &w,
                       &f);
    (void)snprintf(text, sizeof text,
                   "w13 u8 [%" PRId64 ", %" PRId64 ", %" PRId64
                   "], w2 u8 [%" PRId64 ", %" PRId64 ", %" PRId64
                   "], scales a 16th of that; pads are zero bytes",
                   w.w13[0], w.w13[1], w.w13[2], w.w2[0], w.w2[1], w.w2[2]);
    row("allocated", text);
}

int select_say_kernel(const mxo_select_config *c, const mxo_select_result *r,
                      mxo_text text)
{
    mxo_sel_kernel k;
    mxo_sel_quant q;

    if (c->version == MXO_SEL_2025_08) {
        return 0;
    }
    mxo_select_kernel(c, r->backend, r->experts, &k);
    mxo_select_quant(c, r->backend, &q);
    (void)snprintf(text.ptr, text.size, "%s%s, %s%s%s%s",
                   k.monolithic ? "monolithic (routes by itself)" : "modular",
                   k.batched ? ", batched activations" : "",
                   k.inplace ? "may work in place" : "not in place",
                   k.skip_forward_padding ? ", no padding before it" : "",
                   q.scheme == NULL ? "" : ", scheme ",
                   q.scheme == NULL ? "" : q.scheme);
    return 1;
}

static void print_kernel(const select_page *page)
{
    char text[256];

    if (select_say_kernel(&page->q->config, page->r,
                          (mxo_text){text, sizeof text})) {
        row("kernel", text);
    }
}

static void print_tile(const select_page *page)
{
    const select_question *q = page->q;
    mxo_sel_failure f;
    char text[64];

    if (q->config.version != MXO_SEL_2025_08) {
        return;
    }
    if (page->r->backend == MXO_SEL_BACKEND_TRITON) {
        (void)snprintf(text, sizeof text, "%d",
                       mxo_select_num_warps(&q->config, &f));
        row("num_warps", f.error == MXO_SEL_ERROR_NONE ? text : "malformed");
    } else if (q->tokens > 0 && q->top_k > 0 && q->experts > 0) {
        (void)snprintf(
            text, sizeof text, "%d tokens",
            mxo_select_tile_tokens(q->tokens, q->top_k, q->experts, &f));
        row("tile", text);
    }
}

/* Fields that the question left open, and the defaults taken. */
static void print_defaults(const select_question *q)
{
    const mxo_select_config *c = &q->config;
    char text[256];

    if (!q->has_version) {
        row("assumed", "the newest version known here (--vllm names another)");
    }
    if (q->model == NULL) {
        (void)snprintf(
            text, sizeof text, "no --model: %s, %s, routing %s, %s biases",
            mxo_select_word(MXO_SEL_WORDS_ENTRY, (int)c->entry),
            mxo_select_word(MXO_SEL_WORDS_ACTIVATION, (int)c->activation),
            mxo_select_word(MXO_SEL_WORDS_ROUTING, (int)c->routing),
            c->has_bias ? "with" : "without");
        row(q->has_version ? "assumed" : "", text);
    }
    if ((c->platform == MXO_SEL_PLATFORM_cuda && c->major < 0) ||
        (c->platform == MXO_SEL_PLATFORM_rocm && c->gfx == NULL)) {
        row("not known", c->platform == MXO_SEL_PLATFORM_cuda
                             ? "the capability (cuda:9.0 says it)"
                             : "the gfx name (rocm:gfx942 says it)");
    }
    if (q->model != NULL && q->model->has_bias && !c->has_bias) {
        row("note", "the model has biases; here they are said to be missing");
    }
}

static void print_assumed(const select_page *page)
{
    const mxo_select_config *c = &page->q->config;
    char text[SENTENCE];
    size_t n = 0;
    int set = 0;

    print_defaults(page->q);

    text[0] = '\0';
    for (int e = 1; e < MXO_SEL_N_ENV; e++) {
        if (c->env[e] != NULL && n < sizeof text - 300) {
            n += (size_t)snprintf(
                text + n, sizeof text - n, "%s%s=%.200s", set++ > 0 ? ", " : "",
                mxo_select_word(MXO_SEL_WORDS_ENV, e), c->env[e]);
        }
    }
    row("environment", set > 0 ? text
                       : page->reads_env
                           ? "the real one; none of vLLM's variables is set"
                           : "not read, taken as unset (--env reads it)");
    if (set > 0 && page->reads_env) {
        row("", "(the real environment was read)");
    }
    n = 0;
    text[0] = '\0';
    for (int l = 0; l < MXO_SEL_N_LIBRARIES; l++) {
        if ((c->libraries >> l & 1) == 0) {
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                                  n > 0 ? ", " : "all but ",
                                  mxo_select_word(MXO_SEL_WORDS_LIBRARY, l));
        }
    }
    (void)snprintf(text + n, sizeof text - n, "%s",
                   n > 0 ? " (--with=NAME, --without=NAME)"
                         : "every library (--without=NAME)");
    row("installed", text);
}

/* Effect of AITER, where it was only switched off. */
static void print_aiter(const select_page *page)
{
    mxo_select_config c = page->q->config;
    mxo_select_result r;
    char text[256];

    for (uint32_t i = 0; i < page->r->n_trace; i++) {
        if (page->r->trace[i].hint && c.platform == MXO_SEL_PLATFORM_rocm) {
            c.env[MXO_SEL_ENV_VLLM_ROCM_USE_AITER] = "1";
        }
    }
    mxo_select(&c, &r);
    if (r.failure.error != MXO_SEL_ERROR_NONE ||
        r.backend == page->r->backend) {
        return;
    }
    (void)snprintf(text, sizeof text,
                   "with VLLM_ROCM_USE_AITER=1 it would be %s",
                   mxo_select_word(MXO_SEL_WORDS_BACKEND, (int)r.backend));
    row("note", text);
}

static void print_choice(const select_page *page)
{
    const mxo_select_config *c = &page->q->config;
    const mxo_select_result *r = page->r;
    const char *experts =
        mxo_select_word(MXO_SEL_WORDS_EXPERTS, (int)r->experts);
    const char *key = mxo_select_word(MXO_SEL_WORDS_KEY, (int)r->key);
    char text[256];

    row("backend", mxo_select_word(MXO_SEL_WORDS_BACKEND, (int)r->backend));
    row("experts", experts == NULL ? "no class" : experts);
    select_say_activations(c, r->backend, (mxo_text){text, sizeof text});
    row("activations", text);
    if (key != NULL) {
        row("key", key);
    }
    (void)snprintf(
        text, sizeof text, "mxoracle profiles show %s",
        r->backend == MXO_SEL_BACKEND_NONE
            ? "NONE"
            : mxo_select_word(MXO_SEL_WORDS_BACKEND, (int)r->backend));
    row("numerics", text);
    print_sizes(page);
    print_conversion(c, r->backend);
    print_weights(page);
    print_kernel(page);
    print_tile(page);
}

void select_print_text(const select_page *page)
{
    head(page->q);
    if (page->r->failure.error == MXO_SEL_ERROR_NONE) {
        print_choice(page);
    } else {
        row("backend", "none: vLLM refuses");
    }
    print_aiter(page);
    print_assumed(page);
    if (page->why) {
        print_trace(&page->q->config, page->r);
    }
}

static json_t *variables(const mxo_select_config *c)
{
    json_t *o = json_object();

    for (int e = 1; e < MXO_SEL_N_ENV; e++) {
        if (c->env[e] != NULL) {
            json_object_set_new(o, mxo_select_word(MXO_SEL_WORDS_ENV, e),
                                json_string(c->env[e]));
        }
    }
    return o;
}

static void add_choice(json_t *o, const select_page *page)
{
    const mxo_select_config *c = &page->q->config;
    const mxo_sel_backend b = page->r->backend;
    mxo_sel_failure f;
    mxo_sel_kernel k;
    mxo_sel_quant q;
    char text[256];

    mxo_select_kernel(c, b, page->r->experts, &k);
    mxo_select_quant(c, b, &q);
    select_say_activations(c, b, (mxo_text){text, sizeof text});
    const char *id = mxo_select_conversion(c, b, &f);
    json_object_set_new(o, "activations", json_string(text));
    json_object_set_new(o, "conversion",
                        id != NULL ? json_string(id) : answer_failure(c, &f));
    json_object_set_new(o, "ocp_mx_scheme",
                        q.scheme == NULL ? json_null() : json_string(q.scheme));
    json_object_set_new(o, "kernel",
                        json_pack("{s:b, s:b, s:b, s:b}", "monolithic",
                                  k.monolithic, "batched", k.batched, "inplace",
                                  k.inplace, "skip_forward_padding",
                                  k.skip_forward_padding));
}

void select_print_json(const select_page *page)
{
    const mxo_select_config *c = &page->q->config;
    json_t *o = json_pack(
        "{s:o, s:o, s:o, s:s, s:o, s:b, s:o}", "profile",
        answer_word(MXO_SEL_WORDS_VERSION, (int)c->version), "fn",
        answer_word(MXO_SEL_WORDS_ENTRY, (int)c->entry), "platform",
        answer_word(MXO_SEL_WORDS_PLATFORM, (int)c->platform), "moe_backend",
        c->moe_backend, "env", variables(c), "reads_env", page->reads_env,
        "result", answer_result(c, page->r));

    if (page->r->failure.error == MXO_SEL_ERROR_NONE) {
        add_choice(o, page);
    }
    if (page->why) {
        json_object_set_new(o, "trace", answer_trace(c, page->r));
    }
    (void)json_dumpf(o, stdout, JSON_INDENT(2));
    (void)fputc('\n', stdout);
    json_decref(o);
}
