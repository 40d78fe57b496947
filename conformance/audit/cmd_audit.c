/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle audit: are the rows of w13 in the order that a backend's loader
 * takes for granted?  The loader looks at names, the auditor at numbers.
 */
#include "base/cli.h"
#include "base/options.h"
#include "convert/job.h"
#include "rows.h"

#include <mxoracle/layout.h>
#include <mxoracle/profile.h>

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static int usage(void)
{
    cli_say(
        "usage: mxoracle audit --backend=NAME CHECKPOINT\n"
        "Which order the rows of w13 have by their block scales, against the\n"
        "order that vLLM's loader for the backend (mxoracle profiles) or a\n"
        "conversion (mxoracle explain --conversions) takes for granted.\n"
        "Nothing is guessed: what the numbers do not tell is said so.\n");
    options_help(OPTIONS_audit, stdout);
    cli_say(
        "\nExit status: 0 as expected, 1 in the other order, 2 bad usage or\n"
        "bad input, 77 cannot tell.");
    return EXIT_PASS;
}

static const char *order_text(int in_turn)
{
    return in_turn ? "gate and up rows in turn" : "gates, then ups";
}

/* The conversion that the backend's loader makes of such a checkpoint. */
static const char *conversion_for(const char *backend, int in_turn)
{
    const mxo_profile *p = mxo_profile_by_name(backend);
    const mxo_profile_field field =
        in_turn ? MXO_FIELD_CONVERSION : MXO_FIELD_CONVERSION_GENERAL;

    if (p != NULL) {
        return p->fact[field].value;
    }
    return mxo_conversion_find(backend) != NULL ? backend : NULL;
}

static int refuse_backend(const char *name)
{
    cli_nearest near = {NULL, 0};
    char hint[80];

    for (int i = 0; i < mxo_profile_count(); i++) {
        cli_offer(&near, name, mxo_profile_at(i)->name);
    }
    for (uint32_t i = 0; mxo_conversion_at(i) != NULL; i++) {
        cli_offer(&near, name, mxo_conversion_at(i)->id);
    }
    return cli_refuse("no backend or conversion is called %.60s%s", name,
                      cli_suggestion(&near, hint, sizeof hint));
}

/* The order of rows that all layers agree on, where it shows. */
static int read_layers(const layer_list *list, row_order *order)
{
    int has_both = 0;

    *order = ROWS_UNTOLD;
    for (size_t i = 0; i < list->n; i++) {
        const moe_layer *l = &list->layer[i];
        row_evidence e;
        if (l->style->is_split) {
            continue;
        }
        if (rows_tell(l, &e) != 0) {
            return -1;
        }
        cli_line(
            stdout, 2,
            "%s: t^2 = %.1f between even and odd rows, %.1f between halves, "
            "%.1f within: %s",
            l->prefix, e.parity, e.halves, e.quarter,
            e.order == ROWS_UNTOLD    ? "cannot tell"
            : e.order == ROWS_IN_TURN ? "rows in turn"
                                      : "rows in halves");
        has_both |= *order != ROWS_UNTOLD && e.order != ROWS_UNTOLD &&
                    *order != e.order;
        *order = e.order == ROWS_UNTOLD ? *order : e.order;
    }
    *order = has_both ? ROWS_UNTOLD : *order;
    return 0;
}

/* What is taken for granted of a checkpoint under such names: 1 rows in turn, 0
   halves, -1 it is not known.  *who takes it. */
static int order_taken(const char *backend, const char *conversion,
                       const moe_layer *first, const char **who)
{
    const expectation *e = job_expected(conversion);
    const mxo_profile *p = mxo_profile_by_name(backend);
    const char *rows = p == NULL ? "" : p->fact[MXO_FIELD_ROWS].value;

    if (first->style->is_transposed) { /* converted row by row */
        *who = "convert";
        return first->order == ROWS_UNTOLD ? -1 : first->order == ROWS_IN_TURN;
    }
    *who = e != NULL ? conversion : backend;
    if (e != NULL) {
        return e->interleaved;
    }
    if (strcmp(rows, "by_entry") == 0) {
        return first->style->is_interleaved;
    }
    return strcmp(rows, "interleaved") == 0 ? 1
           : strcmp(rows, "halves") == 0    ? 0
                                            : -1;
}

