/* SPDX-License-Identifier: Apache-2.0 */
/* See speed.h. */
#include "speed.h"

#include "bench/bench.h"
#include "options.h"

#include <stdlib.h>

enum { MOST_QUESTIONS = 2048, MOST_SAMPLES = 101, ROUNDS = 64 };

/* Every device by every name of the version, "auto" first. */
static int collect(select_question *questions)
{
    static const char *const models[] = {"gpt-oss-120b", "deepseek-v4"};
    int n = 0;

    for (int d = 0; hardware_at(d) != NULL; d++) {
        for (int name = -1; n < MOST_QUESTIONS; name++) {
            select_question *q = &questions[n];
            char why[256] = "";
            const mxo_text text = {why, sizeof why};
            select_question_init(q);
            const char *word = mxo_select_name_at(&q->config, name);
            if (name >= 0 && word == NULL) {
                break;
            }
            if (select_set(q, "platform", hardware_at(d)->alias, text) == 0 &&
                select_set(q, "model", models[n % 2], text) == 0 &&
                select_finish(q, text) == 0) {
                q->config.moe_backend = word == NULL ? "auto" : word;
                n++;
            }
        }
    }
    return n;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

double selection_rate(int n_samples)
{
    select_question *questions = calloc(MOST_QUESTIONS, sizeof *questions);
    const int n = questions == NULL ? 0 : collect(questions);
    double samples[MOST_SAMPLES];
    uint64_t chosen = 0;

    n_samples = n_samples > MOST_SAMPLES ? MOST_SAMPLES : n_samples;
    for (int s = 0; s < n_samples; s++) {
        const double start = bench_now();
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < n; i++) {
                mxo_select_result r;
                mxo_select(&questions[i].config, &r);
                chosen += (uint64_t)r.backend;
            }
        }
        samples[s] = (double)n * ROUNDS / (bench_now() - start);
    }
    free(questions);
    qsort(samples, (size_t)n_samples, sizeof samples[0], ascending);
    return chosen > 0 ? samples[n_samples / 2] : 0;
}
