/*
 * Asks a HotSpot JVM for the map of its compiled code, the way jcmd does:
 * a file in its /tmp and SIGQUIT have it open a socket there, and through
 * that it is told what to do.
 *
 * jcmd itself is not used: few hosts and no containers have it where it would
 * have to run, it starts a JVM for a line of text, and it sends SIGQUIT,
 * which ends a process that does not expect it, with fewer checks than here.
 * No namespace is entered for it: the target's /tmp is reached by a
 * descriptor, and sockets by their inode.
 *
 *   Source   OpenJDK 17, src/hotspot/os/linux/attachListener_linux.cpp;
 *            src/jdk.attach/linux/classes/sun/tools/attach
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct java_jvm {
	int32_t pid;
	int32_t inner;  /* in its own pid namespace */
	int32_t vm_tid; /* the thread that handles SIGQUIT */
	uid_t uid;
	gid_t gid;
	int tmp;        /* O_PATH of its /tmp; -1: none */
	bool may_start; /* may be sent SIGQUIT */
};

/*
 * Looks at a process, as who may see its maps.
 *
 *   Owns     out->tmp is the caller's, also on failure; -1: none
 *   Errors   -ENOEXEC it is no HotSpot; -EPERM it has several users;
 *            -EAGAIN it is stopped; -ESRCH, -errno
 */
MUST_CHECK int java_find(int32_t pid, struct java_jvm *out);
/*
 * Asks it, as its own user and nobody more: then this process can do nothing
 * that the target could not.
 *
 *   Errors   -EACCES the socket is another's, -EOPNOTSUPP it has none and
 *            may not be sent SIGQUIT, -ETIMEDOUT, -EPROTO it refuses,
 *            -EMSGSIZE it does not stop talking, -errno
 */
MUST_CHECK int java_attach(const struct java_jvm *j, int64_t wait_ns);
