/*
 * Nodes in the order in which samples made them, a parent always before its
 * children, become columns in preorder.
 */
#pragma once

#include "profile/tree.h"

struct node {
	uint32_t parent, name;
	int64_t self, samples;
	/* the rest is tree_lay_out()'s: */
	int64_t total;
	uint32_t size;         /* nodes below and itself */
	uint32_t depth, place; /* in preorder */
	uint32_t next;         /* free place for a child */
};

/* Room for n nodes in the columns of t, which has none yet; -ENOMEM. */
MUST_CHECK int tree_columns(struct tree *t, size_t n);
/* Fills the columns of t; -ENOMEM. */
MUST_CHECK int tree_lay_out(struct tree *t, struct node *nodes, uint32_t n);
