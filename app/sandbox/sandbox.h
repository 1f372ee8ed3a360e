/*
 * Filters of system calls, one for each kind of process of the worker, and one
 * for importers of the API. The strictest are for processes that parse
 * untrusted input: they have memory, clocks and the descriptors that they were
 * given, open no path and start no program.
 */
#pragma once

#include "base/cleanup.h"

#include <linux/filter.h>
#include <stdint.h>

/*
 * Limits the address space and allows only the system calls of sandbox.c;
 * opening a path fails with EACCES, and any other call kills the process. Call
 * it after privileges were dropped and all paths were opened.
 *   Errors   -errno
 */
MUST_CHECK int sandbox_enter(int64_t memory_bytes);
/*
 * Restricts a process with network access to Internet sockets and the files of
 * name resolution. A call that is not listed fails with EPERM.
 *   Errors   -errno; 1 if this kernel has no Landlock: no file is readable
 *            then, and only localhost can be resolved
 */
MUST_CHECK int sandbox_enter_network(int64_t memory_bytes);
/*
 * Restricts the scheduler to files, memory, clocks and the sockets that it was
 * given: it starts no process or program, opens no socket, and sends no signal
 * to another process. A call that is not listed fails with EPERM and is
 * logged, once for each call. Call it after privileges were dropped.
 *   Errors   -errno
 */
MUST_CHECK int sandbox_enter_scheduler(void);
/*
 * Restricts the opener, and with it all that it forks: to opening events, BPF
 * objects and files, to reading processes and writing to their memory, and to
 * ending its children. It starts no program, enters and creates no namespace,
 * mounts nothing, loads no module, changes no memory by ptrace(2), and uses no
 * other kernel interface. A call that is not listed fails with EPERM and is
 * logged, once for each call and process.
 *   Errors   -errno
 */
MUST_CHECK int sandbox_enter_opener(void);
/*
 * Restricts a reader (opener_readers.h) to copying files and memory of other
 * processes, and to stopping their threads for a moment: it starts no program
 * or thread, opens no socket, BPF object or event, and sends no signal. A call
 * that is not listed fails with EPERM and is logged, once for each call.
 *
 * The filter cannot see the flags of openat2(2): a reader under an attacker's
 * control can still open for writing what its user may write.
 *   Errors   -errno
 */
MUST_CHECK int sandbox_enter_reader(void);
/*
 * Makes the filter of an importer, which children of this process then enter at
 * once: it may use memory, read and write the descriptors that it has, and ask
 * for the time. Opening a path fails with EACCES; any other call kills it.
 *   Owns     out->filter is the caller's; free() it
 *   Errors   -errno
 */
MUST_CHECK int sandbox_make_importer(struct sock_fprog *out);
/* Enters such a filter, for good. */
MUST_CHECK int sandbox_enter_made(const struct sock_fprog *filter);
/*
 * Limits what the process may allocate from now on, for good, and lets it
 * dump no core. statm_fd is that of memory_bound_by().
 *   Errors   -errno
 */
MUST_CHECK int sandbox_limit_data(int statm_fd, int64_t bytes);
/* Limits CPU time from now on; SIGXCPU ends a process that exceeds it. */
MUST_CHECK int sandbox_limit_cpu(int64_t seconds);
