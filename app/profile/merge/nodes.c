#include "nodes.h"

#include "base/hash.h"
#include "base/id.h"
#include "profile/model/build.h"

#include <stdlib.h>

#define AHEAD 8 /* nodes tried before the hash table */

int
nodes_init(struct nodes *t)
{
	struct nodes made = {.n = 1, .next = 1};
	int rc = rows_room(&made.items, &made.cap, 0, 1, sizeof(*made.items));

	if (rc)
		return rc;
	random_bytes(&made.key, sizeof(made.key));
	made.items[0] = (struct packed_node){0};
	*t = made;
	return 0;
}

void
nodes_done(struct nodes *t)
{
	free(t->items);
	table_done(&t->children);
}

struct wanted_node {
	const struct packed_node *items;
	struct packed_node node;
};

static bool
same_node(const void *key, uint32_t row)
{
	const struct wanted_node *w = key;

	return w->items[row].parent == w->node.parent &&
	       w->items[row].location == w->node.location;
}

static int
add(struct nodes *t, const struct packed_node *node, uint64_t hash,
    uint32_t *out)
{
	int rc = rows_room(&t->items, &t->cap, t->n, 1, sizeof(*t->items))
	                 ?: table_room(&t->children);

	if (rc)
		return rc;
	t->items[t->n] = *node;
	table_put(&t->children, hash, t->n);
	*out = t->n++;
	return 0;
}

static uint64_t
hash_of(const struct nodes *t, uint32_t parent, uint32_t location)
{
	uint64_t pair = (uint64_t)parent << 32 | location;

	return hash_fold(pair ^ t->key, t->key | 1);
}

int
nodes_reserve(struct nodes *t, uint32_t more)
{
	return rows_room(&t->items, &t->cap, t->n, more, sizeof(*t->items))
	               ?: table_reserve(&t->children, more);
}

void
nodes_expect(const struct nodes *t, uint32_t parent, uint32_t location)
{
	table_prefetch(&t->children, hash_of(t, parent, location));
}

/* Files of one program have their nodes in the same order: the wanted node is
 * mostly among the next few. */
static uint32_t
find(struct nodes *t, const struct wanted_node *w, uint64_t hash)
{
	uint32_t end = t->n - t->next < AHEAD ? t->n : t->next + AHEAD;

	for (uint32_t i = t->next; i < end; i++)
		if (same_node(w, i))
			return i;
	return table_find(&t->children, hash, same_node, w);
}

int
nodes_child(struct nodes *t, uint32_t parent, uint32_t location, uint32_t *out)
{
	struct wanted_node w = {t->items, {parent, location}};
	uint64_t hash = hash_of(t, parent, location);
	uint32_t at = find(t, &w, hash);
	int rc;

	if (at == TABLE_NONE) {
		rc = add(t, &w.node, hash, out);
		if (!rc && *out == t->next)
			t->next++;
		return rc;
	}
	t->next = at + 1;
	*out = at;
	return 0;
}
