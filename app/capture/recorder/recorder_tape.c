/*
 * Feeds a capture's timeline with all but samples: lives and names of threads,
 * and the resources that processes use.
 */
#include "base/clock.h"
#include "base/file.h"
#include "recorder_private.h"

#include <string.h>

#define COUNTERS_NS UINT64_C(250000000) /* between two readings */

static void
put_event(struct capture *c, const struct proc_news *news,
          enum timeline_event_kind kind, uint64_t value)
{
	struct timeline_event e = {.kind = kind,
	                           .pid = news->pid,
	                           .tid = news->tid,
	                           .value = value};

	if (news->name)
		memcpy(e.name, news->name,
		       strnlen(news->name, sizeof(e.name) - 1));
	tape_event(c->tape, news->time_ns, &e);
}

static void
put_birth(struct capture *c, const struct proc_news *news)
{
	if (!news->time_ns)
		return; /* capture_tape_names or its samples name it */
	tape_born(c->tape, news->pid, news->tid, news->time_ns, news->ppid,
	          news->ptid);
	if (news->event == PROC_NEW)
		put_event(c, news, TIMELINE_FORK, news->ppid);
}

static void
put_name(struct capture *c, const struct proc_news *news)
{
	if (news->event != PROC_EXEC) {
		tape_named(c->tape, news->pid, news->tid, news->name,
		           HOST_COMM_MAX);
		return;
	}
	tape_executed(c->tape, news->pid, news->tid, news->time_ns, news->name,
	              HOST_COMM_MAX);
	put_event(c, news, TIMELINE_EXEC, 0);
}

static void
put_death(struct capture *c, const struct proc_news *news)
{
	tape_died(c->tape, news->pid, news->tid, news->time_ns);
	if (news->event == PROC_EXIT)
		put_event(c, news, TIMELINE_EXIT, 0);
}

void
capture_tape_news(struct capture *c, const struct proc_news *news)
{
	if (!c->tape || news->time_ns >= c->end_ns)
		return;
	switch (news->event) {
	case PROC_NEW:
	case PROC_THREAD:
		put_birth(c, news);
		break;
	case PROC_NAME:
	case PROC_EXEC:
		put_name(c, news);
		break;
	case PROC_THREAD_EXIT:
	case PROC_EXIT:
		put_death(c, news);
		break;
	case PROC_BACK:
	case PROC_LEFT:
	case PROC_UNWATCHED:
	case PROC_WATCHED:
	case PROC_FULL:
		break;
	}
}

/* Names threads; missing names are ignored, since they are informative only. */
void
capture_tape_names(struct capture *c, const struct host *host, int32_t pid)
{
	CLEANUP_BUF struct buf rows =
		BUF_INIT(sizeof(struct host_thread[HOST_MAX_THREADS]));
	const struct host_ask ask = {.op = HOST_NAMES, .pid = pid};
	const struct host_thread *row;
	CLEANUP_FD int fd = -1;

	if (!c->tape || host_fd(host, &ask, &fd) || fd_read_all(fd, &rows))
		return;
	row = (const struct host_thread *)rows.p;
	for (size_t i = 0; i < rows.len / sizeof(*row); i++)
		tape_named(c->tape, (uint32_t)pid, (uint32_t)row[i].tid,
		           row[i].name, sizeof(row[i].name));
}

static void
read_counters(struct capture *c, const struct host *host,
              const struct host_ask *ask, uint64_t past_ns)
{
	struct host_reply reply;
	bool halted;

	if (host_answer(host, ask, &reply))
		return;
	halted = reply.value > 0;
	for (uint32_t i = 0; i < reply.value && i < HOST_MAX_USAGE; i++) {
		const struct host_usage *row = &reply.usage[i];
		struct timeline_counter counter = {
			.rss_bytes = row->rss_bytes,
			.cpu_us = row->cpu_us,
			.pid = (uint32_t)row->pid,
		};

		halted &= row->halt != HOST_NOT_HALTED;
		tape_counter(c->tape, c->counted_ns, &counter);
	}
	if (halted)
		c->halted_ns += past_ns;
}

void
capture_tape_counters(struct capture *c, const struct host *host,
                      uint64_t now_ns)
{
	struct host_ask ask = {.op = HOST_USAGE};
	const uint64_t past_ns = c->counted_ns ? now_ns - c->counted_ns : 0;

	if (!c->tape || now_ns - c->counted_ns < COUNTERS_NS ||
	    now_ns >= c->end_ns)
		return;
	c->counted_ns = now_ns;
	ask.count = (uint32_t)procs_list(c->source->procs,
	                                 UINT64_C(1) << c->slot, ask.list,
	                                 HOST_MAX_USAGE);
	if (ask.count)
		read_counters(c, host, &ask, past_ns);
}
