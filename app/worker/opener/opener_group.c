/*
 * Reads how long a CPU quota has held back the control groups of a process. The
 * texts are the kernel's; a group's owner chooses its name.
 *
 *   Source   Linux Documentation/admin-guide/cgroup-v2.rst, cpu.stat;
 *            Documentation/scheduler/sched-bwc.rst
 */
#include "opener_group.h"

#include "base/file.h"
#include "worker/ipc/proc_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t
lost_us(const char *group)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char path[PROC_GROUP_MAX + 64];

	snprintf(path, sizeof(path), "%s/cpu.stat", group);
	return file_read(AT_FDCWD, path, &text)
	               ? 0
	               : proc_parse_throttled(buf_str(&text));
}

void
group_read(int32_t pid, struct host_usage *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char path[64], group[PROC_GROUP_MAX + 32];
	struct stat st;
	char *top;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (file_read(AT_FDCWD, path, &text) ||
	    !proc_parse_cpu_group(buf_str(&text), group, sizeof(group)))
		return;
	top = group + strlen("/sys/fs/cgroup");
	for (char *slash; (slash = strrchr(top, '/')); *slash = '\0') {
		uint64_t us = lost_us(group);

		if (us <= out->quota_us || stat(group, &st))
			continue;
		out->quota_us = us;
		out->quota_group = st.st_ino;
	}
}
