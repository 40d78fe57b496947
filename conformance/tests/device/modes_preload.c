/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For modes.test, loaded before the judge: what constructors of libraries do
 * to arithmetic, as those built with -ffast-math do.  MODE is up, down or zero
 * for rounding, with "flush" in it subnormal numbers are zero, with "comma" the
 * locale is one of numbers with a comma.
 */
#include <fenv.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

__attribute__((constructor)) static void change(void)
{
    static const struct {
        const char *word;
        int mode;
    } rows[] = {
        {"up", FE_UPWARD}, {"down", FE_DOWNWARD}, {"zero", FE_TOWARDZERO}};
    const char *mode = getenv("MODE");

    if (mode == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strncmp(mode, rows[i].word, strlen(rows[i].word)) == 0) {
            (void)fesetround(rows[i].mode);
        }
    }
    if (strstr(mode, "comma") != NULL) {
        (void)setlocale(LC_ALL, "de_DE.UTF-8");
    }
#ifdef __SSE2__
    if (strstr(mode, "flush") != NULL) {
        _mm_setcsr(_mm_getcsr() | 0x8040);
    }
#endif
}
