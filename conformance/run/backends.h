/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known backends and the loading of their tables: those linked in, the
 * plugins of backends.def, other mxo_<name>.so files in the plugin folders,
 * and files given by path.  Nothing is loaded before backend_load().
 */
#ifndef MXO_BACKENDS_H
#define MXO_BACKENDS_H

#include <mxoracle/abi.h>

#include <stddef.h>

enum {
    BACKEND_NAME = 64,
    BACKEND_PATH = 1024,
    BACKEND_COMMAND = 2048,
    BACKEND_MAX = 128
};

typedef struct backend_ref {
    char name[BACKEND_NAME];
    char shown[BACKEND_NAME]; /* the name in its table, where it was asked */
    char path[BACKEND_PATH];  /* plugin file; "" if linked in */
    char command[BACKEND_COMMAND]; /* of a subject that is a program; "" */
    int global_symbols;            /* the plugin's, for what it loads itself */
    char why_not[256];             /* not "": it is not there, and why */
    char nameless[256]; /* not "": it does not say its name, and why */
    int is_given;       /* by path or command */
    int by_default;     /* run judges it when no -b is given */
    int is_risky;       /* wrong on purpose: never in this process */
    const mxo_backend *(*linked)(void);
} backend_ref;

typedef struct backend_list {
    int n;
    backend_ref *ref; /* room for BACKEND_MAX, kept to the end */
} backend_list;

/* 1 if every folder of MXORACLE_PLUGIN_PATH exists, else 0 and a sentence. */
int backends_folders_exist(mxo_text why);
/* An empty list. */
void backends_none(backend_list *l);
/* Everything known without being told. */
void backends_known(backend_list *l);
/* Does the file begin like one that the loader takes? Not a folder, not text.
 */
int backends_is_library(const char *path);
/* Add a plugin by path; it is loaded by that path and named by its file
   until its table says otherwise. NULL if the list is full. */
backend_ref *backends_add_plugin(backend_list *l, const char *path);
/* Add a program, by its shell command. NULL if the list is full or the command
   too long. */
backend_ref *backends_add_command(backend_list *l, const char *command);
const backend_ref *backends_find(const backend_list *l, const char *name);

/* The name that it gives itself, or that behind "plugin:" or "exec:" where this
   judge calls one of its own so. */
void backend_name(const backend_ref *ref, const char *name,
                  char shown[BACKEND_NAME]);
/* Number i of the list is called so; a second of that name gets a number. */
void backends_show(backend_list *l, int i, const char *name);

/* Of the file that it is loaded from and of those that its command names: what
   changed since may answer otherwise. */
uint64_t backend_digest(const backend_ref *ref);

/* The option that chooses it, as a shell takes it: -b cpu,
   --plugin='mine.so'. */
void backend_option(const backend_ref *ref, char *text, size_t size);

/*
 * The table, checked: version, struct size, name, required functions.
 * DEVICE: not there or the system cannot load it (a driver's library is
 * missing, say); UNSUPPORTED: it is no backend this judge can talk to.  The
 * library stays loaded: the table is borrowed for the life of the process.
 */
mxo_status backend_load(const backend_ref *ref, const mxo_backend **table,
                        mxo_text why);

#endif
