/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What vLLM would do on a machine: the conversion and the sizes it rounds up
 * to, from the selection oracle.
 */
#include "job.h"

#include "select/options.h"

#include <mxoracle/layout.h>

#include <stdio.h>
#include <string.h>

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

int job_choose(const char *text, const char *model, char conversion[JOB_NAME],
               shard *s, mxo_text why)
{
    static const char family[] = "convert/";
    char words[512];
    select_question q;
    mxo_select_result r;
    mxo_sel_failure failure;
    int64_t hidden;
    int64_t inter;

    memset(&failure, 0, sizeof failure);
    if (strlen(text) >= sizeof words) {
        (void)snprintf(why.ptr, why.size, "--for is too long");
        return -1;
    }
    memcpy(words, text, strlen(text) + 1);
    if (ask(words, model, s->tp, &q, why) != 0) {
        return -1;
    }
    if (q.config.parallel.tp_size != (int64_t)s->tp) {
        (void)snprintf(why.ptr, why.size,
                       "--for says tp=%lld: --tp=RANK/%lld says whose shard",
                       (long long)q.config.parallel.tp_size,
                       (long long)q.config.parallel.tp_size);
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

/* Length of "key=value" at p up to a separator. */
static size_t entry_length(const char *p, char separator)
{
    const char *end = strchr(p, separator);

    return end == NULL ? strlen(p) : (size_t)(end - p);
}

/* Is "key=value" of a parameter in name, as it is? */
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
    /* What is not understood is left to be refused. */
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
