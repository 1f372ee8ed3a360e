/*
 * Metrics of figures that workers publish: one for each figure, with a line for
 * each host.
 */
#pragma once

#include "base/buf.h"
#include "store/worker.h"

struct host_figure {
	size_t at; /* offset of an int64_t in what read() fills */
	const char *metric, *kind, *help;
};

struct host_figures {
	const char *prefix; /* of the metrics' names */
	const struct host_figure *rows;
	size_t n;
	size_t bytes; /* size of what read() fills, which has no pointers */
	/* Reads what a worker publishes; false if it is gone or publishes none
	 * of these figures. */
	bool (*read)(const struct worker *w, void *out);
};

/* Appends the metrics of every live worker, as Prometheus text. */
void host_figures_put(const struct worker_list *workers,
                      const struct host_figures *f, struct buf *out);
