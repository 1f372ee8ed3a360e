#include "capture/trie.h"

#include "base/hash.h"

#include <errno.h>
#include <stdbool.h>

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

int
trie_init(struct trie *t, uint32_t max_nodes)
{
	struct trie fresh = {0};
	uint32_t root;
	int rc;

	if (max_nodes > TRIE_MAX_NODES)
		max_nodes = TRIE_MAX_NODES;
	fresh.places.max = fresh.nodes.max = max_nodes;
	rc = pairs_intern(&fresh.nodes, UINT32_MAX, UINT64_MAX, &root);
	if (rc) {
		trie_done(&fresh);
		return rc;
	}
	*t = fresh;
	return 0;
}

void
trie_done(struct trie *t)
{
	pairs_done(&t->places);
	pairs_done(&t->nodes);
	free(t->counts);
	*t = (struct trie){0};
}

static int
step(struct trie *t, struct place at, uint32_t *node)
{
	uint32_t place;
	int rc = pairs_intern(&t->places, at.module, at.vaddr, &place);

	return rc ? rc : pairs_intern(&t->nodes, *node, place, node);
}

static int
room_for_count(struct trie *t, uint32_t node)
{
	uint32_t cap = t->nodes.cap;
	struct trie_count *counts;

	if (node < t->counts_cap)
		return 0;
	counts = realloc(t->counts, cap * sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	for (uint32_t i = t->counts_cap; i < cap; i++)
		counts[i] = (struct trie_count){0};
	t->counts = counts;
	t->counts_cap = cap;
	return 0;
}

/* How many frames it begins with as the one before it did. */
static size_t
in_common(const struct trie *t, const struct place *stack, size_t n)
{
	size_t i = 0;

	while (i < n && i < t->npath &&
	       t->path[i].vaddr == stack[n - 1 - i].vaddr &&
	       t->path[i].module == stack[n - 1 - i].module)
		i++;
	return i;
}

/* The node of a whole stack, with room for its count. */
static int
walk(struct trie *t, const struct place *stack, size_t n, uint32_t *node)
{
	size_t known = in_common(t, stack, n);
	int rc = 0;

	*node = known ? t->path_nodes[known - 1] : TRIE_ROOT;
	t->npath = (uint32_t)known;
	for (size_t i = known; i < n && !rc; i++) {
		rc = step(t, stack[n - 1 - i], node);
		if (rc || i >= TRIE_PATH)
			continue;
		t->path[i] = stack[n - 1 - i];
		t->path_nodes[i] = *node;
		t->npath = (uint32_t)i + 1;
	}
	return rc ? rc : room_for_count(t, *node);
}

int
trie_count(struct trie *t, const struct place *stack, size_t n,
           struct place overflow, uint64_t weight, uint32_t *out)
{
	uint32_t node;
	int rc = 0;

	/* Its place is taken first, while there is room for it. */
	if (!t->samples)
		rc = walk(t, &overflow, 1, &node);
	if (rc)
		return rc;
	if (walk(t, stack, n, &node)) {
		rc = walk(t, &overflow, 1, &node);
		t->folded += !rc;
	}
	if (rc)
		return rc;
	t->counts[node].samples++;
	t->counts[node].weight += weight;
	t->samples++;
	t->weight += weight;
	*out = node;
	return 0;
}
