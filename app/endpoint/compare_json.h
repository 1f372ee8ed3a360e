/* Comparisons, as replies show them. */
#pragma once

#include "endpoint/call.h"
#include "profile/compare.h"
#include "store/session.h"

/* More captures of the base's kind than that tell little more. */
#define COMPARED_OTHERS 8

/* Two sessions being compared; zeroed at first, compared_done() at the end. */
struct compared {
	struct session base, now;
	struct profile *profiles[2];
	struct tree *trees[2];
	struct blocks *blocks[2];     /* NULL: no timeline tells of them */
	struct compare_side sides[2]; /* of the trees; work: as asked for */
	enum compare_by by;
	struct profile *other_profiles[COMPARED_OTHERS];
	struct tree *others[COMPARED_OTHERS];
	size_t nothers;
	struct comparison *c;
};
#define CLEANUP_COMPARED CLEANUP(compared_done)

void compared_done(struct compared *x);
/* Parameters that say what is tested. */
struct compared_params {
	enum param normalize, base_work, now_work;
};
/*
 * Reads them into x.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int compared_ask(struct call *c, const struct compared_params *p,
                            struct compared *x);
/*
 * Loads the profiles of x->base and x->now, which are of one type, and
 * compares them.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int compared_run(struct call *c, struct compared *x);
/*
 * Adds another capture of the base, before compared_run(); one that is not
 * kept any more, or of other value types, is left out.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int
compared_other(struct call *c, struct compared *x, const char *session);
/* True when they are of what there is, not of what is spent. */
bool compared_is_gauge(const struct compared *x);
/*
 * Writes links: the differential flame graph of two sessions of one type,
 * which opens as it is.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int compared_put_links(struct call *c, struct buf *out,
                                  const char *base, const char *now);
/* Writes the list of those with this change, or that decided the verdict. */
void
compared_put_changes(struct buf *out, const char *key,
                     const struct comparison *c, enum compare_change change);
void compared_put_deciding(struct buf *out, const char *key,
                           const struct comparison *c);
/* Writes verdict, overall delta and how it was judged. */
void compared_put_verdict(struct buf *out, const struct comparison *c);
