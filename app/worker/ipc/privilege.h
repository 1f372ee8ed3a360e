/*
 * Who the worker's processes are, and what they may do.
 *
 * The opener keeps the capabilities it was given, of those in its list; its
 * children keep none, and run as another user where it may change users.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <sys/types.h>

struct identity {
	bool change; /* false: started without the right to change users */
	uid_t uid;
	gid_t gid;
};

/* Raises descriptors and locked memory as far as this process may. */
void privilege_raise_limits(void);
/*
 * The user for the parts without capabilities.
 *   Errors   -ENOENT neither user nor nobody exists; *out untouched.
 *            1 when user does not exist and nobody was taken
 */
MUST_CHECK int privilege_identity(const char *user, struct identity *out);
/* For the opener: no other capability, now or through a program it starts. */
MUST_CHECK int privilege_keep(void);
/*
 * For its children: no capability at all, the given user, killed when the
 * opener dies. -ESRCH when it is dead already.
 */
MUST_CHECK int privilege_drop(const struct identity *who, pid_t parent);
/* Closes all descriptors from 3 on but these. */
void privilege_close_but(const int *keep, size_t n);
