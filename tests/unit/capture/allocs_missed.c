/* Estimates of how many calls a process made while it had no probes. */
#include "capture/host/allocs_missed.h"

#include "base/cleanup.h"
#include "lib/test.h"

#include <stdbool.h>

/* A process: the cost of a call and of a probe, and how often it calls when it
 * has no probes. */
struct program {
	const char *label;
	double own_ns, probe_ns, a_second;
	bool is_sure; /* the bounds are close */
};

#define SECOND 1e9

/* Watches a program for a second. It makes as many calls as without probes, if
 * the CPU time suffices. The estimated cost of a probe is 3/4 to 3/2 of the
 * true cost. */
static struct allocs_part
watch(const struct program *p)
{
	double most = SECOND / (p->own_ns + p->probe_ns);
	double calls = p->a_second < most ? p->a_second : most;

	return (struct allocs_part){
		.calls = calls,
		.ns = SECOND,
		.cpu_ns = calls * (p->own_ns + p->probe_ns),
		.least_cost_ns = calls * p->probe_ns * 0.75,
		.most_cost_ns = calls * p->probe_ns * 1.5,
		.delay_ns = calls * p->probe_ns * 3,
	};
}

static struct allocs_part
leave(const struct program *p)
{
	return (struct allocs_part){.ns = 10 * SECOND,
	                            .cpu_ns = 10 * p->a_second * p->own_ns};
}

static const struct program programs[] = {
	{"rarely, and does much besides", 50000, 1000, 1000, true},
	{"a request of 200 us", 20000, 1000, 10000, true},
	{"20 000 a second, idle else", 150, 500, 20000, true},
	{"100 000 a second, idle else", 150, 500, 100000, false},
	{"never idle", 20000, 1000, 50000, true},
	{"300 000 a second", 200, 1000, 300000, false},
	{"a million a second", 200, 6000, 1e6, false},
	{"nothing but calls", 60, 1000, 1.6e7, false},
	{"nothing but calls, costly probes", 50, 8000, 2e7, false},
};

TEST(the_calls_that_nobody_saw_are_between_the_bounds)
{
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		const struct program *p = &programs[i];
		const struct allocs_part on = watch(p), off = leave(p);
		struct allocs_missed m = allocs_missed(&on, &off);
		double truth = 10 * p->a_second;

		ck_assert_msg(m.least <= truth * 1.0001 &&
		                      m.most >= truth * 0.9999,
		              "%s: %g to %g, not %g", p->label, m.least, m.most,
		              truth);
		ck_assert_msg((m.most < m.least * 1.15) == p->is_sure,
		              "%s: %g to %g", p->label, m.least, m.most);
	}
}
END

/* A probe costs more than the calls, so CPU time says nothing: the estimate
 * assumes that calls come at the same pace. */
TEST(a_process_that_keeps_its_pace_is_counted_right)
{
	const struct program p = {"", 100, 6000, 50000, false};
	const struct allocs_part on = watch(&p), off = leave(&p);

	ck_assert_double_eq_tol(allocs_missed(&on, &off).least, 500000, 1);
}
END

/* It waits for a CPU while it has probes, or is idle while it has none. */
TEST(a_process_that_does_less_is_counted_by_its_cpu_time)
{
	const struct program p = {"", 50000, 500, 10000, true};
	struct allocs_part on = watch(&p), off = leave(&p);
	struct allocs_missed m;

	on.ns *= 8;
	m = allocs_missed(&on, &off);
	ck_assert_double_eq_tol(m.least, 100000, 2000);
	on.ns /= 8;
	off.cpu_ns = 0;
	m = allocs_missed(&on, &off);
	ck_assert_double_eq_tol(m.most, 0, 1);
}
END

/* Inserting and removing probes takes a while, in which calls are seen. */
TEST(calls_that_were_seen_meanwhile_are_counted_once)
{
	const struct program p = {"", 20000, 1000, 10000, true};
	const struct allocs_part on = watch(&p);
	struct allocs_part off = leave(&p);
	struct allocs_missed before = allocs_missed(&on, &off), after;

	off.calls = 2000;
	off.ns += 0.2 * SECOND;
	off.cpu_ns += 2000 * (p.own_ns + p.probe_ns);
	after = allocs_missed(&on, &off);
	ck_assert_double_eq_tol(after.least, before.least + 2000, 1);
	ck_assert_double_eq_tol(after.most, before.most + 2000, 1);
}
END

TEST(a_process_that_called_nothing_missed_nothing)
{
	const struct allocs_part on = {.ns = SECOND, .cpu_ns = SECOND};
	const struct allocs_part off = {.calls = 3, .ns = SECOND};
	struct allocs_missed m = allocs_missed(&on, &off);

	ck_assert_double_eq(m.least, 3);
	ck_assert_double_eq(m.most, 3);
}
END

SUITE("allocs_missed");
