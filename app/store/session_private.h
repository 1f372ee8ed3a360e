/*
 * Steps in a session's life, each within the caller's transaction.
 */
#pragma once

#include "store/blob.h"
#include "store/session.h"

/* Inserts a session of a host, or of "" for an upload; -ENOENT when there is
 * no such service, or a session like it is running. */
MUST_CHECK int
session_insert(struct store *s, const struct session_ask *ask, const char *host,
               const char *status, char out[static ID_MAX]);
MUST_CHECK int session_store_result(struct store *s, const char *id,
                                    const struct session_result *r);
/* Replaces the session's blob of that kind. */
MUST_CHECK int
session_store_blob(struct store *s, const char *id, const struct blob *b);
MUST_CHECK int session_end(struct store *s, const char *id, const char *status);
/* Deletes a session with its delivery, and marks its blobs, unless it runs or
 * is a baseline's. Returns 1, 0 if it was kept, or -errno. */
MUST_CHECK int
session_drop(struct store *s, const char *tenant, const char *id);
