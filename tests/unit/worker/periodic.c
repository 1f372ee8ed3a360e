/* Counters that are read from outside, one window after another. The test plays
 * the analyser and the clock. */
#include "worker/continuous/periodic.h"

#include "base/clock.h"
#include "base/file.h"
#include "capture/buckets.h"
#include "lib/store.h"
#include "store/continuous.h"
#include "store/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define PERIOD_NS (60 * NS_PER_S)

struct rig {
	struct test_store store;
	struct conf conf;
	struct runs runs;
	struct watches watches;
	struct targets targets;
	struct periodics t;
	int analyser, opener;
	int64_t now_ns;
	struct msg_start heard;
	int profile, reading; /* of the last START; -1: none */
};
#define CLEANUP_RIG CLEANUP(rig_done)

static void
enable(struct rig *r, const char *tenant, const char *types)
{
	struct service v = test_no_match(tenant, "go");
	struct continuous c = {.tenant = (char *)tenant,
	                       .service = "go",
	                       .types = (char *)types,
	                       .created_by = "test",
	                       .sample_rate = 19,
	                       .retention_days = 1,
	                       .enabled = 1};

	v.kind = "go";
	v.match_kind = "exe";
	v.match_value = "/none";
	ck_assert_int_eq(service_add(&r->store.s, &v), 0);
	ck_assert_int_eq(continuous_put(&r->store.s, &c), 0);
	ck_assert_int_eq(targets_load(&r->targets, &r->store.s), 0);
	ck_assert_int_eq(periodics_load(&r->t, &r->targets), 0);
}

static void
allow(struct rig *r, const char *what)
{
	CLEANUP_SERVICE struct service v = {0};

	ck_assert_int_eq(service_get(&r->store.s, TEST_TENANT, "go", &v), 0);
	free(v.allow);
	v.allow = strdup(what);
	ck_assert_int_eq(service_replace(&r->store.s, &v), 0);
	ck_assert_int_eq(periodics_load(&r->t, &r->targets), 0);
}

static void
rig_init(struct rig *r, const char *types)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int pair[2], events[2];

	*r = (struct rig){.store = test_store(),
	                  .watches = WATCHES_INIT,
	                  .now_ns = clock_mono_ns(),
	                  .profile = -1,
	                  .reading = -1};
	ck_assert_int_eq(conf_parse("test", "", &r->conf, &why), 0);
	ck_assert_int_eq(msg_pair(pair), 0);
	ck_assert_int_eq(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(msg_pair(events), 0);
	ck_assert_int_eq(fcntl(events[0], F_SETFL, O_NONBLOCK), 0);
	r->opener = events[0];
	r->watches.events = events[1];
	r->analyser = pair[0];
	r->runs = (struct runs){.store = &r->store.s,
	                        .conf = &r->conf,
	                        .analyser = pair[1],
	                        .fetcher = -1,
	                        .max = 8};
	r->watches.store = &r->store.s;
	r->watches.conf = &r->conf;
	r->watches.host = r->targets.host = TEST_HOST;
	r->watches.state = CONTINUOUS_HOST_RUNNING;
	r->t = (struct periodics){.runs = &r->runs,
	                          .watches = &r->watches,
	                          .scanned_ns = &r->now_ns};
	enable(r, TEST_TENANT, types);
}

static void
forget_heard(struct rig *r)
{
	close_ptr(&r->profile);
	close_ptr(&r->reading);
}

static void
rig_done(struct rig *r)
{
	forget_heard(r);
	periodics_done(&r->t);
	close(r->watches.events);
	close(r->opener);
	watches_done(&r->watches);
	targets_done(&r->targets);
	runs_done(&r->runs);
	close(r->analyser);
	conf_done(&r->conf);
	test_store_done(&r->store);
}

