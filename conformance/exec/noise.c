/* SPDX-License-Identifier: Apache-2.0 */
/* See noise.h. */
#include "noise.h"

#include "base/say.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static void keep(noise_pipe *n, const char *chunk, int size)
{
    if (n->first.used < NOISE_KEPT) {
        strbuf_add(&n->first, "%.*s", size, chunk);
        return;
    }
    strbuf_add(&n->last, "%.*s", size, chunk);
    if (n->last.used > 2 * NOISE_KEPT) {
        const size_t gone = n->last.used - NOISE_KEPT;
        memmove(n->last.text, n->last.text + gone, NOISE_KEPT + 1);
        n->last.used = NOISE_KEPT;
        n->n_dropped += gone;
    }
}

void noise_take(noise_pipe *n)
{
    char chunk[4096];
    ssize_t size;
    uint64_t left = 1 << 20;

    while (left >= sizeof chunk &&
           (size = read(n->file, chunk, sizeof chunk)) > 0) {
        left -= (uint64_t)size;
        for (ssize_t i = 0; i < size; i++) {
            chunk[i] = chunk[i] == '\0' ? '?' : chunk[i];
        }
        keep(n, chunk, (int)size);
    }
}

void noise_say(const noise_pipe *n, strbuf *lines)
{
    const size_t before = lines->used;

    strbuf_add(lines, "%s", strbuf_text(&n->first));
    if (n->n_dropped > 0) {
        strbuf_add(lines, "\n[%" PRIu64 " bytes left out]\n", n->n_dropped);
    }
    strbuf_add(lines, "%s", strbuf_text(&n->last));
    if (lines->text != NULL) {
        say_printable_lines(lines->text + before);
        lines->used = before + strlen(lines->text + before);
    }
    while (lines->used > before && lines->text[lines->used - 1] == '\n') {
        lines->text[--lines->used] = '\0';
    }
}

void noise_clear(noise_pipe *n)
{
    strbuf_clear(&n->first);
    strbuf_clear(&n->last);
    n->n_dropped = 0;
}
