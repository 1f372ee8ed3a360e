/*
 * Draws a call tree as a static picture. The caller's functions supply what
 * differs between a profile and a diff.
 */
#pragma once

#include "profile/export.h"

struct svg_color {
	unsigned r, g, b; /* 0..255 */
	bool is_dark;     /* text on it is white */
};

struct svg {
	const struct tree *t;
	const void *arg; /* the caller's */
	/* Returns the width of a node; the widths of children add up to at most
	 * that of their parent. */
	double (*value)(const struct svg *s, uint32_t node);
	struct svg_color (*color)(const struct svg *s, uint32_t node);
	/* Writes the lines of a node's tooltip below its name, escaped. */
	void (*describe)(const struct svg *s, uint32_t node, struct buf *out);
	/* Draws a legend for the colours at (x, y); may be NULL. */
	void (*legend)(const struct svg *s, int x, int y, struct buf *out);
	uint32_t legend_height; /* pixels */
	uint32_t root;          /* the node drawn at full width below its
	                           callers; 0: the whole tree */
	const char *note;       /* below the title; NULL: none */
};

MUST_CHECK int
svg_write(const struct svg *s, const struct export_meta *meta, struct buf *out);
/* Returns the unit of the values of a tree. */
static inline const char *
svg_unit(const struct tree *t)
{
	const struct profile *p = t->profile;

	return profile_text(p, p->types[t->type].unit);
}
