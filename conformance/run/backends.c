/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and loading backends; see backends.h. */
#include "backends.h"

#include "base/cli.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/prng.h"
#include "case/described.h"
#include "system/system.h"

#include <mxoracle/mxoracle.h>

#include <dirent.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MXO_BACKEND(name, table) const mxo_backend *table(void);
#define MXO_PLUGIN(name, file, why_not)
#include "backends.def"
#undef MXO_BACKEND
#undef MXO_PLUGIN

typedef struct row {
    const char *name;
    const mxo_backend *(*linked)(void);
    const char *file;
    const char *why_not;
} row;

static const row rows[] = {
#define MXO_BACKEND(name, table) {#name, table, "", ""},
#define MXO_PLUGIN(name, file, why_not) {#name, NULL, file, why_not},
#include "backends.def"
#undef MXO_BACKEND
#undef MXO_PLUGIN
};

enum { N_ROWS = sizeof rows / sizeof rows[0], N_FOLDERS = 16 };

/* Folders that may hold plugins, in the order they are searched. */
typedef struct folder_list {
    int n;
    char path[N_FOLDERS][BACKEND_PATH - 256];
} folder_list;

static void add_folder(folder_list *l, const char *path, size_t len)
{
    if (l->n < N_FOLDERS && len > 0 && len < sizeof l->path[0]) {
        memcpy(l->path[l->n], path, len);
        l->path[l->n++][len] = '\0';
    }
}

static void find_folders(folder_list *l)
{
    const char *given = getenv("MXORACLE_PLUGIN_PATH");
    char self[BACKEND_PATH - 256];

    l->n = 0;
    while (given != NULL && *given != '\0') {
        const size_t len = strcspn(given, ":");
        add_folder(l, given, len);
        given += len + (given[len] == ':');
    }
    if (system_program_path(self, sizeof self - 16) == 0) {
        char *slash = strrchr(self, '/');
        memcpy(slash, "/plugins", sizeof "/plugins");
        add_folder(l, self, strlen(self));
    }
    add_folder(l, MXO_PLUGIN_DIR, strlen(MXO_PLUGIN_DIR));
}

int backends_folders_exist(mxo_text why)
{
    const char *given = getenv("MXORACLE_PLUGIN_PATH");

    while (given != NULL && *given != '\0') {
        const size_t len = strcspn(given, ":");
        char path[BACKEND_PATH];
        struct stat s;
        (void)snprintf(path, sizeof path, "%.*s", (int)len, given);
        if (len > 0 && (stat(path, &s) != 0 || !S_ISDIR(s.st_mode))) {
            (void)snprintf(why.ptr, why.size,
                           "MXORACLE_PLUGIN_PATH names %.200s, which is no "
                           "folder",
                           path);
            return 0;
        }
        given += len + (given[len] == ':');
    }
    return 1;
}

