#include "demangle.h"

#include "base/hash.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* libiberty bounds its recursion unless DMGL_NO_RECURSE_LIMIT is set. */
#define CXX_OPTIONS  (DMGL_ANSI | DMGL_GNU_V3)
#define RUST_OPTIONS DMGL_RUST

struct sink {
	char *out;
	size_t len;
	jmp_buf full;
};

/*
 * Leaves libiberty by a jump. There is no other way to stop its printing, which
 * takes hours if substitutions double the text again and again; it holds no
 * lock and, for C++, no heap memory while it prints.
 */
static void
take(const char *text, size_t n, void *arg)
{
	struct sink *s = arg;
	size_t room = DEMANGLE_MAX - 1 - s->len;
	size_t some = n < room ? n : room;

	memcpy(s->out + s->len, text, some);
	s->len += some;
	s->out[s->len] = '\0';
	if (some < n)
		longjmp(s->full, 1);
}

static bool
is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R') &&
	       strnlen(name, DEMANGLE_MAX_INPUT + 1) <= DEMANGLE_MAX_INPUT;
}

static bool
demangle_whole(const char *name, char out[DEMANGLE_MAX])
{
	struct sink s = {.out = out};

	if (setjmp(s.full)) {
		memcpy(out + DEMANGLE_MAX - 4, "...", 4);
		return true;
	}
	if (rust_demangle_callback(name, RUST_OPTIONS, take, &s) && s.len)
		return true;
	s.len = 0; /* the name only looked like Rust */
	return cplus_demangle_v3_callback(name, CXX_OPTIONS, take, &s) && s.len;
}

bool
demangle(const char *name, char out[DEMANGLE_MAX])
{
	const char *version = strchrnul(name, '@');
	char bare[DEMANGLE_MAX_INPUT + 1];
	size_t n = (size_t)(version - name), room;

	if (!is_mangled(name))
		return false;
	memcpy(bare, name, n);
	bare[n] = '\0';
	if (!demangle_whole(bare, out))
		return false;
	room = DEMANGLE_MAX - 1 - strlen(out);
	if (strlen(version) <= room)
		strcat(out, version);
	return true;
}

/* --- cached names --------------------------------------------------------- */

#define FIRST_SLOTS 1024 /* a power of two */

struct entry {
	const char *name; /* NULL: free slot */
	char *readable;   /* NULL: equal to name */
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
