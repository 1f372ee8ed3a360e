/*
 * What the goroutines, or threads, of one profile do: grouped by state,
 * stack and creator, those that are blocked, and those that may never go on.
 *
 * The judgement is the table analysis.def. Nothing here is certain but what
 * the runtime itself says; a suspect is a place to look at. What grows under
 * load and shrinks after it must not be one: only groups that wait for other
 * goroutines are looked at (never for the network or a timer), and where
 * goroutines have numbers, those of the base must still be there, and
 * not be back there: where ages tell that all have begun to wait since, they
 * are. A stack that the base does not have at all must have grown to
 * leak_group, and one there must be known to wait for half of the time since
 * the base or for leak_age, and a second: a burst of requests is as new, but
 * goes on. The runtime tells ages when it has collected garbage; until then
 * such a leak is seen one session later, by those that stay.
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
/* The class of a group by its state, reason and what the runtime says. */
enum wait_class wait_class_of(const struct groups *g, const struct group *x);

/* A rule asks these of a group besides its class. */
enum leak_need {
	NEED_LEAKED = 1,     /* the garbage collector found it unreachable */
	NEED_SIZE = 2,       /* leak_group, and leak_share percent of all */
	NEED_AGE = 4,        /* one of them has waited for leak_age */
	NEED_GROWTH = 8,     /* leak_growth, and leak_growth_percent more; of
	                        none before, leak_group, and one that stays */
	NEED_SURVIVORS = 16, /* leak_survivors percent of the base's members
	                        are still there, as far as it can be told,
	                        and have not gone on in the meantime */
	NEED_STARTED = 64,   /* it is not main(), which parks so on purpose
	                        while others work */
	NEED_CROWD = 32,     /* leak_crowd at one place */
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
	/* Functions whose stacks are no suspects, nor what they created: words
	 * separated by spaces, "*" at the end: what begins so. */
	const char *allow;
};

struct leak_suspect {
	uint32_t group; /* in groups */
	const struct leak_rule *rule;
	int64_t count, base_count; /* of its stack, in any state */
};

struct analysis {
	struct groups *groups; /* items by count descending; side 1 */
	enum wait_class *classes;
	uint32_t *sites; /* by group: index of a frame, or nframes */
	int64_t count;
	bool has_base;
	int64_t between_s; /* from the base to it; 0 as far as is known */
	int64_t base_count;
	struct leak_suspect *suspects; /* most severe first, then by count */
	size_t nsuspects;
};

/*
 *   Shape    base NULL: nothing to compare with
 *   Owns     *out is the caller's; analysis_free() it
 *   Errors   as groups_add(); *out untouched
 */
MUST_CHECK int
analysis_new(const struct profile *p, const struct profile *base,
             const struct leak_limits *limits, struct analysis **out);
void analysis_free(struct analysis *a);
DEFINE_CLEANUP(struct analysis *, analysis_free)
#define CLEANUP_ANALYSIS CLEANUP(analysis_free_ptr)
