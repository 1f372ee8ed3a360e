/*
 * Makes API keys in the store itself, on its host, without a running server.
 */
#pragma once

#include "options.h"
#include "store/token.h"

#define TENANT_DEFAULT "default"

/*
 * Opens the store of this host. If root runs this program, switches to the
 * store's owner first.
 */
MUST_CHECK int key_store(const struct options *o, struct store *out);
/*
 * Makes a key and its line in the audit log, in one transaction.
 *   Errors   those of token_create()
 */
MUST_CHECK int
key_make(struct store *s, const struct token_ask *ask, const char *actor,
         char id[static ID_MAX], char key[static TOKEN_KEY_MAX]);
