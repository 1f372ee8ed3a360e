/* Comparisons, as replies show them. */
#pragma once

#include "endpoint/call.h"
#include "profile/compare.h"
#include "store/session.h"

/* Two sessions being compared; zeroed at first, compared_done() at the end. */
struct compared {
	struct session base, now;
	struct profile *profiles[2];
	struct tree *trees[2];
	struct compare_side sides[2]; /* of the trees */
	struct comparison *c;
};
#define CLEANUP_COMPARED CLEANUP(compared_done)

void compared_done(struct compared *x);
/*
 * Loads the profiles of x->base and x->now, which are of one type, and
 * compares them.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int compared_run(struct call *c, struct compared *x);
/* True when they are of what there is, not of what is spent. */
bool compared_is_gauge(const struct compared *x);
/*
 * Writes links: the differential flame graph of two sessions of one type,
 * which opens as it is.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int
compared_put_links(struct call *c, struct buf *out, const char *base,
                   const char *now);
/* Writes the list of those with this change, or that decided the verdict. */
void
compared_put_changes(struct buf *out, const char *key,
                     const struct comparison *c, enum compare_change change);
void compared_put_deciding(struct buf *out, const char *key,
                           const struct comparison *c);
/* Writes verdict, overall delta and how it was judged. */
void compared_put_verdict(struct buf *out, const struct comparison *c);
