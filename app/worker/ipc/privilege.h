/*
 * Users and capabilities of the worker's processes.
 *
 * The opener keeps those capabilities it has that are in its list; its children
 * keep none, and run as another user if it may change users.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <sys/types.h>

struct identity {
	bool change; /* false: no right to change users */
	uid_t uid;
	gid_t gid;
};

/* Raises the limits of descriptors and locked memory as far as possible. */
void privilege_raise_limits(void);
/*
 * Finds the user for processes without capabilities.
 *   Errors   -ENOENT neither user nor nobody exists; *out untouched.
 *            returns 1 when user does not exist, and nobody is used
 */
MUST_CHECK int privilege_identity(const char *user, struct identity *out);
/* Drops all other capabilities in the opener, also for
 * programs that it starts. */
MUST_CHECK int privilege_keep(void);
/*
 * Drops all capabilities in a child, changes to the user, and has the child
 * killed when the opener dies. Returns -ESRCH when the opener is dead already.
 */
MUST_CHECK int privilege_drop(const struct identity *who, pid_t parent);
/* The kernel kills this process after so many seconds, whatever it does. */
MUST_CHECK int privilege_end_within(int seconds);
/* Closes all descriptors from 3 on but these. */
void privilege_close_but(const int *keep, size_t n);
