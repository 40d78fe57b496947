/* SPDX-License-Identifier: Apache-2.0 */
/* A run over files and folders of vectors.  See vectors.h. */
#include "vectors.h"

#include "cli.h"
#include "report.h"
#include "walk.h"

#include <stdio.h>

static int judge_all(judge *j, const path_list *list,
                     const vector_options *options)
{
    vector_report report;
    vector_result result;
    int bad = 0;

    report_start(&report, j->subject.table, list->n, options);
    for (size_t i = 0; !bad && i < list->n; i++) {
        vector_judge(list->path[i], j, &result);
        bad = report_file(&report, list->path[i], &result);
    }
    const int status = bad ? EXIT_BROKEN : report_end(&report);

    report_clear(&report);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)cli_refuse("the report cannot be written");
        return EXIT_BROKEN;
    }
    return status;
}

int vectors_run(judge *j, char *const paths[], int n_paths,
                const vector_options *options)
{
    path_list list = {0, 0, NULL};
    char sentence[512];
    int status = EXIT_PASS;

    for (int i = 0; status == EXIT_PASS && i < n_paths; i++) {
        if (walk_path(paths[i], &list, (mxo_text){sentence, sizeof sentence}) !=
            MXO_OK) {
            status = cli_refuse("%s", sentence);
        }
    }
    if (status == EXIT_PASS && list.n == 0) {
        status = cli_refuse("there is no vector (*.safetensors) in %s",
                            n_paths == 1 ? paths[0] : "these folders");
    }
    if (status == EXIT_PASS) {
        status = judge_all(j, &list, options);
    }
    walk_clear(&list);
    return status;
}
