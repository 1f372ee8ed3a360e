/*
 * The sampler against this kernel: rings, records, the filter.
 */
#include "capture/sampler/sampler.h"

#include "base/clock.h"
#include "capture/quality.h"
#include "capture/recorder/rate.h"
#include "capture/sampler/ring.h"
#include "lib/here.h"
#include "lib/test.h"

#include "capture/sampler/sampler_private.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#define PERIOD rate_period_ns(1000)

static int
open_sampler(struct sampler **out)
{
	struct sampler_ask ask = {
		.period_ns = PERIOD,
		.ncpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.stack_bytes = 8192,
		.ring_bytes = (size_t)4 << 20,
	};

	return sampler_open(&here, &ask, out);
}

static void
burn(int64_t ns)
{
	for (int64_t end = clock_cpu_ns() + ns; clock_cpu_ns() < end;)
		;
}

struct seen {
	uint32_t pid; /* the process to count */
	uint64_t samples, weight, whole, forks, exits, backwards;
	uint64_t all, lost; /* of all processes */
	uint64_t last_ns;
};

static void
look(void *arg, const struct record *r)
{
	struct seen *s = arg;

	/* A fork or exit is given its time before its record is written, so a
	 * sample may come between. */
	if (r->kind == RECORD_SAMPLE) {
		s->backwards += r->time_ns < s->last_ns;
		s->last_ns = r->time_ns;
	}
	s->all += r->kind == RECORD_SAMPLE;
	if (r->kind == RECORD_LOST)
		s->lost += r->lost;
	if (r->kind == RECORD_FORK && r->fork.ppid == s->pid)
		s->forks++;
	if (r->kind == RECORD_EXIT && r->fork.ppid == s->pid)
		s->exits++;
	if (r->kind != RECORD_SAMPLE || r->pid != s->pid)
		return;
	s->samples++;
	s->weight += r->sample.amount.value;
	s->whole += r->sample.has_user && r->sample.stack_len >= 256;
}

static struct seen
drain(struct sampler *s)
{
	struct seen seen = {.pid = (uint32_t)getpid()};

	sampler_drain(s, UINT64_MAX, look, &seen);
	return seen;
}

/* Works until this many samples have arrived, which takes longer on a busy
 * CPU. */
static struct seen
work_for(struct sampler *s, uint64_t samples)
{
	struct seen all = {.pid = (uint32_t)getpid()};

	while (all.samples < samples) {
		burn(10 * NS_PER_MS);
		all.last_ns = 0; /* a drain is in order of time */
		sampler_drain(s, UINT64_MAX, look, &all);
	}
	return all;
}

/*
 * Upper bound of the samples that the time allows if none is counted twice.
 * Time that a hypervisor takes is sampled, too, and is not CPU time.
 */
static uint64_t
most(int64_t since_ns, uint64_t period)
{
	uint64_t n = (uint64_t)(clock_mono_ns() - since_ns) / period;

	return n + n / 4 + 10;
}

/* Returns why a sampler could not be opened here; NULL for other errors. */
static const char *
refused(int rc)
{
	return rc == -EPERM || rc == -EACCES ? "this user may not sample"
	                                     : NULL;
}

TEST(work_is_sampled_with_registers_and_stack)
{
	struct sampler *s;
	struct seen seen;
	int64_t start = clock_mono_ns();
	int rc = open_sampler(&s);

	SKIP_FOR(refused(rc));
	ck_assert_int_eq(rc, 0);
	seen = work_for(s, 50);
	sampler_close(s);
	ck_assert_uint_le(seen.samples, most(start, PERIOD));
	ck_assert_uint_eq(seen.whole, seen.samples);
	ck_assert_uint_eq(seen.backwards, 0);
}
END

/* Opens a sampler whose filter writes samples. Returns false if it cannot. */
static bool
open_writing(struct sampler **out)
{
	int rc = open_sampler(out);

	if (refused(rc))
		return false;
	ck_assert_int_eq(rc, 0);
	if ((*out)->nstreams > (*out)->n)
		return true;
	sampler_close(*out);
	return false;
}

struct within {
	uint64_t above; /* an address in the stack of thread tid */
	uint32_t tid;
	uint64_t samples, whole, cut;
};

