/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole table, platforms by backends.  In a terminal and as Markdown a
 * cell is short: the type of activations where the backend is chosen, else a
 * word for why not.  CSV has a line per cell with everything.
 */
#include "report.h"

#include "base/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 24, FIRST = 33, CELL = 12, BELOW = 2 };

typedef struct matrix {
    const select_question *q;
    const hardware *columns[MOST_COLUMNS];
    int n_columns;
} matrix;

static const char *short_reason(const mxo_select_config *c,
                                const mxo_sel_failure *f)
{
    static const char *const words[MXO_SEL_N_REASONS] = {
        [MXO_SEL_BECAUSE_DEVICE] = "device",
        [MXO_SEL_BECAUSE_UNGATED] = "ungated",
        [MXO_SEL_BECAUSE_ACTIVATION] = "activation",
        [MXO_SEL_BECAUSE_SCHEME] = "scheme",
        [MXO_SEL_BECAUSE_PARALLEL] = "parallel",
        [MXO_SEL_BECAUSE_ROUTING] = "routing",
        [MXO_SEL_BECAUSE_FORMAT] = "format",
        [MXO_SEL_BECAUSE_INVARIANT] = "invariant",
        [MXO_SEL_BECAUSE_LORA] = "LoRA",
        [MXO_SEL_BECAUSE_HUMMING_FORMAT] = "format",
        [MXO_SEL_BECAUSE_HUMMING_TYPE] = "gemm type",
        [MXO_SEL_BECAUSE_HASH_ROUTING] = "routing",
        [MXO_SEL_BECAUSE_ADJUSTED_ROUTES] = "routing",
        [MXO_SEL_BECAUSE_QUARK] = "no quark",
        [MXO_SEL_BECAUSE_MANY_EXPERTS] = "experts",
        [MXO_SEL_BECAUSE_B12X_BIAS] = "bias",
        [MXO_SEL_BECAUSE_B12X_DTYPE] = "dtype",
        [MXO_SEL_BECAUSE_B12X_SITU] = "situ",
        [MXO_SEL_BECAUSE_B12X_UNINTERLEAVE] = "activation",
        [MXO_SEL_BECAUSE_B12X_INTERMEDIATE] = "sizes",
        [MXO_SEL_BECAUSE_B12X_W4A8] = "activation",
        [MXO_SEL_BECAUSE_B12X_W4A8_SIZES] = "sizes",
        [MXO_SEL_BECAUSE_HUMMING_KIND] = "gemm type",
        [MXO_SEL_BECAUSE_MOE_EP] = "layer"};
    const char *word = words[f->last.reason];

    if (f->error != MXO_SEL_ERROR_UNSUPPORTED || word == NULL) {
        return "refused";
    }
    return f->last.hint && c->platform == MXO_SEL_PLATFORM_rocm ? "AITER off"
                                                                : word;
}

static const char *short_activations(const mxo_select_config *c,
                                     mxo_sel_backend b)
{
    mxo_sel_quant q;

    mxo_select_quant(c, b, &q);
    if (q.from_layer) {
        return "by layer";
    }
    return q.dtype == NULL                      ? "bf16"
           : strncmp(q.dtype, "float8", 6) == 0 ? "fp8"
                                                : q.dtype;
}

/* The question of one cell: backend name i of the version, -1 "auto". */
static int decide(const matrix *m, int column, int i, select_question *q,
                  mxo_select_result *r, mxo_text why)
{
    const char *name = mxo_select_name_at(&m->q->config, i);

    *q = *m->q;
    q->config.moe_backend = name == NULL ? "auto" : name;
    if (select_platform(q, m->columns[column]->alias, why) != 0 ||
        select_finish(q, why) != 0) {
        return -1;
    }
    mxo_select(&q->config, r);
    return 0;
}

static void print_auto(const select_question *q, const mxo_select_result *r,
                       int is_narrow)
{
    mxo_sel_failure f;
    const char *id;

    if (r->failure.error != MXO_SEL_ERROR_NONE) {
        printf("  %-10s none: %s\n", q->platform_text,
               mxo_select_error_type(r->failure.error));
        return;
    }
    id = mxo_select_conversion(&q->config, r->backend, &f);
    printf("  %-10s %s%s(%s)\n", q->platform_text,
           mxo_select_word(MXO_SEL_WORDS_BACKEND, (int)r->backend),
           is_narrow ? "\n               " : " ",
           short_activations(&q->config, r->backend));
    printf("  %-10s   %s\n", "", id != NULL ? id : "no conversion");
}

static void cell(const select_question *q, const mxo_select_result *r,
                 mxo_text text)
{
    if (r->failure.error != MXO_SEL_ERROR_NONE) {
        (void)snprintf(text.ptr, text.size, "- %s",
                       short_reason(&q->config, &r->failure));
    } else {
        (void)snprintf(text.ptr, text.size, "%s",
                       short_activations(&q->config, r->backend));
    }
}

/* Is there room for one cell beside the names? */
static int has_room(void)
{
    return cli_columns(stdout) > FIRST + CELL;
}

/* The name of a row; without room its cells follow below. */
static void print_first(const char *name)
{
    if (has_room()) {
        printf("%-*s", FIRST, name);
    } else {
        printf("%s\n%*s", name, BELOW, "");
    }
}

