/*
 * Estimates how often a process called its allocator while no probe watched
 * the calls, from what it did while they were watched.
 *
 * A probe costs many times what an allocation costs, so a process that
 * allocates often does less while it is watched. How much less is known only
 * within bounds. A call stands for as much of the process's own CPU time as
 * before; the rest is what probes cost, which is measured, but differs from
 * program to program. A watched process does at most as much per second as an
 * unwatched one, and at least as much as if all its work waited for the probes.
 */
#pragma once

/* Calls of a process that were seen in a period of time. */
struct allocs_part {
	double calls;
	double ns;     /* elapsed time */
	double cpu_ns; /* CPU time of the process, probes included */
	/* Bounds of what the probes cost it: part of cpu_ns. */
	double least_cost_ns, most_cost_ns;
	double delay_ns; /* upper bound, including waits for a CPU */
};

/* Bounds of a number of calls. */
struct allocs_missed {
	double least, most;
};

/*
 * Estimates the calls of a time in which the process was not watched.
 *
 *   Shape    on: while it was watched; off: since then. Calls that were seen in
 *            off, while probes were inserted and removed, are part of the
 *            result; costs of off are not used
 */
struct allocs_missed
allocs_missed(const struct allocs_part *on, const struct allocs_part *off);
