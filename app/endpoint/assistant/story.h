/* A text while it is written. */
#pragma once

#include "explain.h"
#include "material.h"

struct story {
	struct call *c;
	const struct explain_ask *ask;
	struct buf found;   /* findings, a line each */
	struct buf details; /* sections, each with a title */
	struct buf unknown; /* unknown facts, a line each */
	struct buf missing; /* types of which there is no profile */
	struct buf link;    /* to the flame graph of the first section */
};

/*
 * Each writes a section about profiles of one type, or a line about what is not
 * known.
 *   Errors   -1 with the reply
 */
MUST_CHECK int
story_hottest(struct story *s, const struct material *m, size_t rows);
MUST_CHECK int story_changed(struct story *s, const struct material *m);
MUST_CHECK int story_goroutines(struct story *s, const struct material *m);

/* Adds what is left out of a range, if anything, to the unknown facts. */
void story_put_lost(struct story *s, const struct range *r);
/* Returns what a type, which types.def has, counts: "CPU time". */
const char *story_cost(const char *type);
