/* SPDX-License-Identifier: Apache-2.0 */
/* Platforms by the names that people use; see options.h. */
#include "options.h"

#include "base/cli.h"
#include "base/say.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const hardware hardware_rows[] = {
#define MXO_HARDWARE(alias, platform, name, in_matrix) \
    {alias, platform, name, in_matrix},
#define MXO_HARDWARE_UNKNOWN(alias, name, example)
#include "hardware.def"
};

static const struct {
    const char *alias, *name, *example;
} unknown_rows[] = {
#define MXO_HARDWARE(alias, platform, name, in_matrix)
#define MXO_HARDWARE_UNKNOWN(alias, name, example) {alias, name, example},
#include "hardware.def"
};

enum { N_HARDWARE = sizeof hardware_rows / sizeof hardware_rows[0] };

const hardware *hardware_at(int i)
{
    return i >= 0 && i < N_HARDWARE ? &hardware_rows[i] : NULL;
}

static int refuse(mxo_text why, const char *what, const char *value,
                  const char *wanted)
{
    (void)say(MXO_E_PARAM, why, "%s %.60s is not %s", what, value, wanted);
    return -1;
}

/* "9.0" */
static int take_capability(select_question *q, const char *text, mxo_text why)
{
    char *end;
    const unsigned long major = strtoul(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || end[0] != '.' || end[1] < '0' ||
        end[1] > '9' || end[2] != '\0' || major > 99) {
        return refuse(why, "capability", text, "MAJOR.MINOR, as 9.0 or 12.1");
    }
    q->config.major = (int)major;
    q->config.minor = end[1] - '0';
    return 0;
}

static int take_gfx(select_question *q, const char *text, mxo_text why)
{
    const size_t n = strlen(text);

    if (strncmp(text, "gfx", 3) != 0 || n < 5 || n >= sizeof q->gfx ||
        strspn(text + 3, "0123456789") < 2) {
        return refuse(why, "gfx", text, "a name like gfx942");
    }
    memcpy(q->gfx, text, n + 1);
    q->config.gfx = q->gfx;
    return 0;
}

/* Equal but for case, blanks, dashes and underscores? */
static int is_spelled(const char *a, const char *b)
{
    static const char gaps[] = " -_";

    a += strspn(a, gaps);
    b += strspn(b, gaps);
    while (*a != '\0' &&
           tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
        a += strspn(a, gaps);
        b += strspn(b, gaps);
    }
    return *a == '\0' && *b == '\0';
}

/* "NVIDIA GeForce RTX 5090", or its end: "RTX 5090", not "Ti" alone. */
static int is_end_of_name(const char *name, const char *text)
{
    int is_end = 0;

    if (strpbrk(text, "0123456789") == NULL) {
        return 0;
    }
    for (; name != NULL && !is_end; name = strchr(name, ' ')) {
        name += *name == ' ';
        is_end = is_spelled(name, text);
    }
    return is_end;
}

static int unknown_platform(const char *text, mxo_text why)
{
    cli_nearest near = {NULL, 0};
    char hint[96];

    for (size_t i = 0; i < sizeof unknown_rows / sizeof *unknown_rows; i++) {
        if (is_spelled(unknown_rows[i].alias, text) ||
            is_end_of_name(unknown_rows[i].name, text)) {
            const char *example = unknown_rows[i].example;
            (void)say(MXO_E_PARAM, why, "what vLLM %s %s is not known here%s%s",
                      example[0] == '\0' ? "runs on" : "is told of",
                      unknown_rows[i].name,
                      example[0] == '\0' ? "" : ": name it as ", example);
            return -1;
        }
    }
    for (int i = 0; i < N_HARDWARE; i++) {
        cli_offer(&near, text, hardware_rows[i].alias);
    }
    (void)say(MXO_E_PARAM, why,
              "platform %.60s is none of cuda:9.0, rocm:gfx942, xpu, cpu, "
              "tpu or a device's name%s",
              text, cli_suggestion(&near, hint, sizeof hint));
    return -1;
}

static int take_kind(select_question *q, const char *text, const char *whole,
                     mxo_text why)
{
    const size_t n = strcspn(text, ":");
    const char *detail = text[n] == ':' ? text + n + 1 : NULL;
    char kind[16] = "";
    int found;

    if (n < sizeof kind) {
        memcpy(kind, text, n);
    }
    found = mxo_select_find(MXO_SEL_WORDS_PLATFORM, kind);
    if (found < 0) {
        return unknown_platform(whole, why);
    }
    q->config.platform = (mxo_sel_platform)found;
    q->config.major = -1;
    q->config.minor = 0;
    q->config.gfx = NULL;
    if (detail == NULL) {
        return 0;
    }
    if (found == MXO_SEL_PLATFORM_cuda) {
        return take_capability(q, detail, why);
    }
    return found == MXO_SEL_PLATFORM_rocm
               ? take_gfx(q, detail, why)
               : refuse(why, "platform", whole, "one with a capability");
}

int select_platform(select_question *q, const char *text, mxo_text why)
{
    q->platform_text = text;
    q->has_platform = 1;
    q->hardware = NULL;
    for (int i = 0; i < N_HARDWARE; i++) {
        if (is_spelled(hardware_rows[i].alias, text) ||
            is_end_of_name(hardware_rows[i].name, text)) {
            q->hardware = &hardware_rows[i];
            q->platform_text = hardware_rows[i].alias;
            text = hardware_rows[i].platform;
            break;
        }
    }
    return take_kind(q, text, q->platform_text, why);
}
