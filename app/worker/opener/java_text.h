/*
 * Parses the texts that show whether a process is a HotSpot JVM, and whether it
 * may be asked.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Names, cut to 15 bytes, of threads of a HotSpot JVM that handles SIGQUIT. The
 * first thread receives the signal. Without the second (-Xrs), the program
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

/* True if /proc/PID/maps lists HotSpot's library. OpenJ9's has the same name,
 * but OpenJ9 writes a dump on SIGQUIT. */
bool java_is_hotspot(const char *maps);
/*
 * Parses the status file of a process or a thread.
 *   Errors   -EINVAL; -EPERM its user or group ids differ; *out untouched
 *   Source   proc(5)
 */
MUST_CHECK int java_parse_status(const char *text, struct java_status *out);
/* True if /proc/PID/cmdline or environ, n bytes, has an option that makes the
 * JVM print its threads on SIGQUIT. */
bool java_refuses(const char *text, size_t n);
/*
 * Checks a JVM's answer: its first line must be 0.
 *   Errors   -EPROTO it is not
 */
MUST_CHECK int java_parse_answer(const char *text, size_t n);
