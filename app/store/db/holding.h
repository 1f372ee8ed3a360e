/*
 * Bytes held by each tenant. A full store deletes from the largest holder
 * first.
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
 * Finds the tenant that holds the most. *lead is the difference to the next
 * tenant, in bytes.
 *   Errors   NULL if no tenant holds anything
 */
struct holding *holdings_largest(const struct holdings *h, int64_t *lead);
