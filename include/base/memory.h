/*
 * A bound on the memory of this process.
 */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

/*
 * Bounds what the process may add to the memory that it has by now: past that,
 * allocations fail.
 *   Source   setrlimit(2): RLIMIT_DATA; proc(5): data of /proc/self/statm
 */
MUST_CHECK int memory_bound(int64_t bytes);
