/*
 * Maps the ids of a file to rows. Most files number their rows 1..n: a lookup
 * is then one subtraction and needs no memory. Other ids are sorted and
 * searched, so that no choice of ids makes lookups slow.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDMAP_NONE UINT32_MAX

struct id {
	uint64_t id;
	uint32_t row;
};

struct idmap {
	struct id *ids; /* NULL while row i has the id first + i */
	uint32_t n, max;
	bool dense; /* ids[i].id == first + i */
	uint64_t first;
};

/* An empty map for at most max ids. */
#define IDMAP_INIT(most) ((struct idmap){.max = (most)})
void idmap_done(struct idmap *m);
/* Adds the id of the next row. Returns 0 or -ENOMEM. */
MUST_CHECK int idmap_add(struct idmap *m, uint64_t id);
/* Must be called after the last idmap_add() and before any lookup. Returns
 * -EEXIST if an id is 0 or occurs twice. */
MUST_CHECK int idmap_seal(struct idmap *m);
uint32_t idmap_search(const struct idmap *m, uint64_t id);

/* True if ids are consecutive: the row of an id is id - m->first, below
 * m->n. */
static inline bool
idmap_is_plain(const struct idmap *m)
{
	return !m->ids;
}

/* Returns the row with this id, or IDMAP_NONE. */
static inline uint32_t
idmap_find(const struct idmap *m, uint64_t id)
{
	if (!m->dense && m->ids)
		return idmap_search(m, id);
	id -= m->first;
	if (id >= m->n)
		return IDMAP_NONE;
	return m->ids ? m->ids[id].row : (uint32_t)id;
}
