/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of who computes what: tokens, slots, experts, tiles of sorted rows. */
#include "layer_edit.h"

#include "case/case_text.h"
#include "case/profile_fact.h"

#include <stdlib.h>
#include <string.h>

static uint64_t per_row(const host_tensor *t)
{
    return tensor_elems(t) / t->shape[0];
}

/* Of the slot so many further, behind the last one the first. */
static uint64_t slot_at(const host_tensor *was, uint64_t i, uint64_t further)
{
    const uint64_t topk = was->shape[1];

    return i - i % topk + (i % topk + further) % topk;
}

/* Of so many axes behind the slots': the same of the slot before, of the first
   slot its own. */
static uint64_t former_slot_row(const host_tensor *was, uint64_t i)
{
    const uint64_t width = per_row(was) / was->shape[1];

    return i / width % was->shape[1] == 0 ? i : i - width;
}

static uint64_t former_row(const host_tensor *was, uint64_t i)
{
    return i < per_row(was) ? i : i - per_row(was);
}

static uint64_t next_row(const host_tensor *was, uint64_t i)
{
    return i + per_row(was) < tensor_elems(was) ? i + per_row(was) : i;
}

static uint64_t former_row_around(const host_tensor *was, uint64_t i)
{
    const uint64_t n = tensor_elems(was);

    return (i + n - per_row(was)) % n;
}

LAYER_TAKE(first_slot, i - i % was->shape[1])
LAYER_TAKE(next_slot, slot_at(was, i, 1))
LAYER_TAKE(former_slot, slot_at(was, i, was->shape[1] - 1))
LAYER_TAKE(former_slot_row, former_slot_row(was, i))
LAYER_TAKE(first_token, i % was->shape[1])
LAYER_TAKE(former_row, former_row(was, i))
LAYER_TAKE(former_row_around, former_row_around(was, i))
LAYER_TAKE(next_row, next_row(was, i))

/* Weights of one expert in the place of another's: of the one before, of the
   next, of the other of a pair. */
static uint64_t element_slab_of_former(const layer_call *call,
                                       const host_tensor *was, uint64_t i)
{
    return tensor_load(was, i / per_row(was) == call->which ? former_row(was, i)
                                                            : i);
}

static uint64_t element_slab_of_next(const layer_call *call,
                                     const host_tensor *was, uint64_t i)
{
    return tensor_load(was,
                       i / per_row(was) == call->which ? next_row(was, i) : i);
}

LAYER_TAKE(slabs_of_even, i / per_row(was) % 2 == 0 ? i : former_row(was, i))
LAYER_TAKE(slabs_of_odd, i / per_row(was) % 2 == 1 ? i : next_row(was, i))

/* Pairs that take part (ids that are not negative), by slot or by expert. */
typedef enum choice { ALL_BUT_SLOT, ALL_BUT_EXPERT, EXPERT_ALONE } choice;

/* Whatever the profile says of them. */
static void skip_absent(layer_call *call)
{
    const char *value = case_value(&call->c, "absent");
    char why[256];

    if (strcmp(value, "skip") != 0 &&
        strcmp(profile_fact(case_value(&call->c, "profile"), "absent"),
               "skip") != 0) {
        (void)case_set(&call->c, "absent", "skip", (mxo_text){why, sizeof why});
    }
}

static layer_edit choose(layer_call *call, const char *on, unsigned which,
                         choice how)
{
    host_tensor *ids = tensor_set_find(&call->in, on);
    const uint64_t n = ids == NULL ? 0 : tensor_elems(ids);
    uint64_t n_out = 0;
    uint64_t n_left = 0;
    uint64_t most = 0;

    for (uint64_t i = 0; i < n; i++) {
        const int32_t id = (int32_t)(uint32_t)tensor_load(ids, i);
        const unsigned slot = (unsigned)(i % ids->shape[1]);
        const int is_it = how == ALL_BUT_SLOT
                              ? slot == which
                              : id >= 0 && (unsigned)id == which;
        const uint64_t number = how == ALL_BUT_SLOT ? slot : (uint64_t)id;
        most = id >= 0 && number > most ? number : most;
        if (id >= 0 && is_it != (how == EXPERT_ALONE)) {
            tensor_store(ids, i, UINT32_MAX);
            n_out++;
        }
        n_left += id >= 0 && is_it == (how == EXPERT_ALONE);
    }
    if (n_out > 0) {
        skip_absent(call);
    }
    return n == 0 || which > most || which >= LAYER_EDIT_MOST ? EDIT_END
           : n_out > 0 && n_left > 0                          ? EDIT_DONE
                                                              : EDIT_SAME;
}

