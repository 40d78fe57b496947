/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converters with faults that are known, to measure what finds them.  Device n
 * is row n of planted.def: layout.apply in one of sixteen layouts, forward and
 * back, by loops over place.h.
 */
#include "mistake.h"

#include <mxoracle/abi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLANTED(layout, mistake, place, what)
static const layout_rule rules[] = {
#define RULE(id, knob, standard, row_granule, col_granule, rows_of, cols_of, \
             tile_rows, tile_cols, pad, is_nibbles, takes_all, place)        \
    {                                                                        \
        id,         knob,      standard,  row_granule, col_granule,          \
        rows_of,    cols_of,   tile_rows, tile_cols,   pad,                  \
        is_nibbles, takes_all, place},
#include "planted.def"
#undef RULE
};
#undef PLANTED

#define RULE(...)
static const planted_row rows[] = {
#define PLANTED(layout, mistake, place, what) \
    {layout, MISTAKE_##mistake, place, what},
#include "planted.def"
#undef PLANTED
};
#undef RULE

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static const layout_rule *rule_of(const planted_row *row)
{
    size_t i = 0;

    while (strcmp(rules[i].id, row->layout) != 0) {
        i++;
    }
    return &rules[i];
}

static mxo_status refuse(mxo_status status, mxo_text why, const char *sentence)
{
    (void)snprintf(why.ptr, why.size, "%s", sentence);
    return status;
}

static const char *text_of(const mxo_call *call, const char *key)
{
    for (uint32_t i = 0; i < call->n_params; i++) {
        if (strcmp(call->params[i].key, key) == 0) {
            return call->params[i].text;
        }
    }
    return "";
}

/* A decimal number of at most nine digits; 0 if it is none. */
static int read_number(const char *text, uint64_t *n)
{
    const size_t digits = strspn(text, "0123456789");

    *n = strtoull(text, NULL, 10);
    return digits > 0 && digits < 10 && text[digits] == '\0';
}

static uint64_t up(uint64_t n, uint64_t by)
{
    return (n + by - 1) / by * by;
}

/* "id" or "id/knob=n". */
static int read_layout(conversion *k, const char *name)
{
    const size_t n = strlen(k->rule->id);
    const char *knob = k->rule->knob_name;

    k->x.knob = k->rule->knob;
    if (strncmp(name, k->rule->id, n) != 0) {
        return 0;
    }
    if (name[n] == '\0') {
        return 1;
    }
    return knob[0] != '\0' && name[n] == '/' &&
           strncmp(name + n + 1, knob, strlen(knob)) == 0 &&
           name[n + 1 + strlen(knob)] == '=' &&
           read_number(name + n + 2 + strlen(knob), &k->x.knob) &&
           k->x.knob > 0;
}

static uint64_t row_granule(const conversion *k)
{
    return k->rule->row_granule > 0 ? k->rule->row_granule : 32 * k->x.knob;
}

/* Shapes that the vendor takes. */
static int takes_shape(const conversion *k)
{
    const uint64_t rows_of = k->rule->rows_of > 0   ? k->rule->rows_of
                             : k->x.knob % 128 == 0 ? 32
                                                    : 16;
    const int is_power = (k->x.knob & (k->x.knob - 1)) == 0;

    return k->x.rows > 0 && k->x.cols > 0 && k->x.rows % rows_of == 0 &&
           k->x.cols % k->rule->cols_of == 0 &&
           (k->rule->row_granule > 0 || (is_power && k->x.knob <= 4096));
}

static int has_bytes(const mxo_tensor *t, uint64_t elem_bytes)
{
    uint64_t n = elem_bytes;

    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->shape[i] > UINT64_C(1) << 40 || n > UINT64_C(1) << 40) {
            return 0;
        }
        n *= t->shape[i];
    }
    return n == t->n_bytes;
}

typedef struct type_row {
    uint32_t type;
    const char *name;
    uint64_t bytes;
} type_row;

