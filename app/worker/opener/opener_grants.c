#include "opener_grants.h"

#include "base/clock.h"
#include "base/file.h"
#include "worker/ipc/proc_text.h"

#include <fcntl.h>
#include <stdio.h>

#define SLACK_NS (60 * NS_PER_S) /* beyond the time of a capture */

uint64_t
proc_start_time(int32_t pid)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char path[64], comm[PROC_COMM_MAX];
	uint64_t start;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (pid <= 0 || file_read(AT_FDCWD, path, &text) ||
	    proc_parse_stat(buf_str(&text), comm, &start))
		return 0;
	return start;
}

static bool
is_same(const struct grant *a, const struct grant *b)
{
	return a->pid == b->pid && a->start_time == b->start_time &&
	       a->what == b->what;
}

static bool
is_kept(const struct grant *g)
{
	return g->what == WORKER_MAY_KEEP_BLOCK ||
	       g->what == WORKER_MAY_KEEP_MUTEX;
}

static void
put(struct grants *g, const struct grant *new)
{
	struct grant *to = &g->rows[0];

	for (size_t i = 0; i < GRANTS_MAX; i++) {
		struct grant *row = &g->rows[i];

		if (is_same(row, new)) {
			if (row->until_ns < new->until_ns || is_kept(new))
				row->until_ns = new->until_ns;
			return;
		}
		if (row->until_ns < to->until_ns)
			to = row;
	}
	*to = *new;
}

void
grants_add(struct grants *g, const struct msg_may *m)
{
	int64_t until = clock_mono_ns() + SLACK_NS;

	if (m->npids > WORKER_MAX_PIDS ||
	    m->duration_ms > (uint64_t)INT64_MAX / 4 / (uint64_t)NS_PER_MS)
		return;
	until += (int64_t)m->duration_ms * NS_PER_MS;
	for (uint32_t i = 0; i < m->npids; i++) {
		struct grant row = {proc_start_time(m->pids[i]), until,
		                    m->pids[i], m->what};

		if (is_kept(&row)) /* said again in time, or ended */
			row.until_ns -= SLACK_NS;
		if (row.start_time)
			put(g, &row);
	}
}

bool
grants_has(const struct grants *g, enum worker_may what, int32_t pid,
           uint64_t start_time)
{
	struct grant want = {start_time, 0, pid, what};

	for (size_t i = 0; i < GRANTS_MAX; i++)
		if (start_time && is_same(&g->rows[i], &want))
			return g->rows[i].until_ns > clock_mono_ns();
	return false;
}
