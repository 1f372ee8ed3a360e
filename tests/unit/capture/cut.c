/*
 * Captures that are cut into windows, on this kernel.
 */
#include "base/clock.h"
#include "base/ways.h"
#include "capture/process/modules.h"
#include "capture/recorder.h"
#include "lib/here.h"
#include "lib/test.h"

#include "capture/recorder/recorder_private.h"
#include "capture/sampler/sampler_private.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct fixture {
	uint32_t blamed;
	struct recorder *recorder;
	struct capture *capture;
	struct symbols_cache *symbols;
};
#define CLEANUP_FIXTURE CLEANUP(fixture_done)

static void
fixture_done(struct fixture *f)
{
	recorder_free(f->recorder);
	symbols_cache_free(f->symbols);
}

#define TIMELINE_BYTES 4096

/* Returns false if this user may not sample. */
static bool
start_with(struct fixture *f, int32_t pid, enum titles titles)
{
	const struct recorder_conf rc = {
		.ncpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.stack_bytes = 8192,
		.ring_bytes = (size_t)8 << 20,
		.max_nodes = 1 << 16,
		.blame = &f->blamed,
	};
	const struct capture_ask ask = {
		.type = TYPE_cpu,
		.rate = 999,
		.duration_ns = CAPTURE_ENDLESS,
		.titles = titles,
		.pids = &pid,
		.npids = 1,
		.timeline_bytes = TIMELINE_BYTES,
	};
	int err;

	f->symbols = symbols_cache_new((size_t)16 << 20);
	ck_assert_ptr_nonnull(f->symbols);
	ck_assert_int_eq(recorder_new(&here, &rc, &f->recorder), 0);
	err = recorder_start(f->recorder, &ask, &f->capture);
	ck_assert(!err || err == -EPERM || err == -EACCES);
	return !err;
}

static bool
start_on(struct fixture *f, int32_t pid)
{
	return start_with(f, pid, TITLES_NONE);
}

static bool
start(struct fixture *f)
{
	return start_on(f, getpid());
}

static void
burn(int64_t ns)
{
	for (int64_t end = clock_cpu_ns() + ns; clock_cpu_ns() < end;)
		;
}

/* Works until SOME more samples have arrived, which takes longer on a busy
 * CPU. */
#define SOME 30
static void
work(struct fixture *f)
{
	uint64_t enough = capture_samples(f->capture) + SOME;

	while (capture_samples(f->capture) < enough) {
		burn(10 * NS_PER_MS);
		recorder_drain(f->recorder);
		recorder_join(f->recorder);
	}
}

static struct quality
profile_of(const struct fixture *f, const struct capture *c,
           struct profile **out)
{
	CLEANUP_NAMER struct namer *namer = capture_namer(c, &here, f->symbols);
	struct quality q;

	ck_assert(capture_ended(c));
	ck_assert_ptr_nonnull(namer);
	ck_assert_int_eq(capture_profile(c, namer, out, &q, NULL), 0);
	return q;
}

static struct quality
window(struct fixture *f, struct profile **out)
{
	struct capture *cut;
	struct quality q;

	ck_assert_int_eq(capture_cut(f->recorder, f->capture, &cut), 0);
	q = profile_of(f, cut, out);
	capture_free(cut);
	return q;
}

TEST(a_capture_that_is_stopped_and_whose_timeline_is_full_says_so)
{
	CLEANUP_FIXTURE struct fixture f = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	struct quality q;

	if (!start(&f))
		SKIP("this user may not sample");
	while (!f.capture->tape->full)
		work(&f);
	capture_stop(f.capture);
	while (!capture_ended(f.capture))
		recorder_drain(f.recorder);
	q = profile_of(&f, f.capture, &p);
	ck_assert(q.notes & QUALITY_NOTE_OF(STOPPED));
	ck_assert(q.notes & QUALITY_NOTE_OF(TIMELINE_FULL));
}
END

/* Records a fork, as the kernel would. */
static void
start_child(const struct fixture *f, uint32_t parent, uint32_t pid)
{
	const struct record r = {
		.kind = RECORD_FORK,
		.pid = pid,
		.tid = pid,
		.fork = {.ppid = parent, .ptid = parent},
	};

	procs_apply(f->capture->source->procs, &r);
}

