/*
 * What is left to a process that reads what targets wrote: memory, clocks,
 * descriptors it was given. It opens no path and starts no program.
 */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

/*
 * Limits the address space and allows only the system calls of sandbox.c;
 * opening a path fails with EACCES, any other call kills. Call it when
 * privileges are gone and everything that needs a path is done.
 *   Errors   -errno
 */
MUST_CHECK int sandbox_enter(int64_t memory_bytes);
/*
 * The same for a process whose task is the network: sockets of the Internet,
 * and of files only those that names are looked up by. A call that is not
 * listed fails with EPERM.
 *   Errors   -errno; 1 when this kernel has no Landlock: then no file at all
 *            is readable, and of names only localhost is known
 */
MUST_CHECK int sandbox_enter_network(int64_t memory_bytes);
/* Bounds CPU time from now on; SIGXCPU ends what takes longer. */
MUST_CHECK int sandbox_limit_cpu(int64_t seconds);
