/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which backends there are and how to get their tables: those linked in, the
 * plugins of backends.def, other mxo_<name>.so files in the plugin folders,
 * and files given by path.  Nothing is loaded before backend_load().
 */
#ifndef MXO_BACKENDS_H
#define MXO_BACKENDS_H

#include <mxoracle/abi.h>

enum { BACKEND_NAME = 64, BACKEND_PATH = 1024, BACKEND_MAX = 128 };

typedef struct backend_ref {
    char name[BACKEND_NAME];
    char path[BACKEND_PATH]; /* plugin file; "" if linked in */
    char why_not[256];       /* not "": it is not there, and why */
    int by_default;          /* run judges it when no -b is given */
    int is_risky;            /* wrong on purpose: never in this process */
    const mxo_backend *(*linked)(void);
} backend_ref;

typedef struct backend_list {
    int n;
    backend_ref ref[BACKEND_MAX];
} backend_list;

/* Everything known without being told. */
void backends_known(backend_list *l);
/* Does the file begin like one that the loader takes? Not a folder, not text.
 */
int backends_is_library(const char *path);
/* Add a plugin by path; it is loaded by that path and named by its file
   until its table says otherwise. NULL if the list is full. */
backend_ref *backends_add_plugin(backend_list *l, const char *path);
const backend_ref *backends_find(const backend_list *l, const char *name);

/*
 * The table, checked: version, struct size, name, required functions.
 * DEVICE: not there or the system cannot load it (a driver's library is
 * missing, say); UNSUPPORTED: it is no backend this judge can talk to.  The
 * library stays loaded: the table is borrowed for the life of the process.
 */
mxo_status backend_load(const backend_ref *ref, const mxo_backend **table,
                        mxo_text why);

#endif
