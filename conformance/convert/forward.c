/* SPDX-License-Identifier: Apache-2.0 */
/* From checkpoint order to a backend's order. */
#include "base/cli.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/stop.h"
#include "base/tensors.h"
#include "globals.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 640 };

/* Number of the tensor an output of the conversion belongs to; -1: a mask. */
static int tensor_of(const char *output)
{
    static const char *const names[LAYER_TENSORS] = {
        "w13", "w13_scale", "w13_bias", "w2", "w2_scale", "w2_bias",
    };

    for (int i = 0; i < LAYER_TENSORS; i++) {
        if (strcmp(names[i], output) == 0) {
            return i;
        }
    }
    return -1;
}

/* A fused tensor keeps its name; split ones get the fused names of vLLM. */
static void output_name(const moe_layer *l, int i, char name[NAME_ROOM])
{
    const name_style *style =
        l->style->is_split ? layer_style("w13") : l->style;

    (void)snprintf(name, NAME_ROOM, "%s%s", l->prefix, style->fused[i]);
}

/* A size that is off a multiple can be rounded up. */
static void name_remedy(mxo_text why)
{
    char sentence[400];

    if (strstr(why.ptr, "multiple") == NULL &&
        strstr(why.ptr, "divisible") == NULL &&
        strstr(why.ptr, "== 0") == NULL) {
        return;
    }
    (void)snprintf(sentence, sizeof sentence, "%s", why.ptr);
    (void)say(MXO_E_SHAPE, why,
              "%s; --pad=H,I rounds the sizes up, --for=PLATFORM as vLLM does",
              sentence);
}

static int plan_layer(job *j, size_t number, mxo_text why)
{
    const moe_layer *l = &j->layers.layer[number];
    mxo_tensor out[MOVER_OUTPUTS];
    layer_part p;
    int n_biases = 0;

    j->first_output[number] = j->sink.n;
    if (layer_part_of(l, &j->part, &p, why) != 0) {
        return -1;
    }
    const int n = mover_infer(&j->mover, &p, l->biased, p.experts, out, why);

    if (n < 0) {
        name_remedy(why);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        char name[NAME_ROOM];
        if (tensor_of(out[i].name) < 0) {
            continue;
        }
        output_name(l, tensor_of(out[i].name), name);
        n_biases += tensor_of(out[i].name) % W2 == 2;
        if (sink_add(&j->sink, name, dtype_file_name(out[i].dtype), out[i].rank,
                     out[i].shape, out[i].n_bytes) == SIZE_MAX) {
            (void)say(MXO_E_NOMEM, why, "no memory");
            return -1;
        }
    }
    if (l->biased && n_biases == 0) {
        cli_line(stderr, 2,
                 "mxoracle: note: the loader of %s drops biases: those of "
                 "layer %.200s are not in OUT",
                 j->conversion, l->prefix);
    }
    j->first_global[number] = j->sink.n;
    return globals_plan_forward(j, l, &p, why);
}

