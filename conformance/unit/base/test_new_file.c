/* SPDX-License-Identifier: Apache-2.0 */
/* Files that appear whole or not at all, and replace no stranger's. */
#include "system/new_file.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char path[] = "new-file-of-a-test";

static void put(const char *text)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(close(fd), 0);
}

static void holds(const char *text)
{
    char got[32] = "";
    const int fd = open(path, O_RDONLY);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(read(fd, got, sizeof got - 1), (ssize_t)strlen(text));
    ck_assert_str_eq(got, text);
    ck_assert_int_eq(close(fd), 0);
}

/* As where the system has only files with names. */
static void give_name(new_file *f)
{
    if (f->is_nameless) {
        (void)close(f->fd);
        f->is_nameless = 0;
        f->fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
        ck_assert_int_ge(f->fd, 0);
    }
}

/* A name between that nobody needs stays behind whoever is ended meanwhile. */
START_TEST(a_file_that_replaces_nothing_has_one_name)
{
    new_file f;

    (void)unlink(path);
    ck_assert_int_eq(new_file_open(&f, path), 0);
    f.replaces = 1;
    if (!f.is_nameless) {
        new_file_close(&f);
        return; /* the system has only files with names */
    }
    ck_assert_int_eq(symlink("nothing", f.temporary), 0);
    char temporary[64];

    (void)snprintf(temporary, sizeof temporary, "%s", f.temporary);
    ck_assert_int_eq(write(f.fd, "new", 3), 3);
    ck_assert_int_eq(new_file_finish(&f), 0);
    new_file_close(&f);
    holds("new");
    ck_assert_int_eq(unlink(temporary), 0);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(a_file_that_came_meanwhile_stays)
{
    struct stat st;
    new_file f;

    (void)unlink(path);
    ck_assert_int_eq(new_file_open(&f, path), 0);
    if (_i == 1) {
        give_name(&f);
    }
    ck_assert_int_eq(write(f.fd, "new", 3), 3);
    put("a stranger's");
    ck_assert_int_eq(new_file_finish(&f), -1);
    ck_assert_int_eq(errno, EEXIST);
    char temporary[64];

    (void)snprintf(temporary, sizeof temporary, "%s", f.temporary);
    new_file_close(&f);
    ck_assert_int_ne(stat(temporary, &st), 0);
    holds("a stranger's");
    (void)unlink(path);
}
END_TEST

START_TEST(a_file_that_was_there_is_replaced_at_the_end_alone)
{
    new_file f;

    put("old");
    ck_assert_int_eq(new_file_open(&f, path), 0);
    if (_i == 1) {
        give_name(&f);
    }
    ck_assert_int_eq(write(f.fd, "new", 3), 3);
    holds("old");
    ck_assert_int_eq(new_file_finish(&f), 0);
    new_file_close(&f);
    holds("new");
    ck_assert_int_eq(new_file_open(&f, path), 0);
    new_file_close(&f);
    holds("new");
    (void)unlink(path);
}
END_TEST

START_TEST(a_link_to_a_file_stays_one)
{
    static const char link[] = "link-of-a-test";
    struct stat st;
    new_file f;

    put("old");
    (void)unlink(link);
    ck_assert_int_eq(symlink(path, link), 0);
    ck_assert_int_eq(new_file_open(&f, link), 0);
    if (_i == 1) {
        give_name(&f);
    }
    ck_assert_int_eq(write(f.fd, "new", 3), 3);
    ck_assert_int_eq(new_file_finish(&f), 0);
    new_file_close(&f);
    ck_assert_int_eq(lstat(link, &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    holds("new");
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(a_link_to_a_file_without_a_name_stays)
{
    char link[64];
    new_file f;

    put("old");
    const int fd = open(path, O_RDONLY);

    ck_assert_int_eq(unlink(path), 0);
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ck_assert_int_eq(new_file_open(&f, link), -1);
    new_file_close(&f);
    ck_assert_int_eq(close(fd), 0);
}
END_TEST

static const char *named(char name[300], char letter, size_t n)
{
    memset(name, letter, n);
    name[n] = '\0';
    return name;
}

START_TEST(a_name_that_no_file_can_have_is_refused_at_once)
{
    char name[300];
    new_file f;

    ck_assert_int_eq(new_file_open(&f, named(name, 'n', 256)), -1);
    ck_assert_int_eq(errno, ENAMETOOLONG);
    new_file_close(&f);
    (void)unlink(path);
    ck_assert_int_eq(symlink(path, path), 0);
    ck_assert_int_eq(new_file_open(&f, path), -1);
    ck_assert_int_eq(errno, ELOOP);
    new_file_close(&f);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(the_longest_name_is_written_twice)
{
    char name[300];
    new_file f;

    for (int times = 0; times < 2; times++) {
        ck_assert_int_eq(new_file_open(&f, named(name, 'n', 255)), 0);
        if (_i == 1) {
            give_name(&f);
        }
        ck_assert_int_eq(new_file_finish(&f), 0);
        new_file_close(&f);
    }
    ck_assert_int_eq(unlink(name), 0);
}
END_TEST

START_TEST(a_link_to_nothing_stays)
{
    struct stat st;
    new_file f;

    (void)unlink(path);
    ck_assert_int_eq(symlink("nowhere", path), 0);
    ck_assert_int_eq(new_file_open(&f, path), 0);
    if (_i == 1) {
        give_name(&f);
    }
    ck_assert_int_eq(new_file_finish(&f), -1);
    ck_assert_int_eq(errno, EEXIST);
    new_file_close(&f);
    ck_assert_int_eq(lstat(path, &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    (void)unlink(path);
}
END_TEST

Suite *suite_new_file(void);

Suite *suite_new_file(void)
{
    Suite *s = suite_create("new_file");
    TCase *t = tcase_create("places");

    tcase_add_test(t, a_file_that_replaces_nothing_has_one_name);
    tcase_add_loop_test(t, a_file_that_came_meanwhile_stays, 0, 2);
    tcase_add_loop_test(t, a_file_that_was_there_is_replaced_at_the_end_alone,
                        0, 2);
    tcase_add_loop_test(t, a_link_to_a_file_stays_one, 0, 2);
    tcase_add_test(t, a_link_to_a_file_without_a_name_stays);
    tcase_add_loop_test(t, a_link_to_nothing_stays, 0, 2);
    tcase_add_test(t, a_name_that_no_file_can_have_is_refused_at_once);
    tcase_add_loop_test(t, the_longest_name_is_written_twice, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
