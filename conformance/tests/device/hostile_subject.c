/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example subject of the exec protocol with something that a subject must
 * not do, chosen by its argument: hostile.test wants each of them red, or
 * refused before anything is judged.
 */
#define _GNU_SOURCE /* NOLINT(clang-diagnostic-*): a name of libc */
#define main example_main
/* NOLINTNEXTLINE(bugprone-suspicious-include): wraps it */
#include "../../../backends/example/subject.c"
#undef main

#include "hostile_process.h"
#include "kept_answer.h"
#include "refused_calls.h"
#include "two_operations.h"

static const char *fault = "";
static const char *token = "";

static int is_fault(const char *name)
{
    return strcmp(fault, name) == 0;
}

static void say(const char *line)
{
    (void)send(3, line, strlen(line), MSG_NOSIGNAL);
}

static void reply(const char *status, const char *said)
{
    static char line[8192];

    (void)snprintf(line, sizeof line, "%s %s %s\n", token, status, said);
    say(line);
}

#define LIMITED(name, limits)                                                  \
    {                                                                          \
        name, "{\"name\":\"x\",\"version\":\"1\",\"device\":\"d\",\"driver\":" \
              "\"\",\"ops\":[\"dequant.mx\"],\"limits\":" limits "}"           \
    }
#define DESCRIBED(name)                                                        \
    {                                                                          \
        name, "{\"name\":\"x\",\"version\":\"1\",\"device\":\"d\",\"driver\":" \
              "\"\",\"ops\":[\"dequant.mx\"],\"does\":[\"describe\"]}"         \
    }

/* A good one, of two operations. */
#define TWO_OPERATIONS                                                       \
    "{\"name\":\"x\",\"version\":\"1\",\"device\":\"d\",\"driver\":\"\","    \
    "\"ops\":[\"dequant.mx\",\"format.decode\"],\"limits\":{\"dequant.mx\":" \
    "{\"params\":{\"rule\":[\"ocp\"],\"element\":[\"e2m1\"],\"to\":"         \
    "[\"bf16\"],\"axis\":[\"-1\"],\"zero\":[\"keep\"]}},\"format.decode\":"  \
    "{\"params\":{\"format\":[\"e2m1\"],\"to\":[\"f32\"],\"nan\":"           \
    "[\"quiet\"],\"zero\":[\"keep\"],\"packed\":[\"0\"]}}}}"

static int has_two_operations(void)
{
    return is_fault("ok-two") || is_fault("other-operation") ||
           is_fault("decode-behind") || is_fault("dequant-behind") ||
           is_fault("decode-wrong") || is_fault("first-behind") ||
           is_fault("first-behind-refused") ||
           is_fault("second-behind-refused") || is_fault("first-behind-decode");
}

