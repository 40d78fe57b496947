/* SPDX-License-Identifier: Apache-2.0 */
#include "alike.h"

#include "checked_run.h"
#include "launch.h"

#include <string.h>

typedef enum {
    ALIKE_HEAD,
    ALIKE_TAIL,
    ALIKE_FIRST_HALF,
    ALIKE_LAST_HALF,
    ALIKE_BUT_PIECE,
    ALIKE_EXCHANGED,
    ALIKE_ONE,
    ALIKE_BUT_ONE,
    ALIKE_KINDS
} alike_kind;

enum { PIECE = 4 /* bytes */ };

typedef struct {
    alike_kind kind;
    uint32_t drawn;  /* an input */
    uint64_t n_head; /* bytes of a head or tail */
    uint64_t piece;  /* where the drawn input's begins */
} part;

/* Bytes of an input. */
typedef struct {
    uint64_t at, n;
} span;

static uint64_t shorter(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static part draw(const stage *g)
{
    const uint64_t h = launch_hash(g) >> 8;
    /* One input alone, or all but one, are the call itself or noise where there
       is no other. */
    const uint32_t n_kinds = g->n_in > 1 ? ALIKE_KINDS : ALIKE_ONE;
    part p = {(alike_kind)(h % n_kinds), 0, 0, 0};

    if (g->n_in > 0) {
        p.drawn = (uint32_t)(h / n_kinds % g->n_in);
        const uint64_t n = g->in[p.drawn].host->n_bytes / PIECE;
        p.piece = (h >> 16) % (n > 0 ? n : 1) * PIECE;
    }
    for (uint32_t i = 0; i < g->n_in; i++) {
        const uint64_t half = g->in[i].host->n_bytes / 2;
        p.n_head = half > p.n_head ? half : p.n_head;
    }
    p.n_head = shorter(p.n_head, 64);
    return p;
}

/* Which bytes of input number i are the call's own: before what is not, and
   behind it. */
static void own_bytes(const stage *g, const part *p, uint32_t i, span own[2])
{
    const uint64_t n = g->in[i].host->n_bytes;
    const uint64_t end = shorter(n, p->piece + PIECE);
    const uint64_t head = shorter(n, p->n_head);

    own[0] = (span){0, 0};
    own[1] = (span){0, 0};
    switch (p->kind) {
    case ALIKE_HEAD:
        own[0].n = head;
        break;
    case ALIKE_TAIL:
        own[0] = (span){n - head, head};
        break;
    case ALIKE_FIRST_HALF:
        own[0].n = n / 2;
        break;
    case ALIKE_LAST_HALF:
        own[0] = (span){n / 2, n - n / 2};
        break;
    case ALIKE_ONE:
        own[0].n = i == p->drawn ? n : 0;
        break;
    case ALIKE_BUT_PIECE:
        own[0].n = i == p->drawn ? p->piece : n;
        own[1] = i == p->drawn ? (span){end, n - end} : own[1];
        break;
    default:
        own[0].n = i == p->drawn ? 0 : n;
    }
}

/* Whole words of the first half in the place of the second half's, and the
   other way round: no sum of all words tells. */
static void exchange_halves(uint8_t *bytes, uint64_t n)
{
    const uint64_t half = n < 16 ? n / 2 : n / 16 * 8;

    for (uint64_t i = 0; i < half; i++) {
        const uint8_t first = bytes[i];
        bytes[i] = bytes[half + i];
        bytes[half + i] = first;
    }
}

/* Are its elements numbers or codes, in any order?  Integers may be sorted, or
   no two of them alike. */
static int has_no_order(const host_tensor *t)
{
    return t->dtype == MXO_U8 || t->dtype == MXO_F16 || t->dtype == MXO_BF16 ||
           t->dtype == MXO_F32 || t->dtype == MXO_F64 ||
           (t->dtype >= MXO_E4M3 && t->dtype <= MXO_E5M2FNUZ);
}

/* Input number i, of no more than a chunk, into the chunk. */
static void mix(const stage *g, const part *drawn, uint32_t i)
{
    const placed *p = &g->in[i];
    const uint64_t n = p->host->n_bytes;
    span own[2];

    if (drawn->kind == ALIKE_EXCHANGED) {
        memcpy(g->chunk, p->host->data, n);
        if (has_no_order(p->host)) {
            exchange_halves(g->chunk, n);
        }
        return;
    }
    judge_bytes_noise(p->host->dtype, p->salt, g->chunk, n, 0);
    own_bytes(g, drawn, i, own);
    for (int k = 0; k < 2; k++) {
        memcpy(g->chunk + own[k].at, p->host->data + own[k].at, own[k].n);
    }
}

/* Input number i, whatever its size: it has no gaps. */
static mxo_status send_parts(stage *g, const part *drawn, uint32_t i,
                             mxo_text why)
{
    placed *p = &g->in[i];
    span own[2];

    MXO_TRY(stage_send_one(g, p, NULL, STAGE_NOISE, why));
    own_bytes(g, drawn, i, own);
    for (int k = 0; k < 2; k++) {
        if (own[k].n > 0) {
            MXO_TRY(
                g->s->table->upload(g->s->ctx, p->buffer, p->offset + own[k].at,
                                    p->host->data + own[k].at, own[k].n, why));
        }
    }
    return MXO_OK;
}

mxo_status alike_send(stage *g, mxo_text why)
{
    const part drawn = draw(g);

    for (uint32_t i = 0; i < g->n_in; i++) {
        const uint64_t n = g->in[i].host->n_bytes;

        if (n > 0 && n <= STAGE_CHUNK) {
            mix(g, &drawn, i);
            MXO_TRY(stage_send_one(g, &g->in[i], g->chunk, STAGE_NOISE, why));
        } else {
            MXO_TRY(send_parts(g, &drawn, i, why));
        }
    }
    return MXO_OK;
}

int alike_comes_first(const stage *g)
{
    return g->takes_alike && (launch_hash(g) >> 36 & 1) != 0;
}

mxo_status alike_run(stage *g, mxo_text why)
{
    run_checks unused;

    if (!alike_comes_first(g) || launch_sends_late(g->ways)) {
        return MXO_OK;
    }
    memset(&unused, 0, sizeof unused);
    MXO_TRY(alike_send(g, why));
    const mxo_status status = launch_make(g, 0, 1, &unused, why);

    return checked_is_failure(status) ? status : stage_send_inputs(g, 0, why);
}
