/*
 * Groups the goroutines, or threads, of a profile by state, stack and creator,
 * and finds groups that are blocked and groups that may never run again.
 *
 * The rules are the table analysis.def. Only what the runtime itself reports is
 * certain; a suspect is a place to look at. A group that grows under load and
 * shrinks afterwards must not be a suspect, so only groups that wait for other
 * goroutines count, never those that wait for the network or a timer. If
 * goroutines have numbers, those of the base must still be there and must not
 * have run in the meantime; ages can rule that out, by showing that all of them
 * began to wait later. A stack that the base does not have must have grown to
 * leak_group, and one of its goroutines must have waited for a second and for
 * the lesser of leak_age and half of the time since the base: goroutines of a
 * burst of requests are as new, but run on. The runtime knows ages only after a
 * garbage collection; until then such a leak is found one session later, by the
 * goroutines that stay.
 */
#pragma once

#include "profile/analysis/groups.h"

enum wait_class {
#define WAIT_CLASS(id, name, blocked) WAIT_##id,
#include "profile/analysis/analysis.def"
#undef WAIT_CLASS
	WAIT_CLASSES
};
extern const char *const wait_class_names[WAIT_CLASSES];
bool wait_class_blocked(enum wait_class c);
/* Classifies a group by its state, its reason and the runtime's report. */
enum wait_class wait_class_of(const struct groups *g, const struct group *x);
/* Returns the index of the frame at which a group waits (profile/site.h);
 * nframes if there is none. */
uint32_t group_site(const struct groups *g, const struct group *x);

/* Conditions of a rule on a group, in addition to its class. */
enum leak_need {
	NEED_LEAKED = 1, /* the garbage collector found it unreachable */
	NEED_SIZE = 2,   /* leak_group, and leak_share percent of all
	                    goroutines */
	NEED_AGE = 4,    /* one member has waited for leak_age */
	NEED_GROWTH = 8, /* grown by leak_growth and leak_growth_percent; if the
	                    base has none, leak_group, and one that stays */
	NEED_SURVIVORS = 16, /* leak_survivors percent of the base's numbered
	                        members are still there and have not run in the
	                        meantime */
	NEED_STARTED = 64,   /* the group is not main(), which may park on
	                        purpose while others work */
	NEED_CROWD = 32,     /* leak_crowd goroutines wait at one place */
};

enum leak_severity { LEAK_CERTAIN, LEAK_LIKELY, LEAK_SUSPECT };
extern const char *const leak_severities[];

struct leak_rule {
	const char *name;
	enum leak_severity severity;
	unsigned classes, needs; /* bits: 1 << wait_class; enum leak_need */
	const char *why, *source;
};

/* Thresholds: [analysis] of stoker.conf. */
struct leak_limits {
	int64_t group, share_percent; /* NEED_SIZE */
	int64_t age_s;
	int64_t growth, growth_percent;
	int64_t survivors_percent;
	int64_t crowd;
	/*
	 * Stacks with one of these functions, or of goroutines that one of them
	 * created, are never suspects. Words separated by spaces; a word that
	 * ends in "*" is a prefix.
	 */
	const char *allow;
};

struct leak_suspect {
	uint32_t group; /* in groups */
	const struct leak_rule *rule;
	int64_t count, base_count; /* goroutines with its stack, in any state */
};

/* A lock, a channel or a futex that several goroutines or threads wait for. If
 * a profile is of several processes, equal addresses count as one. */
struct wait_target {
	uint64_t address;
	int64_t count;     /* of goroutines that wait for it */
	uint32_t nstacks;  /* number of groups with such goroutines */
	struct group most; /* the largest of these groups; its count[1] is the
	                      number that wait for this target */
};

struct analysis {
	struct groups *groups; /* items by count descending; side 1 */
	enum wait_class *classes;
	uint32_t *sites; /* by group: see group_site() */
	int64_t count;
	bool has_base;
	int64_t between_s; /* from the base to this profile; 0 if unknown */
	int64_t base_count;
	struct leak_suspect *suspects; /* most severe first, then by count */
	size_t nsuspects;
	struct wait_target *targets; /* by count descending */
	size_t ntargets;
};

/*
 *   Shape    base may be NULL
 *   Owns     *out is the caller's; analysis_free() it
 *   Errors   those of groups_add(); *out untouched
 */
MUST_CHECK int
analysis_new(const struct profile *p, const struct profile *base,
             const struct leak_limits *limits, struct analysis **out);
void analysis_free(struct analysis *a);
DEFINE_CLEANUP(struct analysis *, analysis_free)
#define CLEANUP_ANALYSIS CLEANUP(analysis_free_ptr)