/* Hellos that the judge refuses, by the fault that sends them. */
static const struct {
    const char *fault, *hello;
} hellos[] = {
    {"hello-no-object", "[]"},
    {"hello-no-json", "{\"name\":"},
    {"hello-twice-named", "{\"name\":\"x\",\"name\":\"y\"}"},
    {"hello-empty", "{}"},
    {"hello-unknown-key", "{\"name\":\"x\",\"version\":\"1\",\"device\":"
                          "\"d\",\"driver\":\"\",\"ops\":[\"dequant.mx\"],"
                          "\"limit\":{}}"},
    {"hello-name", "{\"name\":\"../X\",\"version\":\"1\",\"device\":\"d\","
                   "\"driver\":\"\",\"ops\":[\"dequant.mx\"]}"},
    {"hello-no-ops", "{\"name\":\"x\",\"version\":\"1\",\"device\":\"d\","
                     "\"driver\":\"\",\"ops\":[]}"},
    {"hello-does", "{\"name\":\"x\",\"version\":\"1\",\"device\":\"d\","
                   "\"driver\":\"\",\"ops\":[\"dequant.mx\"],\"does\":"
                   "[\"magic\"]}"},
    {"hello-no-device", "{\"name\":\"x\",\"version\":\"1\",\"device\":\"\","
                        "\"driver\":\"\",\"ops\":[\"dequant.mx\"]}"},
    {"workspace-word", "{\"name\":\"x\",\"version\":\"1\",\"device\":\"d\","
                       "\"driver\":\"\",\"ops\":[\"dequant.mx\"],\"does\":"
                       "[\"workspace\"]}"},
    {"memory-refused", "{\"name\":\"x\",\"version\":\"1\",\"device\":\"d\","
                       "\"driver\":\"\",\"ops\":[\"dequant.mx\"],\"does\":"
                       "[\"memory\"]}"},
    DESCRIBED("describe-word"),
    DESCRIBED("describe-half"),
    DESCRIBED("describe-fails"),
    DESCRIBED("describe-other"),
    {"escape-describe",
     "{\"name\":\"x\",\"version\":\"\302\2331\",\"device\":\"d\","
     "\"driver\":\"\",\"ops\":[\"dequant.mx\"],\"does\":[\"describe\"],"
     "\"limits\":{\"*\":{\"dims\":{\"cols\":{\"multiple\":2}}}}}"},
    LIMITED("limits-nan", "{\"*\":{\"dims\":{\"cols\":{\"most\":NaN}}}}"),
    LIMITED("limits-list", "[1]"),
    LIMITED("limits-op", "{\"dequant.mxx\":{}}"),
    LIMITED("limits-key", "{\"dequant.mx\":{\"dim\":{}}}"),
    LIMITED("limits-dim", "{\"dequant.mx\":{\"dims\":{\"k\":{}}}}"),
    LIMITED("limits-zero", "{\"*\":{\"dims\":{\"cols\":{\"multiple\":0}}}}"),
    LIMITED("limits-order",
            "{\"*\":{\"dims\":{\"cols\":{\"least\":9,\"most\":8}}}}"),
    LIMITED("limits-empty", "{\"*\":{\"params\":{\"rule\":[]}}}"),
    LIMITED("limits-minus", "{\"*\":{\"dims\":{\"cols\":{\"least\":-1}}}}"),
    LIMITED("limits-dtype", "{\"*\":{\"dtypes\":{\"q\":[\"u7\"]}}}"),
    LIMITED("limits-ids", "{\"*\":{\"ids\":\"all\"}}"),
    LIMITED("limits-huge", "{\"*\":{\"dims\":{\"cols\":{\"most\":1e400}}}}"),
};

/* Send a bad hello; 0: the example's. */
static int bad_hello(void)
{
    if (is_fault("hello-left")) {
        reply("left", "a window");
        return 1;
    }
    if (is_fault("hello-half-line")) {
        say(token);
        (void)pause();
    }
    for (size_t i = 0; i < sizeof hellos / sizeof hellos[0]; i++) {
        if (is_fault(hellos[i].fault)) {
            reply("0", hellos[i].hello);
            return 1;
        }
    }
    return 0;
}

/* Ends, or never answers. */
static void end_badly(void)
{
    if (is_fault("exit-0")) {
        exit(0);
    } else if (is_fault("exit-3")) {
        exit(3);
    } else if (is_fault("abort")) {
        abort();
    } else if (is_fault("segv")) {
        (void)raise(SIGSEGV);
    } else if (is_fault("kill")) {
        (void)raise(SIGKILL);
    } else if (is_fault("hang")) {
        (void)pause();
    } else if (is_fault("stop")) {
        (void)raise(SIGSTOP);
    } else if (is_fault("close")) {
        (void)close(3);
        (void)pause();
    } else if (is_fault("fault")) {
        reply("fault", "it gives up");
        exit(0);
    } else if (is_fault("fault-replies")) {
        reply("fault", "it gives up");
        (void)usleep(20000);
    } else if (is_fault("half-line")) {
        say(token);
        exit(0);
    }
}

