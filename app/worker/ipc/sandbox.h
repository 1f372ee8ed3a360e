/*
 * Restricts a process that parses data of targets to memory, clocks and the
 * descriptors that it was given. It opens no path and starts no program.
 */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

/*
 * Limits the address space and allows only the system calls of sandbox.c;
 * opening a path fails with EACCES, any other call kills. Call it after
 * privileges were dropped and all paths were opened.
 *   Errors   -errno
 */
MUST_CHECK int sandbox_enter(int64_t memory_bytes);
/*
 * Restricts a process with network access: to sockets of the Internet, and to
 * files of name resolution. A call that is not listed fails with EPERM.
 *   Errors   -errno; 1 when this kernel has no Landlock: then no file is
 *            readable, and only localhost can be resolved
 */
MUST_CHECK int sandbox_enter_network(int64_t memory_bytes);
/* Bounds CPU time from now on; SIGXCPU ends a process that takes longer. */
MUST_CHECK int sandbox_limit_cpu(int64_t seconds);
