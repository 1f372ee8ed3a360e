#include "base/proc_exec.h"

#include "base/file.h"
#include "base/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

int
proc_read(int dir_fd, int32_t pid, const char *file, struct buf *out)
{
	char path[64];

	buf_clear(out);
	snprintf(path, sizeof(path), "%s%d/%s",
	         dir_fd == AT_FDCWD ? "/proc/" : "", pid, file);
	return file_read(dir_fd, path, out);
}

bool
proc_in_exec(int proc_fd, int32_t pid)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	/* in any other state, an execve blocks readers only briefly */
	return !proc_read(proc_fd, pid, "statm", &text) &&
	       proc_has_no_code(buf_str(&text)) &&
	       !proc_read(proc_fd, pid, "status", &text) &&
	       proc_status_state(buf_str(&text)) == 'D';
}

int
proc_read_stat(int proc_fd, int32_t pid, struct buf *out)
{
	return proc_in_exec(proc_fd, pid)
	               ? -ETIMEDOUT
	               : proc_read(proc_fd, pid, "stat", out);
}
