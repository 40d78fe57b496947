/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example plugin with something that a plugin must not do, chosen by the
 * environment variable FAULT: hostile.test wants each of them red.  Without
 * FAULT, and with those that begin with "ok-", it is right.
 */
#define _GNU_SOURCE /* NOLINT(clang-diagnostic-*): a name of libc */
#define mxo_backend_entry example_entry
/* NOLINTNEXTLINE(bugprone-suspicious-include): wraps it */
#include "../../../backends/example/example_plugin.c"
#undef mxo_backend_entry

#include "hostile_process.h"

#include <setjmp.h>
#include <sys/mman.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

static sigjmp_buf jump;
static mxo_backend *changed;
static uint8_t *late; /* an output that is written behind the call's back */

static int is_fault(const char *name)
{
    const char *given = getenv("FAULT");

    return given != NULL && strcmp(given, name) == 0;
}

static void jump_out(int number)
{
    (void)number;
    siglongjmp(jump, 1);
}

static void *write_late(void *state)
{
    (void)state;
    (void)usleep(2000);
    late[0] ^= 1;
    return NULL;
}

static void say_on(int fd, const char *text)
{
    (void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* More stack than there is. */
static int recurse(volatile char *above)
{
    volatile char here[1 << 16];

    here[0] = (char)(above[0] + 1);
    return recurse(here) + here[0];
}

/* Ends, or does not end. */
static void end_badly(void)
{
    if (is_fault("exit-0")) {
        exit(0);
    } else if (is_fault("_exit-0")) {
        _exit(0);
    } else if (is_fault("exit-1")) {
        exit(1);
    } else if (is_fault("abort")) {
        abort();
    } else if (is_fault("segv")) {
        (void)raise(SIGSEGV);
    } else if (is_fault("kill")) {
        (void)raise(SIGKILL);
    } else if (is_fault("fpe")) {
        (void)raise(SIGFPE);
    } else if (is_fault("hang")) {
        for (;;) {
            (void)pause();
        }
    } else if (is_fault("spin")) {
        for (volatile int i = 0;; i = i + 1) {
        }
    } else if (is_fault("stop")) {
        (void)raise(SIGSTOP);
    } else if (is_fault("pthread-exit")) {
        pthread_exit(NULL);
    } else if (is_fault("overflow")) {
        volatile char first = 0;
        (void)recurse(&first);
    }
}

/* Changes what is not its own. */
static void change_process(void)
{
    if (is_fault("locale")) {
        (void)setlocale(LC_ALL, "C.UTF-8");
    } else if (is_fault("round-up")) {
        (void)fesetround(FE_UPWARD);
    } else if (is_fault("round-zero")) {
        (void)fesetround(FE_TOWARDZERO);
    } else if (is_fault("traps")) {
        (void)feenableexcept(FE_OVERFLOW);
#if defined(__SSE__)
    } else if (is_fault("flush")) {
        _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
    } else if (is_fault("handler-segv")) {
        (void)signal(SIGSEGV, jump_out);
    } else if (is_fault("handler-fpe")) {
        (void)signal(SIGFPE, jump_out);
    } else if (is_fault("ignore-term")) {
        (void)signal(SIGTERM, SIG_IGN);
    } else if (is_fault("mask")) {
        sigset_t all;
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_BLOCK, &all, NULL);
    } else if (is_fault("chdir")) {
        (void)!chdir("/");
    } else if (is_fault("alarm")) {
        (void)alarm(1000);
    } else if (is_fault("leak")) {
        (void)open("/dev/null", O_RDONLY);
    }
}

/* Meddles with descriptors and processes. */
static void meddle(void)
{
    static const char token[] = "00000000000000000000000000000000 0 fine\n";

    if (is_fault("close-1")) {
        (void)close(1);
    } else if (is_fault("close-3")) {
        (void)close(3);
    } else if (is_fault("close-4")) {
        (void)close(4);
    } else if (is_fault("dup-1")) {
        (void)dup2(0, 1);
    } else if (is_fault("dup-3")) {
        (void)dup2(0, 3);
    } else if (is_fault("forge")) {
        say_on(3, token);
    } else if (is_fault("garbage")) {
        say_on(3, "{\"status\": \"pass\"}\n");
    } else if (is_fault("newline")) {
        say_on(3, "\n");
    } else if (is_fault("half-line")) {
        say_on(3, "0123");
    } else if (is_fault("verdict")) {
        say_on(3, "{\"status\":\"pass\",\"n_diff\":0,\"n_total\":1}\n");
    } else if (is_fault("fork-returns")) {
        (void)fork();
    } else if (is_fault("fork-stays")) {
        if (fork() == 0) {
            (void)usleep(200000);
            _exit(0);
        }
    } else if (is_fault("ok-prints")) {
        for (int i = 0; i < 20000; i++) {
            (void)puts(
                "a long line that nobody wants to read, again and again");
        }
    } else if (is_fault("ok-shrink")) {
        (void)!ftruncate(4, 0);
    }
}

static const mxo_tensor *codes_of(const mxo_call *call)
{
    return tensor(call->in, call->n_in, "q");
}

/* Wrong about memory; the answer is right. */
static void touch(const mxo_call *call)
{
    const mxo_tensor *q = codes_of(call);
    const mxo_tensor *y = tensor(call->out, call->n_out, "y");
    volatile uint8_t *in = q == NULL ? NULL : (uint8_t *)q->buffer + q->offset;
    uint8_t *out = y == NULL ? NULL : (uint8_t *)y->buffer + y->offset;

    if (in == NULL || out == NULL || q->n_bytes == 0) {
        return;
    }
    if (is_fault("read-behind")) {
        (void)in[(q->n_bytes + 15) / 16 * 16];
    } else if (is_fault("read-before")) {
        (void)in[-1];
    } else if (is_fault("read-caught")) {
        (void)signal(SIGSEGV, jump_out);
        if (sigsetjmp(jump, 1) == 0) {
            (void)in[(q->n_bytes + 15) / 16 * 16];
        }
    } else if (is_fault("write-behind")) {
        out[y->n_bytes] ^= 1;
    } else if (is_fault("write-before")) {
        out[-1] ^= 1;
    } else if (is_fault("write-input")) {
        in[0] ^= 1;
    } else if (is_fault("write-back")) {
        in[0] ^= 1;
        in[0] ^= 1;
    } else if (is_fault("strides-of-y")) {
        out[0] ^= (y->stride[0] != 0) != (q->stride[0] != 0);
    } else if (is_fault("late-write")) {
        pthread_t thread;
        late = out;
        (void)pthread_create(&thread, NULL, write_late, NULL);
        (void)pthread_detach(thread);
        (void)usleep(10000);
    }
}

/* The rows that plugin and program have alike.  A name that nobody knows is
   red: no row is green because it does nothing. */
static mxo_status change_by_table(mxo_text why)
{
    static const char *const rows[] = {
#define HOSTILE(name, what, plugin, program) #name,
#include "hostile.def"
#undef HOSTILE
    };
    const char *fault = getenv("FAULT");

    for (size_t i = 0; fault != NULL && i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i], fault) == 0 && strcmp(fault, "table") != 0) {
            const int done = do_to_process(fault);
            return done > 0 ? MXO_OK
                            : refuse(MXO_E_DEVICE, why,
                                     done < 0 ? "the judge is open to it"
                                              : "no such deed");
        }
    }
    return MXO_OK;
}

