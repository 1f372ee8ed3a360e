/*
 * Finds rows by hash. The rows stay in the caller's arrays; the table holds
 * their indexes. It uses open addressing and is at most three quarters full.
 *
 * Keys that come from profiles are untrusted: hash them with hash_keyed().
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

#define TABLE_NONE     UINT32_MAX
#define TABLE_MAX_ROWS (1u << 28)

struct table_slot {
	uint32_t hash, row; /* row is TABLE_NONE in a free slot */
};

struct table {
	struct table_slot *slots; /* mask + 1 slots, or NULL */
	uint32_t mask, used;
};

/* True when the row equals the one that key describes. */
typedef bool table_same(const void *key, uint32_t row);

/*
 * Makes room for one more row, so that the next table_put() cannot fail.
 *   Errors   -ENOMEM, -E2BIG past TABLE_MAX_ROWS; t is unchanged
 */
MUST_CHECK int table_room(struct table *t);
/* As table_room(), for several rows. */
MUST_CHECK int table_reserve(struct table *t, uint32_t rows);
/* Adds a row that table_find() did not find; call table_room() first. */
void table_put(struct table *t, uint64_t hash, uint32_t row);
void table_done(struct table *t);

/* Prefetches the slot of a hash that is about to be looked up. */
static inline void
table_prefetch(const struct table *t, uint64_t hash)
{
	if (t->slots)
		__builtin_prefetch(&t->slots[(uint32_t)hash & t->mask], 1);
}

/* Returns the row that a hash most likely has, or TABLE_NONE. */
static inline uint32_t
table_guess(const struct table *t, uint64_t hash)
{
	return t->slots ? t->slots[(uint32_t)hash & t->mask].row : TABLE_NONE;
}

/* Returns the row that equals key, or TABLE_NONE. */
static inline uint32_t
table_find(const struct table *t, uint64_t hash, table_same *same,
           const void *key)
{
	uint32_t h = (uint32_t)hash;

	if (!t->slots)
		return TABLE_NONE;
	for (uint32_t i = h & t->mask;; i = (i + 1) & t->mask) {
		const struct table_slot *s = &t->slots[i];

		if (s->row == TABLE_NONE)
			return TABLE_NONE;
		if (s->hash == h && same(key, s->row))
			return s->row;
	}
}
