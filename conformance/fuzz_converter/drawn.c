/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing checkpoints, their text, plainer ones; see drawn.h. */
#include "drawn.h"

#include "base/number.h"
#include "base/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TRIES = 20000, GRANULE = 32, MOST_BYTES = 1 << 18 };

static const struct {
    const char *name;
    uint64_t plainest;
    uint64_t most;
} fields[DRAWN_FIELDS] = {
#define MXO_FIELD(name, plainest, most) {#name, plainest, most},
#include "fields.def"
#undef MXO_FIELD
};

const name_style *drawn_style_for(const char *conversion)
{
    static const struct {
        const char *id;
        int interleaved;
    } rows[] = {
#define MXO_ROWS(id, interleaved) {id, interleaved},
#define MXO_GROUP(id, elements)
#include "convert/sources.def"
#undef MXO_GROUP
#undef MXO_ROWS
    };
    const size_t n = strcspn(conversion, "/");

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strlen(rows[i].id) == n &&
            strncmp(rows[i].id, conversion, n) == 0) {
            return layer_style(rows[i].interleaved ? "gpt_oss" : "w1w3");
        }
    }
    return layer_style("gpt_oss");
}

const name_style *drawn_style(const char *names)
{
    const name_style *s = layer_style(names);

    return s == NULL || s->is_transposed ? NULL : s; /* NVFP4's */
}

/* One of a list, the earlier ones more often. */
static uint64_t one_of(prng *random, const uint64_t *list, uint64_t n)
{
    const uint64_t a = prng_below(random, n);
    const uint64_t b = prng_below(random, n);

    return list[a < b ? a : b];
}

/* Granules, odd multiples, powers of two and their neighbours. */
static uint64_t draw_size(prng *random)
{
    static const uint64_t some[] = {8, 4, 3,  1,  2,  5,  6,  12, 16,
                                    7, 9, 20, 24, 11, 15, 17, 32};

    return GRANULE * one_of(random, some, sizeof some / sizeof some[0]);
}

static void draw_fields(const drawn_rules *rules, prng *random, drawn *d)
{
    static const uint64_t layers[] = {1, 2, 3};
    static const uint64_t experts[] = {2, 3, 4, 1, 5, 8, 11, 16};
    static const uint64_t first[] = {0, 9, 1, 10, 99};
    static const uint64_t ranks[] = {1, 2, 3, 4};
    static const uint64_t bias_types[] = {0, 1, 2};
    uint64_t *f = d->field;
    const int has_types = d->style->is_split && !d->style->is_stacked;

    f[DRAWN_layers] = one_of(random, layers, 3);
    f[DRAWN_files] = 1 + prng_below(random, 4);
    f[DRAWN_extra] = prng_below(random, fields[DRAWN_extra].most + 1);
    f[DRAWN_first] = one_of(random, first, 5);
    f[DRAWN_tp] = rules->with_tp ? one_of(random, ranks, 4) : 1;
    f[DRAWN_ep] = rules->with_ep ? one_of(random, ranks, 4) : 1;
    f[DRAWN_tp_rank] = prng_below(random, f[DRAWN_tp]);
    f[DRAWN_ep_rank] = prng_below(random, f[DRAWN_ep]);
    f[DRAWN_biased] = prng_below(random, 4) != 0;
    f[DRAWN_signed] = has_types && prng_below(random, 3) == 0;
    f[DRAWN_e8m0] = has_types && prng_below(random, 3) == 0;
    f[DRAWN_experts] = one_of(random, experts, 8);
    f[DRAWN_hidden] = draw_size(random);
    f[DRAWN_inter] = draw_size(random);
    f[DRAWN_bias_type] = f[DRAWN_biased] ? one_of(random, bias_types, 3) : 0;
    for (int i = 0; i < DRAWN_FIELDS; i++) {
        f[i] = rules->is_fixed[i] ? rules->fixed[i] : f[i];
    }
}

void drawn_shard(const drawn_rules *rules, const drawn *d, shard *s)
{
    *s = (shard){.tp_rank = d->field[DRAWN_tp_rank],
                 .tp = d->field[DRAWN_tp],
                 .ep_rank = d->field[DRAWN_ep_rank],
                 .ep = d->field[DRAWN_ep],
                 .round_hidden = rules->round[0],
                 .round_inter = rules->round[1]};
}

int drawn_is_legal(const drawn_rules *rules, const drawn *d)
{
    char prefix[] = "";
    char text[400];
    const mxo_text why = {text, sizeof text};
    const uint64_t *f = d->field;
    const moe_layer l = {.prefix = prefix,
                         .style = d->style,
                         .group = GRANULE,
                         .experts = f[DRAWN_experts],
                         .hidden = f[DRAWN_hidden],
                         .inter = f[DRAWN_inter],
                         .biased = (int)f[DRAWN_biased]};
    mxo_tensor out[MOVER_OUTPUTS];
    layer_part p;
    shard s;

    drawn_shard(rules, d, &s);
    for (int i = 0; i < DRAWN_FIELDS; i++) {
        if (rules->is_fixed[i] && f[i] != rules->fixed[i]) {
            return 0;
        }
    }
    if ((d->style->is_stacked && (f[DRAWN_signed] || f[DRAWN_e8m0])) ||
        f[DRAWN_bias_type] > 2 * f[DRAWN_biased]) {
        return 0;
    }
    return s.tp_rank < s.tp && s.ep_rank < s.ep && f[DRAWN_layers] > 0 &&
           f[DRAWN_experts] > 0 && f[DRAWN_files] > 0 &&
           f[DRAWN_hidden] % GRANULE == 0 && f[DRAWN_hidden] > 0 &&
           f[DRAWN_inter] % GRANULE == 0 && f[DRAWN_inter] > 0 &&
           layer_part_of(&l, &s, &p, why) == 0 &&
           mover_infer(rules->mover, &p, l.biased, p.experts, out, why) >= 0;
}

