/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices of a zoo judged by several processes at once; what becomes of them
 * comes in the order of the list.  A hunter is this program started again with
 * the hidden command "hunter".  Lines of JSON both ways:
 *   hunter  {"status": 0, "cases": 18333}
 *   parent  {"device": 3, "share": 0, "of": 1}
 *   hunter  {"status": 0, "asked": 1, "red": true, "at": 7,
 *            "case": "quant.mx:rows=1", "seed": 1, "verdict": {...}}
 * A status is an exit status; what is wrong stands on standard error.
 */
#ifndef MXO_SELFTEST_HUNTERS_H
#define MXO_SELFTEST_HUNTERS_H

#include "zoo.h"

/* What became of a device, as its hunters told. */
typedef struct device_fate {
    uint64_t n_asked;
    int red;
    uint64_t at;               /* place of the first red case */
    char case_text[CASE_TEXT]; /* that case; "" if there is none */
    uint64_t seed;
    verdict v; /* its verdict, without detail */
} device_fate;

/* Called once per device: as soon as its fate is known, and in the order of the
   list. */
typedef struct hunters_sink {
    void (*done)(void *state, size_t index, const device_fate *f);
    void (*judged)(void *state, size_t index, const device_fate *f);
    void *state;
} hunters_sink;

/* n devices by so many processes, legal variants first, which take longest;
   *n_cases becomes the number of cases they choose from.  EXIT_PASS, or what a
   hunter or this process said.  If a stop is requested the devices left are not
   judged. */
int hunters_run(const zoo *z, const zoo_device *device, size_t n, int jobs,
                const hunters_sink *sink, size_t *n_cases);

#endif
