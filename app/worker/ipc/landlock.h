/* Which files a process may still open: landlock(7). */
#pragma once

#include "base/cleanup.h"

/*
 * From now on, and for good: the files that getaddrinfo(3) reads, read only.
 *   Errors   -errno: -ENOSYS and -EOPNOTSUPP where the kernel has none;
 *            everything is then as before
 */
MUST_CHECK int landlock_resolver_files(void);
