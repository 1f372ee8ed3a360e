/*
 * The names of a JVM's compiled code: it writes them to its perf map only
 * when it is asked to, which its service has to allow.
 */
#pragma once

#include "capture/host.h"

#include <stdbool.h>

/* How old a map may be for what is named again and again, windows of
 * continuous profiling and captures that go on, while it has all names. */
#define JAVA_MAP_AGE_NS (UINT64_C(60) * 1000000000)
/* The same when it lacks some. */
#define JAVA_MAP_LACK_NS (UINT64_C(10) * 1000000000)

/*
 * Whether a process runs a JVM, as its maps have it; false also when they
 * can't be had.
 */
bool java_map_is_jvm(const struct host *host, int32_t pid);
/*
 * Asks it to write its map and waits until it has.
 *
 *   Units    age_ns: one written less than that ago will do
 *   Errors   -EALREADY it was asked not long ago; -EPERM its service does not
 * allow it, -ETIMEDOUT, -errno
 */
MUST_CHECK int
java_map_ask(const struct host *host, int32_t pid, uint64_t age_ns);
