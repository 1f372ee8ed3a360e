/*
 * Follows the processes of captures. Reading what a process has mapped takes
 * milliseconds, and a service may have a thousand: captures take turns, with a
 * process each, and records are read in between.
 */
#include "base/clock.h"
#include "base/rows.h"
#include "recorder_private.h"

#include <errno.h>

/* Time for following processes between two drains. */
#define JOIN_NS (SAMPLER_RING_NS / 5)

static bool
is_listed(const struct joining *j, int32_t pid)
{
	for (uint32_t i = 0; i < j->n; i++)
		if (j->pids[i] == pid)
			return true;
	return false;
}

int
capture_follow(struct capture *c, const int32_t *pids, uint32_t n)
{
	struct joining *j = &c->joining;
	int rc;

	/* The rest of the last list is on this one, too. */
	if (has_begun(c))
		j->n = j->at = j->opened = 0;
	if (c->source)
		c->source->all->joining = true;
	rc = ROWS_ROOM(j->pids, j->cap, j->n, n);
	for (uint32_t i = 0; i < n && !rc; i++)
		if (has_begun(c) || !is_listed(j, pids[i]))
			j->pids[j->n++] = pids[i];
	return rc;
}

void
capture_leave(struct capture *c, const int32_t *pids, uint32_t n)
{
	struct joining *j = &c->joining;

	recorder_catch_up(c->source->all, c);
	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t i = j->at; i < j->n; i++)
			if (j->pids[i] == pids[k])
				j->pids[i] = 0;
		procs_drop(c->source->procs, (uint32_t)pids[k],
		           UINT64_C(1) << c->slot);
	}
}

/* --- beginning ------------------------------------------------------------ */

static void
set_time(struct capture *c)
{
	c->start_ms = clock_wall_ms();
	c->start_ns = c->drained_ns = (uint64_t)clock_mono_ns();
	c->end_ns = c->start_ns + c->duration_ns;
	tape_begin(c->tape, c->start_ns);
}

/* Starts the capture's time. Reading a program for the first time takes up to a
 * second; samples from that time are not counted, since rings overflow and no
 * thread of an interpreter is followed yet. */
static void
begin(struct recorder *c, struct capture *one)
{
	recorder_pass_over(c, one->source);
	set_time(one);
	c->known_ns = one->start_ns + NS_PER_S;
	capture_began_with(one, c->host, one->joining.pids, one->joining.n);
}

/* --- following ------------------------------------------------------------ */

static bool
is_joining(const struct capture *c)
{
	return c && !c->error &&
	       (!has_begun(c) || c->joining.at < c->joining.n);
}

/* Follows a process; opened: the sampler was opened with it. */
static int
follow(struct recorder *c, struct capture *one, int32_t pid, bool opened)
{
	int rc = pid ? procs_watch(one->source->procs, (uint32_t)pid,
	                           UINT64_C(1) << one->slot)
	             : -ESRCH;

	if (!rc && !opened)
		rc = sampler_add(one->source->sampler, c->host, pid);
	if (!rc)
		capture_tape_names(one, c->host, pid);
	return rc == -EACCES || rc == -EPERM ? -EXDEV : rc;
}

static void
join_later(struct recorder *c, struct capture *one)
{
	const int32_t pid = one->joining.pids[one->joining.at++];

	if (!procs_follows(one->source->procs, (uint32_t)pid,
	                   UINT64_C(1) << one->slot) &&
	    !follow(c, one, pid, false))
		capture_began_with(one, c->host, &pid, 1);
}

/* Follows the next process of a capture that has not begun, and lets it begin
 * after the last one, or if it is stopped.
 *   Errors   of the last process, if none can be followed */
static int
join_first(struct recorder *c, struct capture *one)
{
	struct joining *j = &one->joining;
	const uint32_t at = j->at;
	int rc = -ESRCH;

	if (at < j->n) {
		j->at++;
		rc = follow(c, one, j->pids[at], at < j->opened);
	}
	j->followed += !rc;
	one->quality.processes_unread += rc == -ETIMEDOUT;
	if (rc && rc != -ESRCH && rc != -EXDEV && rc != -ETIMEDOUT)
		return rc;
	if (rc != -ESRCH)
		j->last = rc;
	if (j->at < j->n && !(one->quality.notes & QUALITY_NOTE_OF(STOPPED)))
		return 0;
	if (!j->followed)
		return j->last ? j->last : -ESRCH;
	begin(c, one);
	return 0;
}

/* Returns the capture whose turn it is; NULL: none has processes to follow. */
static struct capture *
next(struct recorder *c)
{
	for (uint32_t i = 0; i < CAPTURES_MAX; i++) {
		uint32_t slot = (c->turn + i) % CAPTURES_MAX;

		if (!is_joining(c->slots[slot]))
			continue;
		c->turn = slot + 1;
		return c->slots[slot];
	}
	return NULL;
}

void
recorder_join(struct recorder *c)
{
	const int64_t end = clock_mono_ns() + (int64_t)JOIN_NS;
	struct capture *one;

	if (!c->joining)
		return;
	for (uint32_t i = 0; i < CAPTURES_MAX; i++)
		if (is_joining(c->slots[i]))
			recorder_catch_up(c, c->slots[i]);
	while ((one = next(c))) {
		recorder_blame(c, one->slot);
		if (has_begun(one))
			join_later(c, one);
		else
			one->error = join_first(c, one);
		one->quality.worker_cpu_ns += recorder_cpu_spent(c);
		if (clock_mono_ns() >= end)
			break;
	}
	c->joining = one != NULL;
	recorder_blame(c, CAPTURES_MAX);
}
