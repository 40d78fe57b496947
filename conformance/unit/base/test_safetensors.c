/* SPDX-License-Identifier: Apache-2.0 */
/* Files from strangers are refused by one sentence; ours come back whole. */
#include "files/safetensors.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 4096 };

static char sentence[512];
static const mxo_text why = {sentence, sizeof sentence};

/* Header length, header, n_data bytes counting up; returns the size. */
static size_t make(uint8_t *file, const char *header, size_t n_data)
{
    const size_t n = strlen(header);

    for (int i = 0; i < 8; i++) {
        file[i] = (uint8_t)((uint64_t)n >> (8 * i));
    }
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): no text */
    memcpy(file + 8, header, n);
    for (size_t i = 0; i < n_data; i++) {
        file[8 + n + i] = (uint8_t)i;
    }
    return 8 + n + n_data;
}

static mxo_status parse(const char *header, size_t n_data, safetensors *file)
{
    uint8_t bytes[ROOM];

    sentence[0] = '\0';
    return safetensors_parse(bytes, make(bytes, header, n_data), file, why);
}

#define TENSOR(dtype, shape, offsets)                  \
    "{\"x\":{\"dtype\":\"" dtype "\",\"shape\":" shape \
    ",\"data_offsets\":" offsets "}}"

typedef struct bad_header {
    const char *what;
    const char *header;
    size_t n_data;
    const char *says; /* part of the sentence */
} bad_header;

static const bad_header bad_headers[] = {
    {"no JSON", "{", 0, "no JSON"},
    {"not an object", "[]", 0, "no object"},
    {"deep JSON", NULL, 0, "depth"},
    {"no comma", "{\"__metadata__\":{\"a\":\"1\" \"b\":\"2\"}}", 0, "a comma"},
    {"a comma before the end", "{\"__metadata__\":{},}", 0, "a name"},
    {"no colon", "{\"x\" 1}", 0, "a colon"},
    {"no name", "{x:1}", 0, "a name"},
    {"no value", "{\"x\":}", 0, "a value"},
    {"a comma too many", TENSOR("U8", "[]", "[0,1],"), 1, "no JSON"},
    {"a second object", "{}{}", 0, "follows"},
    {"brackets of two kinds", "{\"x\":{\"dtype\":[}}]", 0, "no JSON"},
    {"not UTF-8", "{\"\xff\":1}", 0, "unable to decode"},
    {"duplicate keys", "{\"x\":{\"a\":1,\"a\":2}}", 0, "duplicate"},
    {"duplicate tensors",
     "{\"x\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"x\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}",
     4, "duplicate of x"},
    {"duplicate metadata", "{\"__metadata__\":{},\"__metadata__\":{}}", 0,
     "duplicate of __metadata__"},
    {"duplicate keys of metadata",
     "{\"__metadata__\":{\"b\":\"1\",\"a\":\"2\",\"b\":\"3\"}}", 0,
     "duplicate of b"},
    {"metadata without a name", "{\"__metadata__\":{\"\":\"1\"}}", 0,
     "text with a name"},
    {"half a byte", TENSOR("F4", "[7]", "[0,4]"), 4, "do not fit"},
    {"F4 is no type of vectors", TENSOR("F4", "[8]", "[0,4]"), 4,
     "unknown dtype F4"},
    {"huge integer", TENSOR("U8", "[99999999999999999999]", "[0,4]"), 4,
     "too big integer"},
    {"text for a tensor", "{\"x\":\"y\"}", 0, "describes x"},
    {"a field more",
     "{\"x\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1],\"a\":1}}",
     1, "describes x"},
    {"no dtype", "{\"x\":{\"shape\":[4],\"data_offsets\":[0,4],\"a\":1}}", 4,
     "describes x"},
    {"unknown dtype", TENSOR("G4", "[4]", "[0,4]"), 4, "unknown dtype G4"},
    {"shape is a number", TENSOR("U8", "4", "[0,4]"), 4, "no shape"},
    {"negative dimension", TENSOR("U8", "[-4]", "[0,4]"), 4, "natural"},
    {"fractional dimension", TENSOR("U8", "[4.0]", "[0,4]"), 4, "natural"},
    {"rank 7", TENSOR("U8", "[1,1,1,1,1,1,4]", "[0,4]"), 4, "dimensions"},
    {"shape overflows", TENSOR("U8", "[4294967296,4294967296]", "[0,4]"), 4,
     "do not fit its shape"},
    {"shape overflows by the type",
     TENSOR("F64", "[2305843009213693952]", "[0,0]"), 0, "do not fit"},
    {"shape of other size", TENSOR("U8", "[5]", "[0,4]"), 4, "do not fit"},
    {"odd bytes of a wide type", TENSOR("F32", "[1]", "[0,3]"), 3,
     "do not fit"},
    {"three offsets", TENSOR("U8", "[4]", "[0,4,4]"), 4, "data_offsets"},
    {"negative offset", TENSOR("U8", "[4]", "[-4,0]"), 4, "data_offsets"},
    {"end before begin", TENSOR("U8", "[4]", "[4,0]"), 4, "at bytes 4 to 0"},
    {"end beyond the file", TENSOR("U8", "[400]", "[0,400]"), 4, "of 4"},
    {"hole before", TENSOR("U8", "[2]", "[2,4]"), 4, "a hole"},
    {"rest after", TENSOR("U8", "[2]", "[0,2]"), 4, "2 bytes after"},
    {"data without tensor", "{}", 4, "4 bytes after"},
    {"overlap",
     "{\"x\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
     "\"y\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}",
     4, "an overlap"},
    {"same bytes twice",
     "{\"x\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
     "\"y\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
     4, "an overlap"},
    {"empty name",
     "{\"\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4,
     "name is empty"},
    {"metadata is a list", "{\"__metadata__\":[]}", 0, "__metadata__"},
    {"metadata holds a number", "{\"__metadata__\":{\"op\":1}}", 0,
     "metadata op"},
};