/* Returns whether the analyser was asked for something just now. */
static bool
hear(struct rig *r)
{
	int fds[] = {-1, -1};
	size_t nfds = ARRAY_LEN(fds);
	ssize_t n =
		msg_recv(r->analyser, &r->heard, sizeof(r->heard), fds, &nfds);

	if (n == -EAGAIN)
		return false;
	ck_assert_int_eq(n, sizeof(r->heard));
	ck_assert(r->heard.type == MSG_START || r->heard.type == MSG_GROW);
	forget_heard(r);
	r->profile = fds[0];
	r->reading = fds[1];
	return true;
}

static bool
turn(struct rig *r, int64_t ns)
{
	r->now_ns += ns;
	periodics_step(&r->t, &r->targets, r->now_ns);
	return hear(r);
}

static void
run(struct rig *r, int32_t pid)
{
	struct target *v = targets_find(&r->targets, TEST_TENANT, "go");

	free(v->members);
	v->members = calloc(1, sizeof(*v->members));
	v->members[0].pid = pid;
	v->nmembers = pid != 0;
	v->stamp = (uint64_t)pid + 1;
}

/* Answers the request with a reading of equal bytes. */
static void
done_with(struct rig *r, int64_t value, int64_t processes, char fill,
          size_t bytes)
{
	CLEANUP_BUF struct buf b = BUF_INIT(READING_MAX_BYTES * 2);
	struct msg_done m = {.type = MSG_DONE,
	                     .start_ms = clock_wall_ms() - 60000,
	                     .value = value,
	                     .quality = {.kept = 5,
	                                 .duration_ms = 60000,
	                                 .processes = processes}};
	int fds[] = {-1, memfd_create("reading", MFD_CLOEXEC)};
	char *p = buf_reserve(&b, bytes);

	memcpy(m.id, r->heard.id, sizeof(m.id));
	memset(p, fill, bytes);
	ck_assert_int_eq(fd_write_all(fds[1], p, bytes), 0);
	ck_assert(periodics_done_one(&r->t, &m, fds, r->now_ns));
	ck_assert_int_eq(fds[1], -1); /* the analyser's file was taken */
}

static void
done(struct rig *r, int64_t processes, char fill, size_t bytes)
{
	done_with(r, 5, processes, fill, bytes);
}

static void
failed(struct rig *r, enum capture_error e)
{
	struct msg_done m = {.type = MSG_DONE, .error = e};
	int fds[] = {-1, -1};

	memcpy(m.id, r->heard.id, sizeof(m.id));
	ck_assert(periodics_done_one(&r->t, &m, fds, r->now_ns));
}

/* Returns the first byte of the last START's reading; 0 if it has none. */
static char
reading(const struct rig *r)
{
	char c = 0;

	if (r->reading >= 0)
		ck_assert_int_eq(pread(r->reading, &c, 1, 0), 1);
	return c;
}

static void
counts_are(const struct rig *r, int64_t stored, int64_t widened, int64_t gaps)
{
	ck_assert_int_eq(r->watches.counts.stored, stored);
	ck_assert_int_eq(r->watches.counts.widened, widened);
	ck_assert_int_eq(r->watches.counts.gaps, gaps);
}

/* Begins after the service's own second of the period, for which the first
 * reading does not wait. */
static void
read_first(struct rig *r, char fill)
{
	run(r, 1000);
	ck_assert(turn(r, 0));
	done(r, 0, fill, 100);
}

TEST(a_counter_is_read_at_once_and_then_compared)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"alloc\"]");
	run(&r, 1000);
	ck_assert(turn(&r, 0));
	ck_assert_uint_eq(r.heard.type, MSG_GROW);
	ck_assert_uint_eq(r.heard.ways, UINT64_C(1) << WAY_alloc_go_BUCKETS);
	ck_assert_int_eq(r.heard.pids[0], 1000);
	ck_assert_int_eq(r.reading, -1);
	done(&r, 0, 'a', 100);
	counts_are(&r, 0, 0, 0);

	ck_assert(turn(&r, PERIOD_NS));
	ck_assert_int_eq(reading(&r), 'a');
	done(&r, 1, 'b', 100);
	ck_assert(turn(&r, PERIOD_NS)); /* this stores it, too */
	ck_assert_int_eq(reading(&r), 'b');
	counts_are(&r, 1, 0, 0);
	ck_assert(!turn(&r, 0));
}
END

