/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle fuzz --converter: drawn checkpoints through somebody's converter,
 * until one comes out wrong; then the smallest that does.
 */
#ifndef MXO_FUZZ_CONVERTER_H
#define MXO_FUZZ_CONVERTER_H

/* Whether this command line of "fuzz" is for a converter. */
int fuzz_converter_is_asked(int argc, char **argv);
/* Its usage on standard output. */
void fuzz_converter_help(void);
/* The command; its exit status. */
int fuzz_converter(int argc, char **argv);

#endif
