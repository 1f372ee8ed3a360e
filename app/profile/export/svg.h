/*
 * A call tree as a static picture: what differs between one profile and two
 * is asked of the caller.
 */
#pragma once

#include "profile/export.h"

struct svg_color {
	unsigned r, g, b; /* 0..255 */
};

struct svg {
	const struct tree *t;
	const void *arg; /* the caller's */
	/* Width of a node; those of children sum up to at most its own. */
	double (*value)(const struct svg *s, uint32_t node);
	struct svg_color (*color)(const struct svg *s, uint32_t node);
	/* Text of its tooltip, below the name; escaped. */
	void (*describe)(const struct svg *s, uint32_t node, struct buf *out);
	/* What colours mean, at that place; NULL: nothing. */
	void (*legend)(const struct svg *s, int x, int y, struct buf *out);
	uint32_t legend_height; /* pixels */
};

MUST_CHECK int
svg_write(const struct svg *s, const struct export_meta *meta, struct buf *out);
/* Unit of the values of a tree. */
static inline const char *
svg_unit(const struct tree *t)
{
	const struct profile *p = t->profile;

	return strings_get(p->strings, p->types[t->type].unit, NULL);
}