TEST(a_window_in_which_nothing_happened_is_stored)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"mutex\"]");
	read_first(&r, 'a');
	ck_assert(turn(&r, PERIOD_NS));
	done_with(&r, 0, 1, 'b', 100);
	ck_assert(turn(&r, PERIOD_NS));
	ck_assert_int_eq(reading(&r), 'b');
	counts_are(&r, 1, 0, 0);
}
END

TEST(nothing_is_held_between_readings)
{
	CLEANUP_RIG struct rig r;
	size_t n = 0;

	rig_init(&r, "[\"alloc\",\"block\",\"mutex\"]");
	run(&r, 1000);
	r.conf.continuous_at_once = 1; /* of three services */
	for (bool more = turn(&r, 0); more; more = turn(&r, 0)) {
		done(&r, 0, 'a', 100);
		n++;
	}
	ck_assert_uint_eq(n, 3);
}
END

TEST(a_turn_that_fails_makes_a_wider_window_and_no_gap)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"mutex\"]");
	read_first(&r, 'a');
	ck_assert(turn(&r, PERIOD_NS));
	failed(&r, CAPTURE_NO_MEMORY);
	counts_are(&r, 0, 1, 0);
	ck_assert(turn(&r, PERIOD_NS));
	ck_assert_int_eq(reading(&r), 'a');
	periodics_analyser_gone(&r.t, r.now_ns);
	counts_are(&r, 0, 2, 0);
	ck_assert(turn(&r, PERIOD_NS));
	ck_assert_int_eq(reading(&r), 'a');
	done(&r, 1, 'b', 100);
	turn(&r, 0);
	counts_are(&r, 1, 2, 0);
}
END

TEST(turns_that_come_late_make_a_wider_window)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"block\"]");
	read_first(&r, 'a');
	r.runs.max = 0; /* captures on demand have priority */
	ck_assert(!turn(&r, 4 * PERIOD_NS));
	r.runs.max = 8;
	ck_assert(turn(&r, 0));
	ck_assert_int_eq(reading(&r), 'a');
	ck_assert_int_eq(r.watches.counts.gaps, 0);
	ck_assert_int_ge(r.watches.counts.widened, 3);
}
END

TEST(a_first_reading_that_fails_is_a_gap)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"block\"]");
	run(&r, 1000);
	ck_assert(turn(&r, 0));
	failed(&r, CAPTURE_GO_NO_EVENTS);
	counts_are(&r, 0, 0, 1);
	ck_assert(turn(&r, PERIOD_NS));
	ck_assert_int_eq(r.reading, -1);
}
END

TEST(an_old_reading_is_forgotten_and_told)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"alloc\"]");
	read_first(&r, 'a');
	r.watches.state = CONTINUOUS_HOST_REFUSED; /* the disk is full */
	ck_assert(!turn(&r, 3600 * NS_PER_S));
	r.watches.state = CONTINUOUS_HOST_RUNNING;
	ck_assert(turn(&r, 0));
	ck_assert_int_eq(r.reading, -1);
	ck_assert_int_ge(r.watches.counts.gaps, 60);
}
END

/* A process that starts later counts from its start, so a reading without
 * processes is a base, too. */
TEST(a_service_that_does_not_run_has_a_reading_of_nobody)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"alloc\"]");
	ck_assert(!turn(&r, 0));
	run(&r, 1000);
	ck_assert(turn(&r, PERIOD_NS));
	ck_assert_int_ge(r.reading, 0);
	done(&r, 1, 'a', 100);
	run(&r, 0);
	ck_assert(!turn(&r, PERIOD_NS));
	run(&r, 1001);
	ck_assert(turn(&r, PERIOD_NS));
	ck_assert_int_ne(reading(&r), 'a');
	counts_are(&r, 1, 0, 0);
}
END

