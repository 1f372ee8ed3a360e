/*
 * Users and capabilities of the worker's processes, and of importers.
 *
 * The opener keeps the capabilities of its list as far as it has them. Its
 * children keep none, and run as another user if the opener may change users.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct identity {
	bool change; /* false: this process may not change users */
	uid_t uid;
	gid_t gid;
};

/* Raises the limits of descriptors and locked memory as far as possible. */
void privilege_raise_limits(void);
/*
 * Finds the user for processes without capabilities.
 *   Errors   -ENOENT neither user nor "nobody" exists; *out untouched.
 *            Returns 1 if user does not exist, so "nobody" is used
 */
MUST_CHECK int privilege_identity(const char *user, struct identity *out);
/* Drops all capabilities but those of the list, even for programs that the
 * opener starts. */
MUST_CHECK int privilege_keep(void);
/*
 * Drops all capabilities in a child, changes to the user, and has the child
 * killed when the opener dies. Returns -ESRCH when the opener is dead already.
 */
MUST_CHECK int privilege_drop(const struct identity *who, pid_t parent);
/*
 * Drops the capabilities of an importer, if it has any, and prevents programs
 * that it starts from gaining any. The kernel kills it when its parent dies.
 *   Errors   -errno; -ESRCH the parent is dead already
 */
MUST_CHECK int privilege_shed(pid_t parent);
/* Has the kernel kill this process after some seconds, even while it is
 * stopped. */
MUST_CHECK int privilege_end_within(int64_t seconds);
/* Closes all descriptors from 3 on, except keep[n].
 *   Errors   -errno: a filter of system calls may refuse it */
MUST_CHECK int privilege_close_but(const int *keep, size_t n);
