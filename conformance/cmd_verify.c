/* SPDX-License-Identifier: Apache-2.0 */
/* mxoracle verify: golden vectors against the emulator. */
#include "cli.h"
#include "vectors/vectors.h"

#include <mxoracle/mxoracle.h>

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static int usage(void)
{
    puts("usage: mxoracle verify [OPTION]... PATH...\n"
         "Recomputes every golden vector (files; folders recursively) with\n"
         "the emulator and compares every bit of its out.* tensors.\n\n"
         "  -s, --strict   unknown operations and parameters are failures\n"
         "  -v, --verbose  one line per file\n"
         "  -q, --quiet    failures, what is unknown, and the closing line\n"
         "      --tap      TAP version 13\n"
         "      --json     JSON Lines: a header, one object per file, a sum\n"
         "  -h, --help     this text\n\n"
         "The last line is \"N passed, N failed, N unknown\". Exit status: 0\n"
         "passed, 1 a file failed (or is no vector; with --strict: or is\n"
         "unknown), 2 bad usage, no such path or no vector in it, 77 every\n"
         "file is unknown.");
    return EXIT_PASS;
}

static mxo_status open_emulator(void *state, judge *j, mxo_text why)
{
    (void)state;
    return judge_open(j, mxo_emulator(), 0, why);
}

int cmd_verify(int argc, char **argv)
{
    static const struct option known[] = {{"strict", no_argument, NULL, 's'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"tap", no_argument, NULL, 't'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    const vector_subject emulator = {"emu", open_emulator, NULL, 0, 0, 0};
    vector_options options;
    int option;

    memset(&options, 0, sizeof options);
    optind = 1;
    while ((option = getopt_long(argc, argv, "svqh", known, NULL)) != -1) {
        switch (option) {
        case 's':
            options.strict = 1;
            break;
        case 'v':
            options.verbose = 1;
            break;
        case 'q':
            options.quiet = 1;
            break;
        case 't':
            options.format = VECTOR_AS_TAP;
            break;
        case 'j':
            options.format = VECTOR_AS_JSON;
            break;
        case 'h':
            return usage();
        default:
            return EXIT_USAGE;
        }
    }
    if (optind == argc) {
        return cli_refuse("verify needs a file or folder of vectors");
    }
    return vectors_run(&emulator, 1, argv + optind, argc - optind, &options);
}
