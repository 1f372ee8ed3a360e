/*
 * Groups of samples with equal stacks, which goroutine analysis and diffs of
 * sessions count.
 *
 * A stack is its functions, leaf first, and the function that created the
 * goroutine. Frames that Go's own tracebacks hide are left out, unless there
 * are no others, and type arguments are written "[...]" as there. A group has a
 * count for each of two profiles, so that one pass over both is a diff.
 *
 * State and reason come from labels (goroutine.def; threads have equal names),
 * or from the leaf frames in a Go profile without labels: stacks.def. Source:
 * showframe() and printFuncName() of runtime/traceback.go, Go 1.27.
 */
#pragma once

#include "profile/profile.h"

#define GROUPS_MAX_FRAMES (1u << 26) /* total over all groups */
#define GROUPS_NO_AGE     (-1)

enum group_by {
	GROUP_BY_STACK = 0, /* frames and creator only */
	GROUP_BY_STATE = 1, /* state and reason, too */
	GROUP_BY_LINE = 2,  /* lines, too */
	GROUP_WAITS = 4,    /* groups as without it, and waits[] */
};

struct group_frame {
	uint32_t name; /* string, like all ids here */
	uint32_t at;   /* "file:line", "" when unknown */
};

struct group {
	int64_t count[2];                     /* goroutines, samples, bytes */
	uint32_t state, reason, raw, creator; /* of the sample seen first */
	bool leaked;   /* the runtime found that it can never wake up */
	int64_t age_s; /* of the longest wait in the second profile;
	                  GROUPS_NO_AGE */
	uint32_t frame0, nframes; /* in frames[], leaf first */
};

/* Goroutines of a group, as a range of numbers. */
struct group_member {
	uint64_t first, last;
	uint32_t group;
};

/* Goroutines of a group that wait for what is at one address, such as a lock or
 * a channel; a group may have several such rows for an address. */
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
	struct group_wait *waits; /* of the second profile */
	uint32_t n, nframes, nmembers[2], nwaits;
	int64_t total[2];
	struct groups_index *index; /* private */
};

MUST_CHECK int groups_new(enum group_by by, struct groups **out);
void groups_free(struct groups *g);
DEFINE_CLEANUP(struct groups *, groups_free)
#define CLEANUP_GROUPS CLEANUP(groups_free_ptr)

/*
 * Counts the samples of a profile for side 0 or 1: in its default type where
 * that is bytes, else in the nearest type of counts.
 *   Errors   -ENOMEM, -EINVAL no value type, -E2BIG, -EOVERFLOW; g can then
 *            only be freed
 */
MUST_CHECK int groups_add(struct groups *g, const struct profile *p, int side);

/*
 * Finds the group of g with the stack of a group of another.
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