layer_edit edit_no_slot(layer_call *call, const char *on, unsigned which)
{
    return choose(call, on, which, ALL_BUT_SLOT);
}

layer_edit edit_no_expert(layer_call *call, const char *on, unsigned which)
{
    return choose(call, on, which, ALL_BUT_EXPERT);
}

layer_edit edit_one_expert(layer_call *call, const char *on, unsigned which)
{
    return choose(call, on, which, EXPERT_ALONE);
}

/* Pairs of token and slot as a kernel sorts them: by expert, then as they
   come. */
typedef struct sorted {
    uint64_t n;
    uint64_t *pair;  /* owned */
    int64_t *expert; /* owned: of each, by its weights' place */
    int64_t n_experts;
} sorted;

/* Place of an expert's weights; -1: they are not here. */
static int64_t place_of(const layer_call *call, uint64_t code)
{
    const host_tensor *map = tensor_set_find(&call->in, "expert_map");
    const int32_t id = (int32_t)(uint32_t)code;

    if (id < 0 || map == NULL) {
        return id < 0 ? -1 : id;
    }
    return (uint64_t)id < tensor_elems(map)
               ? (int32_t)(uint32_t)tensor_load(map, (uint64_t)id)
               : -1;
}

/* Weights of an expert without a row decide nothing. */
static layer_edit edit_slab(layer_call *call, const char *on, unsigned which,
                            layer_element *from)
{
    const host_tensor *ids = tensor_set_find(&call->in, "topk_ids");
    const uint64_t n = ids == NULL ? 0 : tensor_elems(ids);
    uint64_t i = 0;

    while (i < n && place_of(call, tensor_load(ids, i)) != (int64_t)which) {
        i++;
    }
    const layer_edit done = layer_edit_expert(call, on, which, from);

    return done == EDIT_DONE && i == n ? EDIT_SAME : done;
}

layer_edit edit_slab_of_former(layer_call *call, const char *on, unsigned which)
{
    return edit_slab(call, on, which, element_slab_of_former);
}

layer_edit edit_slab_of_next(layer_call *call, const char *on, unsigned which)
{
    return edit_slab(call, on, which, element_slab_of_next);
}

/* The other way round; -1: no id leads there. */
static int64_t id_of(const layer_call *call, int64_t place)
{
    const host_tensor *map = tensor_set_find(&call->in, "expert_map");

    for (uint64_t id = 0; map != NULL && id < tensor_elems(map); id++) {
        if ((int32_t)(uint32_t)tensor_load(map, id) == place) {
            return (int64_t)id;
        }
    }
    return map == NULL ? place : -1;
}

static int64_t n_experts(const layer_call *call)
{
    const host_tensor *w13 = tensor_set_find(&call->in, "w13");
    const host_tensor *w2 = tensor_set_find(&call->in, "w2");

    return w13 != NULL  ? (int64_t)w13->shape[0]
           : w2 != NULL ? (int64_t)w2->shape[0]
                        : 0;
}

static void unsort(sorted *s)
{
    free(s->pair);
    free(s->expert);
}

/* 0: there is no memory, or there are no pairs. */
static int sort(const layer_call *call, const host_tensor *ids, sorted *s)
{
    const uint64_t n = ids == NULL ? 0 : tensor_elems(ids);

    *s = (sorted){0, malloc((size_t)(n + 1) * sizeof *s->pair),
                  malloc((size_t)(n + 1) * sizeof *s->expert), n_experts(call)};
    for (int64_t e = 0;
         s->pair != NULL && s->expert != NULL && e < s->n_experts; e++) {
        for (uint64_t i = 0; i < n; i++) {
            if (place_of(call, tensor_load(ids, i)) == e) {
                s->pair[s->n] = i;
                s->expert[s->n++] = e;
            }
        }
    }
    if (s->n == 0) {
        unsort(s);
        return 0;
    }
    return 1;
}

/* The expert whose weights sorted row p gets; tile: rows of a tile, or the
   number of an expert. */
typedef int64_t other_expert(const sorted *s, uint64_t p, unsigned tile);

static layer_edit reassign(layer_call *call, const char *on, unsigned tile,
                           other_expert *other)
{
    host_tensor *ids = tensor_set_find(&call->in, on);
    layer_edit done = EDIT_SAME;
    sorted s;

    if (!sort(call, ids, &s)) {
        return EDIT_END;
    }
    for (uint64_t p = 0; p < s.n; p++) {
        const int64_t e = other(&s, p, tile);
        const int64_t id = e < s.n_experts ? id_of(call, e) : -1;
        if (e != s.expert[p] && id >= 0) {
            tensor_store(ids, s.pair[p], (uint64_t)id);
            done = EDIT_DONE;
        }
    }
    unsort(&s);
    return done;
}

