/* Private to firefox_write(): the document, and the parts of it. */
#pragma once

#include "firefox_thread.h"

#define FX_MARKER "StokerEvent" /* the only row of meta.markerSchema */

/* Rows of one process, each with the index of the next; FX_NONE ends them. */
struct chain {
	uint32_t first, last;
};

struct process {
	uint32_t pid, thread; /* its first */
	struct chain events, counters;
};

/* What is the same for the whole document. */
struct document {
	struct fx x;
	const struct firefox_meta *meta;
	const struct timeline *t;  /* or NULL */
	uint32_t type;             /* value that weighs */
	double scale;              /* from a value to a weight */
	struct process *processes; /* by pid */
	uint32_t nprocesses;
	uint32_t *next_event, *next_counter;
};

/* Those of one thread, in a pass for each column. */
struct markers {
	const struct timeline_event **rows;
	uint32_t n;
};

/* Members of the document, or of a thread. */
void fx_put_meta(const struct document *d);
void fx_put_libs(const struct document *d);
void fx_put_counters(struct document *d);
MUST_CHECK int fx_put_markers(struct document *d, const struct markers *m);
