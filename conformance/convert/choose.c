/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What vLLM would do on a machine: the conversion and the sizes it rounds up
 * to, from the selection oracle.
 */
#include "job.h"

#include "../select/options.h"

#include <stdio.h>
#include <string.h>

/* "h100,vllm=oracle-2026-03,moe_backend=marlin": the platform, then keys. */
static int ask(const char *text, select_question *q, mxo_text why)
{
    char words[512];
    char *rest = words;
    int status;

    (void)snprintf(words, sizeof words, "%s", text);
    select_question_init(q);
    char *word = strsep(&rest, ",");

    status = select_set(q, "platform", word, why);
    if (status == 0 && strstr(text, "model=") == NULL) {
        status = select_set(q, "model", "gpt-oss-120b", why);
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

int job_choose(const char *text, char conversion[JOB_NAME], shard *s,
               mxo_text why)
{
    static const char family[] = "convert/";
    select_question q;
    mxo_select_result r;
    mxo_sel_failure failure;
    int64_t hidden;
    int64_t inter;

    memset(&failure, 0, sizeof failure);
    if (ask(text, &q, why) != 0) {
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
