/* SPDX-License-Identifier: Apache-2.0 */
/* Golden vectors of strangers, copied to memory; see safetensors.h. */
#include "safetensors.h"

#include "base/say.h"
#include "system/mapped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void safetensors_swap(uint32_t dtype, uint8_t *bytes, uint64_t n_bytes)
{
    const uint16_t probe = 1;
    const uint32_t width = dtype_bytes(dtype);

    if (*(const uint8_t *)&probe == 1 || width < 2) {
        return;
    }
    for (uint64_t at = 0; at + width <= n_bytes; at += width) {
        for (uint32_t i = 0; i < width / 2; i++) {
            const uint8_t swap = bytes[at + i];
            bytes[at + i] = bytes[at + width - 1 - i];
            bytes[at + width - 1 - i] = swap;
        }
    }
}

static mxo_status add(safetensors *file, const file_tensor *from, mxo_text why)
{
    const uint32_t dtype = dtype_by_file_name(from->dtype);
    host_tensor *t;

    if (strlen(from->name) >= MXO_NAME_SIZE) {
        return say(MXO_E_SHAPE, why, "has a tensor whose name is over %d bytes",
                   MXO_NAME_SIZE - 1);
    }
    if (dtype == MXO_N_DTYPES) {
        return say(MXO_E_SHAPE, why, "gives %.60s the unknown dtype %.20s",
                   from->name, from->dtype);
    }
    const mxo_status status = tensor_set_add(&file->tensors, from->name, dtype,
                                             from->rank, from->shape, &t);

    if (status != MXO_OK) {
        return say(status, why, "has no room in memory for %.60s", from->name);
    }
    if (t->n_bytes > 0) {
        memcpy(t->data, from->bytes, (size_t)t->n_bytes);
        safetensors_swap(t->dtype, t->data, t->n_bytes);
    }
    return MXO_OK;
}

mxo_status safetensors_parse(const void *bytes, uint64_t n_bytes,
                             safetensors *file, mxo_text why)
{
    safetensors_header *h = &file->header;

    memset(file, 0, sizeof *file);
    mxo_status status = safetensors_header_read(bytes, n_bytes, h, why);

    if (status == MXO_OK && h->n > MXO_MAX_TENSORS) {
        status =
            say(MXO_E_SHAPE, why, "has more than %d tensors", MXO_MAX_TENSORS);
    }
    for (size_t i = 0; i < h->n && status == MXO_OK; i++) {
        status = add(file, &h->tensor[i], why);
    }
    free(h->tensor); /* the bytes that it names are lent */
    h->tensor = NULL;
    h->n = 0;
    file->n_bytes = n_bytes;
    if (status != MXO_OK) {
        safetensors_clear(file);
    }
    return status;
}

mxo_status safetensors_read(const char *path, safetensors *file, mxo_text why)
{
    mapped_file *mapped = mapped_open(path);
    mxo_status status;

    memset(file, 0, sizeof *file);
    if (mapped == NULL && errno == EINVAL) {
        return safetensors_parse("", 0, file, why);
    }
    if (mapped == NULL) {
        return say(MXO_E_DEVICE, why, "%s%s",
                   errno == ENOTSUP ? "is no regular file"
                                    : "cannot be opened: ",
                   errno == ENOTSUP ? "" : strerror(errno));
    }
    status = safetensors_parse(mapped->bytes, mapped->n_bytes, file, why);
    if (status == MXO_OK && mapped_has_changed(mapped)) {
        safetensors_clear(file);
        status = say(MXO_E_DEVICE, why, "has changed while it was read");
    }
    mapped_close(&mapped);
    return status;
}

void safetensors_clear(safetensors *file)
{
    tensor_set_clear(&file->tensors);
    safetensors_header_clear(&file->header);
    file->n_bytes = 0;
}

const char *safetensors_meta(const safetensors *file, const char *key)
{
    return safetensors_text_of(file->header.metadata, key);
}
