#include "base/table.h"

#include <errno.h>
#include <string.h>

#define FIRST_SLOTS 64

static void
place(struct table_slot *slots, uint32_t mask, struct table_slot s)
{
	uint32_t i = s.hash & mask;

	while (slots[i].row != TABLE_NONE)
		i = (i + 1) & mask;
	slots[i] = s;
}

static int
resize(struct table *t, uint32_t more)
{
	uint32_t n = t->slots ? t->mask + 1 : 0;
	struct table_slot *slots = malloc((size_t)more * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xFF, (size_t)more * sizeof(*slots));
	for (uint32_t i = 0; i < n; i++)
		if (t->slots[i].row != TABLE_NONE)
			place(slots, more - 1, t->slots[i]);
	free(t->slots);
	t->slots = slots;
	t->mask = more - 1;
	return 0;
}

int
table_room(struct table *t)
{
	return table_reserve(t, 1);
}

int
table_reserve(struct table *t, uint32_t rows)
{
	uint32_t n = t->slots ? t->mask + 1 : 0;
	uint32_t more = n ? n : FIRST_SLOTS;

	if (rows > TABLE_MAX_ROWS - t->used)
		return -E2BIG;
	while (t->used + rows > more / 4 * 3)
		more *= 2;
	return more == n ? 0 : resize(t, more);
}

void
table_put(struct table *t, uint64_t hash, uint32_t row)
{
	place(t->slots, t->mask, (struct table_slot){(uint32_t)hash, row});
	t->used++;
}

void
table_done(struct table *t)
{
	free(t->slots);
	*t = (struct table){0};
}
