/* SPDX-License-Identifier: Apache-2.0 */
#include "alike.h"

typedef enum {
    ALIKE_HEAD,
    ALIKE_TAIL,
    ALIKE_FIRST_HALF,
    ALIKE_LAST_HALF,
    ALIKE_BUT_PIECE,
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

mxo_status alike_send(stage *g, mxo_text why)
{
    const part drawn = draw(g);

    MXO_TRY(stage_send_inputs(g, 1, why));
    for (uint32_t i = 0; i < g->n_in; i++) {
        const placed *p = &g->in[i];
        span own[2];

        own_bytes(g, &drawn, i, own);
        for (int k = 0; k < 2; k++) {
            if (own[k].n > 0 && placement_is_dense(&p->at)) {
                MXO_TRY(g->s->table->upload(
                    g->s->ctx, p->buffer, p->offset + own[k].at,
                    p->host->data + own[k].at, own[k].n, why));
            }
        }
    }
    return MXO_OK;
}
