/* SPDX-License-Identifier: Apache-2.0 */
/* Published decisions, put to the rules again. */
#ifndef MXO_SELECT_REPLAY_H
#define MXO_SELECT_REPLAY_H

#include "report/report_set.h"

/* Every case of a file; the options are checked. Returns the exit status. */
int select_replay(const char *path, int verbose, const report_options *options);

#endif
