/*
 * Comparisons, and how replies show them.
 */
#pragma once

#include "endpoint/call.h"
#include "endpoint/range/range_call.h"
#include "profile/compare.h"
#include "store/baseline.h"

/* Most other captures of the base; more of them add little. */
#define COMPARED_OTHERS 8

/* Two profiles that are compared; zeroed at first,
 * compared_done() at the end. */
struct compared {
	/* for a range: its name, service, type and time */
	struct session base, now;
	struct range ranges[2]; /* without parts: the side is a session */
	struct profile *profiles[2];
	struct tree *trees[2];        /* of functions alone */
	struct tree *stacks[2];       /* compared_stacks() */
	struct blocks *blocks[2];     /* NULL: not measured */
	struct blocks *nodes[2];      /* compared_nodes() */
	struct compare_side sides[2]; /* of the trees; work: as requested */
	enum compare_by by;
	struct profile *other_profiles[COMPARED_OTHERS];
	struct tree *others[COMPARED_OTHERS];
	size_t nothers;
	const char *baseline; /* its label is that of the others; NULL: none */
	struct comparison *c;
};
#define CLEANUP_COMPARED CLEANUP(compared_done)

void compared_done(struct compared *x);
/* Answers for a failed store call about a baseline. */
int fail_baseline(struct call *c, int rc, const char *id);
/*
 * Gets the caller's baseline of that id.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int
compared_baseline(struct call *c, const char *id, struct baseline *out);
/* The place of a parameter's word in a list; or_else where it is absent. */
int compared_word(const struct call *c, enum param p, const char *const *words,
                  int or_else);
/* Parameters that say what is tested: of an operation that has these rows. */
struct compared_params {
	enum param normalize, base_work, now_work;
};
#define COMPARED_PARAMS(op)               \
	(&(const struct compared_params){ \
		P_##op##_normalize,       \
		P_##op##_baseWork,        \
		P_##op##_comparisonWork,  \
	})
/*
 * Reads these parameters into x.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int compared_ask(struct call *c, const struct compared_params *p,
                            struct compared *x);
/* Parameters that choose one side. */
struct compared_ids {
	enum param id, from, to;
};
struct compared_sides {
	struct compared_ids sides[2]; /* base, now */
	enum param service, type, host, label, origin;
};
/* The rows of an operation that has these parameters. */
#define COMPARED_SIDES(op)                                                   \
	{                                                                    \
		.sides = {{P_##op##_baseProfileId, P_##op##_baseFrom,        \
		           P_##op##_baseTo},                                 \
		          {P_##op##_comparisonProfileId,                     \
		           P_##op##_comparisonFrom, P_##op##_comparisonTo}}, \
		.service = P_##op##_service, .type = P_##op##_profileType,   \
		.host = P_##op##_host, .label = P_##op##_label,              \
		.origin = P_##op##_origin,                                   \
	}
/*
 * Finds both sides: completed sessions, windows, or parts of ranges, all of one
 * type.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int compared_load(struct call *c, const struct compared_sides *p,
                             struct compared *x);
/* Warns of two sides that can be compared but were hardly meant to be: one
 * profile twice, or profiles of two services or hosts. */
void compared_question(struct call *c, const struct session *base,
                       const struct session *now);
/*
 * Loads the profiles of x->base and x->now, which are of one type, and
 * compares them.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int compared_run(struct call *c, struct compared *x);
/* Writes all that a comparison of what compared_load() found depends on: see
 * kept.h. */
void
compared_made_of(struct call *c, const struct compared *x, struct buf *out);
/*
 * Adds other captures of the base before compared_run(): the baselines with the
 * same label whose profile is still kept.
 *   Shape    b must outlive x
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int
compared_others(struct call *c, const struct baseline *b, struct compared *x);
/*
 * Makes, after compared_run(), call trees of both sides, of at most so many
 * nodes each: see tree_visible().
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int compared_stacks(struct call *c, struct compared *x,
                               uint32_t most, int64_t left_out[static 2]);
/* Measures, after compared_stacks(), which nodes of a differential flame graph
 * changed. */
void compared_nodes(struct call *c, struct compared *x);
/* True for values that are a state rather than consumed. */
bool compared_is_gauge(const struct compared *x);
/*
 * Writes links: the differential flame graph of two sessions, or of what
 * compared_load() found, which opens as it is. Where they were compared (x,
 * else NULL), it is by the same normalization.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int
compared_put_links(struct call *c, struct buf *out, const char *base,
                   const char *now, const struct compared *x);
/* Writes the list of those with this change, or that decided the verdict. */
void
compared_put_changes(struct buf *out, const char *key,
                     const struct comparison *c, enum compare_change change);
void compared_put_deciding(struct buf *out, const char *key,
                           const struct comparison *c);
/* Writes the list of those whose total rose. */
void compared_put_risen(struct buf *out, const struct comparison *c);
/* Writes verdict, overall delta and method. */
void compared_put_verdict(struct buf *out, const struct comparison *c);
