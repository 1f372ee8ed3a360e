/*
 * The labels that a program gives its goroutines by pprof.Do and its kin.
 *
 * Equal sets are one, wherever they lie. Source: runtime/pprof/label.go: a
 * map of strings up to Go 1.23, a list of pairs from 1.24 on; runtime/map.go
 * of 1.23 for what a map looks like.
 */
#pragma once

#include "base/pairs.h"
#include "goroutine_find.h"
#include "profile/profile.h"

#define GO_MAX_TAGS     32         /* of one goroutine */
#define GO_MAX_TAG      256        /* bytes of a key or a value */
#define GO_MAX_TAG_SETS (1u << 16) /* others are left without */

struct go_tags {
	const struct go_runtime *r;
	struct profile *p;  /* labels are strings of it */
	struct pairs ptrs;  /* where sets lie */
	uint32_t *sets;     /* by ptr: a node, or 0 for none */
	struct pairs nodes; /* (rest of the set, key and value) */
};

/* Errors: -ENOMEM; go_tags_done() it all the same. */
MUST_CHECK int
go_tags_init(struct go_tags *t, const struct go_runtime *r, struct profile *p);
void go_tags_done(struct go_tags *t);

/*
 * Reads the labels of some goroutines, in few questions.
 *   Errors   of memory_read() and profile_string(); what is no label set is
 *            passed over
 */
MUST_CHECK int go_tags_learn(struct go_tags *t, const struct go_g *g, size_t n);
/* The set that a goroutine's labels point to; 0: none. */
uint32_t go_tags_of(struct go_tags *t, uint64_t labels);
/* Its labels, key and str set; how many. */
uint32_t go_tags_get(const struct go_tags *t, uint32_t set,
                     struct label out[GO_MAX_TAGS]);
