/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the text of a map and the shape of a tensor to digits with strides.
 * The text left of the arrow says what a digit is worth in the logical
 * tensor, the text right of it where the digit lies in memory.
 */
#include "layout.h"

#include <string.h>

/* A digit as the left side says it. */
typedef struct written {
    char name[CPU_NAME];
    uint64_t size;   /* 0: free */
    uint64_t stride; /* within its axis */
    int axis;        /* 3: the byte */
    int used;        /* by the right side */
} written;

typedef struct written_axis {
    uint64_t multiple;
    int pads; /* may be padded */
    cpu_wall wall;
} written_axis;

typedef struct reader {
    const char *at;
    const cpu_names *names;
    mxo_text why;
    int n;
    int n_axes;
    int is_stack; /* of all experts' rows, one below the other */
    written digit[CPU_DIGITS];
    written_axis axis[3];
    int n_order;
    int order[CPU_DIGITS];
    int group[CPU_DIGITS]; /* dimension of the result, in that order */
    int n_groups;
    int n_tables;
    cpu_table table[CPU_TABLES];
    int n_records;
    int inside[CPU_RECORDS]; /* digits left of it */
    int outside;             /* groups left of the first */
    cpu_record record[CPU_RECORDS];
} reader;

static mxo_status bad(const reader *r, const char *what)
{
    return cpu_fail(MXO_E_PARAM, r->why, "%s at \"%.24s\" in a layout's map",
                    what, r->at);
}

static int next(reader *r, const char *text)
{
    r->at += strspn(r->at, " ");
    if (strncmp(r->at, text, strlen(text)) != 0) {
        return 0;
    }
    r->at += strlen(text);
    return 1;
}

