/*
 * Wakes when another process may have written to the database, by watching its
 * WAL. A wake-up may be spurious, and one may be missed, so the waiting process
 * checks every second as well.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>

/* Watches dir; *out is a descriptor to poll for reading, the caller's. Returns
 * -errno. */
MUST_CHECK int wake_open(const char *dir, int *out);
/* Takes all events; true when one of them was about the database. */
bool wake_drain(int fd);
