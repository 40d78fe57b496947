/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations as JSON, in the form of vectors/vllm/selection.json.  Strict:
 * an unknown key, a wrong type or an unknown word is one sentence.
 */
#ifndef MXO_SELECT_CASECONFIG_H
#define MXO_SELECT_CASECONFIG_H

#include <mxoracle/select.h>

#include <jansson.h>

/*
 * The fields of one object over what config holds already.  Strings are
 * borrowed from the object.  Keys of the case that are not about the
 * configuration (fn, expect, ...) are left alone.
 */
mxo_status case_config(mxo_select_config *config, const json_t *object,
                       mxo_text why);

/* meta.defaults of a file, or NULL: the same over mxo_select_defaults. */
mxo_status case_defaults(mxo_select_config *config, const json_t *defaults,
                         mxo_text why);

/* An enumerator by a JSON string; -1 and a sentence if there is none. */
int case_word(mxo_sel_words kind, const char *what, const json_t *value,
              mxo_text why);

#endif