static void
look_within(void *arg, const struct record *r)
{
	struct within *w = arg;
	uint64_t sp;

	if (r->kind != RECORD_SAMPLE || r->tid != w->tid || !w->above)
		return;
	sp = r->sample.regs[EVENT_SP];
	w->samples++;
	w->cut += r->sample.stack_cut;
	w->whole += sp < w->above && w->above < sp + r->sample.stack_len;
}

static struct sampler *within_of;

static void *
work_within(void *arg)
{
	struct within *w = arg;
	volatile uint64_t outermost = 0;

	w->tid = (uint32_t)gettid();
	w->above = (uint64_t)(uintptr_t)&outermost;
	while (w->samples < 25) {
		burn(10 * NS_PER_MS);
		sampler_drain(within_of, UINT64_MAX, look_within, w);
	}
	return NULL;
}

/* A dump of 8 KB would reach far beyond the first frame of a program and, in a
 * thread of this size, into memory above its stack. */
TEST(a_sample_has_what_is_in_use_of_a_stack)
{
	struct within first = {0}, second = {0};
	pthread_t thread;

	if (!open_writing(&within_of))
		SKIP("this kernel or user has no filter that writes samples");
	ck_assert_int_eq(pthread_create(&thread, NULL, work_within, &second),
	                 0);
	pthread_join(thread, NULL);
	work_within(&first);
	sampler_close(within_of);
	ck_assert_uint_eq(first.whole, first.samples);
	ck_assert_uint_eq(second.whole, second.samples);
	/* Some may have been left to perf, if the rings were full. */
	ck_assert_uint_lt(second.cut * 2, second.samples);
}
END

static struct perf_event_mmap_page *
page_of(const struct sampler *s, uint32_t i)
{
	return s->streams[s->n + i].ring.page;
}

/* Makes a filter's rings appear to hold this many unread bytes; 0: as many as
 * there are. */
static void
fill_rings(const struct sampler *s, uint64_t bytes)
{
	for (uint32_t i = 0; i < s->n; i++)
		page_of(s, i)->data_tail =
			bytes ? page_of(s, i)->data_head - bytes
			      : s->streams[s->n + i].ring.tail;
}

TEST(samples_for_which_a_ring_has_no_room_are_left_to_perf)
{
	struct sampler *s;
	struct seen seen;
	uint64_t size;

	if (!open_writing(&s))
		SKIP("this kernel or user has no filter that writes samples");
	work_for(s, 10);
	size = s->streams[s->n].ring.size;
	fill_rings(s, size);
	drain(s);
	seen = work_for(s, 10);
	ck_assert_uint_eq(seen.whole, seen.samples);
	for (uint32_t i = 0; i < s->n; i++)
		ck_assert_uint_eq(page_of(s, i)->data_head,
		                  s->streams[s->n + i].ring.tail);
	fill_rings(s, 0);
	seen = work_for(s, 10);
	ck_assert_uint_eq(seen.whole, seen.samples);
	ck_assert_uint_eq(seen.lost, 0);
	sampler_close(s);
}
END

TEST(a_ring_that_gets_half_full_wakes_its_reader)
{
	struct pollfd fds[1];
	struct sampler *s;

	if (!open_writing(&s))
		SKIP("this kernel or user has no filter that writes samples");
	work_for(s, 10);
	ck_assert_uint_eq(sampler_poll(s, fds, 1), 1);
	ck_assert_int_eq(poll(fds, 1, 0), 0);
	do {
		fill_rings(s, s->streams[s->n].ring.size / 2 - 64);
		burn(5 * NS_PER_MS);
	} while (poll(fds, 1, 0) == 0);
	drain(s);
	ck_assert_int_eq(poll(fds, 1, 0), 0);
	sampler_close(s);
}
END

TEST(a_denied_process_is_not_sampled_until_it_passes)
{
	struct sampler *s;
	struct seen denied, passed;
	int rc = open_sampler(&s);

	SKIP_FOR(refused(rc));
	ck_assert_int_eq(rc, 0);
	if (sampler_notes(s) & QUALITY_NOTE_OF(NO_BPF)) {
		sampler_close(s);
		SKIP("this kernel or user has no BPF filter");
	}
	sampler_deny(s, (uint32_t)getpid());
	drain(s);
	burn(100 * NS_PER_MS);
	denied = drain(s);
	sampler_pass(s, (uint32_t)getpid());
	passed = work_for(s, 25);
	sampler_close(s);
	ck_assert_uint_eq(denied.samples, 0);
	ck_assert_uint_ge(passed.samples, 25);
}
END

