/*
 * The socket of a JVM: its owner, and the one request that is made. The process
 * that answers is not trusted to be a JVM.
 */
#pragma once

#include "java_attach.h"

#define JAVA_MAX_ANSWER ((size_t)16 << 10) /* bytes; mostly "0" and a line */

/*
 * Connects to the socket.
 *   Errors   -ENOENT, -ECONNREFUSED: no socket, or nobody listens any more;
 *            -EACCES of another process; -EBUSY too many clients; -errno
 */
MUST_CHECK int java_connect(const struct java_jvm *j, int *out);
/*
 * Asks for the map and waits until it is written.
 *   Errors   -ETIMEDOUT, -EPROTO refused, -EMSGSIZE, -errno
 */
MUST_CHECK int java_talk(int fd, int64_t until_ns);
/* Waits until fd is ready. Returns -ETIMEDOUT, -errno. */
MUST_CHECK int java_wait(int fd, short events, int64_t until_ns);
