/* What the frames of a profile are called in its tree, found once each. */
#pragma once

#include "profile/tree.h"

struct tree_names {
	const struct profile *p;
	struct tree *t;
	uint32_t *by_string;   /* string of the profile -> name, or 0 */
	uint32_t *by_location; /* for frames without a function's name */
	uint32_t cap;          /* of t->home */
};

/* Fills names, packages and files of t with "" alone; -ENOMEM. */
MUST_CHECK int
tree_names_init(struct tree_names *c, const struct profile *p, struct tree *t);
void tree_names_done(struct tree_names *c);
/* The id in t->names of text; its package is "" when it is new. */
MUST_CHECK int
tree_names_add(struct tree_names *c, const char *text, size_t n, uint32_t *out);
/* The id in t->names of one frame. */
MUST_CHECK int tree_names_frame(struct tree_names *c, uint32_t location,
                                uint32_t line, uint32_t *out);
