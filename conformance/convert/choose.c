/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vLLM's choice on a machine: the conversion and the sizes it rounds up to,
 * from the selection oracle.
 */
#include "job.h"

#include "select/options.h"

#include <mxoracle/layout.h>
#include <mxoracle/select_nvfp4.h>

#include <stdio.h>
#include <string.h>

enum { WORDS = 512 };

/*
 * "h100,vllm=oracle-2026-03,moe_backend=marlin": the platform, then keys. The
 * question borrows the words. A shard's number of ranks is vLLM's tp.
 */
static int ask(char *words, const char *model, uint64_t tp, select_question *q,
               mxo_text why)
{
    const int has_model = strstr(words, "model=") != NULL;
    char *rest = words;
    char ranks[24];
    int status;

    select_question_init(q);
    char *word = strsep(&rest, ",");

    status = select_set(q, "platform", word, why);
    if (status == 0 && !has_model) {
        status = select_set(q, "model", model, why);
    }
    if (status == 0 && tp > 1) {
        (void)snprintf(ranks, sizeof ranks, "%llu", (unsigned long long)tp);
        status = select_set(q, "tp", ranks, why);
    }
    while (status == 0 && (word = strsep(&rest, ",")) != NULL) {
        char *value = strchr(word, '=');
        if (value == NULL) {
            (void)snprintf(why.ptr, why.size, "\"%s\" is not KEY=VALUE", word);
            return -1;
        }
        *value++ = '\0';
        status = select_set(q, word, value, why);
    }
    return status == 0 ? select_finish(q, why) : -1;
}

/* The question that --for asks, in words, which it borrows. */
static int read_question(const char *text, const char *model, const shard *s,
                         char words[WORDS], select_question *q, mxo_text why)
{
    if (strlen(text) >= WORDS) {
        (void)snprintf(why.ptr, why.size, "--for is too long");
        return -1;
    }
    memcpy(words, text, strlen(text) + 1);
    if (ask(words, model, s->tp, q, why) != 0) {
        return -1;
    }
    if (q->config.parallel.tp_size != (int64_t)s->tp) {
        (void)snprintf(why.ptr, why.size,
                       "--for says tp=%lld: --tp=RANK/%lld says whose shard",
                       (long long)q->config.parallel.tp_size,
                       (long long)q->config.parallel.tp_size);
        return -1;
    }
    return 0;
}

/* The loader of modular experts rounds sizes up for trtllm-gen (profiles-nvidia
   13), the one before it and CUTLASS's round none. */
static void round_nvfp4(mxo_sel_version version, int is_trtllm, shard *s)
{
    const int is_rounded = is_trtllm && version != MXO_SEL_2025_08;

    s->round_hidden = is_rounded ? 256 : 1;
    s->round_inter = is_rounded ? 64 : 1;
}

/* Of a layer of NVFP4, which vLLM chooses for by two variables; assumed is the
   one that was not said. */
static int choose_nvfp4(const char *text, char conversion[JOB_NAME], shard *s,
                        char assumed[JOB_ASSUMED], mxo_text why)
{
    char words[WORDS];
    select_question q;
    mxo_sel_failure failure;

    if (read_question(text, "generic", s, words, &q, why) != 0) {
        return -1;
    }
    const char **const use =
        &q.config.env[MXO_SEL_ENV_VLLM_USE_FLASHINFER_MOE_FP4];
    const char *const word =
        q.config.env[MXO_SEL_ENV_VLLM_FLASHINFER_MOE_BACKEND];
    const int is_throughput = word != NULL && strcmp(word, "throughput") == 0;
    const int is_latency = word != NULL && strcmp(word, "latency") == 0;

    *use = *use == NULL ? "1" : *use;
    const int has_cutlass =
        mxo_select_nvfp4_available(&q.config, MXO_SEL_NVFP4_CUTLASS, &failure);
    if (!has_cutlass || (word != NULL && !is_throughput && !is_latency)) {
        (void)snprintf(why.ptr, why.size,
                       "the NVFP4 kernels that are known here, FlashInfer's "
                       "trtllm-gen and CUTLASS, do not run with --for=%s; "
                       "--to=NAME converts for one all the same",
                       text);
        return -1;
    }
    /* trtllm-gen has kernels of SM10x alone. */
    const int is_trtllm = !is_throughput && q.config.major == 10;
    if (is_latency && !is_trtllm) {
        (void)snprintf(why.ptr, why.size,
                       "trtllm-gen's NVFP4 kernels are for SM10x: not for %s",
                       text);
        return -1;
    }
    round_nvfp4(q.config.version, is_trtllm, s);
    (void)snprintf(assumed, JOB_ASSUMED, "%s",
                   word != NULL ? ""
                   : is_trtllm  ? "VLLM_FLASHINFER_MOE_BACKEND=latency"
                                : "VLLM_FLASHINFER_MOE_BACKEND=throughput");
    (void)snprintf(conversion, JOB_NAME, "%s",
                   is_trtllm ? "trtllm_nvfp4" : "cutlass_nvfp4");
    return 0;
}

