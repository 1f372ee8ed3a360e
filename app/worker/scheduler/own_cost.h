/*
 * The worker's own cost to its host.
 */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

/*
 * Writes the member "cost" of a heartbeat: CPU time in seconds and resident
 * bytes of the process `parent` and its children together. Processes that have
 * ended do not count; shared pages count in each process. Only the parent
 * counts if the kernel does not list children (CONFIG_PROC_CHILDREN).
 *   Shape    proc_fd is the directory /proc
 */
void own_cost_json(int proc_fd, pid_t parent, struct buf *out);
