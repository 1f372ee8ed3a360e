/*
 * Idempotency-Key: a POST sent again with the same key gets the first reply
 * again, for 24 hours; another request under the key is refused with 422.
 *
 * Work and kept reply are one transaction, so a crash leaves both or
 * neither, and two requests with one key wait for each other; a profile is
 * read before it (call_begin()). A request whose reply holds a new API key is
 * refused when it has an Idempotency-Key, for replies are kept as they are.
 * Source: draft-ietf-httpapi-idempotency-key-header
 */
#pragma once

#include "endpoint/call.h"

/* Runs the handler of c, or repeats its reply. */
MUST_CHECK int idempotent_run(struct call *c);
