#include "own_cost.h"

#include "base/file.h"
#include "base/json_out.h"
#include "base/proc_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct own_cost {
	uint64_t ticks, pages;
};

static void
add(int proc_fd, long pid, struct own_cost *to)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char path[32];
	uint64_t ticks, pages;

	snprintf(path, sizeof(path), "%ld/stat", pid);
	if (file_read(proc_fd, path, &text) ||
	    proc_parse_usage(buf_str(&text), &ticks, &pages))
		return;
	to->ticks += ticks;
	to->pages += pages;
}

void
own_cost_json(int proc_fd, pid_t parent, struct buf *out)
{
	CLEANUP_BUF struct buf children = BUF_INIT(BUF_MAX_SMALL);
	struct own_cost cost = {0, 0};
	const char *at;
	char path[64], *end;

	add(proc_fd, parent, &cost);
	snprintf(path, sizeof(path), "%d/task/%d/children", parent, parent);
	if (file_read(proc_fd, path, &children))
		buf_clear(&children);
	at = buf_str(&children);
	for (long pid; (pid = strtol(at, &end, 10)); at = end)
		add(proc_fd, pid, &cost);
	json_open(out, "cost", '{');
	json_put_real(out, "cpuSeconds",
	              (double)cost.ticks / (double)sysconf(_SC_CLK_TCK));
	json_put_int(out, "residentBytes",
	             (int64_t)cost.pages * sysconf(_SC_PAGESIZE));
	json_close(out, '}');
}
