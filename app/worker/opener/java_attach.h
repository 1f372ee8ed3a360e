/*
 * Asks a HotSpot JVM for the map of its compiled code, like jcmd: a file in the
 * JVM's /tmp and SIGQUIT make the JVM open a socket there, to take commands.
 *
 * jcmd itself is not used: few hosts and hardly any containers have it, it
 * starts a JVM to send one line, and it makes fewer checks before it sends
 * SIGQUIT, which kills a process that does not expect it. No namespace is
 * entered: the target's /tmp is accessed by a descriptor, and sockets by their
 * inode.
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
	int32_t inner;  /* pid in its own namespace */
	int32_t vm_tid; /* the thread that handles SIGQUIT */
	uid_t uid;
	gid_t gid;
	int tmp;        /* its /tmp, O_PATH; -1: none */
	bool may_start; /* SIGQUIT may be sent */
};

/*
 * Examines a process. The caller must be able to read its maps.
 *
 *   Owns     out->tmp is the caller's, also on failure; -1: none
 *   Errors   -ENOEXEC no HotSpot JVM; -EPERM its ids differ; -EAGAIN the
 *            process is stopped; -ESRCH, -errno
 */
MUST_CHECK int java_find(int32_t pid, struct java_jvm *out);
/*
 * Asks the JVM. The caller must run as the JVM's user, without capabilities, so
 * that it can do nothing that the JVM could not.
 *
 *   Errors   -EACCES the socket belongs to another process, -EOPNOTSUPP no
 *            socket, and SIGQUIT may not be sent, -ETIMEDOUT, -EPROTO refused,
 *            -EMSGSIZE the answer is too long, -errno
 */
MUST_CHECK int java_attach(const struct java_jvm *j, int64_t wait_ns);
