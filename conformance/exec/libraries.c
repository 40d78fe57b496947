/* SPDX-License-Identifier: Apache-2.0 */
/* See libraries.h. */
#include "libraries.h"

#include "base/input.h"
#include "base/prng.h"
#include "system/libraries.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void note_one(void *state, const char *path, const uint8_t *id,
                     size_t n_id)
{
    json_t *noted = state;
    const char *before = json_string_value(json_object_get(noted, path));
    char text[256];
    struct stat s;

    (void)id;
    (void)n_id;
    if (stat(path, &s) != 0) {
        return; /* the kernel's own */
    }
    (void)snprintf(text, sizeof text, "%jx %jx %jd %jd.%09ld",
                   (uintmax_t)s.st_dev, (uintmax_t)s.st_ino,
                   (intmax_t)s.st_size, (intmax_t)s.st_mtim.tv_sec,
                   (long)s.st_mtim.tv_nsec);
    if (before == NULL) {
        (void)json_object_set_new(noted, path, json_string(text));
    } else if (strcmp(before, text) != 0) {
        (void)json_object_set_new(noted, path,
                                  json_sprintf("%s, then %s", before, text));
    }
}

void libraries_note(json_t **noted)
{
    *noted = *noted == NULL ? json_object() : *noted;
    system_each_library(note_one, *noted);
}

/* Machines that share a campaign may differ in these. */
static int is_of_the_system(const char *path)
{
    static const char *const folders[] = {"/lib/",       "/lib32/",
                                          "/lib64/",     "/usr/lib/",
                                          "/usr/lib32/", "/usr/lib64/"};

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The sum does not ask for their order, nor for their names. */
static void add_digest(void *state, const char *path, const uint8_t *id,
                       size_t n_id)
{
    uint64_t *sum = state;
    uint64_t digest = FNV_START;
    struct stat s;

    if (is_of_the_system(path) || stat(path, &s) != 0) {
        return;
    }
    for (size_t i = 0; i < n_id; i++) {
        digest = (digest ^ id[i]) * FNV_PRIME;
    }
    *sum += n_id > 0 ? digest : input_digest(digest, path);
}

void libraries_tell(json_t **noted, json_t *hello)
{
    uint64_t sum = 0;

    system_each_library(add_digest, &sum);
    (void)json_object_set_new(hello, "libraries", *noted);
    (void)json_object_set_new(hello, "code", json_sprintf("%016" PRIx64, sum));
    *noted = NULL;
}

const char *libraries_other(const json_t *hello, const json_t *again)
{
    json_t *here = json_object_get(hello, "libraries");
    const json_t *there = json_object_get(again, "libraries");
    const char *path;
    json_t *file;

    json_object_foreach(here, path, file)
    {
        const json_t *other = json_object_get(there, path);
        if (other != NULL && !json_equal(file, other)) {
            return path;
        }
    }
    return NULL;
}

int libraries_alone_differ(const json_t *hello, const json_t *again)
{
    static const char *const keys[] = {"libraries", "code"};
    json_t *a = json_copy((json_t *)hello);
    json_t *b = json_copy((json_t *)again);

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        (void)json_object_del(a, keys[i]);
        (void)json_object_del(b, keys[i]);
    }
    const int same = json_equal(a, b);

    json_decref(a);
    json_decref(b);
    return same;
}
