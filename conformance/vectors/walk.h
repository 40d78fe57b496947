/* SPDX-License-Identifier: Apache-2.0 */
/* Files named on the command line, and those in the folders named there. */
#ifndef MXO_VECTORS_WALK_H
#define MXO_VECTORS_WALK_H

#include <mxoracle/abi.h>

#include <stddef.h>

typedef struct path_list {
    size_t n;
    size_t room;
    char **path; /* owned */
} path_list;

/*
 * Append path if it is not a folder; otherwise every *.safetensors below it,
 * sorted. DEVICE with a sentence: no such path, or a folder that cannot be
 * read. Links to folders are not followed.
 */
MXO_MUST_CHECK mxo_status walk_path(const char *path, path_list *list,
                                    mxo_text why);
void walk_clear(path_list *list);

#endif