const expectation *job_expected(const char *conversion)
{
    static const expectation rows[] = {
#define MXO_ROWS(id, interleaved) {id, interleaved, 32, 0},
#define MXO_GROUP(id, elements) {id, 0, elements, 1},
#include "sources.def"
#undef MXO_GROUP
#undef MXO_ROWS
    };
    const size_t n = strcspn(conversion, "/");

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strlen(rows[i].id) == n &&
            strncmp(rows[i].id, conversion, n) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Scales of the other format are no matter of a note: the codes would be
   multiplied by other numbers. */
int job_check_group(const char *conversion, const moe_layer *l, mxo_text why)
{
    const expectation *e = job_expected(conversion);
    const uint64_t group = e == NULL ? 32 : e->group;

    if (l->group == group) {
        return 0;
    }
    (void)say(MXO_E_SHAPE, why,
              "%.100s takes scales of %d elements (%s), %.300s is %s: one for "
              "%d (%s)",
              conversion, (int)group, group == 16 ? "NVFP4" : "MXFP4",
              layer_scale_name(l), l->scale_dtype, (int)l->group,
              l->group == 16 ? "NVFP4" : "MXFP4");
    return -1;
}

static int check_source(const job *j, mxo_text why)
{
    const expectation *e = job_expected(j->conversion);
    const moe_layer *first = &j->layers.layer[0];

    for (size_t i = 0; i < j->layers.n; i++) {
        if (job_check_group(j->conversion, &j->layers.layer[i], why) != 0 ||
            layer_check_biases(&j->layers.layer[i], "BF16", why) != 0) {
            return -1;
        }
    }
    if (e == NULL || e->interleaved == first->style->is_interleaved) {
        return 0;
    }
    if (e->up_first) {
        (void)say(MXO_E_SHAPE, why,
                  "%s takes gates, then ups; layer %.200s has them in turn",
                  e->id, first->prefix);
        return -1;
    }
    cli_line(stderr, 2,
             "mxoracle: note: %s takes w13 as %s, layer %.200s has %s", e->id,
             e->interleaved ? "gate and up rows in turn" : "gates, then ups",
             first->prefix,
             e->interleaved ? "gates, then ups" : "gate and up rows in turn");
    return 0;
}

/* Does a name lie below the experts of a layer? */
static int is_among_experts(const layer_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++) {
        const moe_layer *l = &list->layer[i];
        const char *fused = l->style->is_split ? "" : l->style->fused[W13];
        const char *dot = strrchr(fused, '.');
        char below[NAME_ROOM];
        const int n = snprintf(below, sizeof below, "%s%.*s.", l->prefix,
                               dot == NULL ? 0 : (int)(dot - fused), fused);

        if (n > 8 && n < NAME_ROOM && strcmp(below + n - 8, "experts.") == 0 &&
            strncmp(name, below, (size_t)n) == 0) {
            return 1;
        }
    }
    return 0;
}

/* A part that is not known may be one without which the others are wrong. */
static void name_strangers(const job *j)
{
    const char *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < j->in->n; i++) {
        const char *name = j->in->tensor[i].name;
        if (!j->layers.owned[i] && is_among_experts(&j->layers, name)) {
            first = first == NULL ? name : first;
            n++;
        }
    }
    if (n > 0) {
        cli_line(stderr, 2,
                 "mxoracle: note: %.300s is no tensor of experts that is "
                 "known: copied as it is%s",
                 first, n > 1 ? ", and others like it" : "");
    }
}

int job_plan_forward(job *j, mxo_text why)
{
    if (layers_find(j->in, j->rows, &j->layers, why) != 0) {
        return -1;
    }
    if (j->layers.n == 0) {
        (void)say(MXO_E_SHAPE, why,
                  "the checkpoint has no layer of MXFP4 or NVFP4 experts by "
                  "any name that is known");
        return -1;
    }
    if (layers_check_rows(&j->layers, why) != 0 || check_source(j, why) != 0) {
        return -1;
    }
    name_strangers(j);
    const expectation *e = job_expected(j->conversion);

    j->part.up_first = e != NULL && e->up_first;
    j->first_output = memory_need_zeros(j->layers.n, sizeof *j->first_output);
    j->first_global = memory_need_zeros(j->layers.n, sizeof *j->first_global);
    for (size_t i = 0; i < j->layers.n; i++) {
        if (plan_layer(j, i, why) != 0) {
            return -1;
        }
    }
    return job_plan_rest(j, why);
}

static json_t *layer_object(const job *j, const moe_layer *l)
{
    layer_part p;
    char text[64];

    if (layer_part_of(l, &j->part, &p, (mxo_text){text, sizeof text}) != 0) {
        return NULL;
    }
    json_t *o = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b}", "prefix",
        l->prefix, "names", l->style->id, "weight_dtype", l->weight_dtype,
        "scale_dtype", l->scale_dtype, "experts", (json_int_t)p.experts,
        "hidden", (json_int_t)p.hidden, "inter", (json_int_t)p.inter,
        "padded_hidden", (json_int_t)p.padded_hidden, "padded_inter",
        (json_int_t)p.padded_inter, "biased", l->biased);

    if (strcmp(l->bias_dtype, "BF16") != 0) {
        json_object_set_new(o, "bias_dtype", json_string(l->bias_dtype));
    }
    if (l->style->is_transposed) {
        json_object_set_new(
            o, "rows",
            json_string(l->order == ROWS_IN_TURN ? "in_turn" : "halves"));
    }
    if (l->globals != NULL) {
        json_object_set_new(o, "globals", json_string(l->globals->scales));
        json_object_set_new(o, "global_rank", json_integer(l->global_rank));
    }
    return o;
}

