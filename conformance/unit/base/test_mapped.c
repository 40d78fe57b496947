/* SPDX-License-Identifier: Apache-2.0 */
/* Files that change while they are read. */
#include "system/mapped.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 16 * 4096 };

/* A file of PAGES bytes. */
static void make_file(char path[32])
{
    (void)snprintf(path, 32, "mapped-XXXXXX");
    const int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, PAGES), 0);
    ck_assert_int_eq(close(fd), 0);
}

START_TEST(a_file_that_is_cut_off_ends_the_process_with_a_sentence)
{
    char path[32];
    char said[128] = "";

    make_file(path);
    (void)rename(path, "\033apped");
    (void)snprintf(path, sizeof path, "\033apped");
    FILE *err = freopen("mapped.err", "w+", stderr);
    mapped_file *f = mapped_open(path);
    const pid_t child = fork();

    if (child == 0) {
        (void)!truncate(path, 1);
        _exit(f->bytes[PAGES - 1]);
    }
    int status = 0;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    rewind(err);
    ck_assert_ptr_nonnull(fgets(said, sizeof said, err));
    ck_assert_ptr_nonnull(strstr(said, "was cut off while it was read"));
    path[0] = '?'; /* no control of a terminal is written */
    ck_assert_ptr_nonnull(strstr(said, path));
    path[0] = '\033';
    mapped_close(&f);
    ck_assert_ptr_null(f);
    (void)unlink(path);
    (void)unlink("mapped.err");
}
END_TEST

START_TEST(a_file_that_is_written_to_has_changed)
{
    const struct timespec later[2] = {{1, 0}, {1, 1}};
    char path[32];

    make_file(path);
    mapped_file *f = mapped_open(path);

    ck_assert_int_eq(mapped_has_changed(f), 0);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, later, 0), 0);
    ck_assert_int_ne(mapped_has_changed(f), 0);
    mapped_close(&f);
    f = mapped_open(path);
    ck_assert_int_eq(mapped_has_changed(f), 0);
    ck_assert_int_eq(truncate(path, PAGES / 2), 0);
    ck_assert_int_ne(mapped_has_changed(f), 0);
    mapped_close(&f);
    (void)unlink(path);
}
END_TEST

START_TEST(other_than_regular_files_are_not_waited_for)
{
    char path[32];

    make_file(path);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_ptr_null(mapped_open(path));
    ck_assert_int_eq(errno, ENOTSUP);
    (void)unlink(path);
    ck_assert_ptr_null(mapped_open(path));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_ptr_null(mapped_open("/dev/zero"));
    ck_assert_ptr_null(mapped_open("/"));
}
END_TEST

Suite *suite_mapped(void);

Suite *suite_mapped(void)
{
    Suite *s = suite_create("mapped");
    TCase *t = tcase_create("files");

    tcase_add_test(t, a_file_that_is_cut_off_ends_the_process_with_a_sentence);
    tcase_add_test(t, a_file_that_is_written_to_has_changed);
    tcase_add_test(t, other_than_regular_files_are_not_waited_for);
    suite_add_tcase(s, t);
    return s;
}