/* Tiles of 2 to 128 rows. */
static layer_edit reassign_tiles(layer_call *call, const char *on,
                                 unsigned which, other_expert *other)
{
    enum { LARGEST = 128 };

    if (which > LARGEST || tensor_set_find(&call->in, on) == NULL) {
        return EDIT_END;
    }
    return which < 2 || (which & (which - 1)) != 0
               ? EDIT_SAME
               : reassign(call, on, which, other);
}

static int64_t first_of_tile(const sorted *s, uint64_t p, unsigned tile)
{
    return s->expert[p - p % tile];
}

static int64_t last_of_tile(const sorted *s, uint64_t p, unsigned tile)
{
    const uint64_t end = p - p % tile + tile;

    return s->expert[(end < s->n ? end : s->n) - 1];
}

/* Behind the last whole tile of an expert with one. */
static int64_t next_behind_tiles(const sorted *s, uint64_t p, unsigned tile)
{
    uint64_t first = p;
    uint64_t end = p;

    while (first > 0 && s->expert[first - 1] == s->expert[p]) {
        first--;
    }
    while (end < s->n && s->expert[end] == s->expert[p]) {
        end++;
    }
    return s->expert[p] +
           (end - first >= tile && end - p <= (end - first) % tile);
}

static int64_t even_of_two(const sorted *s, uint64_t p, unsigned tile)
{
    (void)tile;
    return s->expert[p] & ~INT64_C(1);
}

static int64_t odd_of_two(const sorted *s, uint64_t p, unsigned tile)
{
    (void)tile;
    return s->expert[p] | 1;
}

static int64_t former_expert(const sorted *s, uint64_t p, unsigned which)
{
    return s->expert[p] - (s->expert[p] == (int64_t)which && which > 0);
}

static int64_t next_expert(const sorted *s, uint64_t p, unsigned which)
{
    return s->expert[p] + (s->expert[p] == (int64_t)which);
}

layer_edit edit_tile_of_first(layer_call *call, const char *on, unsigned which)
{
    return reassign_tiles(call, on, which, first_of_tile);
}

layer_edit edit_tile_of_last(layer_call *call, const char *on, unsigned which)
{
    return reassign_tiles(call, on, which, last_of_tile);
}

layer_edit edit_tail_of_next(layer_call *call, const char *on, unsigned which)
{
    return reassign_tiles(call, on, which, next_behind_tiles);
}

layer_edit edit_two_of_even(layer_call *call, const char *on, unsigned which)
{
    return which > 0 ? EDIT_END : reassign(call, on, which, even_of_two);
}

layer_edit edit_two_of_odd(layer_call *call, const char *on, unsigned which)
{
    return which > 0 ? EDIT_END : reassign(call, on, which, odd_of_two);
}

static int is_no_expert(const layer_call *call, unsigned which)
{
    return which >= n_experts(call) || which >= LAYER_EDIT_MOST;
}

layer_edit edit_of_former(layer_call *call, const char *on, unsigned which)
{
    return is_no_expert(call, which) ? EDIT_END
                                     : reassign(call, on, which, former_expert);
}

layer_edit edit_of_next(layer_call *call, const char *on, unsigned which)
{
    return is_no_expert(call, which) ? EDIT_END
                                     : reassign(call, on, which, next_expert);
}

/* Rows of x, where a token has one slot, or of act are those before them in the
   order in which they are sorted. */
layer_edit edit_former_sorted(layer_call *call, const char *on, unsigned which)
{
    const host_tensor *ids = tensor_set_find(&call->in, "topk_ids");
    host_tensor *t = tensor_set_find(&call->in, on);
    sorted s;

    if (which > 0 || t == NULL || ids == NULL || tensor_elems(ids) == 0 ||
        (t->rank == 2 && ids->shape[1] != 1) || !sort(call, ids, &s)) {
        return EDIT_END;
    }
    const size_t n = (size_t)(t->n_bytes / tensor_elems(ids));

    for (uint64_t p = s.n; p-- > 1 && n > 0;) {
        memcpy(t->data + s.pair[p] * n, t->data + s.pair[p - 1] * n, n);
    }
    const layer_edit done = s.n > 1 ? EDIT_DONE : EDIT_END;

    unsort(&s);
    return done;
}