START_TEST(safetensors_refuses_bad_header)
{
    const bad_header *b = &bad_headers[_i];
    char deep[3001];
    safetensors file;

    memcpy(deep, "{\"x\":", 5);
    memset(deep + 5, '[', 2995);
    deep[3000] = '\0';
    const mxo_status status =
        parse(b->header == NULL ? deep : b->header, b->n_data, &file);

    ck_assert_msg(status == MXO_E_SHAPE, "%s: status %d", b->what, (int)status);
    ck_assert_msg(strstr(sentence, b->says) != NULL, "%s: \"%s\"", b->what,
                  sentence);
    ck_assert_msg(strchr(sentence, '\n') == NULL, "%s: two lines", b->what);
    ck_assert_msg(file.tensors.n == 0 && file.header.text == NULL,
                  "%s: something is left", b->what);
}
END_TEST

START_TEST(safetensors_refuses_short_and_lying_lengths)
{
    safetensors file;
    uint8_t bytes[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

    for (uint64_t n = 0; n < 8; n++) {
        ck_assert_msg(safetensors_parse(bytes, n, &file, why) == MXO_E_SHAPE,
                      "%d bytes were accepted", (int)n);
    }
    ck_assert_int_eq(safetensors_parse(bytes, 16, &file, why), MXO_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(sentence, "18446744073709551615"));
    memset(bytes, 0, sizeof bytes);
    bytes[0] = 9;
    ck_assert_int_eq(safetensors_parse(bytes, 16, &file, why), MXO_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(sentence, "than the file has"));
}
END_TEST

START_TEST(safetensors_limits_the_number_of_tensors)
{
    char header[ROOM - 64] = "{";
    safetensors file;

    for (int i = 0; i <= MXO_MAX_TENSORS; i++) {
        const size_t n = strlen(header);
        (void)snprintf(header + n, sizeof header - n,
                       "%s\"%d\":{\"dtype\":\"U8\",\"shape\":[0],"
                       "\"data_offsets\":[0,0]}",
                       i == 0 ? "" : ",", i);
    }
    strcat(header, "}");
    ck_assert_int_eq(parse(header, 0, &file), MXO_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(sentence, "more than 64 tensors"));
}
END_TEST

START_TEST(safetensors_hides_control_characters)
{
    safetensors file;

    ck_assert_int_eq(parse("{\"a\\u001b[31m\\nb\":1}", 0, &file), MXO_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(sentence, "a?[31m?b"));
}
END_TEST

START_TEST(safetensors_reads_unsorted_and_empty_tensors)
{
    safetensors file;
    const char *header =
        "{\"__metadata__\":{\"op\":\"o\"},"
        "\"b\":{\"dtype\":\"U16\",\"shape\":[2],\"data_offsets\":[4,8]},"
        "\"e\":{\"dtype\":\"F32\",\"shape\":[3,0],\"data_offsets\":[4,4]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}   ";

    ck_assert_int_eq(parse(header, 8, &file), MXO_OK);
    ck_assert_uint_eq(file.tensors.n, 3);
    ck_assert_str_eq(safetensors_meta(&file, "op"), "o");
    ck_assert_ptr_null(safetensors_meta(&file, "params"));
    ck_assert_uint_eq(tensor_load(tensor_set_find(&file.tensors, "a"), 0),
                      0x03020100);
    ck_assert_uint_eq(tensor_load(tensor_set_find(&file.tensors, "b"), 1),
                      0x0706);
    ck_assert_uint_eq(tensor_set_find(&file.tensors, "e")->n_bytes, 0);
    safetensors_clear(&file);
}
END_TEST

START_TEST(safetensors_refuses_what_is_no_file)
{
    safetensors file;

    ck_assert_int_eq(safetensors_read("/nonexistent", &file, why),
                     MXO_E_DEVICE);
    ck_assert_ptr_nonnull(strstr(sentence, "No such file"));
    ck_assert_int_eq(safetensors_read("/", &file, why), MXO_E_DEVICE);
    ck_assert_ptr_nonnull(strstr(sentence, "no regular file"));
    ck_assert_int_eq(safetensors_read("/dev/null", &file, why), MXO_E_DEVICE);
    ck_assert_ptr_nonnull(strstr(sentence, "no regular file"));
}
END_TEST

/* Every dtype, odd sizes; every prefix of the file is refused. */
START_TEST(safetensors_writes_what_it_reads)
{
    char path[] = "test-XXXXXX";
    struct stat st;
    tensor_set set;
    safetensors file;
    const uint64_t shape[] = {3, 5};
    json_t *metadata =
        json_pack("{s:s, s:s}", "op", "quant.mx", "params", "{}");

    memset(&set, 0, sizeof set);
    for (uint32_t d = 0; d < MXO_N_DTYPES; d++) {
        char name[16];
        host_tensor *t;
        (void)snprintf(name, sizeof name, "in.%u", (unsigned)d);
        ck_assert_int_eq(tensor_set_add(&set, name, d, 2, shape, &t), MXO_OK);
        for (uint64_t i = 0; i < 15; i++) {
            tensor_store(t, i, 0x0123456789abcdef * (i + d + 1));
        }
    }
    const int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(close(fd), 0);
    ck_assert_int_eq(safetensors_write(path, &set, metadata, why), MXO_OK);
    ck_assert_int_eq(safetensors_read(path, &file, why), MXO_OK);
    ck_assert_uint_eq(file.tensors.n, set.n);
    ck_assert_str_eq(safetensors_meta(&file, "op"), "quant.mx");
    for (uint32_t i = 0; i < set.n; i++) {
        const host_tensor *t = tensor_set_find(&file.tensors, set.t[i].name);
        ck_assert_msg(t != NULL && t->dtype == set.t[i].dtype &&
                          memcmp(t->data, set.t[i].data, t->n_bytes) == 0,
                      "%s differs", set.t[i].name);
    }
    safetensors_clear(&file);
    tensor_set_clear(&set);
    json_decref(metadata);
    ck_assert_int_eq(stat(path, &st), 0);
    for (off_t size = st.st_size - 1; size >= 0; size--) {
        ck_assert_int_eq(truncate(path, size), 0);
        ck_assert_msg(safetensors_read(path, &file, why) == MXO_E_SHAPE,
                      "a prefix of %d bytes was accepted", (int)size);
    }
    (void)unlink(path);
}
END_TEST

START_TEST(safetensors_leaves_nothing_half_written)
{
    tensor_set set;
    const uint64_t shape[] = {1};
    json_t *metadata = json_object();
    struct stat st;

    memset(&set, 0, sizeof set);
    ck_assert_int_eq(tensor_set_add(&set, "in.x", MXO_U8, 1, shape, NULL),
                     MXO_OK);
    /* A folder cannot be replaced by a file: the rename fails. */
    ck_assert_int_eq(mkdir("test-folder", 0700), 0);
    ck_assert_int_eq(safetensors_write("test-folder", &set, metadata, why),
                     MXO_E_DEVICE);
    ck_assert_ptr_nonnull(strstr(sentence, "test-folder cannot be written"));
    ck_assert_int_eq(rmdir("test-folder"), 0);
    ck_assert_int_eq(safetensors_write("/nonexistent/x", &set, metadata, why),
                     MXO_E_DEVICE);
    ck_assert_int_ne(stat("/nonexistent", &st), 0);
    tensor_set_clear(&set);
    json_decref(metadata);
}
END_TEST

/* A process that ends in the middle of a file leaves no name behind. */
START_TEST(safetensors_leaves_nothing_when_killed)
{
    const uint64_t shape[] = {1 << 20};
    const struct rlimit least = {4096, 4096};
    tensor_set set;
    int status = 0;

    memset(&set, 0, sizeof set);
    ck_assert_int_eq(tensor_set_add(&set, "in.x", MXO_U8, 1, shape, NULL),
                     MXO_OK);
    ck_assert_int_eq(mkdir("test-killed", 0700), 0);
    const pid_t child = fork();

    if (child == 0) {
        (void)signal(SIGXFSZ, SIG_DFL); /* sent at the limit */
        (void)setrlimit(RLIMIT_FSIZE, &least);
        _exit((int)safetensors_write("test-killed/x", &set, NULL, why));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGXFSZ);
    ck_assert_int_eq(rmdir("test-killed"), 0); /* it is empty */
    tensor_set_clear(&set);
}
END_TEST

Suite *suite_safetensors(void);
Suite *suite_safetensors(void)
{
    Suite *s = suite_create("safetensors");
    TCase *read = tcase_create("read");
    TCase *write = tcase_create("write");

    tcase_add_loop_test(read, safetensors_refuses_bad_header, 0,
                        sizeof bad_headers / sizeof bad_headers[0]);
    tcase_add_test(read, safetensors_refuses_short_and_lying_lengths);
    tcase_add_test(read, safetensors_limits_the_number_of_tensors);
    tcase_add_test(read, safetensors_hides_control_characters);
    tcase_add_test(read, safetensors_reads_unsorted_and_empty_tensors);
    tcase_add_test(read, safetensors_refuses_what_is_no_file);
    tcase_add_test(write, safetensors_writes_what_it_reads);
    tcase_add_test(write, safetensors_leaves_nothing_half_written);
    tcase_add_test(write, safetensors_leaves_nothing_when_killed);
    suite_add_tcase(s, read);
    suite_add_tcase(s, write);
    return s;
}