static int file_exists(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

static int find_file(const folder_list *folders, const char *file, char *path)
{
    for (int i = 0; i < folders->n; i++) {
        (void)snprintf(path, BACKEND_PATH, "%s/%s", folders->path[i], file);
        if (file_exists(path)) {
            return 1;
        }
    }
    path[0] = '\0';
    return 0;
}

const backend_ref *backends_find(const backend_list *l, const char *name)
{
    for (int i = 0; i < l->n; i++) {
        if (strcmp(l->ref[i].name, name) == 0) {
            return &l->ref[i];
        }
    }
    return NULL;
}

static backend_ref *append(backend_list *l, const char *name, size_t len)
{
    if (l->n == BACKEND_MAX || len >= BACKEND_NAME) {
        return NULL;
    }
    backend_ref *ref = &l->ref[l->n++];

    memset(ref, 0, sizeof *ref);
    memcpy(ref->name, name, len);
    return ref;
}

/* Add mxo_<name>.so unless the name is taken. */
static void add_found(backend_list *l, const char *folder, const char *file)
{
    const size_t len = strlen(file);
    char name[BACKEND_NAME] = "";

    if (len < 8 || len >= BACKEND_NAME || strncmp(file, "mxo_", 4) != 0 ||
        strcmp(file + len - 3, ".so") != 0) {
        return;
    }
    memcpy(name, file + 4, len - 7);
    if (backends_find(l, name) != NULL) {
        return;
    }
    backend_ref *ref = append(l, name, strlen(name));

    if (ref != NULL) {
        (void)snprintf(ref->path, sizeof ref->path, "%.700s/%.128s", folder,
                       file);
    }
}

static int is_dot_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void scan_folder(backend_list *l, const char *folder)
{
    struct dirent **entries;
    const int n = scandir(folder, &entries, is_dot_file, alphasort);

    for (int i = 0; i < n; i++) {
        add_found(l, folder, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0) {
        free(entries);
    }
}

void backends_none(backend_list *l)
{
    l->n = 0;
    if (l->ref == NULL) {
        l->ref = memory_need(BACKEND_MAX * sizeof *l->ref);
    }
}

void backends_known(backend_list *l)
{
    folder_list folders;

    backends_none(l);
    find_folders(&folders);
    for (int i = 0; i < N_ROWS; i++) {
        backend_ref *ref = append(l, rows[i].name, strlen(rows[i].name));
        ref->linked = rows[i].linked;
        ref->is_risky = strncmp(ref->name, "broken", 6) == 0;
        ref->by_default = strcmp(ref->name, "emu") != 0 && !ref->is_risky;
        if (ref->linked == NULL &&
            !find_file(&folders, rows[i].file, ref->path)) {
            (void)snprintf(ref->why_not, sizeof ref->why_not, "%s",
                           rows[i].why_not);
        }
    }
    for (int i = 0; i < folders.n; i++) {
        scan_folder(l, folders.path[i]);
    }
}

int backends_is_library(const char *path)
{
    char magic[4] = "";
    FILE *f = file_exists(path) ? fopen(path, "rb") : NULL;

    if (f == NULL) {
        return 0;
    }
    const size_t n = fread(magic, 1, sizeof magic, f);

    (void)fclose(f);
    return n == sizeof magic && memcmp(magic, "\177ELF", sizeof magic) == 0;
}

/* The file that is given by its path is not there a second time. */
static void forget_found(backend_list *l, const char *path)
{
    struct stat given;
    struct stat found;

    for (int i = 0; i < l->n && stat(path, &given) == 0; i++) {
        const backend_ref *ref = &l->ref[i];
        if (!ref->is_given && ref->path[0] != '\0' &&
            stat(ref->path, &found) == 0 && found.st_dev == given.st_dev &&
            found.st_ino == given.st_ino) {
            l->n--;
            memmove(&l->ref[i], &l->ref[i + 1],
                    (size_t)(l->n - i) * sizeof l->ref[0]);
            i--;
        }
    }
}

backend_ref *backends_add_plugin(backend_list *l, const char *path)
{
    forget_found(l, path);
    const char *slash = strrchr(path, '/');
    const char *file = slash == NULL ? path : slash + 1;
    const size_t len = strcspn(file, ".");
    backend_ref *ref;

    ref = append(l, file, len < BACKEND_NAME ? len : BACKEND_NAME - 1);
    if (ref != NULL) {
        /* Without a slash dlopen would search the system's folders. */
        (void)snprintf(ref->path, sizeof ref->path, "%s%s",
                       slash == NULL ? "./" : "", path);
        ref->is_given = ref->by_default = 1;
    }
    return ref;
}

backend_ref *backends_add_command(backend_list *l, const char *command)
{
    backend_ref *ref = strlen(command) < sizeof ref->command
                           ? append(l, "exec", sizeof "exec" - 1)
                           : NULL;

    if (ref != NULL) {
        (void)snprintf(ref->command, sizeof ref->command, "%s", command);
        ref->is_given = ref->by_default = 1;
    }
    return ref;
}

uint64_t backend_digest(const backend_ref *ref)
{
    char words[BACKEND_COMMAND];
    char *rest = NULL;
    uint64_t digest =
        input_digest(fnv_text(FNV_START, ref->command), ref->path);

    (void)snprintf(words, sizeof words, "%s", ref->command);
    for (char *word = strtok_r(words, " \t\n'\"", &rest); word != NULL;
         word = strtok_r(NULL, " \t\n'\"", &rest)) {
        digest = input_digest(digest, word);
    }
    return digest;
}

static int is_shown(const backend_list *l, int n, const char *name)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(l->ref[i].shown, name) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Is it another's, who takes a name that this judge gives to its own? */
static int is_borrowed(const backend_ref *ref, const char *name)
{
    for (int i = 0; i < N_ROWS; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return ref->is_given || strcmp(ref->name, name) != 0;
        }
    }
    return 0;
}

void backend_name(const backend_ref *ref, const char *name,
                  char shown[BACKEND_NAME])
{
    const char *prefix = !is_borrowed(ref, name)   ? ""
                         : ref->command[0] != '\0' ? "exec:"
                                                   : "plugin:";

    (void)snprintf(shown, BACKEND_NAME, "%s%.*s", prefix,
                   (int)(BACKEND_NAME - 1 - strlen(prefix)), name);
}

void backends_show(backend_list *l, int i, const char *name)
{
    char whole[BACKEND_NAME];
    char unique[BACKEND_NAME];

    backend_name(&l->ref[i], name, whole);
    memcpy(unique, whole, sizeof unique);
    for (int n = 2; is_shown(l, i, unique); n++) {
        (void)snprintf(unique, sizeof unique, "%.50s-%d", whole, n % 1000);
    }
    memcpy(l->ref[i].shown, unique, sizeof unique);
}

void backend_option(const backend_ref *ref, char *text, size_t size)
{
    if (ref->command[0] != '\0') {
        cli_quote("--exec=", ref->command, text, size);
    } else if (ref->is_given) {
        cli_quote(ref->global_symbols ? "--plugin-symbols=global --plugin="
                                      : "--plugin=",
                  ref->path, text, size);
    } else {
        (void)snprintf(text, size, "-b %s", ref->name);
    }
}

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static mxo_status
no(mxo_status status, mxo_text why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why.ptr, why.size, format, args);
    va_end(args);
    return status;
}

