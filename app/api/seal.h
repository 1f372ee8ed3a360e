/*
 * Texts that only who holds a secret can read again: AES-256-GCM under a key
 * that is derived from the secret, as hexadecimal.
 */
#pragma once

#include "base/buf.h"

/* Appends the sealed text of plain[n].
 *   Errors   -EIO, or out's */
MUST_CHECK int
seal(const char *secret, const char *plain, size_t n, struct buf *out);
/* Appends what was sealed.
 *   Errors   -EBADMSG for another secret or altered text, or out's */
MUST_CHECK int unseal(const char *secret, const char *sealed, struct buf *out);
