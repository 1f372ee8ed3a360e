/*
 * Makes JVMs write the names of their compiled code to /tmp/perf-PID.map, if
 * their services allow it; the file is then read like any program's.
 *
 * A separate child asks each JVM. It becomes the JVM's user, has no capability
 * or descriptor of the opener, can't be inspected by that user, and is killed
 * by a timer. The opener does not wait: the client reads the result from a
 * pipe, which ends with the child. After a request, the JVM is not asked again
 * for JAVA_LEAST_S or longer, whatever the result.
 */
#pragma once

#include "capture/host.h"
#include "opener_grants.h"

#define JAVA_MAX_ASKED   256
#define JAVA_MAX_AT_ONCE 8
#define JAVA_LEAST_S     1 /* between two requests to a JVM */
#define JAVA_WAIT_S      4 /* for a JVM's answer */
#define JAVA_KILL_S      6 /* until the child is killed */

struct answer;

struct java_asked {
	uint64_t start_time; /* of the process, ticks since boot */
	int64_t done_ns;     /* when the child ended */
	int32_t pid;
	pid_t child; /* 0: none */
};

struct java {
	struct java_asked rows[JAVA_MAX_ASKED];
};

/*
 * Answers HOST_JAVA with a pipe, from which one int32_t can be read, 0 or an
 * error of java_find() or java_attach(); nothing, if the child was killed.
 *
 *   Errors   -EPERM not granted, or the JVM is another user's and the opener
 *            can't change users; -ESRCH, -EALREADY asked recently, -EBUSY too
 *            many are being asked, -errno
 */
MUST_CHECK int java_ask(struct java *j, const struct grants *granted,
                        const struct host_ask *ask, struct answer *out);
/* Handles the end of a child, if it is one that asks a JVM. */
void java_child_ended(struct java *j, pid_t pid);
