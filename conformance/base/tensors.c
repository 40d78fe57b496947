/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in host memory, and the bit patterns of their elements. */
#include "tensors.h"

#include "codes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct dtype_row {
    const char *name;
    const char *file_name;
    uint32_t bytes;
} dtype_row;

static const dtype_row dtypes[] = {
#define MXO_DTYPE(id, name, file, bytes, nan) [id] = {name, file, bytes},
#include <mxoracle/dtype.def>
#undef MXO_DTYPE
};

typedef struct dtype_alias {
    const char *name;
    uint32_t dtype;
} dtype_alias;

static const dtype_alias aliases[] = {
#define MXO_DTYPE(id, name, file, bytes, nan)
#define MXO_DTYPE_ALIAS(name, id) {name, id},
#include <mxoracle/dtype.def>
#undef MXO_DTYPE_ALIAS
#undef MXO_DTYPE
};

/* Bytes of a dense tensor; 0 with *bad set if they do not fit memory. */
static uint64_t dense_bytes(uint32_t dtype, uint32_t rank,
                            const uint64_t *shape, int *bad)
{
    uint64_t n = dtype_bytes(dtype);

    *bad = rank > MXO_MAX_RANK || n == 0;
    for (uint32_t i = 0; !*bad && i < rank; i++) {
        *bad = shape[i] != 0 && n > (uint64_t)PTRDIFF_MAX / 2 / shape[i];
        n = *bad ? 0 : n * shape[i];
    }
    return n;
}

uint64_t tensor_dense_bytes(uint32_t dtype, uint32_t rank,
                            const uint64_t *shape)
{
    int bad = 0;
    const uint64_t n = dense_bytes(dtype, rank, shape, &bad);

    return bad ? UINT64_MAX : n;
}

/*
 * Limit of a set: half of the machine's memory, since the subject holds the
 * bytes a second time.  malloc() would promise more, and the process
 * be killed without a word when it writes there.
 */
uint64_t tensor_room(void)
{
    static _Atomic uint64_t room; /* 0: not asked yet */

    if (room == 0) {
        const long pages = sysconf(_SC_PHYS_PAGES);
        const long size = sysconf(_SC_PAGESIZE);
        room = pages < 1 || size < 1 ? UINT64_MAX
                                     : (uint64_t)pages / 2 * (uint64_t)size;
    }
    return room;
}

uint64_t tensor_set_bytes(const tensor_set *set)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < set->n; i++) {
        n += set->t[i].n_bytes;
    }
    return n;
}

static int fits(const tensor_set *set, uint64_t n_bytes)
{
    uint64_t left = tensor_room();

    for (uint32_t i = 0; i < set->n; i++) {
        left -= set->t[i].n_bytes < left ? set->t[i].n_bytes : left;
    }
    return n_bytes <= left;
}

/* Fresh pages hold zeros: what nobody looks at costs nothing. */
static uint8_t *zeroed(uint64_t n_bytes)
{
    return calloc(((size_t)n_bytes + 15) / 16, 16);
}

mxo_status tensor_set_add(tensor_set *set, const char *name, uint32_t dtype,
                          uint32_t rank, const uint64_t *shape,
                          host_tensor **added)
{
    int bad;
    const uint64_t n_bytes = dense_bytes(dtype, rank, shape, &bad);

    if (bad || set->n == MXO_MAX_TENSORS || strlen(name) >= MXO_NAME_SIZE) {
        return MXO_E_SHAPE;
    }
    host_tensor *t = &set->t[set->n];

    memset(t, 0, sizeof *t);
    if (n_bytes > 0) {
        t->data = fits(set, n_bytes) ? zeroed(n_bytes) : NULL;
        if (t->data == NULL) {
            return MXO_E_NOMEM;
        }
    }
    memcpy(t->name, name, strlen(name) + 1);
    t->dtype = dtype;
    t->rank = rank;
    if (rank > 0) {
        memcpy(t->shape, shape, rank * sizeof shape[0]);
    }
    t->n_bytes = n_bytes;
    set->n++;
    if (added != NULL) {
        *added = t;
    }
    return MXO_OK;
}

host_tensor *tensor_set_find(const tensor_set *set, const char *name)
{
    for (uint32_t i = 0; i < set->n; i++) {
        if (strcmp(set->t[i].name, name) == 0) {
            return (host_tensor *)&set->t[i];
        }
    }
    return NULL;
}

void tensor_set_clear(tensor_set *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        free(set->t[i].data);
    }
    memset(set->t, 0, set->n * sizeof set->t[0]);
    set->n = 0;
}

uint64_t tensor_elems(const host_tensor *t)
{
    return t->n_bytes / dtype_bytes(t->dtype);
}

