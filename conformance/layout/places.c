/* SPDX-License-Identifier: Apache-2.0 */
/* See places.h. */
#include "places.h"

#include "base/tensors.h"
#include "steps.h"

#include <string.h>

enum { WRONG_AT_EACH_END = LAYOUT_PLACES / 4, SPREAD = LAYOUT_PLACES / 2 };

/* Wrong bytes from one end on. */
static void choose_wrong(layout_evidence *e, int from_end)
{
    int room = WRONG_AT_EACH_END;

    for (uint64_t i = 0; room > 0 && i < e->n_actual; i++) {
        const uint64_t at = from_end ? e->n_actual - 1 - i : i;
        if (e->expected[at] != e->actual[at]) {
            e->place[e->n_places++] = at;
            room--;
        }
    }
}

void places_choose(layout_evidence *e)
{
    e->n_places = 0;
    if (e->expected != NULL) {
        choose_wrong(e, 0);
        choose_wrong(e, 1);
    }
    for (uint64_t i = 0; i < SPREAD && i < e->n_actual; i++) {
        /* Odd distances: neither one column nor one row alone. */
        e->place[e->n_places++] = (e->n_actual / SPREAD + 1) * i % e->n_actual;
    }
}

/* The parts of an element that move alone: 1 of one or more bytes, 2 or 8 of
   one; a part of memory against the part of the tensor that lies there. */
static int unit_fits(const layout_evidence *e, const steps *s, uint64_t unit,
                     const uint8_t *bytes, const layout_source *source)
{
    const uint32_t width = dtype_bytes(e->dtype);
    const uint32_t bits = 8 / s->units;
    const uint8_t mask = (uint8_t)((1u << bits) - 1);
    uint64_t from;
    uint8_t pad;

    if (steps_content_at(s, unit, &from, &pad) != MXO_LAYOUT_LIVE) {
        return 1;
    }
    uint64_t element = from / s->units;

    element = source == NULL ? element : source->at(source, element);
    if (s->units == 1) {
        return memcmp(e->actual + unit * width, bytes + element * width,
                      width) == 0;
    }
    const uint8_t got = e->actual[unit / s->units] >> unit % s->units * bits;
    const uint8_t want = bytes[element] >> from % s->units * bits;

    return ((got ^ want) & mask) == 0;
}

/* Layouts that move bits as they are, of elements that can be looked at. */
static int can_look(const layout_evidence *e, const steps *s)
{
    for (int i = 0; i < s->n; i++) {
        if (strcmp(s->step[i].l.row->values, "keep") != 0) {
            return 0;
        }
    }
    return s->units == 1 || dtype_bytes(e->dtype) == 1;
}

int places_fit(const layout_evidence *e, const char *layout,
               const uint8_t *bytes, const layout_source *source)
{
    const uint32_t width = dtype_bytes(e->dtype);
    char text[256];
    const mxo_text why = {text, sizeof text};
    steps s;

    if (e->n_places == 0 || steps_find(&s, layout, why) != 0 ||
        steps_bind(&s, width, e->extent, why) != 0 || !can_look(e, &s)) {
        return 1;
    }
    const mxo_layout *last = &s.step[s.n - 1].l;

    if (last->n_units / last->units * width != e->n_actual) {
        return 0;
    }
    for (int i = 0; i < e->n_places; i++) {
        const uint64_t unit = e->place[i] / width * s.units;
        for (uint32_t part = 0; part < s.units; part++) {
            if (!unit_fits(e, &s, unit + part, bytes, source)) {
                return 0;
            }
        }
    }
    return 1;
}
