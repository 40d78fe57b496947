/* SPDX-License-Identifier: Apache-2.0 */
/* A subject's description of itself: the object in its reply to hello. */
#ifndef MXO_EXEC_GREETING_H
#define MXO_EXEC_GREETING_H

#include <jansson.h>
#include <mxoracle/abi.h>

enum { GREETING_NAME = 64, GREETING_TEXT = 256, GREETING_WORDS = 1024 };

/* Requests that a subject may serve, and promises it may make. */
typedef enum greeting_can {
    CAN_TIME = 1,
    CAN_TIME_COPY = 2,
    CAN_THREADS = 4,
    CAN_FENCE = 8,
    CAN_DESCRIBE = 16,
    CAN_MEMORY = 32,
    CAN_KERNEL = 64,
    CAN_WORKSPACE = 128,
    CAN_STREAM = 256,
    CAN_GRAPH = 512,
    CAN_CONTEXTS = 1024,
    CAN_BEHIND = 2048,
    CAN_BEHIND_GRAPH = 4096,
    CAN_CLOSE = 8192,
    CAN_MEANWHILE = 16384,
    CAN_BEHIND_CONTEXT = 32768,
    CAN_TOGETHER = 65536,
    CAN_LAST = CAN_TOGETHER
} greeting_can;

typedef struct greeting {
    char name[GREETING_NAME];
    char version[GREETING_TEXT];
    char device[GREETING_TEXT];
    char driver[GREETING_TEXT];
    char left[GREETING_TEXT];     /* what loading it changed; "": nothing */
    char code[20];                /* digest of what it loaded; "": unknown */
    unsigned can;                 /* of greeting_can */
    uint32_t align;               /* as mxo_backend has it */
    char strides[GREETING_WORDS]; /* "" none; else as mxo_backend has it */
    char uncaptured[GREETING_WORDS];
    const char **ops; /* owned, NULL-terminated; texts are those of object */
    json_t *object;   /* owned */
} greeting;

/* Read the text of a reply. 0, or -1 and a sentence. */
int greeting_read(greeting *g, const char *text, mxo_text why);
/* The word of a single greeting_can, in "does". */
const char *greeting_word(greeting_can can);
void greeting_clear(greeting *g);

#endif
