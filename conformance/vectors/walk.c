/* SPDX-License-Identifier: Apache-2.0 */
/* Folders, recursively and in a fixed order.  See walk.h. */
#include "walk.h"

#include "base/memory.h"
#include "base/say.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 64 };

static const char suffix[] = ".safetensors";

static void append(path_list *list, const char *path)
{
    if (list->n == list->room) {
        list->room = list->room == 0 ? 64 : 2 * list->room;
        list->path =
            memory_need_more(list->path, list->room * sizeof *list->path);
    }
    list->path[list->n++] = memory_need_text(path);
}

static int is_vector(const char *name)
{
    const size_t n = strlen(name);

    return n >= sizeof suffix &&
           strcmp(name + n - (sizeof suffix - 1), suffix) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static mxo_status walk_folder(const char *folder, int depth, path_list *list,
                              mxo_text why);

static mxo_status walk_entry(const char *folder, const char *name, int depth,
                             path_list *list, mxo_text why)
{
    const size_t room = strlen(folder) + strlen(name) + 2;
    char *path = memory_need(room);
    struct stat st;
    mxo_status status = MXO_OK;

    (void)snprintf(path, room, "%s/%s", folder, name);
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        status = walk_folder(path, depth + 1, list, why);
    } else if (is_vector(name)) {
        append(list, path);
    }
    free(path);
    return status;
}

static mxo_status walk_folder(const char *folder, int depth, path_list *list,
                              mxo_text why)
{
    DIR *dir = depth > DEEPEST ? NULL : opendir(folder);
    mxo_status status = MXO_OK;

    if (dir == NULL) {
        return say(MXO_E_DEVICE, why, "%.300s cannot be read: %s", folder,
                   depth > DEEPEST ? "too deep" : strerror(errno));
    }
    for (struct dirent *d = readdir(dir); status == MXO_OK && d != NULL;
         d = readdir(dir)) {
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0) {
            status = walk_entry(folder, d->d_name, depth, list, why);
        }
    }
    (void)closedir(dir);
    return status;
}

mxo_status walk_path(const char *path, path_list *list, mxo_text why)
{
    struct stat st;
    const size_t before = list->n;

    if (stat(path, &st) != 0) {
        return say(MXO_E_DEVICE, why, "%.300s: %s", path, strerror(errno));
    }
    if (!S_ISDIR(st.st_mode)) {
        append(list, path);
        return MXO_OK;
    }
    const mxo_status status = walk_folder(path, 0, list, why);

    if (list->n > before) {
        qsort(list->path + before, list->n - before, sizeof list->path[0],
              by_name);
    }
    return status;
}

void walk_clear(path_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->path[i]);
    }
    free(list->path);
    list->path = NULL;
    list->n = 0;
    list->room = 0;
}
