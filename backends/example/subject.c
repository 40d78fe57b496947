/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole subject of the exec protocol in C: MXFP4 blocks to BF16, rule ocp,
 * along the last axis.  Needs jansson.
 *     cc -o subject subject.c -ljansson -lm
 *     mxoracle run --exec ./subject
 */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Backslash and quote: the text of a reply doubles every backslash. */
#define HELLO                                                              \
    "{\"name\":\"subject-c\",\"version\":\"1\",\"device\":\"this CPU\","   \
    "\"driver\":\"\",\"ops\":[\"dequant.mx\"],\"limits\":{\"dequant.mx\":" \
    "{\"params\":{\"rule\":[\"ocp\"],\"element\":[\"e2m1\"],"              \
    "\"to\":[\"bf16\"],\"axis\":[\"-1\"],\"zero\":[\"keep\"]}}}}"

enum { OK, SHAPE, PARAM, UNSUPPORTED };
static uint8_t *memory;
static const char *text; /* of the reply */

static int refuse(int status, const char *sentence)
{
    text = sentence;
    return status;
}

/* Number of elements if tensor i is of this type and has last (of) q's last
   extent and otherwise its shape; else -1. */
static json_int_t fits(json_t *t, const char *name, const char *dtype,
                       json_t *q, json_int_t last, int bytes)
{
    const char *is, *of;
    json_t *shape = json_object_get(t, "shape"), *like;
    json_int_t n = 1, size, extent;
    size_t rank = json_array_size(shape), i;

    like = json_object_get(q, "shape");
    if (json_unpack(t, "{s:s, s:s, s:I}", "name", &is, "dtype", &of, "bytes",
                    &size) != 0 ||
        strcmp(is, name) != 0 || strcmp(of, dtype) != 0 ||
        rank != json_array_size(like) || rank == 0) {
        return -1;
    }
    for (i = 0; i < rank; i++) {
        extent = json_integer_value(json_array_get(shape, i));
        if (extent != (i + 1 < rank
                           ? json_integer_value(json_array_get(like, i))
                           : last) ||
            !json_is_integer(json_array_get(shape, i)) ||
            __builtin_mul_overflow(n, extent, &n)) {
            return -1;
        }
    }
    return n <= INT64_MAX / 2 && n * bytes == size ? n : -1;
}

static uint8_t *bytes_of(json_t *t)
{
    return memory + json_integer_value(json_object_get(t, "offset"));
}

/* Exact: E2M1 has two significant bits and BF16 the exponents of binary32. */
static uint16_t bf16(unsigned code, unsigned scale)
{
    static const float value[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    const float x = ldexpf(value[code & 7], (int)scale - 127);
    uint32_t bits;

    memcpy(&bits, &x, 4);
    return (uint16_t)(scale == 255 ? 0x7fc0 : bits >> 16 | (code & 8) << 12);
}

static int run(json_t *request)
{
    const char *rule, *element, *to, *axis, *zero;
    json_t *in = json_object_get(request, "in");
    json_t *out = json_object_get(request, "out");
    json_t *q = json_array_get(in, 0), *s = json_array_get(in, 1);
    json_t *y = json_array_get(out, 0), *shape = json_object_get(q, "shape");
    const json_int_t last =
        json_integer_value(json_array_get(shape, json_array_size(shape) - 1));
    json_int_t n, i;

    if (json_unpack_ex(json_object_get(request, "params"), NULL, JSON_STRICT,
                       "{s:s, s:s, s:s, s:s, s:s}", "rule", &rule, "element",
                       &element, "to", &to, "axis", &axis, "zero", &zero)) {
        return refuse(PARAM, "dequant.mx has five parameters");
    }
    if (strcmp(rule, "ocp") != 0 || strcmp(element, "e2m1") != 0 ||
        strcmp(to, "bf16") != 0 || strcmp(axis, "-1") != 0 ||
        strcmp(zero, "keep") != 0) {
        return refuse(UNSUPPORTED, "MXFP4 to BF16, rule ocp only");
    }
    n = fits(y, "y", "bf16", q, 2 * last, 2);
    if (json_array_size(in) != 2 || json_array_size(out) != 1 || last % 16 ||
        fits(q, "q", "u8", q, last, 1) < 0 || n < 0 ||
        fits(s, "scale", "e8m0", q, last / 16, 1) < 0) {
        return refuse(SHAPE, "q, scale and y do not fit each other");
    }
    for (i = 0; i < n; i++) {
        const uint16_t x =
            bf16(bytes_of(q)[i / 2] >> 4 * (i % 2) & 15, bytes_of(s)[i / 32]);
        memcpy(bytes_of(y) + 2 * i, &x, 2);
    }
    return refuse(OK, "bf16");
}

int main(void)
{
    const char *given = getenv("MXORACLE_EXEC");
    FILE *channel = given == NULL ? NULL : fdopen(3, "r+");
    char *line = NULL;
    size_t size = 0, mapped = 0;

    if (channel == NULL) {
        fputs("start it with: mxoracle run --exec ./subject\n", stderr);
        return 2;
    }
    while (getline(&line, &size, channel) > 0) {
        json_t *request = json_loads(line, 0, NULL);
        const char *what = "", *token = "";
        struct stat file;
        int status = OK;

        (void)json_unpack(request, "{s:s, s:s}", "do", &what, "token", &token);
        if (fstat(4, &file) == 0 && (size_t)file.st_size > mapped) {
            mapped = (size_t)file.st_size; /* the old mapping is left alone */
            memory =
                mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, 4, 0);
        }
        text = HELLO;
        if (strcmp(what, "run") == 0) {
            status = run(request);
        } else if (strcmp(what, "hello") != 0) {
            status = refuse(UNSUPPORTED, "not served");
        }
        fprintf(channel, "%s %d %s\n", token, status, text);
        fflush(channel);
        json_decref(request);
    }
    return 0;
}
