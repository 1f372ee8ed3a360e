/*
 * The socket of a JVM: the check of its owner, and the one request that is sent
 * to it. The process that answers is not trusted to be a JVM.
 */
#pragma once

#include "java_attach.h"

#define JAVA_MAX_ANSWER ((size_t)16 << 10) /* bytes; usually "0" and a line */

/*
 * Connects to the socket.
 *   Errors   -ENOENT, -ECONNREFUSED there is no socket, or nobody listens;
 *            -EACCES another process's socket; -EBUSY too many clients; -errno
 */
MUST_CHECK int java_connect(const struct java_jvm *j, int *out);
/*
 * Asks for the map and waits until it is written.
 *   Errors   -ETIMEDOUT, -EPROTO refused, -EMSGSIZE, -errno
 */
MUST_CHECK int java_talk(int fd, int64_t until_ns);
/* Waits until fd is ready. Returns -ETIMEDOUT, -errno. */
MUST_CHECK int java_wait(int fd, short events, int64_t until_ns);