static int print_stripe(const matrix *m, int from, int to, mxo_text why)
{
    select_question q;
    mxo_select_result r;
    const char *name;

    print_first("moe_backend");
    for (int k = from; k < to; k++) {
        printf(" %-*s", k + 1 < to ? CELL : 0, m->columns[k]->alias);
    }
    putchar('\n');
    for (int i = 0; (name = mxo_select_name_at(&m->q->config, i)) != NULL;
         i++) {
        print_first(name);
        for (int k = from; k < to; k++) {
            char text[32];
            if (decide(m, k, i, &q, &r, why) != 0) {
                return -1;
            }
            cell(&q, &r, (mxo_text){text, sizeof text});
            printf(" %-*s", k + 1 < to ? CELL : 0, text);
        }
        putchar('\n');
    }
    return 0;
}

static int print_text(const matrix *m, mxo_text why)
{
    const int columns = cli_columns(stdout);
    const int room = (columns - (has_room() ? FIRST : BELOW)) / (CELL + 1);
    const int step = room < 1 ? 1 : room;
    select_question q;
    mxo_select_result r;

    puts("auto chooses");
    for (int k = 0; k < m->n_columns; k++) {
        if (decide(m, k, -1, &q, &r, why) != 0) {
            return -1;
        }
        print_auto(&q, &r, columns < 64);
    }
    printf("\nBy name: what activations become,%sor - and why it is refused.\n",
           columns < 64 ? "\n" : " ");
    for (int k = 0; k < m->n_columns; k += step) {
        const int to = k + step < m->n_columns ? k + step : m->n_columns;
        putchar('\n');
        if (print_stripe(m, k, to, why) != 0) {
            return -1;
        }
    }
    return 0;
}

static int print_markdown(const matrix *m, mxo_text why)
{
    select_question q;
    mxo_select_result r;
    const char *name;

    printf("| platform | auto |");
    for (int i = 0; (name = mxo_select_name_at(&m->q->config, i)) != NULL;
         i++) {
        printf(" %s |", name);
    }
    printf("\n| --- | --- |");
    for (int i = 0; mxo_select_name_at(&m->q->config, i) != NULL; i++) {
        printf(" --- |");
    }
    putchar('\n');
    for (int k = 0; k < m->n_columns; k++) {
        if (decide(m, k, -1, &q, &r, why) != 0) {
            return -1;
        }
        printf("| %s | %s |", m->columns[k]->alias,
               r.failure.error != MXO_SEL_ERROR_NONE
                   ? "none"
                   : mxo_select_word(MXO_SEL_WORDS_BACKEND, (int)r.backend));
        for (int i = 0; mxo_select_name_at(&m->q->config, i) != NULL; i++) {
            char text[32];
            if (decide(m, k, i, &q, &r, why) != 0) {
                return -1;
            }
            cell(&q, &r, (mxo_text){text, sizeof text});
            printf(" %s |", text);
        }
        putchar('\n');
    }
    return 0;
}

/* Quotes inside a quoted field are doubled. */
static void csv_text(const char *s)
{
    putchar('"');
    for (; *s != '\0'; s++) {
        printf(*s == '"' ? "\"\"" : "%c", *s);
    }
    putchar('"');
}

static void csv_line(const select_question *q, const mxo_select_result *r)
{
    const mxo_select_config *c = &q->config;
    const int ok = r->failure.error == MXO_SEL_ERROR_NONE;
    const char *experts =
        mxo_select_word(MXO_SEL_WORDS_EXPERTS, (int)r->experts);
    const char *key = mxo_select_word(MXO_SEL_WORDS_KEY, (int)r->key);
    char text[4096];
    mxo_sel_failure f;
    const char *id = mxo_select_conversion(c, r->backend, &f);

    printf("%s,%s,%s,%s,%s,%s,", q->platform_text, c->moe_backend,
           ok ? mxo_select_word(MXO_SEL_WORDS_BACKEND, (int)r->backend) : "",
           ok && experts != NULL ? experts : "", key == NULL ? "" : key,
           ok ? short_activations(c, r->backend) : "");
    if (ok) {
        printf("%" PRId64 ",%" PRId64 ",%s,,\n", r->hidden, r->intermediate,
               id == NULL ? "" : id);
        return;
    }
    printf(",,,%s,", mxo_select_error_type(r->failure.error));
    (void)mxo_select_failure_text(c, &r->failure,
                                  (mxo_text){text, sizeof text});
    csv_text(text);
    putchar('\n');
}

static int print_csv(const matrix *m, mxo_text why)
{
    select_question q;
    mxo_select_result r;

    puts("platform,moe_backend,backend,experts,key,activations,hidden,"
         "intermediate,conversion,error_type,error");
    for (int k = 0; k < m->n_columns; k++) {
        for (int i = -1; i < 0 || mxo_select_name_at(&m->q->config, i) != NULL;
             i++) {
            if (decide(m, k, i, &q, &r, why) != 0) {
                return -1;
            }
            csv_line(&q, &r);
        }
    }
    return 0;
}

/* The platform that was named, or those of hardware.def for the table. */
static void choose_columns(matrix *m, const hardware *named)
{
    const hardware *h;

    if (m->q->has_platform) {
        m->columns[m->n_columns++] =
            m->q->hardware != NULL ? m->q->hardware : named;
        return;
    }
    for (int i = 0; (h = hardware_at(i)) != NULL; i++) {
        if (h->in_matrix && m->n_columns < MOST_COLUMNS) {
            m->columns[m->n_columns++] = h;
        }
    }
}

int select_print_matrix(const select_question *q, select_form form,
                        mxo_text why)
{
    const hardware named = {q->platform_text, q->platform_text, "", 1};
    matrix m = {.q = q};

    choose_columns(&m, &named);
    switch (form) {
    case SELECT_MARKDOWN:
        return print_markdown(&m, why);
    case SELECT_CSV:
        return print_csv(&m, why);
    default:
        return print_text(&m, why);
    }
}