TEST(a_filter_serves_the_next_sampler_as_a_new_one)
{
	struct sampler_filter *kept = NULL, *first;
	struct sampler_ask ask = {
		.period_ns = rate_period_ns(1000),
		.ncpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.stack_bytes = 8192,
		.ring_bytes = (size_t)16 << 20,
		.kept = &kept,
	};
	struct sampler *s;
	struct seen seen;
	int rc = sampler_open(&here, &ask, &s);

	SKIP_FOR(refused(rc));
	ck_assert_int_eq(rc, 0);
	sampler_deny(s, (uint32_t)getpid());
	sampler_close(s);
	if (!kept)
		SKIP("this kernel or user has no BPF filter");
	first = kept;
	ck_assert_int_eq(sampler_open(&here, &ask, &s), 0);
	ck_assert_ptr_null(kept);
	seen = work_for(s, 25); /* denied no longer */
	sampler_close(s);
	ck_assert_uint_ge(seen.samples, 25);
	ck_assert_ptr_eq(kept, first);
	ask.period_ns *= 20;
	ck_assert_int_eq(sampler_open(&here, &ask, &s), 0);
	ck_assert_ptr_eq(kept, first); /* the kept one's rings are larger */
	sampler_close(s);
	sampler_filter_free(kept);
}
END

TEST(deeper_dumps_miss_and_double_nothing)
{
	struct sampler *s;
	struct seen before, after;
	int64_t start = clock_mono_ns();
	int rc = open_sampler(&s);

	SKIP_FOR(refused(rc));
	ck_assert_int_eq(rc, 0);
	before = work_for(s, 25);
	rc = sampler_deepen(s, &here, 16384);
	if (rc == -ENOBUFS) {
		sampler_close(s);
		SKIP("this user may not lock that much memory");
	}
	ck_assert_int_eq(rc, 0);
	after = work_for(s, 25);
	ck_assert_uint_le(before.samples + after.samples, most(start, PERIOD));
	ck_assert_uint_eq(before.backwards + after.backwards, 0);
	ck_assert_uint_eq(sampler_asked(s)->stack_bytes, 16384);
	sampler_close(s);
}
END

TEST(deeper_dumps_than_the_rings_hold_are_refused)
{
	struct sampler *s;
	struct sampler_ask ask = {
		.period_ns = PERIOD,
		.ncpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.stack_bytes = 2048,
		.ring_bytes = RING_MIN_BYTES,
	};
	int rc = sampler_open(&here, &ask, &s);

	SKIP_FOR(refused(rc));
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(sampler_deepen(s, &here, 4096), -ENOBUFS);
	ck_assert_uint_eq(sampler_asked(s)->stack_bytes, 2048);
	work_for(s, 5); /* sampling goes on */
	sampler_close(s);
}
END

static int
open_of(size_t ring_bytes, uint32_t stack_bytes, struct sampler **out)
{
	struct sampler_ask ask = {
		.period_ns = PERIOD,
		.ncpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.stack_bytes = stack_bytes,
		.ring_bytes = ring_bytes,
	};

	return sampler_open(&here, &ask, out);
}

/* The kernel's count of all events of a sampler. */
static uint64_t
kernel_count(const struct sampler *s)
{
	uint64_t sum = 0, pair[2];

	for (uint32_t i = 0; i < s->n + s->nevents; i++) {
		int fd = i < s->n ? s->streams[i].ring.fd : s->events[i - s->n];

		if (read(fd, pair, sizeof(pair)) != sizeof(pair))
			return UINT64_MAX;
		sum += pair[1];
	}
	return sum;
}

/* A ring that holds only one sample, and that nobody reads. A roomy sampler
 * beside it counts what should have arrived. */
