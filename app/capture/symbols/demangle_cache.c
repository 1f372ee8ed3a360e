#include "demangle.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 1024 /* a power of two */

struct entry {
	const char *name; /* NULL: free slot */
	char *readable;   /* NULL: the name itself */
	uint64_t hash;
};

struct demangle_cache {
	struct entry *slots;
	size_t cap, n;
};

struct demangle_cache *
demangle_cache_new(void)
{
	struct demangle_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->cap = FIRST_SLOTS;
	c->slots = calloc(c->cap, sizeof(*c->slots));
	if (!c->slots) {
		free(c);
		return NULL;
	}
	return c;
}

void
demangle_cache_free(struct demangle_cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->cap; i++)
		free(c->slots[i].readable);
	free(c->slots);
	free(c);
}

static struct entry *
find_slot(struct entry *slots, size_t cap, const char *name, uint64_t hash)
{
	size_t i = hash & (cap - 1);

	while (slots[i].name &&
	       (slots[i].hash != hash || strcmp(slots[i].name, name)))
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static bool
grow(struct demangle_cache *c)
{
	struct entry *more = calloc(c->cap * 2, sizeof(*more)), *e;

	if (!more)
		return false;
	for (size_t i = 0; i < c->cap; i++) {
		e = &c->slots[i];
		if (e->name)
			*find_slot(more, c->cap * 2, e->name, e->hash) = *e;
	}
	free(c->slots);
	c->slots = more;
	c->cap *= 2;
	return true;
}

const char *
demangle_cached(struct demangle_cache *c, const char *name)
{
	uint64_t hash = hash_bytes(name, strlen(name));
	struct entry *e = find_slot(c->slots, c->cap, name, hash);
	char text[DEMANGLE_MAX];

	if (e->name)
		return e->readable ? e->readable : name;
	if (!demangle(name, text))
		return name;
	if (c->n >= c->cap / 2) {
		if (!grow(c))
			return name;
		e = find_slot(c->slots, c->cap, name, hash);
	}
	*e = (struct entry){name, strdup(text), hash};
	c->n++;
	return e->readable ? e->readable : name;
}
