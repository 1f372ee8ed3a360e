/* Private to merging: merge.c the rows that stacks are made of, merge_stacks.c
 * the stacks and their samples. */
#pragma once

#include "profile/merge.h"

#include "base/table.h"
#include "nodes.h"

struct merge {
	struct profile *p; /* its stacks are of one entry: a node */
	struct nodes nodes;
	struct node_rows {
		uint32_t *items; /* by node: its sample without labels, + 1 */
		uint32_t n, cap;
	} rows;
	size_t max_bytes;
	bool begun;
	uint64_t key;
	struct label label;    /* of all that is added; key 0: none */
	struct table mappings; /* of p, by what a file is the same by */
};

/* The stack added last, from the outermost frame: location in the input, and
 * node. Stacks at once often share their beginnings. */
struct path {
	uint32_t n;
	struct step {
		uint32_t location, node;
	} steps[PROFILE_MAX_FRAMES];
};

/* From rows of the input to rows of the merged profile. */
struct input_rows {
	struct merge *m;
	const struct profile *p;
	const struct packed *packed;
	uint32_t *strings; /* id + 1; 0: not looked for yet */
	uint32_t *mappings, *functions, *locations, *nodes;
	uint64_t *shift; /* by mapping: added to its addresses */
	struct path path;
};

/* The same text in the merged profile; -ENOMEM, -E2BIG. */
MUST_CHECK int merge_text(struct input_rows *r, uint32_t id, uint32_t *out);
/* Adds nodes and samples, when all that they refer to is there; as
 * merge_add(). */
MUST_CHECK int merge_stacks(struct input_rows *r);
/* What the merged rows take, their hashes included. */
size_t merge_memory(const struct merge *m);