/* Answers in a way that is none; 1: that was its answer. */
static int answer_badly(void)
{
    static char flood[2 << 20];

    if (is_fault("escape-words")) { /* a terminal's words, a forged line */
        say_control();
        (void)puts("\377\342\200\256x\342\200\254");
        (void)fflush(stdout);
        reply("5", "\033[2J\302\233\377\342\200\256x\342\200\254\\n2 passed");
    } else if (is_fault("forge")) {
        say("00000000000000000000000000000000 0 bf16\n");
    } else if (is_fault("no-token")) {
        say("0 bf16\n");
    } else if (is_fault("garbage")) {
        say("Traceback (most recent call last):\n");
    } else if (is_fault("newline")) {
        say("\n");
    } else if (is_fault("nul")) {
        (void)send(3, "\0\0\n", 3, MSG_NOSIGNAL);
    } else if (is_fault("long")) {
        memset(flood, 'a', sizeof flood);
        (void)send(3, flood, sizeof flood, MSG_NOSIGNAL);
    } else if (is_fault("status-9")) {
        reply("9", "bf16");
    } else if (is_fault("status-word")) {
        reply("pass", "bf16");
    } else if (is_fault("status-none")) {
        reply("", "");
    } else if (is_fault("token-alone")) {
        say(token);
        say("\n");
    } else if (is_fault("fork-replies")) {
        if (fork() != 0) {
            (void)pause();
        }
        reply("0", "bf16");
    } else if (is_fault("left")) {
        reply("left", "the clock");
    } else if (is_fault("device")) {
        reply("5", "CompilationError: line 3\\n    x = y\\n    ^");
    } else if (is_fault("nomem")) {
        reply("4", "out of memory");
    } else if (is_fault("refuses")) {
        reply("1", "no");
    } else if (is_fault("declines")) {
        reply("3", "not today");
    } else if (is_fault("nothing")) {
        reply("0", "bf16");
    } else {
        return 0;
    }
    return 1;
}

static bytes whole(json_t *t)
{
    return (bytes){bytes_of(t),
                   (uint64_t)json_integer_value(json_object_get(t, "bytes"))};
}

static void touch(json_t *request)
{
    json_t *q = json_array_get(json_object_get(request, "in"), 0);
    json_t *scale = json_array_get(json_object_get(request, "in"), 1);
    json_t *y = json_array_get(json_object_get(request, "out"), 0);
    const json_int_t n = json_integer_value(json_object_get(y, "bytes"));

    keep_answer(fault, whole(q), whole(scale), whole(y));
    if (is_fault("write-behind")) {
        bytes_of(y)[n] ^= 1;
    } else if (is_fault("write-before")) {
        bytes_of(y)[-1] ^= 1;
    } else if (is_fault("write-input")) {
        bytes_of(q)[0] ^= 1;
    } else if (is_fault("wrong-bit")) {
        bytes_of(y)[n - 1] ^= 0x80;
    } else if (is_fault("changing")) {
        static uint8_t count;
        bytes_of(y)[0] ^= count++;
    } else if (is_fault("ok-prints")) {
        for (int i = 0; i < 20000; i++) {
            (void)puts("a long line that nobody wants to read, once more");
        }
        (void)fflush(stdout);
    } else if (is_fault("ok-shrink")) {
        (void)!ftruncate(4, 0);
    }
}

/* The rows that plugin and program have alike. */
static int change_by_table(json_t *request)
{
    static const char *const rows[] = {
#define HOSTILE(name, what, plugin, program) #name,
#include "hostile.def"
#undef HOSTILE
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int done = is_fault(rows[i]) ? do_to_process(fault) : 1;
        if (done <= 0) {
            return refuse(5, done < 0 ? "the judge is open to it"
                                      : "no such deed");
        }
    }
    return run(request);
}

static int decode(json_t *request, bytes code, bytes y)
{
    const char *format, *to, *nan, *zero, *packed;

    if (json_unpack_ex(json_object_get(request, "params"), NULL, JSON_STRICT,
                       "{s:s, s:s, s:s, s:s, s:s}", "format", &format, "to",
                       &to, "nan", &nan, "zero", &zero, "packed",
                       &packed) != 0) {
        return refuse(PARAM, "format.decode has five parameters");
    }
    if (strcmp(format, "e2m1") != 0 || strcmp(to, "f32") != 0 ||
        strcmp(nan, "quiet") != 0 || strcmp(zero, "keep") != 0 ||
        strcmp(packed, "0") != 0) {
        return refuse(UNSUPPORTED, "E2M1 to binary32 only");
    }
    if (code.n == 0 || y.n != 4 * code.n) {
        return refuse(SHAPE, "code and y do not fit each other");
    }
    decode_codes(code.at, code.n, y.at);
    return refuse(OK, "table");
}

