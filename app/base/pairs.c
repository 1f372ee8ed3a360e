#include "base/pairs.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_ROWS 64u /* a power of two; slots are twice as many */

static uint32_t *
slot_of(const struct pairs *p, uint32_t a, uint64_t b)
{
	uint32_t mask = p->cap * 2 - 1;

	for (uint32_t i = (uint32_t)hash_pair(a, b);; i++) {
		uint32_t *slot = &p->slots[i & mask];

		if (!*slot ||
		    (p->rows[*slot - 1].a == a && p->rows[*slot - 1].b == b))
			return slot;
	}
}

static int
grow(struct pairs *p)
{
	uint32_t cap = p->cap ? p->cap * 2 : FIRST_ROWS;
	struct pair *rows = realloc(p->rows, cap * sizeof(*rows));
	uint32_t *slots;

	if (!rows)
		return -ENOMEM;
	p->rows = rows;
	slots = calloc((size_t)cap * 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(p->slots);
	p->slots = slots;
	p->cap = cap;
	for (uint32_t i = 0; i < p->n; i++)
		*slot_of(p, rows[i].a, rows[i].b) = i + 1;
	return 0;
}

int
pairs_intern(struct pairs *p, uint32_t a, uint64_t b, uint32_t *out)
{
	uint32_t *slot = p->cap ? slot_of(p, a, b) : NULL;
	int rc;

	if (slot && *slot) {
		*out = *slot - 1;
		return 0;
	}
	if (p->n >= p->max)
		return -E2BIG;
	if (p->n == p->cap) {
		rc = grow(p);
		if (rc)
			return rc;
		slot = slot_of(p, a, b);
	}
	p->rows[p->n] = (struct pair){a, b};
	*out = p->n++;
	*slot = p->n;
	return 0;
}

void
pairs_done(struct pairs *p)
{
	free(p->rows);
	free(p->slots);
	*p = (struct pairs){0};
}
