#include "trie.h"

#include <errno.h>
#include <stdbool.h>

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
	struct amount *counts;

	if (node < t->counts_cap)
		return 0;
	counts = realloc(t->counts, cap * sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	for (uint32_t i = t->counts_cap; i < cap; i++)
		counts[i] = (struct amount){0};
	t->counts = counts;
	t->counts_cap = cap;
	return 0;
}

/* Counts the outer frames that a stack shares with the one before. */
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

/* Finds or adds the node of a whole stack, with room for its count. */
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

/* Goes on to the node of a tag, if there is room for it. */
static void
put_tag(struct trie *t, struct place tag, uint32_t *node)
{
	uint32_t at = *node;

	if (!step(t, tag, &at) && !room_for_count(t, at))
		*node = at;
}

/* Rounding to whole events, which a profile has, adds less than one. */
#define TOTAL_MOST ((uint64_t)INT64_MAX - AMOUNT_EVENT)

static void
add_up(uint64_t *total, uint64_t n, uint64_t *to)
{
	if (n > TOTAL_MOST - *total)
		n = TOTAL_MOST - *total;
	*total += n;
	*to += n;
}

int
trie_count(struct trie *t, const struct place *stack, size_t n,
           const struct place *tag, struct place overflow,
           const struct amount *amount, uint32_t *out)
{
	struct amount *to;
	uint32_t node;
	int rc = 0;

	/* Reserves the overflow's place while there is room. */
	if (!t->samples)
		rc = walk(t, &overflow, 1, &node);
	if (rc)
		return rc;
	if (walk(t, stack, n, &node)) {
		rc = walk(t, &overflow, 1, &node);
		t->folded += !rc;
	} else if (tag) {
		put_tag(t, *tag, &node);
	}
	if (rc)
		return rc;
	to = &t->counts[node];
	add_up(&t->total.value, amount->value, &to->value);
	add_up(&t->total.events, amount->events, &to->events);
	add_up(&t->total.bytes, amount->bytes, &to->bytes);
	t->samples++;
	*out = node;
	return 0;
}