TEST(what_is_lost_is_told_to_the_last)
{
	struct seen seen = {0}, beside;
	struct sampler *s, *roomy;
	int rc = open_of(RING_MIN_BYTES, 65528, &s);

	SKIP_FOR(refused(rc));
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(open_of((size_t)16 << 20, 1024, &roomy), 0);
	beside = work_for(roomy, 100);
	sampler_stop(roomy);
	sampler_stop(s);
	sampler_close(roomy);
	if (kernel_count(s) == UINT64_MAX) {
		sampler_close(s);
		SKIP("this kernel does not count what was lost");
	}
	sampler_report_lost(s, 1, look, &seen); /* before its records */
	sampler_drain(s, UINT64_MAX, look, &seen);
	ck_assert_uint_eq(seen.lost, kernel_count(s));
	ck_assert_uint_gt(seen.lost, seen.all);
	sampler_report_lost(s, 1, look, &seen);
	ck_assert_uint_eq(seen.lost, kernel_count(s));
	ck_assert_uint_ge(seen.all + seen.lost, beside.all * 9 / 10);
	sampler_close(s);
}
END

TEST(fewer_samples_weigh_more)
{
	struct sampler *s;
	struct seen seen;
	int rc = open_sampler(&s);
	uint64_t slow = 4 * PERIOD;
	int64_t start;

	SKIP_FOR(refused(rc));
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(sampler_slow(s, slow), 0);
	start = clock_mono_ns();
	drain(s); /* samples that were taken before */
	seen = work_for(s, 25);
	sampler_close(s);
	ck_assert_uint_le(seen.samples, most(start, slow));
	ck_assert_uint_eq(seen.weight, seen.samples * slow);
}
END

TEST(samples_from_before_the_rate_fell_weigh_as_before)
{
	struct seen seen = {.pid = (uint32_t)getpid()};
	struct sampler *s;
	int64_t start;
	int rc = open_sampler(&s);

	SKIP_FOR(refused(rc));
	ck_assert_int_eq(rc, 0);
	start = clock_mono_ns();
	burn(50 * NS_PER_MS);
	sampler_stop(s);
	ck_assert_int_eq(sampler_slow(s, 4 * PERIOD), 0);
	sampler_drain(s, UINT64_MAX, look, &seen);
	sampler_close(s);
	ck_assert_uint_gt(seen.samples, 0);
	ck_assert_uint_le(seen.samples, most(start, PERIOD));
	ck_assert_uint_eq(seen.weight, seen.samples * PERIOD);
}
END

TEST(samples_from_between_two_falls_of_the_rate_weigh_as_after_the_first)
{
	struct seen seen = {.pid = (uint32_t)getpid()};
	struct sampler *s;
	int64_t start;
	int rc = open_sampler(&s);

	SKIP_FOR(refused(rc));
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(sampler_slow(s, 4 * PERIOD), 0);
	start = clock_mono_ns();
	drain(s); /* samples that were taken before */
	burn(100 * NS_PER_MS);
	sampler_stop(s);
	ck_assert_int_eq(sampler_slow(s, 16 * PERIOD), 0);
	sampler_drain(s, UINT64_MAX, look, &seen);
	sampler_close(s);
	ck_assert_uint_gt(seen.samples, 0);
	ck_assert_uint_le(seen.samples, most(start, 4 * PERIOD));
	ck_assert_uint_eq(seen.weight, seen.samples * 4 * PERIOD);
}
END

TEST(interpreter_frames_behind_an_event_are_taken_only_whole)
{
	static struct interp_table table;
	struct sampler_emitter emitter = {.interp.table = &table};
	struct sampler s = {.emitter = &emitter};
	struct interp_stack sent = {.tid = 7, .n = 3, .frames[2].code = 42};
	const size_t head = offsetof(struct interp_stack, frames);
	const size_t whole = head + 3 * sizeof(*sent.frames);
	struct record r = {.sample.behind = (const uint8_t *)&sent,
	                   .sample.behind_len = whole};
	const struct interp_stack *got = interp_of_sample(&s, &r);

	ck_assert_ptr_nonnull(got);
	ck_assert_uint_eq(got->n, 3);
	ck_assert_uint_eq(got->frames[2].code, 42);
	r.sample.behind_len = whole - 1;
	ck_assert_ptr_null(interp_of_sample(&s, &r));
	r.sample.behind_len = head - 1;
	ck_assert_ptr_null(interp_of_sample(&s, &r));
	sent.n = INTERP_MAX_FRAMES + 1;
	r.sample.behind_len = SIZE_MAX;
	ck_assert_ptr_null(interp_of_sample(&s, &r));
}
END