int job_choose(const char *text, const char *model, char conversion[JOB_NAME],
               shard *s, mxo_text why)
{
    static const char family[] = "convert/";
    char words[WORDS];
    select_question q;
    mxo_select_result r;
    mxo_sel_failure failure;
    int64_t hidden;
    int64_t inter;

    memset(&failure, 0, sizeof failure);
    if (read_question(text, model, s, words, &q, why) != 0) {
        return -1;
    }
    mxo_select(&q.config, &r);
    if (r.failure.error != 0) {
        (void)mxo_select_failure_text(&q.config, &r.failure, why);
        return -1;
    }
    const char *id = mxo_select_conversion(&q.config, r.backend, &failure);

    if (id == NULL || strncmp(id, family, sizeof family - 1) != 0) {
        (void)snprintf(why.ptr, why.size, "vLLM has no conversion for %s",
                       text);
        return -1;
    }
    mxo_select_alignment(&q.config, r.backend, &hidden, &inter);
    (void)snprintf(conversion, JOB_NAME, "%s", id + sizeof family - 1);
    s->round_hidden = hidden < 1 ? 1 : (uint64_t)hidden;
    s->round_inter = inter < 1 ? 1 : (uint64_t)inter;
    return 0;
}

/*
 * vLLM's model of a layer: its loader for gpt-oss takes fused tensors with the
 * rows of w13 in turn, that of DeepSeek-V4 its names, one everything else.
 */
static const char *model_of(const moe_layer *l)
{
    return l->style->is_interleaved                   ? "gpt-oss-120b"
           : strcmp(l->style->id, "deepseek_v4") == 0 ? "deepseek-v4"
                                                      : "generic";
}

static int follow_layer(const char *text, const moe_layer *l,
                        char conversion[JOB_NAME], shard *s,
                        char assumed[JOB_ASSUMED], mxo_text why)
{
    const char *const word = model_of(l);

    if (l->globals != NULL) {
        return choose_nvfp4(text, conversion, s, assumed, why);
    }
    if (strstr(text, "model=") == NULL) {
        (void)snprintf(assumed, JOB_ASSUMED, "loaded as %s", word);
    }
    return job_choose(text, word, conversion, s, why);
}

int job_follow(const char *text, const checkpoint *in,
               char conversion[JOB_NAME], shard *s, char assumed[JOB_ASSUMED],
               mxo_text why)
{
    layer_list list = {0};
    int status = 1;

    assumed[0] = '\0';
    if (layers_find(in, ROWS_UNTOLD, &list, why) == 0 && list.n > 0) {
        status =
            follow_layer(text, &list.layer[0], conversion, s, assumed, why);
    }
    layers_clear(&list);
    return status;
}

/* Length of "key=value" at p up to a separator. */
static size_t entry_length(const char *p, char separator)
{
    const char *end = strchr(p, separator);

    return end == NULL ? strlen(p) : (size_t)(end - p);
}

/* The entry "key=value" of a parameter in name, or NULL. */
static const char *entry_of(const char *name, const char *key, size_t n)
{
    for (const char *p = strchr(name, '/'); p != NULL; p = strchr(p, '/')) {
        if (strncmp(++p, key, n) == 0) {
            return p;
        }
    }
    return NULL;
}

void job_spell(const char *conversion, char name[JOB_NAME])
{
    const mxo_conversion_row *row = mxo_conversion_find(conversion);
    size_t used;
    size_t n_given = 0;
    size_t n_known = 0;

    (void)snprintf(name, JOB_NAME, "%s", conversion);
    for (const char *p = conversion; *p != '\0'; p++) {
        n_given += *p == '/';
    }
    if (row == NULL) {
        return;
    }
    char text[JOB_NAME];

    used = (size_t)snprintf(text, sizeof text, "%s", row->id);
    for (const char *p = row->params; *p != '\0';) {
        const size_t whole = entry_length(p, ' ');
        const size_t key = entry_length(p, '=') + 1;
        const char *given = entry_of(conversion, p, key);
        const size_t n = given == NULL ? 0 : entry_length(given, '/');
        n_known += given != NULL;
        if (given != NULL && (n != whole || strncmp(given, p, n) != 0) &&
            used + n + 2 < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, "/%.*s",
                                     (int)n, given);
        }
        p += whole;
        p += *p == ' ';
    }
    /* An unknown text is left to be refused. */
    if (n_known == n_given) {
        (void)snprintf(name, JOB_NAME, "%s", text);
    }
}

int job_is_layout(const job *j, const char *claimed)
{
    char name[JOB_NAME];

    if (claimed == NULL) {
        return 0;
    }
    job_spell(claimed, name);
    return strcmp(name, j->conversion) == 0;
}
