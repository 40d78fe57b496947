/* SPDX-License-Identifier: Apache-2.0 */
/* See libraries.h. */
#include "libraries.h"

#if defined(__linux__) && !defined(MXO_POSIX_ONLY)

#include <link.h>
#include <string.h>

typedef struct visit {
    system_library_fn *see;
    void *state;
} visit;

/* Notes are whole words, each part of one padded to four bytes. */
static size_t padded(size_t n)
{
    return (n + 3) / 4 * 4;
}

/* The linker's digest among the notes of a segment; NULL: not here. */
static const uint8_t *find_id(const uint8_t *at, size_t n, size_t *n_id)
{
    ElfW(Nhdr) note;

    while (n >= sizeof note) {
        memcpy(&note, at, sizeof note);
        const size_t name = padded(note.n_namesz);
        const size_t size = sizeof note + name + padded(note.n_descsz);

        if (size > n) {
            return NULL;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(at + sizeof note, "GNU", 4) == 0) {
            *n_id = note.n_descsz;
            return at + sizeof note + name;
        }
        at += size;
        n -= size;
    }
    return NULL;
}

static int see_one(struct dl_phdr_info *info, size_t size, void *state)
{
    const visit *v = state;
    const uint8_t *id = NULL;
    size_t n_id = 0;

    (void)size;
    if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0') {
        return 0; /* the program */
    }
    for (int i = 0; id == NULL && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE) {
            /* An address of this process, which the loader gives as a number.
             */
            const uintptr_t address = info->dlpi_addr + p->p_vaddr;
            id = find_id((const uint8_t *)address, p->p_memsz, &n_id);
        }
    }
    v->see(v->state, info->dlpi_name, id, n_id);
    return 0;
}

void system_each_library(system_library_fn *see, void *state)
{
    visit v = {see, state};

    (void)dl_iterate_phdr(see_one, &v);
}

#else

void system_each_library(system_library_fn *see, void *state)
{
    (void)see;
    (void)state;
}

#endif
