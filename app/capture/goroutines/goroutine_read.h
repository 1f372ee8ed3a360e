/*
 * Reads all goroutines of a process while it runs.
 *
 * A waiting goroutine is read in place: its struct, its stack, its struct
 * again. If it ran meanwhile, it is read once more. Only threads that run a
 * goroutine are stopped, for microseconds and one at a time.
 */
#pragma once

#include "goroutine_frames.h"

/* The receiver of goroutines. */
struct go_sink {
	/* Called with goroutines for which one() may be called next. */
	int (*batch)(void *arg, const struct go_g *g, size_t n);
	/* Called once for each goroutine; stack->n is 0 if the goroutine never
	 * stood still. */
	int (*one)(void *arg, const struct go_g *g,
	           const struct go_stack *stack);
	void *arg;
};

struct go_read_stats {
	uint64_t retried;    /* goroutines that ran while they were read */
	uint64_t stopped;    /* threads */
	uint64_t stopped_ns; /* total time */
};

/*
 * Passes every live goroutine to sink.
 *   Errors   as go_runtime_list(), memory_read() and sink
 */
MUST_CHECK int go_read(struct go_runtime *r, const struct go_sink *sink,
                       struct go_read_stats *stats);