TEST(processes_beyond_those_that_are_followed_are_noted)
{
	CLEANUP_FIXTURE struct fixture f = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	uint32_t own = (uint32_t)getpid(), first = UINT32_C(1) << 22;

	if (!start(&f))
		SKIP("this user may not sample");
	/* children would have a copy of their parent's mappings */
	maps_clear(&procs_of_sample(f.capture->source->procs, own)->maps);
	for (uint32_t i = 0; i + 1 < PROCS_MAX; i++)
		start_child(&f, own, first + i);
	ck_assert(!f.capture->quality.notes);
	start_child(&f, own, first + PROCS_MAX);
	ck_assert(window(&f, &p).notes & QUALITY_NOTE_OF(PROCS_FULL));
}
END

TEST(a_young_process_that_executes_a_program_did_not_end_unwatched)
{
	CLEANUP_FIXTURE struct fixture f = {0};
	const uint32_t pid = UINT32_C(1) << 22;
	const struct record end = {.kind = RECORD_EXIT,
	                           .pid = pid,
	                           .tid = pid,
	                           .time_ns = 2},
			    exec = {.kind = RECORD_COMM,
	                            .pid = pid,
	                            .tid = pid,
	                            .time_ns = 3,
	                            .comm = {.name = "a", .exec = true}};
	struct procs *procs;

	if (!start(&f))
		SKIP("this user may not sample");
	procs = f.capture->source->procs;
	start_child(&f, (uint32_t)getpid(), pid);
	procs_of_sample(procs, pid)->begun_ns = 1;
	procs_of_sample(procs, pid)->threads = 2;
	f.capture->source->sampler->ask.kind = SAMPLER_ALLOCS;
	procs_apply(procs, &end);
	ck_assert_uint_eq(f.capture->quality.unwatched_ends, 1);
	procs_apply(procs, &exec);
	f.capture->source->sampler->ask.kind = f.capture->source->kind;
	ck_assert_uint_eq(f.capture->quality.unwatched_ends, 0);
	ck_assert_uint_eq(f.capture->quality.exits, 0);
}
END

TEST(windows_follow_each_other_without_a_gap)
{
	CLEANUP_FIXTURE struct fixture f = {0};
	int64_t end_ns = 0;

	if (!start(&f))
		SKIP("this user may not sample");
	for (int i = 0; i < 3; i++) {
		CLEANUP_PROFILE struct profile *p = NULL;
		struct quality q;

		work(&f);
		q = window(&f, &p);
		ck_assert_int_ge(q.kept, SOME);
		ck_assert_int_ge(q.cpu_ns, SOME * NS_PER_MS);
		ck_assert_int_ge(q.duration_ms, SOME / 2);
		ck_assert_int_eq(q.processes, 1);
		if (i) /* epoch times are cut to milliseconds */
			ck_assert_int_le(llabs(p->time_ns - end_ns),
			                 3 * NS_PER_MS);
		end_ns = p->time_ns + p->duration_ns;
	}
}
END

/* The samples that are drained were taken before the new capture began. */
TEST(a_cut_right_after_the_start_keeps_the_time)
{
	CLEANUP_FIXTURE struct fixture f = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	struct quality q;
	int64_t before = clock_wall_ms(), after;

	if (!start(&f))
		SKIP("this user may not sample");
	recorder_drain(f.recorder);
	q = window(&f, &p);
	after = clock_wall_ms();
	ck_assert_int_ge(q.duration_ms, 0);
	ck_assert_int_le(q.duration_ms, after - before);
	ck_assert_int_ge(capture_start_ms(f.capture), before);
	ck_assert_int_le(capture_start_ms(f.capture), after);
}
END

TEST(a_window_without_work_has_time_but_no_samples)
{
	CLEANUP_FIXTURE struct fixture f = {0};
	CLEANUP_PROFILE struct profile *p = NULL, *empty = NULL;
	struct quality q;

	if (!start(&f))
		SKIP("this user may not sample");
	work(&f);
	q = window(&f, &p);
	q = window(&f, &empty);
	ck_assert_int_eq(q.kept, 0);
	ck_assert_uint_eq(empty->nsamples, 0);
}
END

