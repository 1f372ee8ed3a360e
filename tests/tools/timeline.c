/*
 * Decodes a timeline and the profile beside it, for scripts: one line per row,
 * its words separated by spaces, a name last. Reads with the library, without
 * the worker.
 *
 * 	timeline TIMELINE PROFILE
 * 	head DURATION_US PERIOD_NS
 * 	thread PID TID STARTED_US ENDED_US NAME		times or "-"
 * 	event TIME_US KIND PID VALUE NAME
 * 	counter TIME_US PID RSS_BYTES CPU_US
 * 	sample TIME_US TID WEIGHT_NS FUNCTION		the innermost
 */
#include "profile/timeline.h"
#include "base/file.h"
#include "profile/pprof.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES ((size_t)256 << 20)

static int
read_both(char **paths, struct timeline **t, struct profile **p)
{
	CLEANUP_BUF struct buf line = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc = file_read(AT_FDCWD, paths[0], &line);

	if (!rc)
		rc = timeline_decode(line.p, line.len, MAX_BYTES, t);
	if (!rc)
		rc = file_read(AT_FDCWD, paths[1], &bytes);
	if (!rc)
		rc = pprof_decode(bytes.p, bytes.len, MAX_BYTES, p, &why);
	return rc ? rc : timeline_fits(*t, *p);
}

static void
print_time(uint64_t us)
{
	if (us == TIMELINE_UNSEEN)
		printf(" -");
	else
		printf(" %" PRIu64, us);
}

static void
print_threads(const struct timeline *t)
{
	for (uint32_t i = 0; i < t->nthreads; i++) {
		const struct timeline_thread *row = &t->threads[i];

		printf("thread %u %u", row->pid, row->tid);
		print_time(row->started_us);
		print_time(row->ended_us);
		printf(" %s\n", row->name);
	}
}

static void
print_samples(const struct timeline *t, const struct profile *p)
{
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);

	for (uint32_t i = 0; i < t->nsamples; i++) {
		const struct timeline_sample *row = &t->samples[i];
		const struct sample *s = &p->samples[row->sample];

		buf_clear(&name);
		profile_frame_name(p, p->stack[s->stack0], 0, &name);
		printf("sample %" PRIu64 " %u %" PRIu64 " %s\n", row->time_us,
		       t->threads[row->thread].tid, row->weight_ns,
		       buf_str(&name));
	}
}

static void
print_all(const struct timeline *t, const struct profile *p)
{
	printf("head %" PRIu64 " %" PRIu64 "\n", t->duration_us, t->period_ns);
	print_threads(t);
	for (uint32_t i = 0; i < t->nevents; i++)
		printf("event %" PRIu64 " %u %u %" PRIu64 " %s\n",
		       t->events[i].time_us, t->events[i].kind,
		       t->events[i].pid, t->events[i].value, t->events[i].name);
	for (uint32_t i = 0; i < t->ncounters; i++)
		printf("counter %" PRIu64 " %u %" PRIu64 " %" PRIu64 "\n",
		       t->counters[i].time_us, t->counters[i].pid,
		       t->counters[i].rss_bytes, t->counters[i].cpu_us);
	print_samples(t, p);
}

int
main(int argc, char **argv)
{
	CLEANUP_TIMELINE struct timeline *t = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc = argc == 3 ? read_both(argv + 1, &t, &p) : -EINVAL;

	if (rc)
		fprintf(stderr, "timeline: %s\n", strerror(-rc));
	else
		print_all(t, p);
	return rc ? 1 : 0;
}
