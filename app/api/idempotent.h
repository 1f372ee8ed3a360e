/*
 * Implements Idempotency-Key: a POST that is repeated with the same key within
 * IDEMPOTENCY_HOURS gets the first reply again; a different request with the
 * key is refused with 422.
 *
 * The work and the kept reply are one transaction, which begins by claiming the
 * key: a crash leaves both or neither, and of two requests with the same key
 * the second waits for the first. Profiles are read before the transaction
 * (call_begin()). A call that creates nothing ignores its key. A request whose
 * reply holds a secret must not have an Idempotency-Key, because replies are
 * kept in plain text. Source: draft-ietf-httpapi-idempotency-key-header
 */
#pragma once

#include "endpoint/call.h"

/* Runs the handler of c, or repeats its reply. */
MUST_CHECK int idempotent_run(struct call *c);
