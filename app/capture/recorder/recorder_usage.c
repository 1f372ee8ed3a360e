/*
 * Reads the kernel's count of the resources that a capture's processes use.
 * For a capture without samples, it shows if there was anything to sample; for
 * any capture, what kept processes from running.
 */
#include "base/clock.h"
#include "recorder_private.h"

#include <string.h>

#define MAX_PROCESSES (CAPTURE_MAX_BEGAN / sizeof(struct host_usage))

/* Asks for HOST_MAX_USAGE processes at a time. */
static void
read_usage(const struct host *host, enum host_use use, const int32_t *pids,
           size_t n, struct buf *out)
{
	while (n) {
		struct host_ask ask = {.op = HOST_USAGE, .size = use};
		struct host_reply reply;

		ask.count = n < HOST_MAX_USAGE ? (uint32_t)n : HOST_MAX_USAGE;
		memcpy(ask.list, pids, ask.count * sizeof(*pids));
		if (host_answer(host, &ask, &reply))
			return;
		if (reply.value <= ask.count)
			buf_add(out, reply.usage,
			        reply.value * sizeof(*reply.usage));
		pids += ask.count;
		n -= ask.count;
	}
}

void
capture_began_with(struct capture *c, const struct host *host,
                   const int32_t *pids, size_t n)
{
	read_usage(host, HOST_USE_ALL, pids, n, &c->began);
}

/* Finds what a process had used when the capture began to follow it; nothing
 * for a process that started later. */
static const struct host_usage *
used_before(const struct capture *c, int32_t pid)
{
	static const struct host_usage nothing;
	const struct host_usage *rows = (const void *)c->began.p;

	for (size_t i = 0; i < c->began.len / sizeof(*rows); i++)
		if (rows[i].pid == pid)
			return &rows[i];
	return &nothing;
}

static void
add_memory(struct quality *q, const struct host_usage *now,
           const struct host_usage *before)
{
	q->resident += (int64_t)now->rss_bytes;
	q->anonymous += (int64_t)now->anonymous_bytes;
	q->mapped += (int64_t)now->mapped_bytes;
	q->grown += (int64_t)(now->anonymous_bytes - before->anonymous_bytes);
}

/* Returns how long a CPU quota held a control group back during the capture; 0
 * for a group of processes that all started later. */
static uint64_t
quota_since(const struct capture *c, const struct host_usage *now)
{
	const struct host_usage *rows = (const void *)c->began.p;

	for (size_t i = 0; i < c->began.len / sizeof(*rows); i++) {
		const struct host_usage *was = &rows[i];

		if (was->quota_group && was->quota_group != now->quota_group)
			continue;
		if (was->quota_group || was->pid == now->pid)
			return now->quota_us - was->quota_us;
	}
	return 0;
}

/* Sums over control groups, each of which may have several processes. */
static uint64_t
quota_us(const struct capture *c, const struct host_usage *rows, size_t n)
{
	uint64_t us = 0;

	for (size_t i = 0; i < n; i++) {
		size_t first = 0;

		while (rows[first].quota_group != rows[i].quota_group)
			first++;
		if (rows[i].quota_group && first == i)
			us += quota_since(c, &rows[i]);
	}
	return us;
}

/* Sums up how long threads ran, and how long they waited for a CPU. If a
 * process lost more time with threads that ended than its other threads added,
 * counts the whole time of the remaining threads. */
static void
add_waits(const struct capture *c, const struct host_usage *rows, size_t n,
          struct quality *q)
{
	uint64_t ran_ns = 0, waited_ns = 0;

	for (size_t i = 0; i < n; i++) {
		const struct host_usage *now = &rows[i];
		const struct host_usage *was = used_before(c, now->pid);
		bool more = now->ran_ns >= was->ran_ns &&
		            now->waited_ns >= was->waited_ns;

		ran_ns += now->ran_ns - (more ? was->ran_ns : 0);
		waited_ns += now->waited_ns - (more ? was->waited_ns : 0);
	}
	q->ran_ms = (int64_t)(ran_ns / NS_PER_MS);
	q->waited_ms = (int64_t)(waited_ns / NS_PER_MS);
}

/* Sets what kept the processes from running. */
static void
add_hindrance(const struct capture *c, const struct host_usage *rows, size_t n,
              struct quality *q)
{
	q->quota_ms = (int64_t)quota_us(c, rows, n) / (NS_PER_MS / NS_PER_US);
	add_waits(c, rows, n, q);
}

void
recorder_read_hindrances(struct recorder *c)
{
	CLEANUP_FREE int32_t *pids = calloc(MAX_PROCESSES, sizeof(*pids));
	size_t n = 0;

	buf_done(&c->hindrances);
	c->hindrances = BUF_INIT(CAPTURE_MAX_BEGAN);
	for (unsigned i = 0; pids && i < CAPTURES_MAX_SAMPLERS; i++)
		if (c->sources[i])
			n += procs_list(c->sources[i]->procs,
			                c->sources[i]->slots, pids + n,
			                MAX_PROCESSES - n);
	read_usage(c->host, HOST_USE_HINDRANCE, pids, n, &c->hindrances);
}

void
capture_hindrance(struct capture *c, const struct buf *all, struct quality *q)
{
	CLEANUP_BUF struct buf now = BUF_INIT(CAPTURE_MAX_BEGAN);
	const struct host_usage *rows = (const void *)all->p;

	for (size_t i = 0; i < all->len / sizeof(*rows); i++)
		if (procs_follows(c->source->procs, (uint32_t)rows[i].pid,
		                  UINT64_C(1) << c->slot))
			buf_add(&now, &rows[i], sizeof(rows[i]));
	add_hindrance(c, (const void *)now.p, now.len / sizeof(*rows), q);
	buf_done(&c->began);
	c->began = now;
	now = (struct buf)BUF_INIT(0);
}

/* Notes why all processes stand still, if no sample was taken. */
static void
note_halt(const struct host_usage *rows, size_t n, struct quality *q)
{
	bool frozen = false;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].halt == HOST_NOT_HALTED)
			return;
		frozen |= rows[i].halt == HOST_FROZEN;
	}
	if (n)
		q->notes |= frozen ? QUALITY_NOTE_OF(FROZEN)
		                   : QUALITY_NOTE_OF(HALTED);
}

void
capture_use(const struct capture *c, const struct host *host, struct quality *q)
{
	CLEANUP_BUF struct buf now = BUF_INIT(CAPTURE_MAX_BEGAN);
	CLEANUP_FREE int32_t *pids = calloc(MAX_PROCESSES, sizeof(*pids));
	const struct host_usage *rows;
	uint64_t us = 0;
	size_t n;

	if (!pids)
		return;
	n = procs_list(c->source->procs, UINT64_C(1) << c->slot, pids,
	               MAX_PROCESSES);
	read_usage(host, HOST_USE_ALL, pids, n, &now);
	rows = (const void *)now.p;
	n = now.len / sizeof(*rows);
	for (size_t i = 0; i < n; i++) {
		const struct host_usage *was = used_before(c, rows[i].pid);

		if (rows[i].cpu_us > was->cpu_us)
			us += rows[i].cpu_us - was->cpu_us;
		if (c->rows)
			add_memory(q, &rows[i], was);
	}
	if (c->rows || !q->kept)
		q->used_ms = (int64_t)us / (NS_PER_MS / NS_PER_US);
	if (!q->kept)
		note_halt(rows, n, q);
	add_hindrance(c, rows, n, q);
}
