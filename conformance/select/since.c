/* SPDX-License-Identifier: Apache-2.0 */
/* Changes on a platform by an upgrade of vLLM; see report.h. */
#include "report.h"

#include "base/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct decided {
    select_question q;
    mxo_select_result r;
    const char *conversion; /* NULL: none, or nothing was chosen */
} decided;

static int decide(const select_question *q, mxo_sel_version version,
                  const select_model *model, decided *d, mxo_text why)
{
    mxo_sel_failure f;

    d->q = *q;
    d->q.config.version = version;
    d->q.model = model;
    d->conversion = NULL;
    if (select_finish(&d->q, why) != 0) {
        return -1;
    }
    mxo_select(&d->q.config, &d->r);
    if (d->r.failure.error == MXO_SEL_ERROR_NONE) {
        d->conversion = mxo_select_conversion(&d->q.config, d->r.backend, &f);
    }
    return 0;
}

static const char *backend_of(const decided *d)
{
    return d->r.failure.error != MXO_SEL_ERROR_NONE
               ? mxo_select_error_type(d->r.failure.error)
               : mxo_select_word(MXO_SEL_WORDS_BACKEND, (int)d->r.backend);
}

static const char *or_none(const char *word)
{
    return word == NULL ? "none" : word;
}

static int say_change(const char *what, const char *before, const char *after)
{
    if (strcmp(before, after) == 0) {
        return 0;
    }
    const size_t width = strlen(before) + strlen(after) + 18;
    const int is_wide = (int)width > cli_columns(stdout);

    if (!is_wide && !cli_is_narrow(stdout)) {
        printf("  %-11s %s -> %s\n", what, before, after);
        return 1;
    }
    printf("  %s\n    ", what);
    cli_fold(stdout, before, 4, 4);
    printf("    -> ");
    cli_fold(stdout, after, 7, 7);
    return 1;
}

/* Hidden and intermediate size; of a model without sizes, what they are
   multiples of. */
static void sizes_of(const decided *d, mxo_text text)
{
    const mxo_select_result *r = &d->r;
    const int is_known = r->hidden != 0 && r->intermediate != 0;
    int64_t h = r->hidden;
    int64_t i = r->intermediate;

    if (!is_known) {
        mxo_select_alignment(&d->q.config, r->backend, &h, &i);
    }
    (void)snprintf(text.ptr, text.size, "%s%" PRId64 " x %" PRId64,
                   is_known ? "" : "multiples of ", h, i);
}

static int say_sizes(const decided *a, const decided *b)
{
    char before[64];
    char after[64];

    sizes_of(a, (mxo_text){before, sizeof before});
    sizes_of(b, (mxo_text){after, sizeof after});
    return say_change("sizes", before, after);
}

static int say_activations(const decided *a, const decided *b)
{
    char before[256];
    char after[256];

    select_say_activations(&a->q.config, a->r.backend,
                           (mxo_text){before, sizeof before});
    select_say_activations(&b->q.config, b->r.backend,
                           (mxo_text){after, sizeof after});
    return say_change("activations", before, after);
}

static int say_kernel(const decided *a, const decided *b)
{
    char before[256];
    char after[256];

    return select_say_kernel(&a->q.config, &a->r,
                             (mxo_text){before, sizeof before}) &&
                   select_say_kernel(&b->q.config, &b->r,
                                     (mxo_text){after, sizeof after})
               ? say_change("kernel", before, after)
               : 0;
}

static void compare(const decided *a, const decided *b)
{
    const int both = a->r.failure.error == MXO_SEL_ERROR_NONE &&
                     b->r.failure.error == MXO_SEL_ERROR_NONE;
    int n = say_change("backend", backend_of(a), backend_of(b));

    n += say_change(
        "experts",
        or_none(mxo_select_word(MXO_SEL_WORDS_EXPERTS, (int)a->r.experts)),
        or_none(mxo_select_word(MXO_SEL_WORDS_EXPERTS, (int)b->r.experts)));
    n += both ? say_activations(a, b) : 0;
    n += say_change("byte order", or_none(a->conversion),
                    or_none(b->conversion));
    n += both ? say_sizes(a, b) + say_kernel(a, b) : 0;
    if (n == 0) {
        printf("  nothing changes: %s\n", backend_of(b));
    }
}

int select_print_since(const select_question *q, mxo_sel_version from,
                       mxo_text why)
{
    const mxo_sel_version to = q->config.version;
    const select_model *model;
    decided before;
    decided after;

    /* Nothing is said before the last answer is known to be one. */
    for (int is_said = 0; is_said < 2; is_said++) {
        if (is_said) {
            printf(cli_is_narrow(stdout) ? "on %s\nfrom %s\nto %s\n"
                                         : "on %s, from %s to %s\n",
                   q->platform_text,
                   mxo_select_word(MXO_SEL_WORDS_VERSION, (int)from),
                   mxo_select_word(MXO_SEL_WORDS_VERSION, (int)to));
        }
        for (int i = 0; (model = select_model_at(i)) != NULL; i++) {
            if (q->model != NULL && q->model != model) {
                continue;
            }
            if (decide(q, from, model, &before, why) != 0 ||
                decide(q, to, model, &after, why) != 0) {
                return -1;
            }
            if (is_said) {
                printf("%s\n", model->name);
                compare(&before, &after);
            }
        }
    }
    return 0;
}
