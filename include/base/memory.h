/*
 * A limit on the memory of this process.
 */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

/*
 * Limits how much the process may allocate from now on; allocations past the
 * limit fail.
 *   Source   setrlimit(2): RLIMIT_DATA; proc(5): data of /proc/self/statm
 */
MUST_CHECK int memory_bound(int64_t bytes);
