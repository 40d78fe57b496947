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
    const char *mode = getenv("MODE");

    if (mode == NULL) {
        return;
    }
    (void)fesetround(strncmp(mode, "up", 2) == 0     ? FE_UPWARD
                     : strncmp(mode, "down", 4) == 0 ? FE_DOWNWARD
                     : strncmp(mode, "zero", 4) == 0 ? FE_TOWARDZERO
                                                     : FE_TONEAREST);
    if (strstr(mode, "comma") != NULL) {
        (void)setlocale(LC_ALL, "de_DE.UTF-8");
    }
#ifdef __SSE2__
    if (strstr(mode, "flush") != NULL) {
        _mm_setcsr(_mm_getcsr() | 0x8040);
    }
#endif
}