/* NULL: no such type. */
static const type_row *type_of(const mxo_call *call)
{
    static const type_row types[] = {
#define MXO_DTYPE(type, name, file_name, bytes, has_nan) {type, name, bytes},
#include <mxoracle/dtype.def>
#undef MXO_DTYPE
    };
    const char *name = text_of(call, "dtype");

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

/* Extents of the plain side and of the image, from the shape of x. */
static int read_extents(conversion *k, const mxo_call *call)
{
    const uint64_t *shape = call->in[0].shape;

    k->experts = shape[0];
    k->x.rows = shape[1];
    k->x.cols = shape[2];
    if (!takes_shape(k)) {
        return 0;
    }
    k->x.padded_rows = up(k->x.rows, row_granule(k));
    k->x.padded_cols = up(k->x.cols, k->rule->col_granule);
    k->image = k->x.padded_rows * k->x.padded_cols;
    if (!k->is_back) {
        return k->keep_rows == 0 && k->keep_cols == 0;
    }
    return k->x.padded_rows == k->x.rows && k->x.padded_cols == k->x.cols &&
           k->keep_rows <= k->x.rows && k->keep_cols <= k->x.cols;
}

static mxo_status read_call(conversion *k, const mxo_call *call, mxo_text why)
{
    if (strcmp(call->op, "layout.apply") != 0 ||
        !read_layout(k, text_of(call, "layout"))) {
        return refuse(MXO_E_UNSUPPORTED, why, "one layout");
    }
    if (call->n_params != 5) {
        return refuse(MXO_E_PARAM, why, "layout.apply has five parameters");
    }
    if (call->n_in != 1 || call->n_out != 2 ||
        strcmp(call->in[0].name, "x") != 0 || call->in[0].rank != 3) {
        return refuse(MXO_E_SHAPE, why, "x is no tensor of three axes");
    }
    const type_row *type = type_of(call);

    k->elem_bytes = type == NULL ? 0 : type->bytes;
    k->is_back = strcmp(text_of(call, "dir"), "inverse") == 0;
    if (k->elem_bytes == 0 || (k->elem_bytes > 1 && !k->rule->takes_all) ||
        (!k->is_back && strcmp(text_of(call, "dir"), "forward") != 0) ||
        !read_number(text_of(call, "keep_rows"), &k->keep_rows) ||
        !read_number(text_of(call, "keep_cols"), &k->keep_cols)) {
        return refuse(MXO_E_PARAM, why, "no such dtype, direction or size");
    }
    if (call->in[0].dtype != type->type ||
        !has_bytes(&call->in[0], k->elem_bytes) ||
        !has_bytes(&call->out[0], k->elem_bytes) || !read_extents(k, call)) {
        return refuse(MXO_E_SHAPE, why, "x and y do not fit the layout");
    }
    k->src = (uint8_t *)call->in[0].buffer + call->in[0].offset;
    k->dst = (uint8_t *)call->out[0].buffer + call->out[0].offset;
    return MXO_OK;
}

static unsigned nibble(const uint8_t *bytes, uint64_t i)
{
    return bytes[i / 2] >> i % 2 * 4 & 15;
}

/* Element (r, c) of an expert, from src to dst; offsets in elements. */
static void move(const conversion *k, uint64_t to, uint64_t from)
{
    if (k->rule->is_nibbles) {
        const unsigned code = nibble(k->src, from);
        const unsigned other = nibble(k->dst, to ^ 1);
        k->dst[to / 2] =
            (uint8_t)(to % 2 == 0 ? code | other << 4 : code << 4 | other);
    } else {
        mistake_copy(k, k->dst + to * k->elem_bytes,
                     k->src + from * k->elem_bytes);
    }
}

static void move_expert(const conversion *k, const extents *x, uint64_t e,
                        uint64_t rows_kept, uint64_t cols_kept)
{
    const int mistake = k->row->mistake;
    placing *place = mistake_place(k);
    const uint64_t stride =
        mistake == MISTAKE_STRIDE ? x->rows * x->cols : k->image;
    const uint64_t from = mistake == MISTAKE_FIRST      ? 0
                          : mistake == MISTAKE_EXPERT_8 ? e & 0xff
                                                        : e;
    const uint64_t most =
        mistake == MISTAKE_AT_16 ? 0xffff : UINT64_MAX; /* of an index */
    const uint64_t plain = rows_kept * cols_kept;

    for (uint64_t r = 0; r < rows_kept; r++) {
        for (uint64_t c = 0; c < cols_kept; c++) {
            const uint64_t row = mistake == MISTAKE_ROW_16 ? r & 0xffff : r;
            const uint64_t col = mistake == MISTAKE_COL_16 ? c & 0xffff : c;
            if (mistake_forgets(k, e, r, c)) {
                continue;
            }
            if (k->is_back) {
                const uint64_t pitch =
                    mistake == MISTAKE_KEEP ? x->padded_cols : cols_kept;
                move(k, e * plain + (r * pitch + c) % plain,
                     from * stride + (place(x, row, col) & most));
            } else {
                move(k, e * stride + (place(x, r, c) & most),
                     from * plain + row * x->cols + col);
            }
        }
    }
}

static void convert(conversion *k, const mxo_call *call)
{
    const int mistake = k->row->mistake;
    const uint8_t pad = mistake != MISTAKE_PAD_VALUE ? k->rule->pad
                        : k->rule->pad == 0          ? 0x7f
                                                     : 0;
    extents x = k->x;
    const uint64_t rows_kept = k->keep_rows > 0 ? k->keep_rows : x.rows;
    uint64_t cols_kept = k->keep_cols > 0 ? k->keep_cols : x.cols;

    if (k->rule->is_nibbles) {
        x.cols *= 2;
        x.padded_cols *= 2;
        cols_kept *= 2;
        k->image *= 2;
    }
    if (mistake != MISTAKE_PAD_MISSING) {
        memset(k->dst, pad, (size_t)call->out[0].n_bytes);
    }
    for (uint64_t e = 0; e < k->experts; e++) {
        mistake_spoil_pads(k, &x, e);
        move_expert(k, &x, e, rows_kept, cols_kept);
    }
    if (mistake == MISTAKE_INPUT) {
        k->src[0] ^= 1;
    }
    if (mistake == MISTAKE_BEYOND) {
        k->dst[call->out[0].n_bytes] ^= 1;
    }
}

static mxo_status planted_run(void *ctx, const mxo_call *call, mxo_text why)
{
    conversion k = {.row = ctx};

    k.rule = rule_of(k.row);
    const mxo_status status = read_call(&k, call, why);

    if (status == MXO_OK) {
        const mxo_tensor *valid = &call->out[1];
        convert(&k, call);
        /* Every byte is defined. */
        memset((uint8_t *)valid->buffer + valid->offset, 1,
               (size_t)valid->n_bytes);
    }
    return status;
}

static mxo_status planted_open(void **ctx, int device, mxo_text why)
{
    if (device < 0 || device >= N_ROWS) {
        return refuse(MXO_E_DEVICE, why, "there is no such row");
    }
    *ctx = (void *)(uintptr_t)&rows[device];
    return MXO_OK;
}

static void planted_close(void *ctx)
{
    (void)ctx;
}

/* "layout: what". */
static void planted_describe(void *ctx, mxo_text device, mxo_text driver)
{
    const planted_row *row = ctx;

    (void)snprintf(device.ptr, device.size, "%s: %s", row->layout, row->what);
    (void)snprintf(driver.ptr, driver.size, "none");
}

static mxo_status planted_alloc(void *ctx, uint64_t n_bytes, void **buffer)
{
    (void)ctx;
    *buffer = malloc((size_t)n_bytes + 1);
    return *buffer == NULL ? MXO_E_NOMEM : MXO_OK;
}

static void planted_dealloc(void *ctx, void *buffer)
{
    (void)ctx;
    free(buffer);
}

static mxo_status planted_upload(void *ctx, void *buffer, uint64_t offset,
                                 const void *src, uint64_t n, mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy((char *)buffer + offset, src, (size_t)n);
    return MXO_OK;
}

static mxo_status planted_download(void *ctx, void *dst, void *buffer,
                                   uint64_t offset, uint64_t n, mxo_text why)
{
    (void)ctx;
    (void)why;
    memcpy(dst, (const char *)buffer + offset, (size_t)n);
    return MXO_OK;
}

static mxo_status planted_synchronize(void *ctx, mxo_text why)
{
    (void)ctx;
    (void)why;
    return MXO_OK;
}

MXO_EXPORT const mxo_backend *mxo_backend_entry(uint32_t abi_version);

const mxo_backend *mxo_backend_entry(uint32_t abi_version)
{
    static const char *const ops[] = {"layout.apply", NULL};
    static const mxo_backend table = {
        .abi_version = MXO_ABI_VERSION,
        .struct_size = sizeof(mxo_backend),
        .name = "planted",
        .version = "1",
        .ops = ops,
        .open = planted_open,
        .close = planted_close,
        .describe = planted_describe,
        .alloc = planted_alloc,
        .dealloc = planted_dealloc,
        .upload = planted_upload,
        .download = planted_download,
        .synchronize = planted_synchronize,
        .run = planted_run,
    };

    return abi_version == MXO_ABI_VERSION ? &table : NULL;
}
