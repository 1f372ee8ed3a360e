/*
 * Goroutines, or threads, of one profile in groups of equal state, stack and
 * creator: which of them are blocked, and which may never run again.
 *
 * The judgement is the table analysis.def. Nothing here is certain but what the
 * runtime itself says; a suspect is a place to look at. A group that grows
 * under load and shrinks after it must not be a suspect. Therefore only groups
 * that wait for other goroutines count (never for the network or a timer).
 * Where goroutines have numbers, those of the base must still be there, and
 * must not have run in the meantime: ages tell whether all of them began to
 * wait later. A stack that the base does not have must have grown to
 * leak_group, and one of its goroutines must have waited for a second, and for
 * leak_age or half of the time since the base: a burst of requests is as new,
 * but runs on. The runtime knows ages only after a garbage collection; until
 * then such a leak is found one session later, by the goroutines that stay.
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
/* The frame that a group stands at, past those of libraries and locks: an index,
 * or nframes. */
uint32_t group_site(const struct groups *g, const struct group *x);

/* Conditions of a rule on a group, besides its class. */
enum leak_need {
	NEED_LEAKED = 1,     /* the garbage collector found it unreachable */
	NEED_SIZE = 2,       /* leak_group, and leak_share percent of all
	                        goroutines */
	NEED_AGE = 4,        /* one member has waited for leak_age */
	NEED_GROWTH = 8,     /* leak_growth, and leak_growth_percent more; if
	                        the base has none, leak_group and one that
	                        stays */
	NEED_SURVIVORS = 16, /* leak_survivors percent of the base's members
	                        are still there, as far as is known, and have
	                        not run in the meantime */
	NEED_STARTED = 64,   /* the group is not main(), which may park on
	                        purpose while others work */
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
	/*
	 * Functions whose stacks, and whose goroutines' stacks, are never
	 * suspects: words separated by spaces; a word ending in "*" is a
	 * prefix.
	 */
	const char *allow;
};

struct leak_suspect {
	uint32_t group; /* in groups */
	const struct leak_rule *rule;
	int64_t count, base_count; /* all goroutines with its stack, in any
	                              state */
};

/* A lock, a channel or a futex for which several wait. Addresses are those of a
 * process: where a profile is of several, equal ones count as one. */
struct wait_target {
	uint64_t address;
	int64_t count;     /* all that wait for it */
	uint32_t nstacks;  /* in how many groups */
	struct group most; /* of those, the largest here; its count[1] is of
	                      those that wait for the target */
};

struct analysis {
	struct groups *groups; /* items by count descending; side 1 */
	enum wait_class *classes;
	uint32_t *sites; /* by group: index of a frame, or nframes */
	int64_t count;
	bool has_base;
	int64_t between_s; /* from the base to this profile; 0 unknown */
	int64_t base_count;
	struct leak_suspect *suspects; /* most severe first, then by count */
	size_t nsuspects;
	struct wait_target *targets; /* by count descending */
	size_t ntargets;
};

/*
 *   Shape    base is NULL when there is nothing to compare with
 *   Owns     *out is the caller's; analysis_free() it
 *   Errors   as groups_add(); *out untouched
 */
MUST_CHECK int
analysis_new(const struct profile *p, const struct profile *base,
             const struct leak_limits *limits, struct analysis **out);
void analysis_free(struct analysis *a);
DEFINE_CLEANUP(struct analysis *, analysis_free)
#define CLEANUP_ANALYSIS CLEANUP(analysis_free_ptr)