/* The call of one of two operations. */
static int run_one_of_two(json_t *request)
{
    const char *op = json_string_value(json_object_get(request, "op"));
    json_t *in = json_array_get(json_object_get(request, "in"), 0);
    json_t *y = json_array_get(json_object_get(request, "out"), 0);
    const int is_decode = op != NULL && strcmp(op, "format.decode") == 0;
    int status = 0;

    if (is_decode) {
        status = decode(request, whole(in), whole(y));
    } else {
        status = change_by_table(request);
    }
    if (status == 0 && finds_other(fault, is_decode)) {
        bytes_of(y)[0] ^= 1;
    }
    if (finds_refused(fault, is_decode, status)) {
        bytes_of(y)[0] ^= 1;
    }
    return status;
}

/* Requests are read, and stay in the channel. */
static ssize_t peek(void *cookie, char *to, size_t n)
{
    (void)cookie;
    return recv(3, to, n, MSG_PEEK);
}

static FILE *open_requests(void)
{
    const int from = 0;

    if (!is_fault("peeks")) {
        return fdopen(3, "r");
    }
    (void)setsockopt(3, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof from);
    return fopencookie(NULL, "r", (cookie_io_functions_t){.read = peek});
}

static void describe(void)
{
    if (is_fault("describe-fails")) {
        reply("5", "the device is lost");
    } else if (is_fault("describe-word")) {
        reply("0", "a device");
    } else if (is_fault("describe-other")) {
        reply("0", "{\"device\":\"e\",\"driver\":\"\"}");
    } else if (is_fault("describe-half")) {
        reply("0", "{\"device\":\"d\"}");
    } else {
        reply("0", "{\"device\":\"d\",\"driver\":\"\\\\u001b[2J"
                   "\\\\nok 1\\\\u009b\\\\u202e\"}");
    }
}

/* The first process ends once nothing is asked for a while. */
static void end_idle(int argc, char **argv)
{
    const struct itimerval t = {{0, 0}, {0, 200000}};
    static int is_first = -1;

    if (!is_fault("ends-idle") || argc < 3) {
        return;
    }
    is_first = is_first < 0 ? mkdir(argv[2], 0700) == 0 : is_first;
    if (is_first) {
        (void)setitimer(ITIMER_REAL, &t, NULL);
    }
}

/* A session of its own, which the judge's kill of the group does not meet.  Who
   was started waits for it, or leaves it. */
static void stay(char **argv)
{
    if (fork() != 0) {
        (void)(is_fault("stays") && wait(NULL));
        _exit(0);
    }
    (void)setsid();
    FILE *f = fopen(argv[2], "w");

    if (f != NULL) {
        (void)fprintf(f, "%ld\n", (long)getpid());
        (void)fclose(f);
    }
}

__attribute__((destructor)) static void unload(void)
{
    end_at(fault, "unload");
}

int main(int argc, char **argv)
{
    FILE *channel;
    char *line = NULL;
    size_t size = 0, mapped = 0;

    fault = argc > 1 ? argv[1] : "";
    requests = channel = open_requests();
    end_at(fault, "load");
    if ((is_fault("stays") || is_fault("left-behind")) && argc > 2) {
        stay(argv);
    }
    if (is_fault("early")) {
        say("00000000000000000000000000000000 0 {}\n");
    }
    while (channel != NULL && getline(&line, &size, channel) > 0) {
        json_t *request = json_loads(line, 0, NULL);
        const char *what = json_string_value(json_object_get(request, "do"));
        char status[2] = "0";
        struct stat file;

        token = json_string_value(json_object_get(request, "token"));
        if (fstat(4, &file) == 0 && (size_t)file.st_size > mapped) {
            mapped = (size_t)file.st_size;
            memory =
                mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, 4, 0);
        }
        if (strcmp(what, "hello") == 0) {
            end_at(fault, "hello");
            if (!bad_hello()) {
                reply("0", has_two_operations() ? TWO_OPERATIONS : HELLO);
            }
        } else if (strcmp(what, "describe") == 0) {
            describe();
        } else {
            end_badly();
            if (!answer_badly()) {
                status[0] = (char)('0' + run_one_of_two(request));
                if (!has_two_operations()) {
                    touch(request);
                }
                reply(status, text);
                if (is_fault("twice")) {
                    reply(status, text);
                }
            }
        }
        json_decref(request);
        end_idle(argc, argv);
    }
    end_at(fault, "close");
    if (is_fault("stays") || is_fault("left-behind")) {
        (void)sleep(600);
    }
    return 0;
}