static int judge(const char *backend, const char *conversion,
                 const moe_layer *first, row_order order)
{
    const char *who;
    const int taken = order_taken(backend, conversion, first, &who);
    const int is_split = first->style->is_split;

    cli_line(stdout, 2, "names: %s, %s, low nibble first%s", first->style->id,
             first->order == ROWS_UNTOLD
                 ? "either order"
                 : order_text(first->order == ROWS_IN_TURN),
             is_split ? "; gate and up are tensors of their own" : "");
    cli_say("no number tells which half is the gate's, or which nibble is "
            "first: cannot tell beyond the names");
    if (taken < 0) {
        cli_line(stdout, 2,
                 "verdict: cannot tell, the order that %s takes is not known",
                 who);
        return EXIT_SKIP;
    }
    cli_line(stdout, 2, "%s takes %s", who, order_text(taken));
    if (!is_split && order == ROWS_UNTOLD) {
        puts("verdict: cannot tell");
        return EXIT_SKIP;
    }
    const int in_turn = !is_split && order == ROWS_IN_TURN;

    if (in_turn == taken) {
        puts("verdict: as expected");
        return EXIT_PASS;
    }
    cli_line(stdout, 2, "verdict: OTHER ORDER: the rows are %s",
             in_turn ? "in turn" : "in halves");
    return EXIT_RED;
}

/* What the conversion makes of the layers, of scales of its format alone. */
static int check_groups(const char *conversion, const layer_list *list,
                        mxo_text why)
{
    for (size_t i = 0; i < list->n; i++) {
        if (job_check_group(conversion, &list->layer[i], why) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The verdict on layers that were found. */
static int audit_layers(const char *backend, const layer_list *list,
                        mxo_text why)
{
    const moe_layer *first = &list->layer[0];
    const char *conversion =
        conversion_for(backend, first->style->is_interleaved);
    row_order order;

    if (check_groups(conversion, list, why) != 0) {
        return cli_refuse("%s", why.ptr);
    }
    return read_layers(list, &order) != 0
               ? cli_refuse("no memory")
               : judge(backend, conversion, first, order);
}

static int audit(const char *backend, const char *path)
{
    char sentence[600] = "";
    const mxo_text why = {sentence, sizeof sentence};
    layer_list list = {0};
    checkpoint c;
    int status;

    if (checkpoint_open(path, &c, why) != 0) {
        return cli_refuse("%s", sentence);
    }
    if (layers_find(&c, ROWS_UNTOLD, &list, why) != 0) {
        status = cli_refuse("%s", sentence);
    } else if (list.n == 0) {
        status = cli_refuse("the checkpoint has no layer of FP4 experts by any "
                            "name that is known");
    } else {
        status = audit_layers(backend, &list, why);
    }
    layers_clear(&list);
    checkpoint_close(&c);
    return status;
}

int cmd_audit(int argc, char **argv)
{
    const char *backend = NULL;
    char *value;
    int code;

    options_start();
    while ((code = options_next(OPTIONS_audit, argc, argv, &value)) != -1) {
        if (code == OPT_audit_help) {
            return usage();
        }
        if (code != OPT_audit_backend) {
            return EXIT_USAGE;
        }
        backend = value;
    }
    if (backend == NULL || argc - optind != 1) {
        return cli_refuse("audit takes --backend=NAME and one CHECKPOINT");
    }
    if (conversion_for(backend, 0) == NULL) {
        return refuse_backend(backend);
    }
    return audit(backend, argv[optind]);
}
