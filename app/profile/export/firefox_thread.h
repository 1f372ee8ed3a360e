/*
 * Writes the tables of one thread at a time; private to firefox_write().
 */
#pragma once

#include "base/table.h"
#include "firefox.h"

/* Categories in the order of meta.categories. */
enum firefox_category { FX_OTHER, FX_USER, FX_KERNEL, FX_BLOCKED };

#define FX_NONE UINT32_MAX

/* A sample of the current thread. */
struct fx_sample {
	double time_ms, weight;
	uint64_t cpu_ns;
	uint32_t row; /* sample row in the profile */
	bool blocked;
};

struct fx_stack {
	uint32_t prefix, frame; /* prefix is FX_NONE for a root */
};

/* Rows of a table of the thread, by a key of the profile: row[key] is valid if
 * stamp[key] is the thread's stamp. */
struct fx_column {
	uint32_t *row, *stamp; /* by key */
	uint32_t *keys;        /* by row */
	uint32_t n, nkeys;
};

struct fx {
	const struct profile *p;
	struct buf *out;
	struct strings *strings; /* shared.stringArray */
	uint32_t *frame0;   /* by location: key of its first frame; the last key
	                       is "[blocked]" */
	uint32_t *location; /* by key of a frame */
	uint64_t *entry;    /* by function: lowest address seen */
	struct fx_column frames, funcs, resources;
	struct fx_column rows[2]; /* by sample of the profile: its stack; [1] is
	                             for blocked samples */
	struct fx_stack *stacks;
	uint32_t nstacks, stacks_cap;
	struct table stack_index;
	uint32_t thread; /* the stamp of the current thread */
	const char *weight_type;
};

MUST_CHECK int fx_init(struct fx *x, const struct profile *p, struct buf *out);
void fx_done(struct fx *x);
/* Finds or adds a string in stringArray. */
MUST_CHECK int fx_string(struct fx *x, const char *s, size_t n, uint32_t *out);
/* Writes the samples and tables of a thread, as members of its object. */
MUST_CHECK int
fx_thread(struct fx *x, const struct fx_sample *s, uint32_t n, bool cpu);