/* Starts a program that waits until this process closes its pipe, and then
 * works until it is killed. */
static pid_t
child(int *to)
{
	int down[2], up[2];
	pid_t pid;
	char c = 0;

	ck_assert_int_eq(pipe(down) | pipe(up), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* in case the test fails */
		close(down[1]);
		if (write(up[1], "r", 1) != 1 || read(down[0], &c, 1) < 0)
			_exit(1);
		for (;;)
			burn(NS_PER_S);
	}
	close(down[0]);
	close(up[1]);
	ck_assert_int_eq(read(up[0], &c, 1), 1);
	close(up[0]);
	*to = down[1];
	return pid;
}

static void
end(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

TEST(a_process_is_taken_in_while_it_runs)
{
	CLEANUP_FIXTURE struct fixture f = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	struct quality q;
	int to;
	pid_t pid = child(&to);

	if (!start(&f)) {
		end(pid);
		SKIP("this user may not sample");
	}
	ck_assert_int_eq(capture_follow(f.capture, &pid, 1), 0);
	ck_assert_int_eq(capture_follow(f.capture, &pid, 1), 0);
	close(to);
	work(&f);
	end(pid);
	while (!f.capture->quality.exits)
		recorder_drain(f.recorder);
	q = window(&f, &p);
	ck_assert_int_eq(q.processes, 2);
	ck_assert_int_eq(q.exits, 1);
}
END

/* The record of its fork, by a process that nobody follows, is still in a
 * ring. */
TEST(a_process_that_has_just_begun_is_followed)
{
	CLEANUP_FIXTURE struct fixture f = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	int to[2];
	pid_t idle = child(&to[0]), busy;
	struct quality q;

	if (!start_on(&f, idle)) {
		end(idle);
		SKIP("this user may not sample");
	}
	busy = child(&to[1]);
	ck_assert_int_eq(capture_follow(f.capture, &busy, 1), 0);
	recorder_join(f.recorder);
	close(to[1]);
	while (capture_samples(f.capture) < SOME)
		recorder_drain(f.recorder);
	end(busy);
	q = window(&f, &p);
	close(to[0]);
	end(idle);
	ck_assert_int_ge(q.kept, SOME);
}
END

/* Returns the name of a function in a mapping called "[program]", or "". */
static const char *
title_of(const struct profile *p, uint32_t location)
{
	const struct location *l = &p->locations[location];
	const struct mapping *m = &p->mappings[l->mapping];
	const struct line *line = &p->lines[l->line0];

	if (strcmp(profile_text(p, m->file), "[program]") != 0)
		return "";
	return profile_text(p, p->functions[line->function].name);
}

TEST(stacks_of_several_programs_begin_with_whose_they_are)
{
	CLEANUP_FIXTURE struct fixture f = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	struct host_ask ask = {.op = HOST_TITLE, .pid = getpid()};
	struct host_reply reply;

	if (!start_with(&f, getpid(), TITLES_OF_PROCESSES))
		SKIP("this user may not sample");
	ck_assert_int_eq(host_answer(&here, &ask, &reply), 0);
	work(&f);
	window(&f, &p);
	for (uint32_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];

		ck_assert_str_eq(
			title_of(p, p->stack[s->stack0 + s->nstack - 1]),
			reply.text);
	}
}
END

TEST(modules_in_use_stay_and_others_go)
{
	struct modules *m;
	bool in_use[MODULES_MAX] = {false};
	int32_t pid = getpid();
	struct map_seen a = {.start = 0x1000, .end = 0x2000, .path = "[a]"},
			b = {.start = 0x3000, .end = 0x4000, .path = "[b]"};
	struct map one, two, again;

	ck_assert_int_eq(modules_new(&here, &m), 0);
	ck_assert_int_eq(modules_resolve(m, &pid, 1, &a, &one), 0);
	ck_assert_int_eq(modules_resolve(m, &pid, 1, &b, &two), 0);
	in_use[two.module] = true;
	modules_sweep(m, in_use);
	ck_assert_ptr_null(m->rows[one.module]);
	ck_assert_str_eq(m->rows[two.module]->path, "[b]");
	ck_assert_str_eq(m->rows[MODULE_KERNEL]->path, "[kernel]");
	ck_assert_int_eq(modules_resolve(m, &pid, 1, &b, &again), 0);
	ck_assert_uint_eq(again.module, two.module);
	ck_assert_int_eq(modules_resolve(m, &pid, 1, &a, &again), 0);
	ck_assert_uint_eq(again.module, one.module);
	modules_free(m);
}
END

