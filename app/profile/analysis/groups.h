/*
 * Samples with one stack, taken together: what goroutine analysis and diffs
 * of sessions count.
 *
 * A stack is its functions, leaf first, and who created it. Frames of Go's
 * runtime that its own tracebacks hide are left out, unless there are no
 * others, and type arguments are "[...]", as those write them. A group has a
 * count of each of two profiles, so that one pass over both is a diff.
 *
 * State and reason are those of the labels (goroutine.def; a thread's are
 * named alike). Where a Go profile has none, its leaf frames tell: stacks.def.
 * Source: showframe() and printFuncName() of runtime/traceback.go, Go 1.27.
 */
#pragma once

#include "profile/profile.h"

#define GROUPS_MAX_FRAMES (1u << 26) /* of all groups together */
#define GROUPS_NO_AGE     (-1)

enum group_by {
	GROUP_BY_STACK = 0, /* frames and creator alone */
	GROUP_BY_STATE = 1, /* state and reason as well */
	GROUP_BY_LINE = 2,  /* lines as well */
};

struct group_frame {
	uint32_t name; /* strings, as all numbers here */
	uint32_t at;   /* "file:line", "" when unknown */
};

struct group {
	int64_t count[2];                     /* goroutines, samples, bytes */
	uint32_t state, reason, raw, creator; /* of the sample met first */
	bool leaked;   /* the runtime found that nothing can wake it */
	int64_t age_s; /* of the one that waits longest; GROUPS_NO_AGE; of
	                  the second profile */
	uint32_t frame0, nframes; /* in frames[]: leaf first */
};

/* Goroutines of a group by their numbers, first to last. */
struct group_member {
	uint64_t first, last;
	uint32_t group;
};

struct groups {
	enum group_by by;
	struct strings *strings;
	struct group *items;
	struct group_frame *frames;
	struct group_member *members[2];
	uint32_t n, nframes, nmembers[2];
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
 *   Errors   -ENOMEM, -EINVAL no value type, -E2BIG, -EOVERFLOW; g is then
 *            good for nothing but groups_free()
 */
MUST_CHECK int groups_add(struct groups *g, const struct profile *p, int side);

/*
 * The group of g that a group of another has its stack in.
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
