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
/*
 * Restricts the scheduler to files, memory, clocks and the sockets that it was
 * given: it starts no process or program, opens no socket, and sends no signal.
 * A call that is not listed fails with EPERM and is logged, once for each call.
 * Call it after privileges were dropped.
 *   Errors   -errno
 */
MUST_CHECK int sandbox_enter_scheduler(void);
/*
 * Restricts the opener, and with it all that it forks: to opening events, BPF
 * objects and files, to reading processes and writing to their memory, and to
 * ending its children. It starts no program, enters and makes no namespace,
 * mounts nothing, loads no module, changes no memory by ptrace(2), and reaches
 * no kernel interface beside these. A call that is not listed fails with EPERM
 * and is logged, once for each call and process.
 *   Errors   -errno
 */
MUST_CHECK int sandbox_enter_opener(void);
/*
 * Restricts a reader (opener_readers.h) to copying files and memory of other
 * processes, and to stopping their threads for a moment: it starts no program
 * or thread, opens no socket, BPF object or event, and sends no signal. A call
 * that is not listed fails with EPERM and is logged, once for each call.
 *
 * The filter cannot see the flags of openat2(2): a reader that was taken over
 * may still open for writing what its user may write.
 *   Errors   -errno
 */
MUST_CHECK int sandbox_enter_reader(void);
/* Bounds CPU time from now on; SIGXCPU ends a process that takes longer. */
MUST_CHECK int sandbox_limit_cpu(int64_t seconds);
