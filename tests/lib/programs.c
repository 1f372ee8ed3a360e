#include "lib/programs.h"

#include "base/file.h"
#include "base/proc_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void
test_programs(int proc_fd, const char *link, const int32_t *pids, size_t n,
              struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		char path[32], command[PROC_CMDLINE_MAX];
		struct host_program row = {.pid = pids[i],
		                           .link = (uint32_t)strlen(link)};
		CLEANUP_FD int fd = -1;
		ssize_t got;

		snprintf(path, sizeof(path), "%d/cmdline", pids[i]);
		fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
		got = fd < 0 ? -1 : read(fd, command, sizeof(command) - 1);
		if (got < 0)
			continue;
		row.command = (uint32_t)got;
		buf_add(out, &row, sizeof(row));
		buf_add(out, link, row.link);
		buf_add(out, command, row.command);
	}
}
