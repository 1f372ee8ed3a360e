/*
 * Comparisons (compare/compared.h) in requests. Functions that return int
 * return 0, or -1 with the reply.
 *
 *	CLEANUP_COMPARED struct compared x = {0};
 *
 *	if (compare_call_test(c, COMPARE_TEST(op), &x) ||
 *	    compare_call_sides(c, &sides, &x) || compare_call_run(c, &x))
 *		return -1;
 */
#pragma once

#include "compare/compared.h"
#include "endpoint/call.h"
#include "endpoint/range/range_call.h"

/* Parameters that choose what is tested. */
struct compare_test_params {
	enum param normalize, base_work, now_work;
};
#define COMPARE_TEST(op)                      \
	(&(const struct compare_test_params){ \
		P_##op##_normalize,           \
		P_##op##_baseWork,            \
		P_##op##_comparisonWork,      \
	})
/* Begins x, and reads these parameters into it. Without them x->by stays. */
MUST_CHECK int
compare_call_test(struct call *c, const struct compare_test_params *p,
                  struct compared *x);
/* Parameters that choose one side. */
struct compare_side_params {
	enum param id, from, to;
};
struct compare_sides {
	struct compare_side_params sides[2]; /* base, now */
	enum param service, type, host, label, origin, sample, others;
};
/* The rows of an operation that has these parameters. */
#define COMPARE_SIDES(op)                                                    \
	{                                                                    \
		.sides = {{P_##op##_baseProfileId, P_##op##_baseFrom,        \
		           P_##op##_baseTo},                                 \
		          {P_##op##_comparisonProfileId,                     \
		           P_##op##_comparisonFrom, P_##op##_comparisonTo}}, \
		.service = P_##op##_service, .type = P_##op##_profileType,   \
		.host = P_##op##_host, .label = P_##op##_label,              \
		.origin = P_##op##_origin, .sample = P_##op##_sample,        \
		.others = P_##op##_others,                                   \
	}
/* Finds both sides: completed sessions, windows, or parts of ranges, all of one
 * type. */
MUST_CHECK int compare_call_sides(struct call *c, const struct compare_sides *p,
                                  struct compared *x);
/* Finds one side, by the parameters of sides[i], beside one that is known. */
MUST_CHECK int
compare_call_side(struct call *c, const struct compare_sides *p, size_t i,
                  const struct session *beside, struct compared *x);
/* Loads the profiles of both sides and compares them. */
MUST_CHECK int compare_call_run(struct call *c, struct compared *x);
/* Answers for a failed function of compare/compared.h; always -1. */
int compare_call_fail(struct call *c, int rc);
/* Warns of two sides that were probably not meant to be compared: one profile
 * twice, or profiles of two services or hosts. */
void compare_call_warn(struct call *c, const struct session *base,
                       const struct session *now);
/* Writes the labels of samples that both sides are restricted to. */
void compare_call_put_only(const struct compared *x, struct buf *out);
/* Writes everything that a comparison of these sides depends on: see kept.h. */
void
compare_call_made_of(struct call *c, const struct compared *x, struct buf *out);
/* Returns the index of a parameter's word in a list, or_else if the parameter
 * is absent. */
int compare_call_word(const struct call *c, enum param p,
                      const char *const *words, int or_else);
/* Gets the caller's baseline by its id. */
MUST_CHECK int
compare_call_baseline(struct call *c, const char *id, struct baseline *out);
/*
 * Writes a link to the differential flame graph of both sides, by the same
 * test.
 *   Shape    baseline: the one that CheckBaseline was asked about, or NULL
 */
MUST_CHECK int compare_link_put(struct call *c, struct buf *out,
                                const struct compared *x, const char *baseline);