static size_t word(reader *r)
{
    r->at += strspn(r->at, " ");
    return strspn(r->at, "abcdefghijklmnopqrstuvwxyz"
                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

static mxo_status read_number(reader *r, uint64_t *value)
{
    const size_t n = strspn(r->at, "0123456789");

    *value = 0;
    if (n == 0 || n > 18) {
        return bad(r, "no number");
    }
    for (size_t i = 0; i < n; i++) {
        *value = *value * 10 + (uint64_t)(*r->at++ - '0');
    }
    return MXO_OK;
}

/* A number or $name, 1 at least. */
static mxo_status read_size(reader *r, uint64_t *value)
{
    if (next(r, "$")) {
        const size_t n = word(r);
        const int64_t *named = cpu_name_find(r->names, r->at, n);
        if (named == NULL) {
            return bad(r, "unknown name");
        }
        *value = *named < 1 ? 0 : (uint64_t)*named;
        r->at += n;
    } else {
        MXO_TRY(read_number(r, value));
    }
    if (*value == 0) {
        return cpu_fail(MXO_E_PARAM, r->why,
                        "a size of the layout is not positive");
    }
    return MXO_OK;
}

/* name[:size] */
static mxo_status read_digit(reader *r, int axis)
{
    const size_t n = word(r);

    if (n == 0 || n >= CPU_NAME || r->n == CPU_DIGITS - 1) {
        return bad(r, "no digit");
    }
    written *d = &r->digit[r->n++];
    memset(d, 0, sizeof *d);
    memcpy(d->name, r->at, n);
    d->axis = axis;
    r->at += n;
    return next(r, ":") ? read_size(r, &d->size) : MXO_OK;
}

static int hex(char c)
{
    const char *const digits = "0123456789abcdef";
    const char *const at = c == '\0' ? NULL : strchr(digits, c);

    return at == NULL ? -1 : (int)(at - digits);
}

/* ^, ^size, ^size=7f, ^size=? */
static mxo_status read_suffix(reader *r, written_axis *axis)
{
    mxo_status status = MXO_OK;

    axis->multiple = 1;
    if (*r->at != '^') {
        return status;
    }
    r->at++;
    axis->pads = 1;
    if (*r->at == '$' || hex(*r->at) >= 0) {
        status = read_size(r, &axis->multiple);
    }
    if (status != MXO_OK || *r->at != '=') {
        return status;
    }
    r->at++;
    if (*r->at == '?') {
        axis->wall.unknown = 1;
        r->at++;
        return status;
    }
    if (hex(r->at[0]) < 0 || hex(r->at[1]) < 0) {
        return bad(r, "no byte");
    }
    axis->wall.byte = (uint8_t)(hex(r->at[0]) * 16 + hex(r->at[1]));
    r->at += 2;
    return status;
}

static mxo_status read_left(reader *r)
{
    r->is_stack = next(r, "*");
    r->n_axes = r->is_stack;
    while (!next(r, "->")) {
        const int axis = r->n_axes < 3 ? r->n_axes : 3;

        if (next(r, "(")) {
            while (!next(r, ")")) {
                MXO_TRY(read_digit(r, axis));
            }
        } else {
            MXO_TRY(read_digit(r, axis));
        }
        if (axis < 3) {
            MXO_TRY(read_suffix(r, &r->axis[axis]));
        }
        r->n_axes++;
    }
    return r->n_axes < 3 ? bad(r, "fewer than three axes") : MXO_OK;
}

static mxo_status place_digit(reader *r)
{
    const size_t n = word(r);

    for (int i = 0; i < r->n; i++) {
        written *d = &r->digit[i];
        if (strlen(d->name) == n && memcmp(d->name, r->at, n) == 0 &&
            !d->used) {
            d->used = 1;
            r->order[r->n_order++] = i;
            r->at += n;
            return MXO_OK;
        }
    }
    return bad(r, "unknown or repeated digit");
}

/* [1 0] after the digits from number first of the right side. */
static mxo_status read_table(reader *r, int first)
{
    uint64_t value = 0;

    if (!next(r, "[")) {
        return MXO_OK;
    }
    if (r->n_tables == CPU_TABLES) {
        return bad(r, "too many tables");
    }
    cpu_table *t = &r->table[r->n_tables++];
    t->first = first;
    t->count = r->n_order - first;
    t->size = 0;
    while (!next(r, "]")) {
        MXO_TRY(read_number(r, &value));
        if (t->size == CPU_ENTRIES || value >= CPU_ENTRIES) {
            return bad(r, "too large a table");
        }
        t->entry[t->size++] = (uint8_t)value;
    }
    return MXO_OK;
}

/* A digit, or "<digits>[table]". */
static mxo_status read_term(reader *r)
{
    const int first = r->n_order;

    if (next(r, "<")) {
        while (!next(r, ">")) {
            MXO_TRY(place_digit(r));
        }
    } else {
        MXO_TRY(place_digit(r));
    }
    for (int i = first; i < r->n_order; i++) {
        r->group[i] = r->n_groups;
    }
    return read_table(r, first);
}

/* @first/every */
static mxo_status read_record(reader *r)
{
    cpu_record *to = &r->record[r->n_records];
    mxo_status status =
        r->n_records == CPU_RECORDS ? MXO_E_PARAM : read_number(r, &to->first);

    if (status != MXO_OK || !next(r, "/")) {
        return bad(r, "no record");
    }
    r->outside = r->n_records > 0 ? r->outside : r->n_groups;
    r->inside[r->n_records++] = r->n_order;
    return read_number(r, &to->every);
}

static mxo_status read_right(reader *r)
{
    while (*(r->at += strspn(r->at, " ")) != '\0') {
        if (next(r, "@")) {
            MXO_TRY(read_record(r));
            continue;
        }
        if (next(r, "(")) {
            while (!next(r, ")")) {
                MXO_TRY(read_term(r));
            }
        } else {
            MXO_TRY(read_term(r));
        }
        r->n_groups++;
    }
    return r->n_order != r->n ? bad(r, "missing digit") : MXO_OK;
}

/* Sizes and strides of one axis; its padded extent into *padded. */
static mxo_status bind_axis(reader *r, int a, uint64_t extent, uint64_t *padded)
{
    uint64_t product = 1;
    written *rest = NULL;

    for (int i = 0; i < r->n; i++) {
        written *d = &r->digit[i];
        if (d->axis == a && d->size == 0) {
            if (rest != NULL) {
                return cpu_fail(MXO_E_PARAM, r->why, "two free digits");
            }
            rest = d;
        } else if (d->axis == a) {
            product = cpu_times(product, d->size);
        }
    }
    uint64_t granule = product;
    while (r->axis[a].pads && granule <= (uint64_t)1 << 62 &&
           granule % r->axis[a].multiple != 0) {
        granule += product;
    }
    if (granule > (uint64_t)1 << 62) {
        return cpu_fail(MXO_E_SHAPE, r->why, "the sizes are too large");
    }
    *padded = cpu_times(extent / granule + (extent % granule != 0), granule);
    if ((*padded != extent && !r->axis[a].pads) ||
        (rest == NULL && *padded != product)) {
        return cpu_fail(
            MXO_E_SHAPE, r->why, "an extent of %llu is no multiple of %llu",
            (unsigned long long)extent, (unsigned long long)granule);
    }
    if (rest != NULL) {
        rest->size = *padded / product;
    }
    uint64_t stride = 1;
    for (int i = r->n - 1; i >= 0; i--) {
        if (r->digit[i].axis == a) {
            r->digit[i].stride = stride;
            stride = cpu_times(stride, r->digit[i].size);
        }
    }
    return MXO_OK;
}

/* Digits below the byte; their product into *parts. */
static mxo_status bind_byte(reader *r, uint64_t elem_bytes, uint64_t *parts)
{
    *parts = 1;
    for (int i = r->n - 1; i >= 0; i--) {
        if (r->digit[i].axis == 3) {
            r->digit[i].stride = *parts;
            *parts = cpu_times(*parts, r->digit[i].size);
        }
    }
    if (*parts == 0 || 8 % *parts != 0) {
        return cpu_fail(MXO_E_PARAM, r->why, "a byte has no such parts");
    }
    return *parts == 1 || elem_bytes == 1
               ? MXO_OK
               : cpu_fail(MXO_E_SHAPE, r->why,
                          "only elements of one byte can be split");
}

static mxo_status check_table(const reader *r, const cpu_table *t)
{
    uint64_t product = 1;
    uint8_t seen[CPU_ENTRIES] = {0};

    for (int i = 0; i < t->count; i++) {
        product = cpu_times(product, r->digit[r->order[t->first + i]].size);
    }
    if (product != t->size) {
        return cpu_fail(MXO_E_PARAM, r->why, "a table of the wrong size");
    }
    for (uint32_t v = 0; v < t->size; v++) {
        if (t->entry[v] >= t->size || seen[t->entry[v]]++ != 0) {
            return cpu_fail(MXO_E_PARAM, r->why,
                            "a table that is no permutation");
        }
    }
    return MXO_OK;
}

/* One wall for each axis with a pad, those of unknown contents first.  The
   coordinate of columns counts bits. */
static void set_walls(const reader *r, cpu_map *m, int wall_of[4])
{
    for (int a = 0; a < 4; a++) {
        wall_of[a] = -1;
    }
    for (int unknown = 1; unknown >= 0; unknown--) {
        for (int a = 0; a < 3; a++) {
            if (r->axis[a].wall.unknown == unknown &&
                m->padded[a] != m->extent[a]) {
                wall_of[a] = m->n_walls;
                m->wall[m->n_walls] = r->axis[a].wall;
                m->wall[m->n_walls++].end =
                    cpu_times(m->extent[a], a == 2 ? m->elem_bits : 1);
            }
        }
    }
}

/* Dimensions of the result; parts of a byte end in the last one. */
static void set_shape(const reader *r, cpu_map *m)
{
    m->rank = r->n_groups < CPU_DIGITS ? r->n_groups : CPU_DIGITS;
    for (int i = 0; i < m->rank; i++) {
        m->shape[i] = 1;
    }
    for (int i = 0; i < r->n_order; i++) {
        uint64_t *to = &m->shape[r->group[i]];
        *to = cpu_times(*to, m->digit[i].size);
    }
    if (m->rank > 0) {
        m->shape[m->rank - 1] /= m->parts;
    }
}

static mxo_status set_records(const reader *r, cpu_map *m)
{
    memcpy(m->record, r->record, sizeof m->record);
    m->n_records = r->n_records;
    m->rank = r->n_records > 0 ? r->outside + 1 : m->rank;
    return cpu_record_sizes(m, r->inside, r->why);
}

static mxo_status build(const reader *r, cpu_map *m)
{
    const uint64_t unit = m->elem_bits / m->parts;
    const uint64_t row = cpu_times(m->elem_bits, m->extent[2]);
    const uint64_t matrix = cpu_times(row, m->extent[1]);
    const uint64_t step[] = {matrix, row, m->elem_bits, unit};
    int wall_of[4];

    set_walls(r, m, wall_of);
    m->logical_bits = cpu_times(matrix, m->extent[0]);
    m->n = r->n + 1;
    m->digit[r->n] = (cpu_digit){.size = unit, .logical = 1, .physical = 1};
    wall_of[3] = wall_of[2];
    if (wall_of[2] >= 0) {
        m->digit[r->n].coord[wall_of[2]] = 1;
    }
    uint64_t physical = unit;
    for (int i = r->n - 1; i >= 0; i--) {
        const written *w = &r->digit[r->order[i]];
        cpu_digit *d = &m->digit[i];

        *d = (cpu_digit){.size = w->size,
                         .physical = physical,
                         .axis = w->axis,
                         .step = w->stride};
        d->logical = cpu_times(w->stride, step[w->axis]);
        if (wall_of[w->axis] >= 0) {
            d->coord[wall_of[w->axis]] =
                cpu_times(w->stride, w->axis < 2 ? 1 : step[w->axis]);
        }
        physical = cpu_times(physical, w->size);
    }
    m->physical_bits = physical;
    set_shape(r, m);
    return m->logical_bits == UINT64_MAX || physical == UINT64_MAX
               ? cpu_fail(MXO_E_SHAPE, r->why, "the tensor is too large")
               : set_records(r, m);
}

/* Does the row take elements of that many bits ("8|16", "any")? */
static int takes_bits(const cpu_row *row, uint64_t elem_bytes)
{
    uint64_t bits = 0;

    if (strcmp(row->bits, "any") == 0) {
        return 1;
    }
    for (const char *p = row->bits; *p != '\0'; p++) {
        bits = *p == '|' ? 0 : bits * 10 + (uint64_t)(*p - '0');
        if (bits == 8 * elem_bytes && (p[1] == '|' || p[1] == '\0')) {
            return 1;
        }
    }
    return 0;
}

/* Experts, rows and columns as the map has them. */
static void extent_of(const reader *r, const uint64_t from[3], uint64_t to[3])
{
    to[0] = r->is_stack ? 1 : from[0];
    to[1] = r->is_stack ? cpu_times(from[0], from[1]) : from[1];
    to[2] = from[2];
}

mxo_status cpu_map_of(cpu_map *map, const cpu_row *row, const char *text,
                      const uint64_t extent[3], const uint64_t *live,
                      uint64_t elem_bytes, mxo_text why)
{
    cpu_names names;
    reader r = {.at = row->map, .names = &names, .why = why};

    memset(map, 0, sizeof *map);
    MXO_TRY(cpu_names_of(&names, row, text, extent, elem_bytes, why));
    if (!takes_bits(row, elem_bytes)) {
        return cpu_fail(MXO_E_SHAPE, why, "%s takes elements of %s bits",
                        row->id, row->bits);
    }
    MXO_TRY(read_left(&r));
    MXO_TRY(read_right(&r));
    uint64_t whole[3];
    extent_of(&r, extent, whole);
    extent_of(&r, live == NULL ? extent : live, map->extent);
    for (int a = 0; a < 3; a++) {
        MXO_TRY(bind_axis(&r, a, whole[a], &map->padded[a]));
        if (map->extent[a] > map->padded[a]) {
            return cpu_fail(MXO_E_SHAPE, why, "more is kept than there is");
        }
    }
    MXO_TRY(bind_byte(&r, elem_bytes, &map->parts));
    for (int i = 0; i < r.n_tables; i++) {
        map->table[map->n_tables++] = r.table[i];
        MXO_TRY(check_table(&r, &r.table[i]));
    }
    map->elem_bits = cpu_times(8, elem_bytes);
    return build(&r, map);
}
