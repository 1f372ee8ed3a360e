/*
 * Reads how long a CPU quota has held back the control groups of a process. The
 * texts are the kernel's; a group's owner chooses its name.
 *
 *   Source   Linux Documentation/admin-guide/cgroup-v2.rst, cpu.stat;
 *            Documentation/scheduler/sched-bwc.rst
 */
#include "opener_groups.h"

#include "base/file.h"
#include "base/proc_exec.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ROOT "/sys/fs/cgroup"

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

/* Keeps the levels that the last process shares with a path. */
static void
keep_shared(struct opener_groups *g, const char *path)
{
	uint32_t n = 0, length;

	while (n < g->n) {
		length = g->levels[n].length;
		if (strncmp(g->path, path, length) ||
		    (path[length] && path[length] != '/'))
			break;
		n++;
	}
	g->n = n;
}

/* Reads the levels of g->path that are not known yet. */
static void
read_levels(struct opener_groups *g)
{
	char *at = g->path + (g->n ? g->levels[g->n - 1].length : strlen(ROOT));
	struct stat st;

	while (*at == '/' && g->n < GROUPS_DEPTH) {
		char *end = at + 1 + strcspn(at + 1, "/"), was = *end;

		*end = '\0';
		g->levels[g->n].length = (uint32_t)(end - g->path);
		g->levels[g->n].us = lost_us(g->path);
		g->levels[g->n].inode =
			g->levels[g->n].us && !stat(g->path, &st) ? st.st_ino
								  : 0;
		g->n++;
		*end = was;
		at = end;
	}
}

int
groups_read(struct opener_groups *g, int32_t pid, struct host_usage *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char group[sizeof(g->path)];
	int rc = proc_read(AT_FDCWD, pid, "cgroup", &text);

	if (rc || !proc_parse_cpu_group(buf_str(&text), group, sizeof(group)))
		return rc;
	keep_shared(g, group);
	strcpy(g->path, group);
	read_levels(g);
	for (uint32_t i = g->n; i--;) {
		if (g->levels[i].us <= out->quota_us || !g->levels[i].inode)
			continue;
		out->quota_us = g->levels[i].us;
		out->quota_group = g->levels[i].inode;
	}
	return 0;
}
