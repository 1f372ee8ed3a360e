/*
 * The cost of the worker itself to its host.
 */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

/*
 * Writes the member "cost" of a heartbeat: CPU time in seconds and resident
 * bytes of the process `parent` and its children together. Time of processes
 * that have ended is not counted; pages that processes share count in each.
 * Without the kernel's list of children (CONFIG_PROC_CHILDREN) it is that of
 * the parent alone.
 *   Shape    proc_fd: /proc
 */
void own_cost_json(int proc_fd, pid_t parent, struct buf *out);
