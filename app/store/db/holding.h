/*
 * Which tenant holds the most of what a store keeps, so that a full store takes
 * from that one first.
 */
#pragma once

#include "store/db/row.h"

struct holding {
	char *tenant;
	int64_t bytes;
};
struct holdings {
	struct holding *items;
	size_t n;
};
#define CLEANUP_HOLDINGS CLEANUP(holdings_done)

void holdings_done(struct holdings *h);
/* Reads the rows of a statement as holdings. */
MUST_CHECK int
holdings_read(struct store *s, enum sql sql, struct holdings *out);
/*
 * Finds the tenant that holds the most. *lead is by how many bytes that is more
 * than anybody else holds.
 *   Errors   NULL when nobody holds anything
 */
struct holding *holdings_largest(const struct holdings *h, int64_t *lead);