json_t *job_metadata(const job *j)
{
    json_t *layers = json_array();
    json_t *meta = json_object();

    for (size_t i = 0; i < j->layers.n; i++) {
        json_array_append_new(layers, layer_object(j, &j->layers.layer[i]));
    }
    char *text = json_dumps(layers, JSON_COMPACT);

    json_object_set_new(meta, "format", json_string("pt"));
    json_object_set_new(meta, META_LAYOUT, json_string(j->conversion));
    json_object_set_new(meta, META_VERSION, json_string(mxo_version()));
    json_object_set_new(meta, META_DIGEST, json_string(j->digest));
    json_object_set_new(meta, META_LAYERS, json_string(text));
    free(text);
    json_decref(layers);
    return meta;
}

/* Biases of another type, every one of which has a code of BF16. */
static void convert_run(uint8_t *to, const char *dtype, const row_run *run)
{
    for (uint64_t row = 0; row < run->rows; row++) {
        (void)bias_convert("BF16", to + 2 * row, dtype,
                           run->from + row * run->pitch);
    }
    checkpoint_forget(run->from, run->rows * run->pitch);
}

/* Rows of a tensor to theirs, in pieces: of rows, or where the bytes of a row
   lie apart of columns.  -1: it is stopped between them. */
static int stage_run(job *j, const char *bias_dtype, uint8_t *to,
                     uint64_t pitch, const row_run *run, mxo_text why)
{
    const int is_whole = run->step == 1;
    const uint64_t n = is_whole ? run->rows : run->bytes;
    const uint64_t most = JOB_PIECE / (is_whole ? pitch : run->rows) + 1;

    for (uint64_t at = 0; at < n; at += most) {
        const uint64_t some = n - at < most ? n - at : most;
        row_run part = *run;

        part.from += at * (is_whole ? run->pitch : run->step);
        *(is_whole ? &part.rows : &part.bytes) = some;
        if (job_stopped(j, why)) {
            return -1;
        }
        if (bias_dtype != NULL) {
            convert_run(to + at * pitch, bias_dtype, &part);
        } else {
            run_copy(to + at * (is_whole ? pitch : 1), pitch, &part);
        }
    }
    return 0;
}

/* Tensor i of experts e.. as the logical tensor, zeros in the pads. */
static int stage(job *j, const moe_layer *l, const layer_part *p, int i,
                 uint64_t e, uint64_t n, mxo_text why)
{
    const uint64_t pitch = part_row_bytes(p, i);
    const uint64_t each = part_rows(p, i) * pitch;
    const char *const bias = i % W2 == 2 && strcmp(l->bias_dtype, "BF16") != 0
                                 ? l->bias_dtype
                                 : NULL;
    uint8_t *to = mover_staging(&j->mover, n * each, why);
    int padded = p->padded_hidden != p->hidden || p->padded_inter != p->inter;

    if (to == NULL) {
        return -1;
    }
    padded = padded || (i == W2_BIAS && j->part.tp_rank != 0);
    if (padded) {
        memset(to, 0, (size_t)(n * each));
    }
    for (uint64_t k = 0; k < n; k++) {
        row_run run[2];
        const int n_runs = part_runs(l, p, &j->part, i, e + k, run);
        for (int r = 0; r < n_runs; r++) {
            uint8_t *first = to + k * each + run[r].to_row * pitch;
            if (stage_run(j, bias, first, pitch, &run[r], why) != 0) {
                return -1;
            }
        }
    }
    stop_work_begin();
    const int status = mover_upload(&j->mover, i, n * each, why);

    stop_work_end();
    return status;
}

