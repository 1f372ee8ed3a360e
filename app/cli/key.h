/*
 * API keys made on the store itself, beside the server: on its host, before
 * any server runs.
 */
#pragma once

#include "options.h"
#include "store/token.h"

#define TENANT_DEFAULT "default"

/*
 * Opens the store of this host; root becomes its owner for good.
 *   Owns     *out is the caller's; store_close() it
 *   Errors   LEAVE_FAILED, which is told
 */
MUST_CHECK int key_store(const struct options *o, struct store *out);
/*
 * Makes a key and notes in the audit log who did; both or neither.
 *   Errors   as token_create()
 */
MUST_CHECK int
key_make(struct store *s, const struct token_ask *ask, const char *actor,
         char id[static ID_MAX], char key[static TOKEN_KEY_MAX]);