uint64_t code_load(const uint8_t *data, uint32_t width, uint64_t i)
{
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;

    switch (width) {
    case 1:
        return data[i];
    case 2:
        memcpy(&u16, data + 2 * i, 2);
        return u16;
    case 4:
        memcpy(&u32, data + 4 * i, 4);
        return u32;
    default:
        memcpy(&u64, data + 8 * i, 8);
        return u64;
    }
}

void code_store(uint8_t *data, uint32_t width, uint64_t i, uint64_t code)
{
    const uint16_t u16 = (uint16_t)code;
    const uint32_t u32 = (uint32_t)code;

    switch (width) {
    case 1:
        data[i] = (uint8_t)code;
        break;
    case 2:
        memcpy(data + 2 * i, &u16, 2);
        break;
    case 4:
        memcpy(data + 4 * i, &u32, 4);
        break;
    default:
        memcpy(data + 8 * i, &code, 8);
        break;
    }
}

static int has_element(const host_tensor *t, uint32_t width, uint64_t i)
{
    return width > 0 && i < t->n_bytes / width;
}

uint64_t tensor_load(const host_tensor *t, uint64_t i)
{
    const uint32_t width = dtype_bytes(t->dtype);

    return has_element(t, width, i) ? code_load(t->data, width, i) : 0;
}

void tensor_store(host_tensor *t, uint64_t i, uint64_t code)
{
    const uint32_t width = dtype_bytes(t->dtype);

    if (has_element(t, width, i)) {
        code_store(t->data, width, i, code);
    }
}

const char *dtype_name(uint32_t dtype)
{
    return dtype < MXO_N_DTYPES ? dtypes[dtype].name : "?";
}

const char *dtype_file_name(uint32_t dtype)
{
    return dtype < MXO_N_DTYPES ? dtypes[dtype].file_name : "?";
}

uint32_t dtype_bytes(uint32_t dtype)
{
    return dtype < MXO_N_DTYPES ? dtypes[dtype].bytes : 0;
}

uint32_t dtype_by_name(const char *name)
{
    for (uint32_t i = 0; i < MXO_N_DTYPES; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            return i;
        }
    }
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (strcmp(aliases[i].name, name) == 0) {
            return aliases[i].dtype;
        }
    }
    return MXO_N_DTYPES;
}

uint32_t dtype_by_file_name(const char *name)
{
    uint32_t i = 0;

    while (i < MXO_N_DTYPES && strcmp(dtypes[i].file_name, name) != 0) {
        i++;
    }
    return i;
}

const code_format *dtype_format(uint32_t dtype)
{
    switch (dtype) {
    case MXO_F16:
        return &code_formats[CODE_F16];
    case MXO_BF16:
        return &code_formats[CODE_BF16];
    case MXO_F32:
        return &code_formats[CODE_F32];
    case MXO_F64:
        return &code_formats[CODE_F64];
    case MXO_E4M3:
        return &code_formats[CODE_E4M3];
    case MXO_E5M2:
        return &code_formats[CODE_E5M2];
    case MXO_E8M0:
        return &code_formats[CODE_E8M0];
    case MXO_E4M3FNUZ:
        return &code_formats[CODE_E4M3FNUZ];
    case MXO_E5M2FNUZ:
        return &code_formats[CODE_E5M2FNUZ];
    default:
        return NULL;
    }
}

uint64_t dtype_sign(uint32_t dtype)
{
    return UINT64_C(1) << (8 * dtype_bytes(dtype) - 1);
}

uint64_t dtype_infinity(uint32_t dtype)
{
    const code_format *f = dtype_format(dtype);

    return f == NULL || f->special != 'i' ? 0 : code_last_finite(f) + 1;
}

uint64_t dtype_nan(uint32_t dtype)
{
    const uint64_t infinity = dtype_infinity(dtype);

    return infinity == 0
               ? 0
               : infinity | UINT64_C(1) << (dtype_format(dtype)->mbits - 1);
}

int dtype_is_nan(uint32_t dtype, uint64_t code)
{
    const code_format *f = dtype_format(dtype);

    return f != NULL && code_is_nan(f, code);
}

double dtype_value(uint32_t dtype, uint64_t code)
{
    const code_format *f = dtype_format(dtype);

    if (f != NULL) {
        return code_value(f, code);
    }
    switch (dtype) {
    case MXO_I8:
        return (double)(int8_t)code;
    case MXO_I16:
        return (double)(int16_t)code;
    case MXO_I32:
        return (double)(int32_t)code;
    case MXO_I64:
        return (double)(int64_t)code;
    default:
        return (double)code;
    }
}
