/*
 * Processes that keep their memory locked: mmap_lock, which a page fault holds
 * while it waits for a file system that is a process (FUSE) or a server. To
 * insert or remove a probe, the kernel waits for that lock of each process that
 * maps the file, and for each fork(2) that has begun; meanwhile, no process of
 * the host can fork. So probes wait until no memory is locked for long.
 *
 *   Source   Linux kernel/events/uprobes.c, register_for_each_vma();
 *            kernel/fork.c, dup_mmap(); mm/filemap.c, filemap_fault()
 */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

/* A process is waited for if its lock has not changed hands for this long. */
#define LOCKS_NS INT64_C(20000000)

/*
 * Loads the program that lists them.
 *   Owns     *fd is the caller's
 *   Errors   -EPERM; -EOPNOTSUPP this kernel does not describe its types (BTF);
 *            -errno
 */
MUST_CHECK int locks_open(int *fd);
/*
 * Looks for a process that keeps its memory locked, for LOCKS_NS if there may
 * be one. Logs which one, if that is news.
 *   Shape    fd: of locks_open(); *pid: in the initial namespace
 *   Errors   -EBUSY there is one; 0 also where this cannot be found out
 */
MUST_CHECK int locks_look(int fd, int32_t *pid);
/* Waits until there is none. */
void locks_wait(int fd);
