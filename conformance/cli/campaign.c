/* SPDX-License-Identifier: Apache-2.0 */
/* See campaign.h. */
#include "campaign.h"

#include "base/cli.h"
#include "base/memory.h"
#include "base/prng.h"
#include "base/stop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix_number(uint64_t digest, uint64_t n)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%" PRIu64, n);
    return fnv_text(digest, text);
}

uint64_t campaign_shard_of(const case_item *item, uint64_t n_shards)
{
    uint64_t mix = mix_number(fnv_text(FNV_START, item->text), item->seed);

    return splitmix64(&mix) % n_shards + 1;
}

int campaign_excludes(const run_options *o, const char *text)
{
    char op[OP_WORD];

    (void)snprintf(op, sizeof op, "%.*s", (int)strcspn(text, ":"), text);
    for (int i = 0; i < o->n_excludes; i++) {
        if (cli_matches(o->excludes[i], op) ||
            cli_matches(o->excludes[i], text)) {
            return 1;
        }
    }
    return 0;
}

/* A filter that meets nothing is a misspelled one. */
static int check_excludes(const run_options *o, const case_list *all)
{
    for (int k = 0; k < o->n_excludes; k++) {
        int n = 0;
        for (size_t i = 0; i < all->n && n == 0; i++) {
            char op[OP_WORD];
            (void)snprintf(op, sizeof op, "%.*s",
                           (int)strcspn(all->item[i].text, ":"),
                           all->item[i].text);
            n = cli_matches(o->excludes[k], op) ||
                cli_matches(o->excludes[k], all->item[i].text);
        }
        if (n == 0) {
            return cli_refuse("--exclude=%s leaves out nothing",
                              o->excludes[k]);
        }
    }
    return EXIT_PASS;
}

/* Keep what is of this shard; the texts of the others are freed. */
static void sort_out(campaign_plan *p, const run_options *o, case_list *all,
                     uint64_t digest)
{
    uint64_t place = 0;

    for (size_t i = 0; i < all->n; i++) {
        const case_item item = all->item[i];
        if (campaign_excludes(o, item.text)) {
            free(item.text);
            continue;
        }
        digest = mix_number(fnv_text(digest, item.text), item.seed);
        if (o->n_shards > 0 &&
            campaign_shard_of(&item, o->n_shards) != o->shard) {
            free(item.text);
        } else {
            p->index[p->cases.n] = place;
            p->cases.item[p->cases.n++] = item;
        }
        place++;
    }
    all->n = 0;
    (void)snprintf(p->digest, sizeof p->digest, "%016" PRIx64, digest);
}

/* What shards must have in common beside their cases: returns a digest of it.
   A journal's run has the same device and processes, too. */
static uint64_t describe_subjects(campaign_plan *p, const run_options *o,
                                  const backend_list *chosen)
{
    uint64_t names = FNV_START;
    uint64_t files = FNV_START;
    char common[448];

    (void)snprintf(common, sizeof common, "%s%s%s%s --also-rule=%s",
                   o->soak_option, o->beside_option,
                   o->strict ? " --strict" : "",
                   o->allow_declines ? " --allow-declines" : "", o->also);
    (void)snprintf(p->options, sizeof p->options,
                   "--device=%d --isolate=%d --plugin-symbols=%d%s",
                   o->pool.device, (int)o->pool.isolate, o->global_symbols,
                   common);
    for (int i = 0; i < chosen->n; i++) {
        names = fnv_text(names, chosen->ref[i].name);
        files = mix_number(files, backend_digest(&chosen->ref[i]));
    }
    (void)snprintf(p->subjects, sizeof p->subjects, "%016" PRIx64, files);
    return mix_number(fnv_text(names, common), files);
}

static int leave_reading(void *unused)
{
    (void)unused;
    (void)fprintf(stderr,
                  "mxoracle: stopped by %s before it had read what to judge\n",
                  stop_reason());
    return stop_exit_status(EXIT_BROKEN);
}

int campaign_plan_make(campaign_plan *p, const run_options *o,
                       const backend_list *chosen)
{
    case_list all = {0};

    stop_leave_with(leave_reading, NULL);
    stop_work_begin(); /* a list from a pipe may have no end */
    int status = run_options_cases(o, &all);

    stop_work_end();
    memset(p, 0, sizeof *p);
    const uint64_t digest = describe_subjects(p, o, chosen);
    if (status == EXIT_PASS) {
        status = check_excludes(o, &all);
    }
    p->cases.item = memory_need_zeros(all.n + 1, sizeof *p->cases.item);
    p->index = memory_need_zeros(all.n + 1, sizeof *p->index);
    p->cases.capacity = all.n + 1;
    if (status == EXIT_PASS) {
        sort_out(p, o, &all, digest);
    }
    case_list_clear(&all);
    if (status == EXIT_PASS && p->cases.n == 0 && o->n_shards == 0) {
        status = cli_refuse("no case is left");
    }
    return status;
}

static void mix_text(char digest[24], const char *text)
{
    const uint64_t mix = fnv_text(fnv_text(FNV_START, digest), text);

    (void)snprintf(digest, 24, "%016" PRIx64, mix);
}

void campaign_plan_add_code(campaign_plan *p, const backend_info *infos, int n)
{
    for (int i = 0; i < n; i++) {
        if (infos[i].code[0] != '\0') {
            mix_text(p->digest, infos[i].code);
            mix_text(p->subjects, infos[i].code);
        }
    }
}

void campaign_plan_clear(campaign_plan *p)
{
    case_list_clear(&p->cases);
    free(p->index);
    memset(p, 0, sizeof *p);
}
