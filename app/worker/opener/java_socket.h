/*
 * The socket of a JVM: whose it is, and the one thing that is said there.
 * What answers is not believed to be a JVM.
 */
#pragma once

#include "java_attach.h"

#define JAVA_MAX_ANSWER ((size_t)16 << 10) /* bytes; "0" and a line, mostly */

/*
 * Connects to it.
 *   Errors   -ENOENT, -ECONNREFUSED: it is not there, or nobody's any more;
 *            -EACCES not this process's own; -EBUSY too many ask it; -errno
 */
MUST_CHECK int java_connect(const struct java_jvm *j, int *out);
/*
 * Asks for the map and waits until it is written.
 *   Errors   -ETIMEDOUT, -EPROTO it refuses, -EMSGSIZE, -errno
 */
MUST_CHECK int java_talk(int fd, int64_t until_ns);
/* Until fd is ready: -ETIMEDOUT, -errno. */
MUST_CHECK int java_wait(int fd, short events, int64_t until_ns);
