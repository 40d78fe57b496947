/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Greedy: a combination begins with values that no other has met together;
 * axis by axis it takes the value that meets most with those it has.
 */
#include "cover.h"

#include <stdlib.h>
#include <string.h>

/* Axes, ascending, and where in met their combinations of values begin. */
typedef struct group {
    int axis[COVER_MOST];
    uint64_t first;
    uint64_t n;
} group;

struct cover {
    int strength;
    int n_axes;
    const uint64_t *size;
    group *groups;
    uint64_t n_groups;
    uint8_t *met;
    uint64_t at;    /* group of the first that is not met, or before it */
    uint64_t begun; /* combinations that were given out */
};

/* The next subset of axes in turn; 0 behind the last. */
static int advance(const cover *c, int *axis)
{
    int i = c->strength - 1;

    while (i >= 0 && axis[i] == c->n_axes - c->strength + i) {
        i--;
    }
    if (i < 0) {
        return 0;
    }
    axis[i]++;
    for (i++; i < c->strength; i++) {
        axis[i] = axis[i - 1] + 1;
    }
    return 1;
}

/* All groups, and how many combinations of values they have together. */
static uint64_t list_groups(cover *c)
{
    int axis[COVER_MOST];
    uint64_t total = 0;

    for (int i = 0; i < COVER_MOST; i++) {
        axis[i] = i;
    }
    c->n_groups = 0;
    do {
        group *g = &c->groups[c->n_groups++];

        memcpy(g->axis, axis, sizeof axis);
        g->first = total;
        g->n = 1;
        for (int i = 0; i < c->strength; i++) {
            g->n *= c->size[axis[i]];
        }
        total += g->n;
    } while (advance(c, axis));
    return total;
}

cover *cover_new(int strength, int n_axes, const uint64_t *size)
{
    enum { MOST_GROUPS = COVER_AXES * COVER_AXES * COVER_AXES / 6 };
    cover *c = calloc(1, sizeof *c);

    if (c == NULL) {
        return NULL;
    }
    c->strength = strength;
    c->n_axes = n_axes;
    c->size = size;
    c->groups = calloc(MOST_GROUPS, sizeof *c->groups);
    c->met = c->groups == NULL ? NULL : calloc(list_groups(c), 1);
    if (c->met == NULL) {
        cover_free(c);
        return NULL;
    }
    return c;
}

void cover_free(cover *c)
{
    if (c != NULL) {
        free(c->groups);
        free(c->met);
        free(c);
    }
}

/* Where the values that choice has on the group's axes are noted. */
static uint8_t *met_at(const cover *c, const group *g, const uint64_t *choice)
{
    uint64_t at = 0;

    for (int i = 0; i < c->strength; i++) {
        at = at * c->size[g->axis[i]] + choice[g->axis[i]];
    }
    return &c->met[g->first + at];
}

/* Is the group all of fixed axes, axis among them? */
static int is_of(const cover *c, const group *g, const uint8_t *fixed, int axis)
{
    int has_axis = 0;

    for (int i = 0; i < c->strength; i++) {
        if (!fixed[g->axis[i]]) {
            return 0;
        }
        has_axis |= g->axis[i] == axis;
    }
    return has_axis;
}

/* What choice would meet for the first time on groups of axis. */
static uint64_t gain(const cover *c, const uint8_t *fixed,
                     const uint64_t *choice, int axis)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < c->n_groups; i++) {
        const group *g = &c->groups[i];

        n += is_of(c, g, fixed, axis) && !*met_at(c, g, choice);
    }
    return n;
}

/* Equal gains: another value each time. */
static void choose(const cover *c, const uint8_t *fixed, uint64_t *choice,
                   int axis)
{
    const uint64_t n = c->size[axis];
    uint64_t best = c->begun % n;
    uint64_t most = 0;

    for (uint64_t k = 0; k < n; k++) {
        choice[axis] = (c->begun + k) % n;
        const uint64_t now = gain(c, fixed, choice, axis);

        if (now > most) {
            most = now;
            best = choice[axis];
        }
    }
    choice[axis] = best;
}

/* Values that were never met together; 0: there are none. */
static int begin(cover *c, uint8_t *fixed, uint64_t *choice)
{
    for (; c->at < c->n_groups; c->at++) {
        const group *g = &c->groups[c->at];
        const uint8_t *free_one = memchr(c->met + g->first, 0, g->n);

        if (free_one == NULL) {
            continue;
        }
        uint64_t rest = (uint64_t)(free_one - c->met) - g->first;

        for (int i = c->strength - 1; i >= 0; i--) {
            const int axis = g->axis[i];

            choice[axis] = rest % c->size[axis];
            rest /= c->size[axis];
            fixed[axis] = 1;
        }
        return 1;
    }
    return 0;
}

int cover_next(cover *c, uint64_t *choice)
{
    uint8_t fixed[COVER_AXES] = {0};

    if (!begin(c, fixed, choice)) {
        return 0;
    }
    for (int axis = 0; axis < c->n_axes; axis++) {
        if (!fixed[axis]) {
            fixed[axis] = 1;
            choose(c, fixed, choice, axis);
        }
    }
    for (uint64_t i = 0; i < c->n_groups; i++) {
        *met_at(c, &c->groups[i], choice) = 1;
    }
    c->begun++;
    return 1;
}
