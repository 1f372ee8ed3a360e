/*
 * What tells a HotSpot JVM, and one that may be spoken to: bytes in, facts
 * out.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Threads of every HotSpot that takes SIGQUIT for a question, as their 15
 * bytes of name are. The first handles the signal; without the second (-Xrs)
 * the signal is the program's own.
 *   Source   OpenJDK 17, src/hotspot/os/posix/signals_posix.cpp,
 *            hotspot_sigmask(); share/runtime/os.cpp,
 *            initialize_jdk_signal_support() */
#define JAVA_VM_THREAD "VM Thread"
#define JAVA_SIGNALS   "Signal Dispatch"

struct java_status {
	uid_t uid;
	gid_t gid;
	int32_t inner; /* its number in its own pid namespace */
	bool stopped;
	bool takes_quit; /* SIGQUIT is caught, and not blocked by this thread */
};

/* /proc/PID/maps: it runs HotSpot's library, and not OpenJ9's, whose is
 * called the same but dumps itself upon SIGQUIT. */
bool java_is_hotspot(const char *maps);
/*
 * /proc/PID/status, of a process or a thread.
 *   Errors   -EINVAL; -EPERM its user or group is not one, but several;
 *            *out untouched
 *   Source   proc(5)
 */
MUST_CHECK int java_parse_status(const char *text, struct java_status *out);
/* /proc/PID/cmdline or environ, n bytes: an option that has the JVM answer
 * SIGQUIT by a list of its threads, in its output. */
bool java_refuses(const char *text, size_t n);
/*
 * What the JVM answered: its first line is 0.
 *   Errors   -EPROTO it is not
 */
MUST_CHECK int java_parse_answer(const char *text, size_t n);
