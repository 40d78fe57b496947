/* SPDX-License-Identifier: Apache-2.0 */
/* See memory.h. */
#include "memory.h"

#include "system/system.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Pages; a granule of growth; what stays allocated between calls. */
static const uint64_t page = 4096, granule = 1 << 20, keep = 64 << 20;

int shared_memory_create(shared_memory *m)
{
    memset(m, 0, sizeof *m);
    /* A subject that made it smaller would end the judge with a signal. */
    m->fd = system_memory_file();
    if (m->fd >= 0 && shared_memory_reach(m, granule) == 0) {
        return 0;
    }
    const int error = errno;

    shared_memory_destroy(m);
    errno = error;
    return -1;
}

void shared_memory_destroy(shared_memory *m)
{
    if (m->base != NULL) {
        (void)munmap(m->base, (size_t)m->size);
    }
    if (m->fd >= 0) {
        (void)close(m->fd);
    }
    memset(m, 0, sizeof *m);
    m->fd = -1;
}

int shared_memory_reach(shared_memory *m, uint64_t n_bytes)
{
    if (n_bytes <= m->size) {
        return 0;
    }
    if (n_bytes > (uint64_t)INT64_MAX / 2) {
        return -1;
    }
    const uint64_t twice = 2 * m->size < keep ? 2 * m->size : 0;
    const uint64_t least = n_bytes > twice ? n_bytes : twice;
    const uint64_t size = (least + granule - 1) / granule * granule;
    void *moved;

    if (ftruncate(m->fd, (off_t)size) != 0) {
        return -1;
    }
    moved = system_map_again(m->fd, m->base, (size_t)m->size, (size_t)size);
    if (moved == NULL) {
        return -1;
    }
    m->base = moved;
    m->size = size;
    return 0;
}

int shared_memory_take(shared_memory *m, uint64_t n_bytes, uint64_t *offset)
{
    const uint64_t whole = (n_bytes + page - 1) / page * page;

    if (n_bytes > UINT64_MAX / 4 || m->top > UINT64_MAX / 4 ||
        shared_memory_reach(m, m->top + whole) != 0) {
        return -1;
    }
    *offset = m->top;
    m->top += whole;
    m->n_live++;
    return 0;
}

void shared_memory_give(shared_memory *m)
{
    m->n_live -= m->n_live > 0;
    if (m->n_live > 0) {
        return;
    }
    if (m->top > keep) {
        system_drop_bytes(m->fd, keep, m->size - keep);
    }
    m->top = 0;
}
