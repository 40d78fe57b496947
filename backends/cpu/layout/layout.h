/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout engine: one row of layouts.def becomes a map (digits with
 * strides), maps of a chain become one, and a map becomes a plan that moves
 * words.  All distances are in bits, so that elements, nibbles and single
 * bits are the same thing.
 */
#ifndef CPU_LAYOUT_H
#define CPU_LAYOUT_H

#include "cpu.h"

enum {
    CPU_NAME = 24,    /* longest name of a digit or value, with its end */
    CPU_NAMES = 40,   /* names a row may use */
    CPU_DIGITS = 32,  /* digits of a row */
    CPU_TABLES = 4,   /* tables of a row */
    CPU_ENTRIES = 64, /* entries of a table */
    CPU_RECORDS = 2,  /* records of a row, one in the other */
    CPU_WALLS = 6     /* conditions "this coordinate is below that" */
};

typedef struct cpu_names {
    int n;
    struct {
        char name[CPU_NAME];
        int64_t value;
    } at[CPU_NAMES];
} cpu_names;

/* A row of layouts.def. */
typedef struct cpu_row {
    const char *id;
    const char *bits;
    const char *values;
    const char *params;
    const char *where;
    const char *needs;
    const char *map;
} cpu_row;

/* One digit of memory order; the logical tensor is what the text before the
   arrow describes, without its padding. */
typedef struct cpu_digit {
    uint64_t size;
    uint64_t logical; /* bits per step in the logical tensor */
    uint64_t physical;
    uint64_t coord[CPU_WALLS]; /* steps of each wall's coordinate */
    int axis;                  /* and what it is worth there; 3: the byte */
    uint64_t step;
} cpu_digit;

/* Neighbouring digits whose mixed-radix value v lies at entry[v]. */
typedef struct cpu_table {
    int first;
    int count;
    uint32_t size;
    uint8_t entry[CPU_ENTRIES];
} cpu_table;

/* Beyond the end, memory holds the byte; of several walls the first counts. */
typedef struct cpu_wall {
    uint64_t end;
    uint8_t byte;
    uint8_t unknown;
} cpu_wall;

/* Bytes of memory: body of every are the map's, from byte first on. */
typedef struct cpu_record {
    uint64_t body;
    uint64_t every;
    uint64_t first;
} cpu_record;

/* Digits in the order of memory, most significant first. */
typedef struct cpu_map {
    int n;
    int n_tables;
    int n_walls;
    uint64_t logical_bits;  /* of the live tensor */
    uint64_t physical_bits; /* of the padded one, without gaps */
    uint64_t extent[3];     /* live experts, rows, columns */
    uint64_t padded[3];
    uint64_t elem_bits;
    uint64_t parts;             /* units in an element */
    int rank;                   /* of the result */
    uint64_t shape[CPU_DIGITS]; /* in elements */
    cpu_digit digit[CPU_DIGITS];
    cpu_table table[CPU_TABLES];
    cpu_wall wall[CPU_WALLS];
    int n_records; /* the inner one first */
    cpu_record record[CPU_RECORDS];
} cpu_map;

/* The row that "id" or "id/name=value/..." names, NULL if there is none. */
const cpu_row *cpu_row_of(const char *text);
/* Parameters, extents and derived names of the row under that text. */
mxo_status cpu_names_of(cpu_names *names, const cpu_row *row, const char *text,
                        const uint64_t extent[3], uint64_t elem_bytes,
                        mxo_text why);
mxo_status cpu_name_add(cpu_names *names, const char *name, size_t length,
                        int64_t value, mxo_text why);
const int64_t *cpu_name_find(const cpu_names *names, const char *name,
                             size_t length);
/* Has the rest of a layout's name the parameter once more? */
int cpu_is_given_again(const char *name, size_t length);

/* Elements of the logical side. */
static inline uint64_t cpu_map_elements(const cpu_map *m)
{
    return m->logical_bits / m->elem_bits;
}

/* The map of the row at a shape.  live, if not NULL, is the part of the padded
   tensor that exists on the logical side instead of extent. */
mxo_status cpu_map_of(cpu_map *map, const cpu_row *row, const char *text,
                      const uint64_t extent[3], const uint64_t *live,
                      uint64_t elem_bytes, mxo_text why);

/* Sizes of the records' bodies, given the digits left of each. */
mxo_status cpu_record_sizes(cpu_map *map, const int *inside, mxo_text why);
/* Bytes of memory with the gaps of records in between; byte of memory of byte
   at of what lies dense, and back: UINT64_MAX in a gap. */
uint64_t cpu_memory_bytes(const cpu_map *map);
uint64_t cpu_record_spread(const cpu_map *map, uint64_t at);
uint64_t cpu_record_close(const cpu_map *map, uint64_t at);
/* Dense bytes into memory, whose gaps stay as they are, or out of it. */
void cpu_record_put(const cpu_map *map, uint8_t *memory, const uint8_t *dense);
void cpu_record_take(const cpu_map *map, uint8_t *dense, const uint8_t *memory);

/* a * b, or UINT64_MAX once that leaves 62 bits. */
uint64_t cpu_times(uint64_t a, uint64_t b);

#endif
