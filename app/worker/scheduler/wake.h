/*
 * Tells when another process may have written to the database: its WAL is
 * watched. A wake may be for nothing and one may be missed (a watch can't
 * follow everything), so whoever waits looks every second all the same.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>

/* Watches dir; a descriptor to poll for reading, the caller's. -errno. */
MUST_CHECK int wake_open(const char *dir, int *out);
/* Takes what has come; true when some of it was about the database. */
bool wake_drain(int fd);
