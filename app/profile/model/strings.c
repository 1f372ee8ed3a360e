#include "strings.h"

#include "base/hash.h"
#include "base/id.h"
#include "base/table.h"
#include "base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define CHUNK_FIRST ((size_t)4 << 10)
#define CHUNK_MOST  ((size_t)1 << 20)

struct chunk {
	struct chunk *older;
	size_t used, size;
	char text[];
};

struct entry {
	const char *text;
	uint32_t n;
};

struct strings {
	struct chunk *newest;
	struct entry *entries;
	uint32_t n, cap;
	size_t bytes; /* bytes of text, with NULs */
	uint64_t key;
	struct table table;
};

struct wanted {
	const struct strings *s;
	const char *text;
	size_t n;
};

static bool
same_text(const void *key, uint32_t id)
{
	const struct wanted *w = key;
	const struct entry *e = &w->s->entries[id];

	return e->n == w->n && (!w->n || memcmp(e->text, w->text, w->n) == 0);
}

static int
chunk_add(struct strings *s, size_t size)
{
	struct chunk *c = malloc(sizeof(*c) + size);

	if (!c)
		return -ENOMEM;
	*c = (struct chunk){.older = s->newest, .size = size};
	s->newest = c;
	return 0;
}

/* Allocates a chunk with room for n bytes and more. */
static int
chunk_grow(struct strings *s, size_t n)
{
	size_t size = s->newest ? s->newest->size * 2 : CHUNK_FIRST;

	if (size > CHUNK_MOST)
		size = CHUNK_MOST;
	return chunk_add(s, size < n ? n : size);
}

static int
entries_cap(struct strings *s, uint32_t cap)
{
	struct entry *e;

	if (cap <= s->cap)
		return 0;
	e = realloc(s->entries, (size_t)cap * sizeof(*e));
	if (!e)
		return -ENOMEM;
	s->entries = e;
	s->cap = cap;
	return 0;
}

static int
entries_room(struct strings *s)
{
	if (s->n < s->cap)
		return 0;
	return entries_cap(s, s->cap ? s->cap * 2 : 64);
}

static int
room(struct strings *s, size_t n)
{
	int r;

	if (s->n >= STRINGS_MAX || n > STRINGS_MAX_BYTES - s->bytes)
		return -E2BIG;
	r = entries_room(s);
	if (!r)
		r = table_room(&s->table);
	if (!r && (!s->newest || s->newest->size - s->newest->used < n))
		r = chunk_grow(s, n);
	return r;
}

static const char *
keep(struct strings *s, const char *text, size_t n)
{
	char *to = s->newest->text + s->newest->used;

	memcpy(to, text, n);
	to[n] = '\0';
	s->newest->used += n + 1;
	s->bytes += n + 1;
	return to;
}

static uint32_t
find(const struct strings *s, uint64_t hash, const char *text, size_t n)
{
	return table_find(&s->table, hash, same_text,
	                  &(struct wanted){s, text, n});
}

static int
put(struct strings *s, uint64_t hash, const char *text, size_t n, uint32_t *out)
{
	int r = n < STRINGS_MAX_BYTES ? room(s, n + 1) : -E2BIG;

	if (r)
		return r;
	s->entries[s->n] = (struct entry){keep(s, text, n), (uint32_t)n};
	table_put(&s->table, hash, s->n);
	*out = s->n++;
	return 0;
}

int
strings_add_stored(struct strings *s, const char *text, size_t n, uint32_t *out)
{
	uint64_t hash = hash_keyed(s->key, text, n);
	uint32_t id = find(s, hash, text, n);

	if (id == TABLE_NONE)
		return put(s, hash, text, n, out);
	*out = id;
	return 0;
}

static int
add_mended(struct strings *s, const char *text, size_t n, uint32_t *out)
{
	bool small = n < STRINGS_MAX_BYTES / UTF8_ESCAPED;
	CLEANUP_FREE char *copy = small ? malloc(n * UTF8_ESCAPED + 1) : NULL;

	if (!copy)
		return small ? -ENOMEM : -E2BIG;
	return strings_add_stored(s, copy, utf8_escape(text, n, copy), out);
}

/* Only new text is checked for UTF-8; most is not new. */
static int
add(struct strings *s, uint64_t hash, const char *text, size_t n, uint32_t *out)
{
	uint32_t id = find(s, hash, text, n);

	if (id == TABLE_NONE)
		return utf8_valid(text, n) ? put(s, hash, text, n, out)
		                           : add_mended(s, text, n, out);
	*out = id;
	return 0;
}

int
strings_add(struct strings *s, const char *text, size_t n, uint32_t *out)
{
	return add(s, hash_keyed(s->key, text, n), text, n, out);
}

int
strings_find(const struct strings *s, const char *text, size_t n, uint32_t *out)
{
	uint32_t id = find(s, hash_keyed(s->key, text, n), text, n);

	if (id == TABLE_NONE)
		return -ENOENT;
	*out = id;
	return 0;
}

int
strings_add_all(struct strings *s, const struct string *text, size_t n,
                uint32_t *out)
{
	uint64_t hash[STRINGS_AT_ONCE];
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		hash[i] = hash_keyed(s->key, text[i].p, text[i].n);
		table_prefetch(&s->table, hash[i]);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t id = table_guess(&s->table, hash[i]);

		if (id != TABLE_NONE)
			__builtin_prefetch(&s->entries[id]);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t id = table_guess(&s->table, hash[i]);

		if (id != TABLE_NONE)
			__builtin_prefetch(s->entries[id].text);
	}
	for (size_t i = 0; i < n && !r; i++)
		r = add(s, hash[i], text[i].p, text[i].n, &out[i]);
	return r;
}

int
strings_reserve(struct strings *s, uint32_t n, size_t bytes)
{
	int r;

	if (n > STRINGS_MAX - s->n || bytes > STRINGS_MAX_BYTES - s->bytes - n)
		return -E2BIG;
	r = entries_cap(s, s->n + n) ?: table_reserve(&s->table, n);
	return r ? r : chunk_add(s, bytes + n);
}

struct strings *
strings_new(void)
{
	CLEANUP_STRINGS struct strings *s = calloc(1, sizeof(*s));
	uint32_t empty;

	if (!s)
		return NULL;
	random_bytes(&s->key, sizeof(s->key));
	if (strings_add(s, "", 0, &empty))
		return NULL;
	return TAKE(s);
}

void
strings_free(struct strings *s)
{
	if (!s)
		return;
	while (s->newest) {
		struct chunk *c = s->newest;

		s->newest = c->older;
		free(c);
	}
	free(s->entries);
	table_done(&s->table);
	free(s);
}

const char *
strings_get(const struct strings *s, uint32_t id, size_t *n)
{
	assert(id < s->n);
	if (n)
		*n = s->entries[id].n;
	return s->entries[id].text;
}

uint32_t
strings_count(const struct strings *s)
{
	return s->n;
}
