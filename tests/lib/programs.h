/* Rows of programs, as the opener answers HOST_PROGRAMS. */
#pragma once

#include "base/buf.h"
#include "capture/host.h"

/* Appends a row for each process that has a command line in that directory of
 * /proc; all have the same link. */
void test_programs(int proc_fd, const char *link, const int32_t *pids, size_t n,
                   struct buf *out);
