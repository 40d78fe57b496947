/* SPDX-License-Identifier: Apache-2.0 */
/* See reply.h. */
#include "reply.h"

#include "base/strbuf.h"
#include "exec/channel.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* For a signal handler and for exit(): the request in hand. */
static char token_now[REPLY_TOKEN + 1];
static int is_in_hand; /* it has no reply yet, or the last one had it */
static pid_t served_by;

/* A reply whose text has no newline; also from within a signal handler. */
static void send_plain(const char *status, const char *sentence)
{
    char line[512];
    size_t n = 0;
    const char *const parts[] = {token_now, " ", status, " ", sentence, "\n"};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        for (const char *c = parts[i]; *c != '\0' && n < sizeof line - 1; c++) {
            line[n++] = *c;
        }
    }
    line[n - 1] = '\n';
    (void)send(CHANNEL_SOCKET, line, n, MSG_NOSIGNAL);
}

void reply_fault(const char *sentence)
{
    send_plain("fault", sentence);
}

void reply_exit(void)
{
    if (is_in_hand && getpid() == served_by) {
        reply_fault("it calls exit()");
    }
}

void reply_send(const char *status, const char *text)
{
    strbuf line = {NULL, 0, 0};

    strbuf_add(&line, "%s %s%s", token_now, status, text[0] == '\0' ? "" : " ");
    for (; *text != '\0'; text++) {
        if (*text == '\n' || *text == '\\') {
            strbuf_add(&line, "%s", *text == '\n' ? "\\n" : "\\\\");
        } else {
            strbuf_add(&line, "%c", *text);
        }
    }
    strbuf_add(&line, "\n");
    is_in_hand = 0;
    (void)send(CHANNEL_SOCKET, strbuf_text(&line), line.used, MSG_NOSIGNAL);
    strbuf_clear(&line);
}

int reply_begin(const char *token)
{
    if (token == NULL || strlen(token) != REPLY_TOKEN) {
        return -1;
    }
    memcpy(token_now, token, sizeof token_now);
    is_in_hand = 1;
    return 0;
}

void reply_close(int is_closing)
{
    is_in_hand = is_closing && token_now[0] != '\0';
}

void reply_is_ours(void)
{
    served_by = getpid();
}

int reply_is_child(void)
{
    return getpid() != served_by;
}
