#include "opener_ended.h"

#include "base/clock.h"

#include <signal.h>

void
ended_kill(struct ended *e, pid_t pid)
{
	size_t i = 0;

	kill(pid, SIGKILL);
	while (i < ENDED_MAX && e->rows[i].pid)
		i++;
	if (i < ENDED_MAX)
		e->rows[i] = (struct ended_row){pid, clock_mono_ns()};
}

void
ended_child_gone(struct ended *e, pid_t pid)
{
	for (size_t i = 0; i < ENDED_MAX; i++)
		if (e->rows[i].pid == pid)
			e->rows[i] = (struct ended_row){0};
}

/* Returns how many ns remain until a killed child counts as stuck; 0 if it
 * does. */
static int64_t
left_ns(const struct ended_row *row, int64_t now_ns)
{
	int64_t left = row->killed_ns + ENDED_WAIT_NS - now_ns;

	return left > 0 ? left : 0;
}

bool
ended_is_stuck(const struct ended *e, pid_t pid)
{
	int64_t now = clock_mono_ns();

	for (size_t i = 0; i < ENDED_MAX; i++)
		if (pid && e->rows[i].pid == pid)
			return !left_ns(&e->rows[i], now);
	return false;
}

uint32_t
ended_stuck(const struct ended *e)
{
	int64_t now = clock_mono_ns();
	uint32_t n = 0;

	for (size_t i = 0; i < ENDED_MAX; i++)
		n += e->rows[i].pid && !left_ns(&e->rows[i], now);
	return n;
}

int
ended_wait(const struct ended *e)
{
	int64_t now = clock_mono_ns(), first = INT64_MAX;

	for (size_t i = 0; i < ENDED_MAX; i++) {
		int64_t left = left_ns(&e->rows[i], now);

		if (e->rows[i].pid && left && left < first)
			first = left;
	}
	return first == INT64_MAX ? -1 : (int)(first / NS_PER_MS) + 1;
}
