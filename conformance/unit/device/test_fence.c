/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads past the end of an input, and before its start, seen though no answer
 * shows them, and told before they end the process.  A byte before the end is
 * nobody's fault, nor is the first.
 */
#include "judge/judge.h"
#include "run/case_run.h"
#include "system/fence.h"
#include "system/system.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static mxo_backend table;
static uint64_t past;  /* bytes behind the input's end */
static uint64_t early; /* bytes before its start */
static int64_t seen;   /* the sum of all that was read */

static mxo_status run_past(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_tensor *t = &call->in[0];
    const volatile uint8_t *bytes = (const uint8_t *)t->buffer + t->offset;

    /* The call beside it has other sizes, and so other room. */
    const uint64_t more = t->shape[0] == 3 ? past : 0;

    ck_assert_uint_eq((uintptr_t)bytes % 16, 0);
    for (uint64_t i = 0; i < t->n_bytes + more; i++) {
        seen += bytes[i];
    }
    for (uint64_t i = 1; i <= early; i++) {
        seen += *(bytes - i);
    }
    return mxo_emulator()->run(ctx, call, why);
}

/* A case whose first input has 2 * rows * cols bytes. */
static void judge_reading(const char *text, uint64_t n)
{
    char why[256];
    test_case c;
    judge j;
    verdict v;

    table = *mxo_emulator();
    table.run = run_past;
    past = n;
    ck_assert_int_eq(judge_open(&j, &table, 0, (mxo_text){why, sizeof why}),
                     MXO_OK);
    ck_assert_int_eq(case_parse(&c, text, (mxo_text){why, sizeof why}), 0);
    case_run(&j, &c, 1, &v);
    ck_assert_int_eq(v.status, VERDICT_PASS);
    verdict_clear(&v);
    judge_close(&j);
}

START_TEST(all_of_an_input_can_be_read)
{
    judge_reading("quant.mx:rows=3,cols=96,data=ordinary", 0);
    judge_reading("act.glu:rows=3,cols=7", 0);
}
END_TEST

static const char *expected;

/* Exits with 3 if the sentence is the right one. */
static void listen(const char *sentence)
{
    _exit(strcmp(sentence, expected) == 0 ? 3 : 4);
}

START_TEST(one_byte_more_is_a_fault)
{
    expected = "it touches byte 1 past the end of the input x";
    fence_tell(listen);
    judge_reading("quant.mx:rows=3,cols=96,data=ordinary", 1);
}
END_TEST

/* 84 bytes begin on a multiple of 16, and so end 12 before the page. */
START_TEST(up_to_the_alignment_there_is_room)
{
    judge_reading("act.glu:rows=3,cols=7", 12);
}
END_TEST

START_TEST(and_no_further)
{
    expected = "it touches byte 13 past the end of the input x";
    fence_tell(listen);
    judge_reading("act.glu:rows=3,cols=7", 13);
}
END_TEST

static mxo_status run_back(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_tensor *t = &call->in[0];
    volatile uint8_t *last = (uint8_t *)t->buffer + t->offset + t->n_bytes - 1;

    *last ^= 1;
    *last ^= 1;
    return mxo_emulator()->run(ctx, call, why);
}

START_TEST(a_write_that_is_taken_back_shows)
{
    char why[256];
    test_case c;
    judge j;
    verdict v;

    table = *mxo_emulator();
    table.run = run_back;
    ck_assert_int_eq(judge_open(&j, &table, 0, (mxo_text){why, sizeof why}),
                     MXO_OK);
    ck_assert_int_eq(case_parse(&c, "quant.mx:rows=67,cols=96,data=ordinary",
                                (mxo_text){why, sizeof why}),
                     0);
    case_run(&j, &c, 1, &v);
    ck_assert_int_eq(v.status, VERDICT_FAIL);
    ck_assert_ptr_nonnull(strstr(
        v.reason, "input x: byte 12863 was changed, if only for a while"));
    verdict_clear(&v);
    judge_close(&j);
}
END_TEST

/* Every call reads what is before its input: the first may, the second not. */
START_TEST(one_byte_before_is_a_fault)
{
    expected = "it touches byte 1 before the start of the input x";
    fence_tell(listen);
    early = 1;
    judge_reading("quant.mx:rows=3,cols=96,data=ordinary", 0);
}
END_TEST

/* Whatever its size: here no multiple of 16. */
START_TEST(the_start_has_no_room)
{
    expected = "it touches byte 1 before the start of the input x";
    fence_tell(listen);
    early = 1;
    judge_reading("act.glu:rows=3,cols=7", 0);
}
END_TEST

START_TEST(offsets_begin_at_a_page)
{
    static const uint64_t sizes[] = {0, 1, 4095, 4096, 70000};
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint8_t *buffer = malloc(1);

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint64_t at =
            fence_offset(buffer, 4096, sizes[i], 16, FENCE_BEFORE);

        ck_assert_uint_ge(at, page > 4096 ? page : 4096);
        ck_assert_uint_eq(((uintptr_t)buffer + at) % page, 0);
        ck_assert_uint_le(at + sizes[i], sizes[i] + 4096 + fence_room());
    }
    free(buffer);
}
END_TEST

START_TEST(offsets_end_at_a_page)
{
    static const uint64_t sizes[] = {0, 1, 15, 16, 17, 4095, 4096, 70000};
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint8_t *buffer = malloc(1);

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (uint64_t align = 16; align <= 256; align *= 16) {
            const uint64_t at =
                fence_offset(buffer, 4096, sizes[i], align, FENCE_BEHIND);
            const uintptr_t end = (uintptr_t)buffer + at + sizes[i];

            ck_assert_uint_ge(at, 4096);
            ck_assert_uint_eq(((uintptr_t)buffer + at) % align, 0);
            ck_assert_uint_lt((page - end % page) % page, align);
            ck_assert_uint_le(at + sizes[i] + align + page,
                              sizes[i] + 4096 + fence_room());
        }
    }
    free(buffer);
}
END_TEST

START_TEST(only_what_is_there_is_seen)
{
    const uint8_t bytes[4] = {1, 2, 3, 4};
    const uint8_t others[4] = {1, 2, 3, 5};

    ck_assert(system_sees(bytes, bytes, sizeof bytes));
    ck_assert(!system_sees(others, bytes, sizeof bytes));
    ck_assert(!system_sees(NULL, bytes, sizeof bytes));
    ck_assert(!system_sees((const void *)UINTPTR_MAX, bytes, sizeof bytes));
}
END_TEST

Suite *suite_fence(void);
Suite *suite_fence(void)
{
    const uint8_t here[1] = {77};
    const char *forked = getenv("CK_FORK");
    Suite *s = suite_create("fence");
    TCase *t = tcase_create("fence");

    tcase_add_test(t, offsets_end_at_a_page);
    tcase_add_test(t, offsets_begin_at_a_page);
    tcase_add_test(t, all_of_an_input_can_be_read);
    suite_add_tcase(s, t);
    /* Where the system tells what memory holds, and tests may end. */
    if (!system_sees(here, here, 1) ||
        (forked != NULL && strcmp(forked, "no") == 0)) {
        return s;
    }
    tcase_add_test(t, only_what_is_there_is_seen);
    tcase_add_test(t, a_write_that_is_taken_back_shows);
    tcase_add_test(t, up_to_the_alignment_there_is_room);
    tcase_add_exit_test(t, one_byte_more_is_a_fault, 3);
    tcase_add_exit_test(t, and_no_further, 3);
    tcase_add_exit_test(t, one_byte_before_is_a_fault, 3);
    tcase_add_exit_test(t, the_start_has_no_room, 3);
    return s;
}