TEST(tidying_takes_nothing_that_samples_need)
{
	CLEANUP_FIXTURE struct fixture f = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	struct quality q;

	if (!start(&f))
		SKIP("this user may not sample");
	work(&f);
	recorder_tidy(f.recorder);
	q = window(&f, &p);
	ck_assert_int_gt(q.symbolized, q.frames / 2);
	recorder_tidy(f.recorder);
	work(&f);
	profile_free(TAKE(p));
	q = window(&f, &p);
	ck_assert_int_gt(q.symbolized, q.frames / 2);
}
END

TEST(the_recorder_samples_every_type_that_a_way_has_it_for)
{
	CLEANUP_FIXTURE struct fixture f = {0};
	const struct recorder_conf conf = {.ncpus = 1,
	                                   .stack_bytes = 8192,
	                                   .ring_bytes = 1 << 20,
	                                   .max_nodes = 1 << 10,
	                                   .blame = &f.blamed};
	struct capture_ask ask = {.rate = 99, .duration_ns = NS_PER_S};

	ck_assert_int_eq(recorder_new(&here, &conf, &f.recorder), 0);
	for (size_t i = 0; i < WAYS; i++) {
		ask.type = type_id(type_find(way_rows[i].type));
		if (way_rows[i].engine == ENGINE_RECORDER)
			ck_assert_msg(recorder_start(f.recorder, &ask,
			                             &f.capture) != -EINVAL,
			              "%s is not sampled", way_rows[i].type);
	}
	ask.type = TYPE_goroutine;
	ck_assert_int_eq(recorder_start(f.recorder, &ask, &f.capture), -EINVAL);
}
END

/* A host on which it takes a while to read what a process has mapped. */
#define MAPS_NS (10 * NS_PER_MS)
static unsigned maps_read;

static int
ask_slowly(void *arg, const struct host_ask *ask, struct host_reply *reply,
           int fds[HOST_MAX_FDS], size_t *nfds)
{
	const int64_t end = clock_mono_ns() + MAPS_NS;

	if (ask->op == HOST_MAPS) {
		maps_read++;
		while (clock_mono_ns() < end)
			;
	}
	return host_ask_here(arg, ask, reply, fds, nfds);
}

#define MANY 20
TEST(records_are_read_while_a_capture_follows_many_processes)
{
	const struct host slow = {.ask = ask_slowly, .arg = here.arg};
	CLEANUP_FIXTURE struct fixture f = {0};
	struct capture_ask ask = {.slot = 1,
	                          .type = TYPE_cpu,
	                          .rate = 999,
	                          .duration_ns = CAPTURE_ENDLESS,
	                          .npids = MANY};
	struct capture *many;
	int32_t pids[MANY];
	int to[MANY];
	unsigned before, drains = 0;

	for (size_t i = 0; i < MANY; i++)
		pids[i] = child(&to[i]);
	ask.pids = pids;
	if (!start(&f)) {
		for (size_t i = 0; i < MANY; i++)
			end(pids[i]);
		SKIP("this user may not sample");
	}
	f.recorder->host = f.recorder->modules->host = &slow;
	ck_assert_int_eq(recorder_start(f.recorder, &ask, &many), 0);
	while (!capture_elapsed_ns(many)) {
		ck_assert_int_eq(capture_failed(many), 0);
		ck_assert_uint_eq(recorder_patience_ms(f.recorder), 0);
		before = maps_read;
		recorder_drain(f.recorder);
		recorder_join(f.recorder);
		ck_assert_uint_le(maps_read - before, 6);
		drains++;
	}
	ck_assert_uint_ge(drains, 3);
	ck_assert_uint_eq(maps_read, MANY);
	ck_assert_int_eq(many->quality.processes, MANY);
	work(&f);
	for (size_t i = 0; i < MANY; i++) {
		close(to[i]);
		end(pids[i]);
	}
}
END

SUITE("cut");
