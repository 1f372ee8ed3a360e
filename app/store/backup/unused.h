/* A store that no process uses. */
#pragma once

#include "base/buf.h"

/* Checks that no process uses the database of a store in a folder. */
MUST_CHECK int
store_check_unused(const char *folder, const char *database, struct buf *why);
