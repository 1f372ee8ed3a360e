#include "allocs_missed.h"

/* No program allocates and uses memory in less CPU time than this. */
#define CALL_NS 4.0

static double
most_of(double a, double b)
{
	return a > b ? a : b;
}

static double
least_of(double a, double b)
{
	return a < b ? a : b;
}

/* Returns the unobserved part of off: its time, less that of the calls seen in
 * it. Each call is assumed to cost as much as those of on. */
static double
unseen(double off_ns, double on_ns, double on_calls, double seen)
{
	return most_of(off_ns - on_ns / on_calls * seen, 0);
}

/* Returns the calls per ns of CPU time that the process used for itself. */
static double
pace(const struct allocs_part *on, double cost_ns)
{
	return on->calls / most_of(on->cpu_ns - cost_ns, on->calls * CALL_NS);
}

struct allocs_missed
allocs_missed(const struct allocs_part *on, const struct allocs_part *off)
{
	struct allocs_missed m = {off->calls, off->calls};
	double ns, cpu_ns, kept_up, most;

	if (on->calls <= 0 || on->ns <= 0)
		return m;
	ns = unseen(off->ns, on->ns, on->calls, off->calls);
	cpu_ns = unseen(off->cpu_ns, on->cpu_ns, on->calls, off->calls);
	kept_up = on->calls / on->ns * ns;
	most = pace(on, on->most_cost_ns) * cpu_ns;
	m.least += most_of(least_of(kept_up, most),
	                   pace(on, on->least_cost_ns) * cpu_ns);
	if (on->delay_ns < on->ns)
		most = least_of(most, kept_up / (1 - on->delay_ns / on->ns));
	m.most = most_of(m.least, m.most + most);
	return m;
}