static int n_ahead; /* runs since the last synchronize() */

/* Right about each call alone: state of other calls spoils this one. */
static void spoil_by_state(const mxo_call *call, int is_patterned)
{
    static uint8_t first;
    static int knows;
    const mxo_tensor *q = codes_of(call);
    const mxo_tensor *y = tensor(call->out, call->n_out, "y");

    if (q == NULL || y == NULL || q->n_bytes == 0 || y->n_bytes == 0) {
        return;
    }
    const uint8_t *in = (uint8_t *)q->buffer + q->offset;
    uint8_t *out = (uint8_t *)y->buffer + y->offset;
    int is_zero = 1;

    for (uint64_t i = 0; i < q->n_bytes; i++) {
        is_zero = is_zero && in[i] == 0;
    }
    if (is_fault("keeps-data") && !is_zero) {
        out[0] ^= knows && first != in[0];
        first = in[0];
        knows = 1;
    } else if (is_fault("one-ahead")) {
        out[0] ^= n_ahead > 1;
    } else if (is_fault("knows-fill")) {
        out[0] ^= !is_patterned;
    }
}

/* Four equal bytes at the start of an output. */
static int has_pattern(const mxo_call *call)
{
    const mxo_tensor *y = tensor(call->out, call->n_out, "y");
    const uint8_t *out = y == NULL ? NULL : (uint8_t *)y->buffer + y->offset;

    return out != NULL && y->n_bytes >= 4 && memcmp(out, out + 1, 3) == 0;
}

static mxo_status hostile_synchronize(void *ctx, mxo_text why)
{
    n_ahead = 0;
    end_at(getenv("FAULT"), "synchronize");
    static int n_before;

    if (is_fault("sync-fifth") && ++n_before % 5 == 0) {
        return refuse(MXO_E_DEVICE, why, "the fifth is lost");
    }
    return example_synchronize(ctx, why);
}

/* It ends with its group. */
static void leave_child(void)
{
    if (fork() == 0) {
        for (;;) {
            (void)pause();
        }
    }
}

static void copy_late(void *ctx);

