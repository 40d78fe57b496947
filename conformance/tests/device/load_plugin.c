/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_plugin FILE.so...: a plugin must load, hand out its table, refuse
 * another ABI and say why it cannot open a device, on a machine that has none.
 * TAP on standard output; a file that is not there is a skip.
 */
#include <mxoracle/abi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int n_claims;
static int n_failed;

static void claim(int holds, const char *file, const char *what)
{
    n_claims++;
    n_failed += !holds;
    printf("%sok %d - %s %s\n", holds ? "" : "not ", n_claims, file, what);
}

static void skip(const char *file)
{
    n_claims++;
    printf("ok %d - # SKIP %s is not built\n", n_claims, file);
}

/* Either a device opens and closes again, or there is a sentence. */
static int opens_or_says_why(const mxo_backend *b)
{
    char sentence[256] = "";
    const mxo_text why = {sentence, sizeof sentence};
    void *ctx = NULL;
    const mxo_status status = b->open(&ctx, 0, why);

    if (status == MXO_OK) {
        b->close(ctx);
        return 1;
    }
    printf("# open: %s\n", sentence);
    return status == MXO_E_DEVICE && strncmp(sentence, "no ", 3) == 0;
}

static void check(const char *path, const char *file)
{
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    mxo_backend_entry_fn entry = NULL;

    claim(library != NULL, file, "loads");
    if (library == NULL) {
        printf("# %s\n", dlerror());
        return;
    }
    void *const symbol = dlsym(library, MXO_BACKEND_ENTRY);
    claim(symbol != NULL, file, "exports its entry");
    if (symbol == NULL) {
        return;
    }
    /* ISO C has no cast from an object pointer to a function pointer. */
    memcpy(&entry, &symbol, sizeof entry);
    const mxo_backend *const b = entry(MXO_ABI_VERSION);
    claim(b != NULL && b->struct_size == sizeof(mxo_backend), file,
          "hands out a table of this ABI");
    claim(entry(MXO_ABI_VERSION + 1) == NULL, file, "refuses another ABI");
    claim(b != NULL && b->ops[0] != NULL, file, "names its operations");
    claim(b != NULL && opens_or_says_why(b), file,
          "opens a device or says that there is none");
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *const slash = strrchr(argv[i], '/');
        const char *const file = slash == NULL ? argv[i] : slash + 1;

        if (access(argv[i], R_OK) == 0) {
            check(argv[i], file);
        } else {
            skip(file);
        }
    }
    printf("1..%d\n", n_claims);
    return n_failed != 0;
}
