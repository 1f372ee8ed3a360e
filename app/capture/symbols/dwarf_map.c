#include "dwarf_map.h"

#include "base/hash.h"

#include <stdlib.h>

#define FIRST_SLOTS 256 /* a power of two */

void
dwarf_map_done(struct dwarf_map *m)
{
	free(m->slots);
}

static struct dwarf_map_slot *
slot_of(struct dwarf_map_slot *slots, uint32_t cap, uint64_t key)
{
	uint32_t i = (uint32_t)hash_u64(key) & (cap - 1);

	while (slots[i].key && slots[i].key != key)
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static int
grow(struct dwarf_map *m)
{
	uint32_t cap = m->cap ? m->cap * 2 : FIRST_SLOTS;
	struct dwarf_map_slot *more = calloc(cap, sizeof(*more));

	if (!more)
		return -1;
	for (uint32_t i = 0; i < m->cap; i++)
		if (m->slots[i].key)
			*slot_of(more, cap, m->slots[i].key) = m->slots[i];
	free(m->slots);
	m->slots = more;
	m->cap = cap;
	return 0;
}

uint32_t *
dwarf_map_at(struct dwarf_map *m, uint64_t key)
{
	struct dwarf_map_slot *s;

	if (m->n >= m->cap / 2 && grow(m))
		return NULL;
	s = slot_of(m->slots, m->cap, key);
	if (!s->key) {
		s->key = key;
		m->n++;
	}
	return &s->value;
}