static mxo_status hostile_run(void *ctx, const mxo_call *call, mxo_text why)
{
    static uint8_t kept[1 << 16];
    static uint64_t n_kept;

    const int is_patterned = has_pattern(call);

    n_ahead++;
    copy_late(ctx);
    if (is_fault("at-open-children")) {
        leave_child();
    }
    if (is_fault("ok-slow")) {
        const clock_t until = clock() + CLOCKS_PER_SEC / 20;
        while (clock() < until) {
        }
    }
    end_badly();
    meddle();
    if (is_fault("nothing")) {
        return MXO_OK;
    }
    if (is_fault("status-77")) {
        return (mxo_status)77;
    }
    if (is_fault("device")) {
        return refuse(MXO_E_DEVICE, why, "lost");
    }
    if (is_fault("refuses")) {
        return refuse(MXO_E_PARAM, why, "no");
    }
    mxo_status status = change_by_table(why);
    status = status == MXO_OK ? example_run(ctx, call, why) : status;
    const mxo_tensor *y = tensor(call->out, call->n_out, "y");

    if (status == MXO_OK && y != NULL && y->n_bytes <= sizeof kept) {
        uint8_t *out = (uint8_t *)y->buffer + y->offset;
        if (is_fault("stale") && n_kept == y->n_bytes) {
            memcpy(out, kept, (size_t)n_kept);
        } else {
            memcpy(kept, out, (size_t)y->n_bytes);
            n_kept = y->n_bytes;
        }
    }
    if (status == MXO_OK) {
        spoil_by_state(call, is_patterned);
    }
    touch(call);
    if (is_fault("long-sentence")) {
        why.ptr[why.size] = '.';
    }
    change_process();
    if (is_fault("table")) {
        changed->kernel = NULL;
    }
    return status;
}

static mxo_status hostile_download(void *ctx, void *dst, void *buffer,
                                   uint64_t offset, uint64_t n, mxo_text why)
{
    uint8_t *const to = dst;

    copy_late(ctx);
    if (is_fault("no-download")) {
        return MXO_OK;
    }
    if (is_fault("at-download-behind")) {
        to[n] ^= 1;
    } else if (is_fault("at-download-before")) {
        to[-1] ^= 1;
    } else if (is_fault("at-download-rounded")) {
        n = (n + 63) / 64 * 64;
    }
    return example_download(ctx, dst, buffer, offset, n, why);
}

static mxo_status hostile_alloc(void *ctx, uint64_t n, void **buffer)
{
    if (is_fault("fork-in-alloc")) {
        (void)fork();
    }
    if (is_fault("null-buffer")) {
        *buffer = NULL;
        return MXO_OK;
    }
    return example_alloc(ctx, n, buffer);
}

static mxo_status hostile_open(void **ctx, int device, mxo_text why)
{
    if (is_fault("at-open-child") || is_fault("at-open-children")) {
        leave_child();
    } else if (is_fault("at-open-stack")) {
        take_signal_stack();
    } else if (is_fault("at-open-files")) {
        for (int fd = 0; fd < 3; fd++) {
            open_as("/", fd);
        }
    } else {
        end_at(getenv("FAULT"), "open");
    }
    return example_open(ctx, device, why);
}

__attribute__((destructor)) static void unload(void)
{
    end_at(getenv("FAULT"), "unload");
}

static void hostile_close(void *ctx)
{
    end_at(getenv("FAULT"), "close");
    example_close(ctx);
}

static void hostile_describe(void *ctx, mxo_text device, mxo_text driver)
{
    static int n;

    end_at(getenv("FAULT"), "hello");
    example_describe(ctx, device, driver);
    if (is_fault("long-device") || is_fault("long-driver")) {
        const mxo_text room = is_fault("long-device") ? device : driver;
        room.ptr[room.size] = '.';
    }
    if ((is_fault("another-device") && n++ > 2) ||
        (is_fault("describe-other") && n++ > 0)) {
        (void)refuse(MXO_OK, device, "another CPU");
    }
}

static void hostile_kernel(void *ctx, mxo_text name)
{
    if (!is_fault("no-kernel")) {
        example_kernel(ctx, name);
    }
    if (is_fault("long-name")) {
        name.ptr[name.size] = '.';
    }
}

#include "hostile_ways.h"

MXO_EXPORT const mxo_backend *mxo_backend_entry(uint32_t abi_version);

const mxo_backend *mxo_backend_entry(uint32_t abi_version)
{
    static mxo_backend table;
    const char *fault = getenv("FAULT");

    end_at(fault, "load");
    changed = &table;
    table = *example_entry(abi_version);
    table.name = "hostile";
    table.open = hostile_open;
    table.close = hostile_close;
    table.run = hostile_run;
    table.alloc = hostile_alloc;
    table.dealloc = hostile_dealloc;
    table.upload = hostile_upload;
    table.download = hostile_download;
    table.synchronize = hostile_synchronize;
    table.describe = hostile_describe;
    table.kernel = hostile_kernel;
    choose_ways(&table, fault == NULL ? "" : fault);
    if (fault != NULL && strncmp(fault, "time-", 5) == 0) {
        table.time = hostile_time;
        table.time_copy = hostile_time_copy;
    }
    if (is_fault("limits-garbage")) {
        table.limits = "no JSON";
    } else if (is_fault("limits-decline")) {
        table.limits = "{\"*\":{}}";
        table.run = hostile_run;
    } else if (is_fault("name")) {
        table.name = "../x\n";
    }
    return &table;
}
