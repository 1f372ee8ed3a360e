/*
 * All goroutines of a process, read while it runs.
 *
 * A goroutine that waits is read where it lies: its struct, its stack, its
 * struct again. One that changed meanwhile is read once more. Only threads
 * that run one are stopped, for microseconds and one at a time.
 */
#pragma once

#include "goroutine_frames.h"

/* Who is told. */
struct go_sink {
	/* Of some that one() may be called with next. */
	int (*batch)(void *arg, const struct go_g *g, size_t n);
	/* Of each goroutine once; stack->n is 0 where it would not hold
	 * still. */
	int (*one)(void *arg, const struct go_g *g,
	           const struct go_stack *stack);
	void *arg;
};

struct go_read_stats {
	uint64_t retried;    /* changed while they were read */
	uint64_t stopped;    /* threads */
	uint64_t stopped_ns; /* all of them together */
};

/*
 * Tells sink of every goroutine that lives.
 *   Errors   of go_runtime_list(), memory_read() and sink
 */
MUST_CHECK int go_read(struct go_runtime *r, const struct go_sink *sink,
                       struct go_read_stats *stats);
