/* SPDX-License-Identifier: Apache-2.0 */
/* See scratch.h. */
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 8, PATH_ROOM = 512, PREFIX = 8 };

static char folder[PATH_ROOM / 2];
static char paths[NAMES][PATH_ROOM];

static void clean(void)
{
    for (int i = 0; i < NAMES; i++) {
        if (paths[i][0] != '\0') {
            (void)unlink(paths[i]);
        }
    }
    (void)rmdir(folder);
}

static void make_folder(void)
{
    const char *temporary = getenv("TMPDIR");

    (void)snprintf(folder, sizeof folder, "%s/mxoracle-fuzz-XXXXXX",
                   temporary == NULL || temporary[0] == '\0' ? "/tmp"
                                                             : temporary);
    if (mkdtemp(folder) == NULL || atexit(clean) != 0) {
        perror(folder);
        abort();
    }
}

const char *scratch_path(const char *name)
{
    char path[PATH_ROOM];
    int i = 0;

    if (folder[0] == '\0') {
        make_folder();
    }
    if (name[0] == '\0') {
        return folder;
    }
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    while (i < NAMES - 1 && paths[i][0] != '\0' &&
           strcmp(paths[i], path) != 0) {
        i++;
    }
    memcpy(paths[i], path, sizeof path);
    return paths[i];
}

static FILE *open_file(const char *path)
{
    FILE *f = fopen(path, "wb");

    if (f == NULL) {
        perror(path);
        abort();
    }
    return f;
}

static void put(FILE *f, const void *bytes, size_t n)
{
    if (n > 0 && fwrite(bytes, 1, n, f) != n) {
        perror("scratch");
        abort();
    }
}

const char *scratch_file(const char *name, const void *bytes, size_t n)
{
    const char *path = scratch_path(name);
    FILE *f = open_file(path);

    put(f, bytes, n);
    (void)fclose(f);
    return path;
}

const char *scratch_tensors(const char *name, const char *header, size_t n,
                            size_t n_data)
{
    const char *path = scratch_path(name);
    FILE *f = open_file(path);
    uint8_t prefix[PREFIX];

    for (int i = 0; i < PREFIX; i++) {
        prefix[i] = (uint8_t)((uint64_t)n >> (8 * i));
    }
    put(f, prefix, sizeof prefix);
    put(f, header, n);
    for (size_t i = 0; i < n_data; i++) {
        (void)fputc((int)(i * 7 + i / 256 + 1) & 0xff, f);
    }
    (void)fclose(f);
    return path;
}