TEST(processes_that_nobody_knew_are_a_gap)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"alloc\"]");
	read_first(&r, 'a');
	ck_assert(turn(&r, PERIOD_NS));
	done(&r, 0, 'b', 100);
	counts_are(&r, 0, 0, 1);
	ck_assert(turn(&r, PERIOD_NS));
	ck_assert_int_eq(reading(&r), 'b');
}
END

TEST(a_reading_that_is_too_large_is_told)
{
	CLEANUP_CONTINUOUS_PROBLEMS struct continuous_problem_list p = {0};
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"alloc\"]");
	run(&r, 1000);
	ck_assert(turn(&r, 0));
	done(&r, 0, 'a', READING_MAX_BYTES + 1);
	ck_assert_int_eq(
		continuous_problem_list(&r.store.s, TEST_TENANT, "go", &p), 0);
	ck_assert_uint_eq(p.n, 1);
	ck_assert_str_eq(p.items[0].code, "WorkerLimit");
	ck_assert(!turn(&r, PERIOD_NS)); /* it will not shrink soon */
	ck_assert(turn(&r, 10 * PERIOD_NS));
	ck_assert_int_eq(r.reading, -1);
}
END

/* The sum of all readings is limited as well. */
TEST(all_readings_have_a_ceiling)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"alloc\",\"block\",\"mutex\"]");
	run(&r, 1000);
	ck_assert(turn(&r, 0));
	done(&r, 0, 'a', 100);
	for (size_t i = 0; i < r.t.n; i++)
		if (r.t.items[i].reading >= 0) /* as if others had so much */
			r.t.items[i].reading_bytes = PERIODICS_READINGS_BYTES -
			                             50;
	ck_assert(turn(&r, 0));
	done(&r, 0, 'b', 50);
	ck_assert_int_eq(r.watches.counts.gaps, 0);
	ck_assert(turn(&r, 0));
	done(&r, 0, 'c', 1);
	ck_assert_int_eq(r.watches.counts.gaps, 1);
}
END

TEST(what_is_not_wanted_any_more_is_forgotten)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"alloc\"]");
	read_first(&r, 'a');
	ck_assert_int_eq(periodics_load(&r.t, &r.targets), 0);
	ck_assert_int_ge(r.t.items[0].reading, 0); /* nothing has changed */
	ck_assert_int_eq(continuous_delete(&r.store.s, TEST_TENANT, "go"), 0);
	ck_assert_int_eq(periodics_load(&r.t, &r.targets), 0);
	ck_assert_uint_eq(r.t.n, 0);
	ck_assert(!turn(&r, PERIOD_NS));
}
END

TEST(a_service_of_the_same_name_has_readings_of_its_own)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"alloc\"]");
	read_first(&r, 'a');
	enable(&r, "other", "[\"alloc\"]");
	ck_assert_uint_eq(r.t.n, 2);
	for (size_t i = 0; i < r.t.n; i++)
		ck_assert_int_eq(r.t.items[i].reading >= 0,
		                 !strcmp(r.t.items[i].tenant, TEST_TENANT));
}
END

/* Workers of two hosts are alive, and the endpoint's service names one of
 * them. */
TEST(an_endpoint_is_asked_by_the_worker_of_its_host_alone)
{
	static const char *const hosts[] = {TEST_HOST, "host2"};

	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		CLEANUP_RIG struct rig r;
		CLEANUP_SERVICE struct service v = {0};

		rig_init(&r, "[\"alloc\"]");
		test_heartbeat(&r.store.s, TEST_HOST, 7);
		test_heartbeat(&r.store.s, "host2", 7);
		ck_assert_int_eq(service_get(&r.store.s, TEST_TENANT, "go", &v),
		                 0);
		free(v.source);
		free(v.pprof_url);
		free(v.host);
		v.source = strdup("endpoint");
		v.pprof_url = strdup("http://127.0.0.1:6060");
		v.host = strdup(hosts[i]);
		ck_assert_int_eq(service_replace(&r.store.s, &v), 0);
		ck_assert_int_eq(targets_load(&r.targets, &r.store.s), 0);
		ck_assert_int_eq(periodics_load(&r.t, &r.targets), 0);
		ck_assert_uint_eq(r.t.n, !strcmp(hosts[i], TEST_HOST));
	}
}
END

