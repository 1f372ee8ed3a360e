/* A store that no process uses. */
#pragma once

#include "base/buf.h"

/*
 * Checks that no process uses a store in a folder, by its database.
 *   Errors   -EBUSY or another -errno, with one line in why
 */
MUST_CHECK int
store_check_unused(const char *folder, const char *database, struct buf *why);
