/*
 * The names of a JVM's compiled code, which a JVM writes to its perf map only
 * on request; the service has to allow that.
 */
#pragma once

#include "capture/host.h"

#include <stdbool.h>

/* Age up to which a map is reused for repeated naming (windows of continuous
 * profiling, and captures that go on) while it has all names. */
#define JAVA_MAP_AGE_NS (UINT64_C(60) * 1000000000)
/* Age up to which such a map is reused when it lacks names. */
#define JAVA_MAP_LACK_NS (UINT64_C(10) * 1000000000)

/*
 * True when a process runs a JVM, by its maps; false, too, when they can't be
 * read.
 */
bool java_map_is_jvm(const struct host *host, int32_t pid);
/*
 * Asks a JVM to write its map, and waits for it.
 *
 *   Units    age_ns: a map written less than that ago is good enough
 *   Errors   -EALREADY the JVM was asked recently; -EPERM the service does not
 *            allow it; -ETIMEDOUT; -errno
 */
MUST_CHECK int
java_map_ask(const struct host *host, int32_t pid, uint64_t age_ns);
