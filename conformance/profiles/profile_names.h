/* SPDX-License-Identifier: Apache-2.0 */
/* Names of profiles, for those who complete a command line. */
#ifndef MXO_PROFILE_NAMES_H
#define MXO_PROFILE_NAMES_H

/* Profiles of backends, one a line. */
void list_profile_names(void);

#endif