/* Bytes of codes, about; a process per checkpoint shall cost more. */
static uint64_t size_of(const drawn_rules *rules, const drawn *d)
{
    const uint64_t *f = d->field;
    const uint64_t h = f[DRAWN_hidden] + rules->round[0] - 1;
    const uint64_t i = f[DRAWN_inter] + rules->round[1] - 1;

    return f[DRAWN_layers] * f[DRAWN_experts] * h * i * 3 / 2;
}

int drawn_draw(const drawn_rules *rules, prng *random, drawn *d, mxo_text why)
{
    uint64_t most = MOST_BYTES;

    for (int i = 0; i < TRIES; i++) {
        d->style = rules->style;
        draw_fields(rules, random, d);
        /* Sizes that are fixed may leave none that small. */
        most += i % 100 == 99 ? most / 8 : 0;
        if (size_of(rules, d) <= most && drawn_is_legal(rules, d)) {
            return 0;
        }
    }
    (void)say(MXO_E_SHAPE, why,
              "%.60s takes none of the checkpoints that can be drawn; "
              "--pad=H,I rounds sizes up, --fix=KEY=VALUE names one",
              rules->conversion);
    return -1;
}

void drawn_print(const drawn *d, char text[DRAWN_TEXT])
{
    size_t used = (size_t)snprintf(text, DRAWN_TEXT, "names=%s", d->style->id);

    for (int i = 0; i < DRAWN_FIELDS; i++) {
        const int is_size =
            i == DRAWN_experts || i == DRAWN_hidden || i == DRAWN_inter;
        if ((is_size || d->field[i] != fields[i].plainest) &&
            used < DRAWN_TEXT) {
            used +=
                (size_t)snprintf(text + used, DRAWN_TEXT - used, ",%s=%" PRIu64,
                                 fields[i].name, d->field[i]);
        }
    }
}

static int field_called(const char *name, size_t n)
{
    for (int i = 0; i < DRAWN_FIELDS; i++) {
        if (strlen(fields[i].name) == n &&
            strncmp(fields[i].name, name, n) == 0) {
            return i;
        }
    }
    return -1;
}

/* One "key=value" of n characters. */
static int parse_entry(const char *p, size_t n, drawn *d,
                       int is_set[DRAWN_FIELDS], mxo_text why)
{
    char value[40];
    const size_t key = strcspn(p, "=");
    const int i = key < n ? field_called(p, key) : -1;
    const int is_names = key == 5 && strncmp(p, "names", 5) == 0;

    if (key < n && n - key - 1 < sizeof value) {
        memcpy(value, p + key + 1, n - key - 1);
        value[n - key - 1] = '\0';
        if (is_names && drawn_style(value) != NULL) {
            d->style = drawn_style(value);
            return 0;
        }
        if (i >= 0 && number_natural(value, fields[i].plainest != 0,
                                     fields[i].most, &d->field[i])) {
            if (is_set != NULL) {
                is_set[i] = 1;
            }
            return 0;
        }
    }
    (void)say(MXO_E_PARAM, why, "\"%.*s\" says nothing of a checkpoint",
              (int)(n < 80 ? n : 80), p);
    return -1;
}

int drawn_parse(const char *text, drawn *d, int is_set[DRAWN_FIELDS],
                mxo_text why)
{
    for (const char *p = text; *p != '\0';) {
        const size_t n = strcspn(p, ",");
        if (parse_entry(p, n, d, is_set, why) != 0) {
            return -1;
        }
        p += n;
        p += *p == ',' && p[1] != '\0';
    }
    return 0;
}

/* The number-th smaller value of a size: granules first. */
static uint64_t smaller(uint64_t value, uint64_t granule, uint64_t number)
{
    const uint64_t to = granule * (number + 1);

    return to < value ? to : 0;
}

int drawn_plainer(const drawn *d, int number, drawn *plainer)
{
    int left = number;

    for (int i = 0; i < DRAWN_FIELDS; i++) {
        const uint64_t value = d->field[i];
        const uint64_t granule =
            i == DRAWN_hidden || i == DRAWN_inter ? GRANULE : 1;
        uint64_t to = fields[i].plainest;
        *plainer = *d;
        if (i < DRAWN_experts) {
            if (value != to && left-- == 0) {
                plainer->field[i] = to;
                return 1;
            }
            continue;
        }
        for (uint64_t k = 0; (to = smaller(value, granule, k)) > 0; k++) {
            if (left-- == 0) {
                plainer->field[i] = to;
                return 1;
            }
        }
    }
    return 0;
}