TEST(children_are_told_of)
{
	struct sampler *s;
	struct seen seen;
	int rc = open_sampler(&s);
	pid_t pid;

	SKIP_FOR(refused(rc));
	ck_assert_int_eq(rc, 0);
	pid = fork();
	if (pid == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	seen = drain(s);
	sampler_close(s);
	ck_assert_uint_eq(seen.forks, 1);
	ck_assert_uint_eq(seen.exits, 1);
}
END

TEST(only_elf_leaves_the_opener)
{
	static const char *const paths[] = {"/etc/passwd", "/dev/null", "/tmp",
	                                    "/no/such"};
	struct host_ask ask = {.op = HOST_FILE, .pid = getpid()};
	int fd = -1;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		strcpy(ask.path, paths[i]);
		ck_assert_int_lt(host_fd(&here, &ask, &fd), 0);
	}
	ask.op = HOST_MEMORY;
	ask.address = (uintptr_t)paths;
	ask.size = sizeof(paths);
	ck_assert_int_eq(host_fd(&here, &ask, &fd), -ENOEXEC);
	ask.op = HOST_EXE;
	ck_assert_int_eq(host_fd(&here, &ask, &fd), 0);
	close(fd);
}
END

TEST(a_stack_leaves_the_opener_above_what_is_known)
{
	uint8_t stack[2 * HOST_EXPECT];
	struct host_ask ask = {
		.op = HOST_STACK,
		.pid = getpid(),
		.address = (uintptr_t)stack + HOST_EXPECT,
		.size = HOST_EXPECT,
	};
	uint8_t got[HOST_EXPECT];
	int fd = -1;

	memset(stack, 1, HOST_EXPECT);
	memset(stack + HOST_EXPECT, 2, HOST_EXPECT);
	ck_assert_int_eq(host_fd(&here, &ask, &fd), -ESTALE);
	memset(ask.expect, 1, sizeof(ask.expect));
	ck_assert_int_eq(host_fd(&here, &ask, &fd), 0);
	ck_assert_int_eq(pread(fd, got, sizeof(got), 0), sizeof(got));
	ck_assert_mem_eq(got, stack + HOST_EXPECT, sizeof(got));
	close(fd);
}
END

TEST(nonsense_is_refused_by_the_opener)
{
	static const struct host_ask asks[] = {
		{.op = HOST_NONE},
		{.op = HOST_OPS},
		{.op = UINT32_MAX},
		{.op = HOST_MAPS, .pid = 0},
		{.op = HOST_MAPS, .pid = -1},
		{.op = HOST_FILE, .pid = -1},
		{.op = HOST_EXE, .pid = 0},
		{.op = HOST_MEMORY, .pid = 1, .size = 0},
		{.op = HOST_MEMORY, .pid = 1, .size = HOST_MAX_MEMORY + 1},
		{.op = HOST_DEBUG, .size = HOST_BUILD_ID + 1},
		{.op = HOST_EVENT, .period_ns = 1, .stack_bytes = 8192},
		{.op = HOST_EVENT, .period_ns = 1000000, .stack_bytes = 65536},
		{.op = HOST_RING, .pid = 1},
		{.op = HOST_TASK_EVENT,
	         .pid = -1,
	         .period_ns = 1000000,
	         .stack_bytes = 8192},
		{.op = HOST_TASK_EVENT, .period_ns = 1000000},
		{.op = HOST_TASKS, .pid = 0},
		{.op = HOST_TASKS, .pid = -1},
		{.op = HOST_STACK, .pid = 1, .size = 0},
		{.op = HOST_STACK, .pid = 1, .size = HOST_MAX_MEMORY},
	};
	int fd = -1;

	for (size_t i = 0; i < ARRAY_LEN(asks); i++)
		ck_assert_msg(host_fd(&here, &asks[i], &fd) == -EINVAL, "%zu",
		              i);
}
END

SUITE("sampler");
