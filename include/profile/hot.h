/*
 * The functions in which a profile spends most, and what explains each of them:
 * its callers, its callees and its lines.
 *
 * With sites, cost counts for the code that allocates or waits (profile/site.h)
 * instead of the allocator or the lock that it calls.
 */
#pragma once

#include "profile/profile.h"

#define HOT_MAX   16 /* functions */
#define HOT_PARTS 3  /* callers, callees or lines of a function */
#define HOT_PATH  48 /* frames of the heaviest path */

/* A part of a function's cost. */
struct hot_part {
	uint32_t name; /* in names; 0: none, as of the outermost frame */
	int64_t line;  /* of a function's lines; 0: unknown */
	int64_t value;
};

struct hot_function {
	uint32_t name;       /* in names */
	const char *file;    /* source file; "": unknown */
	const char *module;  /* program or library; "": unknown */
	int64_t self, total; /* recursion counted once */
	/* Largest first; a value of 0 ends each list. Callers, callees and
	 * lines are parts of the total. */
	struct hot_part callers[HOT_PARTS], callees[HOT_PARTS],
		lines[HOT_PARTS];
};

struct hot {
	struct strings *names;
	int64_t all;
	struct hot_function functions[HOT_MAX]; /* by self, largest first */
	size_t n;
	/* Frames from the outermost on, each with at least half of the cost of
	 * the one before. */
	uint32_t path[HOT_PATH];
	size_t npath;
	int64_t path_total; /* of its last frame */
};
void hot_free(struct hot *h);
DEFINE_CLEANUP(struct hot *, hot_free)
#define CLEANUP_HOT CLEANUP(hot_free_ptr)

struct hot_ask {
	uint32_t type; /* value type that is counted */
	bool sites;
	size_t most;          /* functions, at most HOT_MAX */
	const char *function; /* only this one, by its name; NULL: the top */
};

/*
 *   Shape    a function that is asked for and does not occur: n is 0
 *   Owns     *out is the caller's; hot_free() it
 *   Errors   -ENOMEM, -E2BIG; *out untouched
 */
MUST_CHECK int
hot_new(const struct profile *p, const struct hot_ask *ask, struct hot **out);
/* Appends up to most names of the profile that contain text, in any case, one
 * per line. */
void
hot_near(const struct hot *h, const char *text, size_t most, struct buf *out);
