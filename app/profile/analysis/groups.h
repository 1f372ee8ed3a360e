/*
 * Groups of samples with equal stacks, for goroutine analysis and diffs of
 * sessions.
 *
 * A stack consists of its functions, leaf first, and the function that created
 * the goroutine. As in Go's tracebacks, runtime frames are hidden, unless there
 * are no others, and type arguments are written "[...]". A group has a count
 * for each of two profiles, so that reading both yields a diff.
 *
 * State and reason come from labels (goroutine.def; labels of threads have the
 * same names) or, in a Go profile without labels, from the leaf frames
 * (stacks.def). Source: showframe() and printFuncName() of
 * runtime/traceback.go, Go 1.27.
 */
#pragma once

#include "profile/profile.h"

#define GROUPS_MAX_FRAMES (1u << 26) /* total over all groups */
#define GROUPS_NO_AGE     (-1)

enum group_by {
	GROUP_BY_STACK = 0, /* frames and creator */
	GROUP_BY_STATE = 1, /* also state and reason */
	GROUP_BY_LINE = 2,  /* also lines */
	GROUP_WAITS = 4,    /* also fill waits[] */
};

struct group_frame {
	uint32_t name; /* string, like all ids here */
	uint32_t at;   /* "file:line", "" when unknown */
};

struct group {
	int64_t count[2]; /* number of goroutines, samples or bytes */
	uint32_t state, reason, raw, creator; /* of the first sample seen */
	bool leaked;   /* the runtime found that they can never wake up */
	int64_t age_s; /* of the longest wait in the second profile, or
	                  GROUPS_NO_AGE */
	uint32_t frame0, nframes; /* in frames[], leaf first */
};

/* A range of goroutine numbers in a group. */
struct group_member {
	uint64_t first, last;
	uint32_t group;
};

/* Goroutines of a group that wait for the object at an address, such as a lock
 * or a channel. A group may have several rows for one address. */
struct group_wait {
	uint64_t address;
	uint32_t group;
	int64_t count;
};

struct groups {
	enum group_by by;
	struct strings *strings;
	struct group *items;
	struct group_frame *frames;
	struct group_member *members[2];
	struct group_wait *waits; /* waits in the second profile */
	uint32_t n, nframes, nmembers[2], nwaits;
	int64_t total[2];
	struct groups_index *index; /* private */
};

MUST_CHECK int groups_new(enum group_by by, struct groups **out);
void groups_free(struct groups *g);
DEFINE_CLEANUP(struct groups *, groups_free)
#define CLEANUP_GROUPS CLEANUP(groups_free_ptr)

/*
 * Counts the samples of a profile for side 0 or 1: by its default type if that
 * is in bytes, else by the nearest type of counts.
 *   Errors   -ENOMEM, -EINVAL no value type, -E2BIG, -EOVERFLOW; g can then
 *            only be freed
 */
MUST_CHECK int groups_add(struct groups *g, const struct profile *p, int side);

/*
 * Finds the group of g that has the same stack as x, a group of other.
 *   Errors   -ENOENT, -ENOMEM, -E2BIG
 */
MUST_CHECK int groups_find(struct groups *g, const struct groups *other,
                           const struct group *x, uint32_t *out);

static inline const char *
groups_text(const struct groups *g, uint32_t id)
{
	return strings_get(g->strings, id, NULL);
}
static inline const struct group_frame *
group_frames(const struct groups *g, const struct group *x)
{
	return &g->frames[x->frame0];
}