/* Returns the last message to the opener, as "block 1000 30000", or "". */
static const char *
told(struct rig *r)
{
	static char out[64];
	struct msg_may m;

	out[0] = '\0';
	while (msg_recv(r->opener, &m, sizeof(m), NULL, NULL) > 0)
		if (m.what != WORKER_MAY_LOOK)
			snprintf(out, sizeof(out), "%s %d %d",
			         m.what == WORKER_MAY_KEEP_BLOCK   ? "block"
			         : m.what == WORKER_MAY_KEEP_MUTEX ? "mutex"
			                                           : "other",
			         m.npids ? m.processes[0].pid : 0,
			         (int)m.duration_ms);
	return out;
}

TEST(what_may_be_turned_on_is_kept_on_until_it_is_not_wanted)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"block\"]");
	read_first(&r, 'a');
	ck_assert_str_eq(told(&r), ""); /* this is not allowed */
	ck_assert_uint_eq(r.heard.set, 0);
	allow(&r, "{\"goProfileRates\":true}");
	ck_assert(turn(&r, PERIOD_NS));
	ck_assert_uint_eq(r.heard.set, 1);
	ck_assert_str_eq(told(&r), "block 1000 30000");
	run(&r, 1001); /* another process starts during a turn */
	ck_assert(!turn(&r, 15 * NS_PER_S));
	ck_assert_str_eq(told(&r), "block 1001 30000");
	ck_assert(!turn(&r, NS_PER_S));
	ck_assert_str_eq(told(&r), "");
	allow(&r, "{}");
	ck_assert_str_eq(told(&r), "block 1001 0");
	ck_assert(!turn(&r, 15 * NS_PER_S));
	ck_assert_str_eq(told(&r), "");
}
END

TEST(what_is_kept_on_ends_with_its_windows)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"mutex\"]");
	allow(&r, "{\"goProfileRates\":true}");
	read_first(&r, 'a');
	ck_assert_str_eq(told(&r), "mutex 1000 30000");
	ck_assert_int_eq(service_delete(&r.store.s, TEST_TENANT, "go"), 0);
	ck_assert_int_eq(targets_load(&r.targets, &r.store.s), 0);
	ck_assert_int_eq(periodics_load(&r.t, &r.targets), 0);
	ck_assert_str_eq(told(&r), "mutex 1000 0");
}
END

TEST(a_worker_that_stops_reads_once_more)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"alloc\",\"goroutine\"]");
	read_first(&r, 'a');
	periodics_wind_up(&r.t, r.now_ns);
	ck_assert(periodics_wait(&r.t));
	r.watches.state = CONTINUOUS_HOST_IDLE;
	ck_assert(turn(&r, 1));
	ck_assert_int_eq(reading(&r), 'a');
	ck_assert(periodics_wait(&r.t));
	done(&r, 1, 'b', 100);
	ck_assert(periodics_wait(&r.t)); /* not stored yet */
	ck_assert(!turn(&r, 1));
	ck_assert(!periodics_wait(&r.t));
	counts_are(&r, 1, 0, 0);
	ck_assert(!turn(&r, 10 * PERIOD_NS));
}
END

TEST(one_that_rests_stops_at_once)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"alloc\"]");
	read_first(&r, 'a');
	r.watches.state = CONTINUOUS_HOST_REFUSED;
	periodics_wind_up(&r.t, r.now_ns);
	ck_assert(!periodics_wait(&r.t));
	ck_assert(!turn(&r, PERIOD_NS));
}
END

TEST(nothing_is_kept_on_for_allocations)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "[\"alloc\"]");
	allow(&r, "{\"goProfileRates\":true}");
	read_first(&r, 'a');
	ck_assert_str_eq(told(&r), "");
	ck_assert_uint_eq(r.heard.set, 0);
}
END

SUITE("periodic");
