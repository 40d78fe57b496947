/* SPDX-License-Identifier: Apache-2.0 */
/* See fault.h. */
#include "fault.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *conversion_fault_word_text(int word)
{
    static const char *const words[CONVERSION_FAULT_WORDS] = {
        "right",
#define MXO_FAULT(id, word) word,
#include "words.def"
#undef MXO_FAULT
    };

    return words[word];
}

/* Sizes differ from checkpoint to checkpoint, the cause does not. */
static void without_numbers(char *text)
{
    char *to = text;

    for (const char *p = text; *p != '\0'; p++) {
        const int is_number = isdigit((unsigned char)*p) &&
                              (p == text || !isalnum((unsigned char)p[-1]));
        if (!is_number) {
            *to++ = *p;
            continue;
        }
        /* A list of numbers is one. */
        if (to - text < 2 || to[-1] != ' ' || to[-2] != 'N') {
            *to++ = 'N';
        } else {
            to--;
        }
        while (isalnum((unsigned char)p[1])) {
            p++;
        }
    }
    *to = '\0';
}

void conversion_fault_add(conversion_fault *f, int word, const char *what,
                          const char *mistake, const char *line)
{
    if (f->word == CONVERSION_FAULT_NONE || word < f->word) {
        f->word = word;
        (void)snprintf(f->cause, sizeof f->cause, "%s%s%.100s%s%.300s",
                       conversion_fault_word_text(word),
                       what[0] == '\0' ? "" : ": ", what,
                       mistake[0] == '\0' ? "" : ": ", mistake);
        without_numbers(f->cause);
    }
    size_t n = strlen(line);

    n -= n > 0 && line[n - 1] == '\n';
    strbuf_add(&f->text, "  %s: %.*s\n", conversion_fault_word_text(word),
               (int)n, line);
}

void conversion_fault_clear(conversion_fault *f)
{
    strbuf_clear(&f->text);
    *f = (conversion_fault){0};
}
