/*
 * Has JVMs write what their compiled code is called, where their services
 * allow it: /tmp/perf-PID.map, which is then read as any program's.
 *
 * Each is asked by a child that becomes the JVM's user, without a capability
 * or a descriptor of the opener's, that its user can't look into, and that a
 * timer of its own kills whatever holds it up. The opener does not wait for
 * it: who asked reads how it went from a pipe, which ends with the child.
 * A JVM that has just been asked is not asked again, however that went.
 */
#pragma once

#include "capture/host.h"
#include "opener_grants.h"

#define JAVA_MAX_ASKED   256
#define JAVA_MAX_AT_ONCE 8
#define JAVA_LEAST_S     1 /* between two questions to one JVM */
#define JAVA_WAIT_S      4 /* for one to answer */
#define JAVA_KILL_S      6 /* until the child is killed, whatever it does */

struct answer;

struct java_asked {
	uint64_t start_time; /* of the process, ticks since boot */
	int64_t done_ns;     /* when the child had ended */
	int32_t pid;
	pid_t child; /* 0: it has ended */
};

struct java {
	struct java_asked rows[JAVA_MAX_ASKED];
};

/*
 * Answers HOST_JAVA: the pipe has one int32_t, 0 or what java_find() and
 * java_attach() fail with, or ends without one.
 *
 *   Errors   -EPERM nobody allowed it, or it is another user's and this one
 *            can't change; -ESRCH, -EALREADY asked not long ago, -EBUSY too
 *            many are asked now, -errno
 */
MUST_CHECK int java_ask(struct java *j, const struct grants *granted,
                        const struct host_ask *ask, struct answer *out);
/* Some child has ended, perhaps one of these. */
void java_child_ended(struct java *j, pid_t pid);
