/* SPDX-License-Identifier: Apache-2.0 */
/* mxoracle list: what there is to judge, and by whom. */
#include "cli.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>

int cmd_list(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    for (const mxo_op_info *i = mxo_emulator()->op_info; i->name; i++) {
        printf("%-20s %s\n", i->name, i->summary);
    }
    return EXIT_PASS;
}
