/*
 * Parses texts that identify a HotSpot JVM, and one that may be asked.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Threads of every HotSpot that handles SIGQUIT, by the 15 bytes of their
 * names. The first receives the signal; without the second (-Xrs) the program
 * handles the signal itself.
 *   Source   OpenJDK 17, src/hotspot/os/posix/signals_posix.cpp,
 *            hotspot_sigmask(); share/runtime/os.cpp,
 *            initialize_jdk_signal_support()
 */
#define JAVA_VM_THREAD "VM Thread"
#define JAVA_SIGNALS   "Signal Dispatch"

struct java_status {
	uid_t uid;
	gid_t gid;
	int32_t inner; /* pid in its own namespace */
	bool stopped;
	bool takes_quit; /* this thread catches SIGQUIT and does not block it */
};

/* True when /proc/PID/maps has HotSpot's library, and not OpenJ9's, which has
 * the same name but writes a dump on SIGQUIT. */
bool java_is_hotspot(const char *maps);
/*
 * Reads /proc/PID/status, of a process or a thread.
 *   Errors   -EINVAL; -EPERM its user or group ids differ; *out untouched
 *   Source   proc(5)
 */
MUST_CHECK int java_parse_status(const char *text, struct java_status *out);
/* True when /proc/PID/cmdline or environ, n bytes, has an option that makes the
 * JVM print its threads on SIGQUIT. */
bool java_refuses(const char *text, size_t n);
/*
 * Checks a JVM's answer, whose first line must be 0.
 *   Errors   -EPROTO any other
 */
MUST_CHECK int java_parse_answer(const char *text, size_t n);
