/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example plugin with its numbers from an embedded Python, as a vendor's
 * plugin would have them that wraps a Python package.  Modules that Python
 * loads later want libpython's symbols: --plugin-symbols=global.
 */
#include <Python.h>

#define mxo_backend_entry example_entry
/* NOLINTNEXTLINE(bugprone-suspicious-include): wraps it */
#include "../../../backends/example/example_plugin.c"
#undef mxo_backend_entry

/* _queue stands for any extension: a file of its own, loaded by dlopen. */
static const char script[] =
    "import _queue, struct\n"
    "VALUES = (0, .5, 1, 1.5, 2, 3, 4, 6)\n"
    "def bf16(code, scale):\n"
    "    if scale == 255: return 0x7fc0\n"
    "    x = VALUES[code & 7] * 2. ** (scale - 127)\n"
    "    bits = 0x7f800000 if x >= 2. ** 128 else \\\n"
    "        struct.unpack('<I', struct.pack('<f', x))[0]\n"
    "    return bits >> 16 | (code & 8) << 12\n"
    "def answer(q, scale, y):\n"
    "    codes = [c for b in q for c in (b & 15, b >> 4)]\n"
    "    y[:] = struct.pack(f'={len(codes)}H', *(\n"
    "        bf16(c, scale[i >> 5]) for i, c in enumerate(codes)))\n";
static PyObject *room;

static mxo_status python_says(mxo_text why)
{
    PyObject *type, *value, *trace, *text;
    const char *words;

    PyErr_Fetch(&type, &value, &trace);
    text = value == NULL ? NULL : PyObject_Str(value);
    words = text == NULL ? NULL : PyUnicode_AsUTF8(text);
    return refuse(MXO_E_DEVICE, why, words == NULL ? "no words" : words);
}

static mxo_status embedded_open(void **ctx, int device, mxo_text why)
{
    PyConfig config;
    PyObject *done;

    if (!Py_IsInitialized()) {
        /* Neither handlers of signals nor a locale: the judge looks. */
        PyConfig_InitIsolatedConfig(&config);
        const PyStatus status = Py_InitializeFromConfig(&config);
        PyConfig_Clear(&config);
        if (PyStatus_Exception(status)) {
            return refuse(MXO_E_DEVICE, why, "Python does not start");
        }
        room = PyDict_New();
        done = PyRun_String(script, Py_file_input, room, room);
        if (done == NULL) {
            return python_says(why);
        }
    }
    return example_open(ctx, device, why);
}

static PyObject *view(const mxo_tensor *t, int access)
{
    return PyMemoryView_FromMemory((char *)t->buffer + t->offset,
                                   (Py_ssize_t)t->n_bytes, access);
}

static mxo_status embedded_run(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_status status = example_run(ctx, call, why);
    const mxo_tensor *y = tensor(call->out, call->n_out, "y");
    PyObject *done;

    if (status != MXO_OK) {
        return status;
    }
    memset((char *)y->buffer + y->offset, 0x55, (size_t)y->n_bytes);
    done = PyObject_CallFunction(
        PyDict_GetItemString(room, "answer"), "NNN",
        view(tensor(call->in, call->n_in, "q"), PyBUF_READ),
        view(tensor(call->in, call->n_in, "scale"), PyBUF_READ),
        view(y, PyBUF_WRITE));
    return done == NULL ? python_says(why) : MXO_OK;
}

MXO_EXPORT const mxo_backend *mxo_backend_entry(uint32_t abi_version);

const mxo_backend *mxo_backend_entry(uint32_t abi_version)
{
    static mxo_backend table;

    if (example_entry(abi_version) == NULL) {
        return NULL;
    }
    table = *example_entry(abi_version);
    table.name = "embedded";
    table.open = embedded_open;
    table.run = embedded_run;
    table.strides = NULL; /* its views are dense */
    table.capture = NULL;
    table.launch = NULL;
    table.graph_close = NULL;
    return &table;
}
