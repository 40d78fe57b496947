/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metadata of a converted file about its layers, as `convert --from` and
 * `diagnose` read it: refused by a sentence, or every tensor goes back within
 * its bytes, and a byte of it is placed.
 *
 * An input is two bytes for the length of the data, then the name of the
 * conversion, a zero byte, the text of mxoracle.layers, a zero byte, the JSON
 * object of the tensors.
 */
#include "convert/job.h"
#include "layout/converted.h"
#include "scratch.h"
#include "target.h"

#include <mxoracle/layout.h>
#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 14 };

static void die(const char *what)
{
    (void)fprintf(stderr, "%s\nrepro: mxoracle convert --from on this input\n",
                  what);
    abort();
}

static void go_back(const checkpoint *c, const char *conversion)
{
    char spelled[JOB_NAME];
    char text[600] = "";
    const mxo_text why = {text, sizeof text};
    job j = {.in = c, .part = {0, 1, 0, 1, 1, 1}};
    const char *path = scratch_path("back.safetensors");

    if (strlen(conversion) >= JOB_NAME ||
        mxo_conversion_find(conversion) == NULL) {
        return;
    }
    job_spell(conversion, spelled);
    j.conversion = spelled;
    if (mover_open(&j.mover, mxo_emulator(), spelled, why) != 0) {
        die("the emulator does not open");
    }
    int status = job_plan_back(&j, why);

    if (status == 0) {
        status = sink_create(&j.sink, path, NULL, why) != 0 ||
                         job_run_back(&j, why) != 0
                     ? -1
                     : 0;
    }
    if (status != 0 && text[0] == '\0') {
        die("refused without a word");
    }
    sink_close(&j.sink);
    job_clear(&j);
}

/* The place of a byte in the middle is told, or it is said why not. */
static void place(pair *p, const checkpoint_tensor *t)
{
    char text[400] = "";
    strbuf said = {0};

    p->expected = t->bytes;
    p->actual = t->bytes;
    p->n = t->n_bytes;
    if (pair_is_whole(p, (mxo_text){text, sizeof text})) {
        layout_place(p, p->n / 2, &said);
    } else if (text[0] == '\0') {
        die("no pair, and not a word");
    }
    strbuf_clear(&said);
}

static void diagnose(const checkpoint *c, const char *conversion,
                     const json_t *layers)
{
    size_t k;
    json_t *layer;

    json_array_foreach((json_t *)layers, k, layer)
    {
        for (int i = 0; i < LAYER_TENSORS; i++) {
            converted_tensor t;
            if (!converted_tensor_of(layer, conversion, i, &t)) {
                return;
            }
            const checkpoint_tensor *found = checkpoint_find(c, t.name);
            if (found != NULL && t.has_extent) {
                place(&t.pair, found);
            }
        }
    }
}

/* The header with the two claims in it; NULL if the tensors are no object. */
static char *make_header(const char *conversion, const char *layers,
                         const char *tensors)
{
    json_t *header = json_loads(tensors, 0, NULL);
    char *text = NULL;
    json_t *meta =
        json_pack("{s:s, s:s}", META_LAYOUT, conversion, META_LAYERS, layers);

    if (json_is_object(header) && meta != NULL) {
        (void)json_object_set(header, "__metadata__", meta);
        text = json_dumps(header, JSON_COMPACT);
    }
    json_decref(meta);
    json_decref(header);
    return text;
}

static void read_file(const char *path, const char *conversion,
                      const char *layers_text)
{
    char why[512] = "";
    checkpoint c;

    if (checkpoint_open(path, &c, (mxo_text){why, sizeof why}) != 0) {
        return;
    }
    json_t *layers = json_loads(layers_text, 0, NULL);

    if (json_array_size(layers) <= 4) {
        go_back(&c, conversion);
        diagnose(&c, conversion, layers);
    }
    json_decref(layers);
    checkpoint_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char text[LONGEST + 3] = "";
    const char *part[3];

    if (n < 2) {
        return 0;
    }
    memcpy(text, bytes + 2, n - 2 < LONGEST ? n - 2 : LONGEST);
    part[0] = text;
    for (int i = 1; i < 3; i++) {
        part[i] = part[i - 1] + strlen(part[i - 1]) + 1;
        if (part[i] >= text + LONGEST) {
            return 0;
        }
    }
    char *header = make_header(part[0], part[1], part[2]);

    if (header != NULL) {
        read_file(scratch_tensors("converted.safetensors", header,
                                  strlen(header),
                                  bytes[0] + 256u * (bytes[1] & 63u)),
                  part[0], part[1]);
    }
    free(header);
    return 0;
}
