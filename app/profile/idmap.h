/*
 * From the ids of a file to rows. Most files number their rows 1..n, which
 * makes a lookup one subtraction; any others are sorted and searched, so that
 * no choice of ids is slow.
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
	struct id *ids; /* room for all that will be added */
	uint32_t n;
	bool dense;     /* ids[i].id == ids[0].id + i */
	bool in_order;  /* and ids[i].row == i: nothing need be looked up */
	uint64_t first; /* ids[0].id */
};

/* Room for n ids; -ENOMEM. */
MUST_CHECK int idmap_init(struct idmap *m, size_t n);
void idmap_done(struct idmap *m);
/* Adds the next row's id. */
void idmap_add(struct idmap *m, uint64_t id);
/* After the last idmap_add(); -EEXIST when an id came twice or is 0. */
MUST_CHECK int idmap_seal(struct idmap *m);
uint32_t idmap_search(const struct idmap *m, uint64_t id);

/* The row with this id, or IDMAP_NONE. */
static inline uint32_t
idmap_find(const struct idmap *m, uint64_t id)
{
	if (!m->dense)
		return idmap_search(m, id);
	id -= m->first;
	if (m->in_order)
		return id < m->n ? (uint32_t)id : IDMAP_NONE;
	return id < m->n ? m->ids[id].row : IDMAP_NONE;
}
