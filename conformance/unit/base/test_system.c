/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of the system: what each promises must hold on Linux's own calls
 * and on POSIX's.  Built twice: into unit_tests, and with MXO_POSIX_ONLY into
 * posix_tests.
 */
#include "system/system.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int is_closed_on_exec(int fd)
{
    return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

START_TEST(the_program_is_found_by_path_and_by_name)
{
    char first[4096];
    char second[4096];

    system_note_program("/bin/../bin/sh");
    ck_assert_str_eq(system_program_name(), realpath("/bin/sh", NULL));
    ck_assert_ptr_nonnull(system_program());
    ck_assert_int_eq(system_program_path(first, sizeof first), 0);
    ck_assert_int_eq(first[0], '/');
    system_note_program("sh");
    ck_assert_int_eq(system_program_path(second, sizeof second), 0);
    ck_assert_str_eq(first, second);
    ck_assert_int_ne(system_program_path(second, 2), 0);
    system_note_program("no such program");
    ck_assert_str_eq(system_program_name(), "mxoracle");
}
END_TEST

START_TEST(ends_are_connected_and_not_inherited)
{
    int pair[2];
    int pipe[2];
    char got[3] = "";

    ck_assert_int_eq(system_socket_pair(pair), 0);
    ck_assert_int_eq(system_pipe(pipe), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert(is_closed_on_exec(pair[i]));
        ck_assert(is_closed_on_exec(pipe[i]));
    }
    ck_assert_int_eq(write(pair[1], "ab", 2), 2);
    ck_assert_int_eq(read(pair[0], got, 2), 2);
    ck_assert_str_eq(got, "ab");
    ck_assert_int_eq(write(pipe[1], "cd", 2), 2);
    ck_assert_int_eq(read(pipe[0], got, 2), 2);
    ck_assert_str_eq(got, "cd");
}
END_TEST

/* A descriptor comes as a message's ancillary data, and is closed. */
START_TEST(senders_are_told_and_their_files_closed)
{
    _Alignas(struct cmsghdr) char control[256] = "";
    char byte = 'x';
    struct iovec part = {&byte, 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = CMSG_SPACE(sizeof(int))};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    const int fd = open("/dev/null", O_RDONLY);
    int ends[2];

    ck_assert_int_eq(system_socket_pair(ends), 0);
    ck_assert_int_eq(system_ask_sender(ends[0]), 0);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(h), &fd, sizeof fd);
    ck_assert_int_eq(sendmsg(ends[1], &m, 0), 1);
    const int before = system_open_files();

    m.msg_controllen = sizeof control;
    ck_assert_int_eq(recvmsg(ends[0], &m, system_receive_flags()), 1);
    const pid_t who = system_sender(&m);

    ck_assert(who == 0 || who == getpid());
    ck_assert_int_eq(system_open_files(), before);
}
END_TEST

START_TEST(random_bytes_are_all_drawn)
{
    uint8_t a[32] = {0};
    uint8_t b[32] = {0};

    ck_assert_int_eq(system_random(a, sizeof a), 0);
    ck_assert_int_eq(system_random(b, sizeof b), 0);
    ck_assert_mem_ne(a, b, sizeof a);
    ck_assert_mem_ne(a + 24, b + 24, 8);
    ck_assert_uint_ge(system_cores(), 1);
}
END_TEST

START_TEST(open_files_are_counted)
{
    const int before = system_open_files();
    const int fd = open("/dev/null", O_RDONLY);

    ck_assert_int_eq(system_open_files(), before + 1);
    (void)close(fd);
    ck_assert_int_eq(system_open_files(), before);
}
END_TEST

START_TEST(bytes_are_seen_at_an_address_or_not)
{
    const uint8_t bytes[4] = {1, 2, 3, 4};
    const uint8_t others[4] = {1, 2, 3, 5};
    uint8_t *hole =
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(hole, MAP_FAILED);
    (void)munmap(hole, 4096);
    ck_assert(system_sees(bytes, bytes, sizeof bytes));
    ck_assert(!system_sees(others, bytes, sizeof bytes));
    ck_assert(!system_sees(hole, bytes, sizeof bytes));
    ck_assert(!system_sees(NULL, bytes, sizeof bytes));
}
END_TEST

START_TEST(a_memory_file_grows_under_its_mapping)
{
    enum { SMALL = 1 << 16, LARGE = 1 << 20 };
    const int fd = system_memory_file();

    ck_assert_int_ge(fd, 0);
    ck_assert(is_closed_on_exec(fd));
    ck_assert_int_eq(ftruncate(fd, SMALL), 0);
    uint8_t *base = system_map_again(fd, NULL, 0, SMALL);

    ck_assert_ptr_nonnull(base);
    base[SMALL - 1] = 7;
    ck_assert_int_eq(ftruncate(fd, LARGE), 0);
    base = system_map_again(fd, base, SMALL, LARGE);
    ck_assert_ptr_nonnull(base);
    ck_assert_uint_eq(base[SMALL - 1], 7);
    base[LARGE - 1] = 8;
    system_drop_bytes(fd, SMALL, LARGE - SMALL);
    ck_assert_uint_eq(base[SMALL - 1], 7);
    (void)munmap(base, LARGE);
    (void)close(fd);
}
END_TEST

/* Where there are files without a name: nothing stands before it has one. */
START_TEST(a_nameless_file_gets_its_name)
{
    char folder[] = "/tmp/mxoracle-test-XXXXXX";
    char path[64];

    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    const int fd = system_nameless_file(folder);

    ck_assert(fd >= 0 || errno == EOPNOTSUPP);
    if (fd >= 0) {
        ck_assert_int_ne(access(path, F_OK), 0);
        ck_assert_int_eq(system_name_file(fd, path), 0);
        ck_assert_int_eq(access(path, F_OK), 0);
        (void)unlink(path);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

static void *unlock_later(void *fd)
{
    const struct timespec pause = {0, 300000000};

    (void)nanosleep(&pause, NULL);
    (void)close(*(int *)fd);
    return NULL;
}

START_TEST(lock_is_waited_for)
{
    char path[] = "/tmp/mxoracle-lock-XXXXXX";
    int other = mkstemp(path);
    const int fd = open(path, O_RDWR);
    pthread_t thread;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(system_lock(other), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, unlock_later, &other), 0);
    ck_assert_int_eq(system_lock(fd), 0);
    (void)pthread_join(thread, NULL);
    other = open(path, O_RDWR);
    ck_assert_int_eq(system_lock(other), -1);
    (void)close(other);
    (void)close(fd);
    (void)unlink(path);
}
END_TEST

Suite *suite_system(void);

Suite *suite_system(void)
{
    Suite *s = suite_create("system");
    TCase *t = tcase_create("system");

    tcase_add_test(t, the_program_is_found_by_path_and_by_name);
    tcase_add_test(t, ends_are_connected_and_not_inherited);
    tcase_add_test(t, senders_are_told_and_their_files_closed);
    tcase_add_test(t, random_bytes_are_all_drawn);
    tcase_add_test(t, open_files_are_counted);
    tcase_add_test(t, bytes_are_seen_at_an_address_or_not);
    tcase_add_test(t, a_memory_file_grows_under_its_mapping);
    tcase_add_test(t, a_nameless_file_gets_its_name);
    tcase_add_test(t, lock_is_waited_for);
    suite_add_tcase(s, t);
    return s;
}
