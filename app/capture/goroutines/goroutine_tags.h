/*
 * Reads the labels that a program gives its goroutines by pprof.Do and similar
 * functions.
 *
 * Equal sets are one node, wherever they are in memory. Source:
 * runtime/pprof/label.go: a map of strings up to Go 1.23, a list of pairs from
 * 1.24 on; runtime/map.go of 1.23 for the layout of a map.
 */
#pragma once

#include "base/pairs.h"
#include "goroutine_find.h"
#include "profile/profile.h"

#define GO_MAX_TAGS     32         /* of one goroutine */
#define GO_MAX_TAG      256        /* bytes of a key or a value */
#define GO_MAX_TAG_SETS (1u << 16) /* further sets are ignored */

struct go_tags {
	const struct go_runtime *r;
	struct profile *p;  /* holds the labels' strings */
	struct pairs ptrs;  /* addresses of sets */
	uint32_t *sets;     /* by address: a node, or 0 for an empty set */
	struct pairs nodes; /* (rest of the set, key and value) */
};

/* Prepares for reading; go_tags_done() it also on failure. Errors -ENOMEM */
MUST_CHECK int
go_tags_init(struct go_tags *t, const struct go_runtime *r, struct profile *p);
void go_tags_done(struct go_tags *t);

/*
 * Reads the labels of some goroutines, in a few large reads.
 *   Errors   as memory_read() and profile_string(); memory that holds no labels
 *            is skipped
 */
MUST_CHECK int go_tags_learn(struct go_tags *t, const struct go_g *g, size_t n);
/* Returns the set that a goroutine's labels point to; 0: none. */
uint32_t go_tags_of(struct go_tags *t, uint64_t labels);
/* Writes a set's labels, with key and str. Returns their number. */
uint32_t go_tags_get(const struct go_tags *t, uint32_t set,
                     struct label out[GO_MAX_TAGS]);
