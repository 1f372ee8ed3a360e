/*
 * The files of processes in /proc, some of which may block their reader.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads a file of a process or thread in place of what out has.
 *   Shape    dir_fd has a folder for each, as /proc and /proc/PID/task have;
 *            AT_FDCWD: the /proc of this process
 *   Errors   as file_read()
 */
MUST_CHECK int
proc_read(int dir_fd, int32_t pid, const char *file, struct buf *out);
/*
 * True while an execve(2) of the process waits for its old memory to be freed,
 * which a FUSE file system of its own can delay for ever. Most files and links
 * of /proc/PID, such as stat, exe, maps, wchan, fd and ns, then block their
 * readers, as do perf_event_open(2), kcmp(2) and process_vm_readv(2); statm,
 * status, cmdline, comm, cgroup and schedstat do not.
 * An execve(2) that waits for the lock of its old memory, which it may share
 * with a process that keeps it locked, is not noticed.
 *   Shape    proc_fd is /proc, or AT_FDCWD for the /proc of this process
 *   Source   Linux fs/exec.c, exec_mmap(), which holds exec_update_lock;
 *            fs/proc/base.c; the new memory has no code yet
 */
bool proc_in_exec(int proc_fd, int32_t pid);
/*
 * Reads /proc/PID/stat in place of what out has.
 *   Shape    as above
 *   Errors   -ETIMEDOUT such an execve(2) waits; as file_read()
 */
MUST_CHECK int proc_read_stat(int proc_fd, int32_t pid, struct buf *out);