/* Members that only mean something together; NULL: nothing is wrong. */
static const char *wrong_of(const mxo_backend *b)
{
    const int streams = (b->stream_open != NULL) + (b->stream_close != NULL) +
                        (b->stream_upload != NULL);
    const int graphs =
        (b->capture != NULL) + (b->launch != NULL) + (b->graph_close != NULL);

    if (b->align > 256 || (b->align & (b->align - 1)) != 0) {
        return "an alignment that is no power of two up to 256";
    }
    return streams % 3 != 0
               ? "streams and lacks one of stream_open, stream_close and "
                 "stream_upload"
           : graphs % 3 != 0
               ? "graphs and lacks one of capture, launch and graph_close"
               : NULL;
}

static mxo_status check(const mxo_backend *b, const char *name, mxo_text why)
{
    if (b == NULL) {
        return no(MXO_E_UNSUPPORTED, why, "%s does not speak ABI version %u",
                  name, MXO_ABI_VERSION);
    }
    if (b->abi_version != MXO_ABI_VERSION) {
        return no(MXO_E_UNSUPPORTED, why,
                  "%s speaks ABI version %u, this judge speaks %u", name,
                  b->abi_version, MXO_ABI_VERSION);
    }
    if (b->struct_size != sizeof *b) {
        return no(MXO_E_UNSUPPORTED, why,
                  "%s has a table of %u bytes, this judge expects %zu", name,
                  b->struct_size, sizeof *b);
    }
    if (b->name == NULL || b->name[0] == '\0' || b->version == NULL ||
        b->ops == NULL) {
        return no(MXO_E_UNSUPPORTED, why,
                  "%s lacks a name, a version or its operations", name);
    }
    if (strlen(b->name) >= BACKEND_NAME) {
        return no(MXO_E_UNSUPPORTED, why, "%s has a name of more than %d bytes",
                  name, BACKEND_NAME - 1);
    }
    const char *wrong = wrong_of(b);

    if (wrong != NULL) {
        return no(MXO_E_UNSUPPORTED, why, "%s declares %s", name, wrong);
    }
    if (b->open == NULL || b->close == NULL || b->describe == NULL ||
        b->alloc == NULL || b->dealloc == NULL || b->upload == NULL ||
        b->download == NULL || b->synchronize == NULL || b->run == NULL) {
        return no(MXO_E_UNSUPPORTED, why,
                  "%s lacks a function that every backend needs", name);
    }
    return described_as_here(b, name, why) ? MXO_OK : MXO_E_UNSUPPORTED;
}

static mxo_status load_plugin(const backend_ref *ref, const mxo_backend **table,
                              mxo_text why)
{
    const char *path = ref->path;
    void *library = dlopen(
        path, RTLD_NOW | (ref->global_symbols ? RTLD_GLOBAL : RTLD_LOCAL));

    if (library == NULL) {
        return no(MXO_E_DEVICE, why, "cannot be loaded: %s", dlerror());
    }
    void *symbol = dlsym(library, MXO_BACKEND_ENTRY);
    mxo_backend_entry_fn entry;

    if (symbol == NULL) {
        return no(MXO_E_UNSUPPORTED, why, "%s has no symbol %s: not a backend",
                  path, MXO_BACKEND_ENTRY);
    }
    /* ISO C has no cast from data to function pointers; POSIX has this. */
    memcpy(&entry, &symbol, sizeof entry);
    *table = entry(MXO_ABI_VERSION);
    return check(*table, path, why);
}

mxo_status backend_load(const backend_ref *ref, const mxo_backend **table,
                        mxo_text why)
{
    if (ref->why_not[0] != '\0') {
        return no(MXO_E_DEVICE, why, "%s", ref->why_not);
    }
    if (ref->linked == NULL) {
        return load_plugin(ref, table, why);
    }
    *table = ref->linked();
    return check(*table, ref->name, why);
}
