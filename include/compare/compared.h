/*
 * Two profiles of one type that are compared (profile/compare.h). Each side is
 * a session, a part of one, a window, or a range of time.
 *
 *	compared_begin(&x)		optional
 *	compared_add(&x, 0, base)
 *	compared_ready(&x) or compared_add(&x, 1, now)
 *	compared_others(&x, baseline)	if the base belongs to a baseline
 *	compared_run(&x)		x.c is the comparison
 *	compared_stacks(&x, most, left_out)	for a picture of it
 *	compared_nodes(&x)
 *	compared_done(&x)
 *
 * compared_add(), compared_run() and compared_stacks() also return -ECANCELED
 * if the peer has closed its socket, and -ETIME after end_ns.
 */
#pragma once

#include "profile/compare.h"
#include "profile/sift.h"
#include "range/range.h"
#include "store/baseline.h"

/* Limit of other captures of the base; further ones add little. */
#define COMPARED_OTHERS 8

/* Zero it, and fill in the question. */
struct compared {
	/* The question; pointers are borrowed, base, now and ranges are not. */
	struct store *store;
	const char *tenant;
	struct session base, now; /* see compared_name_ranges() */
	struct range ranges[2];   /* n == 0: the side is not a range */
	enum compare_by by;
	struct sift only;    /* labels of samples alone */
	bool against_others; /* the base is all that chosen leaves out */
	struct range chosen; /* by its host and labels; never planned */
	int64_t end_ns;      /* monotonic; 0: no limit */
	const int *peer;     /* the caller's socket; NULL: none */
	/* The answer; sides[].work is part of the question. */
	struct compare_side sides[2];
	struct profile *profiles[2];
	struct tree *trees[2];    /* of functions alone */
	struct tree *stacks[2];   /* compared_stacks() */
	struct blocks *blocks[2]; /* NULL: not measured */
	struct blocks *nodes[2];  /* compared_nodes() */
	struct profile *other_profiles[COMPARED_OTHERS];
	struct tree *others[COMPARED_OTHERS];
	size_t nothers;
	struct comparison *c;
	struct beside *beside; /* private */
};
#define CLEANUP_COMPARED CLEANUP(compared_done)

void compared_done(struct compared *x);
/*
 * Describes each range, once it is planned, as the session that replies show:
 * its name, service, type and time.
 *   Errors   -ENOMEM
 */
MUST_CHECK int compared_name_ranges(struct compared *x);
/*
 * Adds the profile of a side: 0 is the base, 1 is now.
 *   Owns     takes p
 *   Errors   those of tree_functions()
 */
MUST_CHECK int compared_add(struct compared *x, size_t side, struct profile *p);
/*
 * compared_begin() has a thread read the second side while the caller adds the
 * first one, if both are large sessions whose files are here.
 * compared_ready() waits for it, and adds the side. If it returns false, the
 * caller has to add the side, and gets the error, if there was one.
 */
void compared_begin(struct compared *x);
MUST_CHECK bool compared_ready(struct compared *x);
/*
 * Adds other captures of the base before compared_run(): the baselines with the
 * same label whose profile still exists.
 *   Errors   those of the store and of tree_functions()
 */
MUST_CHECK int compared_others(struct compared *x, const struct baseline *b);
/*
 * Compares both sides, also by totals if no function decides the verdict, and
 * finds the times from which the changed functions cost more or less.
 *   Errors   -ENOMEM
 */
MUST_CHECK int compared_run(struct compared *x);
/*
 * Makes, after compared_run(), call trees of both sides with at most this many
 * nodes each: see tree_visible().
 */
MUST_CHECK int
compared_stacks(struct compared *x, uint32_t most, int64_t left_out[static 2]);
/* Measures, after compared_stacks(), which nodes of a differential flame graph
 * changed. */
void compared_nodes(struct compared *x);
