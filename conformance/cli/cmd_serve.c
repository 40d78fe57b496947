/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle serve PLUGIN local|global|linked: a backend in a process of its own,
 * as docs/exec-protocol.md has it.  Not for people; started by the judge.
 */
#include "base/cli.h"
#include "run/backends.h"
#include "serve/serve.h"
#include "system/system.h"

#include <stdlib.h>
#include <string.h>

static mxo_status load(void *state, const mxo_backend **table, mxo_text why)
{
    return backend_load(state, table, why);
}

int cmd_serve(int argc, char **argv)
{
    static backend_list known;
    backend_ref given;
    const backend_ref *ref = &given;

    if (argc != 3 || getenv("MXORACLE_EXEC") == NULL) {
        return cli_refuse("serve is started by the judge, not by hand");
    }
    /* A plugin that hangs must not outlive a judge that was killed. */
    system_end_with_parent();
    memset(&given, 0, sizeof given);
    (void)snprintf(given.path, sizeof given.path, "%s", argv[1]);
    given.global_symbols = strcmp(argv[2], "global") == 0;
    if (strcmp(argv[2], "linked") == 0) {
        backends_known(&known);
        ref = backends_find(&known, argv[1]);
    }
    return serve(load, (void *)ref) == 0 ? EXIT_PASS : EXIT_BROKEN;
}
