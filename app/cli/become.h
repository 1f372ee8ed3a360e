/* Root gives itself up: files made in a directory must be its owner's. */
#pragma once

#include "base/cleanup.h"

/*
 * Takes the user and group of dir when root runs this; nothing otherwise.
 * Without it, a database that root made first would be closed to the pool.
 *   Errors   -errno
 */
MUST_CHECK int become_owner(const char *dir);