/* The mask that follows output i, in host memory; NULL: all is defined. */
static int take_mask(job *j, const mxo_tensor *out, int i, int n_out,
                     uint8_t **mask, mxo_text why)
{
    const int follows = i + 1 < n_out && strstr(out[i + 1].name, "_valid");

    *mask = NULL;
    if (!follows || j->sink.expected == NULL) {
        return 0;
    }
    *mask = malloc((size_t)out[i + 1].n_bytes + 1);
    return *mask != NULL && mover_download(&j->mover, i + 1, *mask,
                                           out[i + 1].n_bytes, why) == 0
               ? 0
               : -1;
}

static int put_outputs(job *j, size_t first, const mxo_tensor *out, int n_out,
                       uint64_t e, uint64_t n, mxo_text why)
{
    size_t at = first;

    for (int i = 0; i < n_out; i++) {
        uint8_t *mask;
        if (tensor_of(out[i].name) < 0) {
            continue;
        }
        uint8_t *bytes = mover_staging(&j->mover, out[i].n_bytes, why);
        stop_work_begin();
        int bad = bytes == NULL ||
                  mover_download(&j->mover, i, bytes, out[i].n_bytes, why) ||
                  take_mask(j, out, i, n_out, &mask, why) != 0;
        stop_work_end();
        if (!bad) {
            bad = job_put(j, at++, e * (out[i].n_bytes / n), bytes,
                          out[i].n_bytes, mask, why);
            free(mask);
        }
        if (bad) {
            return -1;
        }
    }
    return 0;
}

/* Add the layer and expert to the mover's refusal. */
static void name_layer(const moe_layer *l, uint64_t e, uint64_t n, mxo_text why)
{
    char sentence[320];

    (void)snprintf(sentence, sizeof sentence, "%s", why.ptr);
    (void)say(MXO_E_SHAPE, why, "layer %.200s, experts %llu to %llu: %s",
              l->prefix, (unsigned long long)e, (unsigned long long)(e + n - 1),
              sentence);
}

static int run_layer(job *j, size_t number, mxo_text why)
{
    const moe_layer *l = &j->layers.layer[number];
    layer_part p;
    mxo_tensor out[MOVER_OUTPUTS];

    if (layer_part_of(l, &j->part, &p, why) != 0) {
        return -1;
    }
    uint64_t step = job_experts_at_a_time(j, &p);

    if (!mover_takes(&j->mover, &p, l->biased, step) ||
        (p.experts % step != 0 &&
         !mover_takes(&j->mover, &p, l->biased, p.experts % step))) {
        step = p.experts;
    }
    for (uint64_t e = 0; e < p.experts; e += step) {
        const uint64_t n = p.experts - e < step ? p.experts - e : step;
        int bad = job_stopped(j, why);
        for (int i = 0; i < LAYER_TENSORS && !bad; i++) {
            if (i % W2 != 2 || l->biased) {
                bad = stage(j, l, &p, i, e, n, why);
            }
        }
        bad = bad || job_stopped(j, why);
        stop_work_begin();
        const int refused =
            !bad && mover_forward(&j->mover, &p, l->biased, n, why) != 0;
        stop_work_end();
        if (refused) {
            name_layer(l, p.first_expert + e, n, why);
            bad = 1;
        }
        const int n_out =
            bad ? -1 : mover_infer(&j->mover, &p, l->biased, n, out, why);
        if (n_out < 0 || put_outputs(j, j->first_output[number], out, n_out, e,
                                     n, why) != 0) {
            return -1;
        }
        job_progress(j);
    }
    return globals_run_forward(j, l, &p, j->first_global[number], why);
}

int job_run_forward(job *j, mxo_text why)
{
    for (size_t i = 0; i < j->layers.n; i++) {
        if (run_layer(j, i, why) != 0) {
            return -1;
        }
    }
    return job_copy_rest(j, why);
}
