#include "groups.h"

#include "base/hash.h"
#include "base/id.h"
#include "groups_read.h"
#include "profile/model/build.h"

#include <errno.h>
#include <string.h>

struct groups_index {
	uint64_t key;
	struct table by_stack;
	uint32_t cap, frame_cap, member_cap[2];
};

int
groups_new(enum group_by by, struct groups **out)
{
	CLEANUP_GROUPS struct groups *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->by = by;
	g->strings = strings_new();
	g->index = calloc(1, sizeof(*g->index));
	if (!g->strings || !g->index)
		return -ENOMEM;
	random_bytes(&g->index->key, sizeof(g->index->key));
	*out = TAKE(g);
	return 0;
}

void
groups_free(struct groups *g)
{
	if (!g)
		return;
	strings_free(g->strings);
	free(g->items);
	free(g->frames);
	free(g->members[0]);
	free(g->members[1]);
	if (g->index)
		table_done(&g->index->by_stack);
	free(g->index);
	free(g);
}

int
groups_room(struct groups *g, uint64_t n)
{
	return rows_room(&g->frames, &g->index->frame_cap, g->nframes, n,
	                 sizeof(*g->frames));
}

/* A stack that may be known: its frames lie past g->nframes. */
struct candidate {
	const struct groups *g;
	const struct group_facts *facts;
	uint32_t nframes;
};

static bool
same_group(const void *key, uint32_t row)
{
	const struct candidate *w = key;
	const struct groups *g = w->g;
	const struct group *x = &g->items[row];
	const struct group_frame *a = &g->frames[g->nframes];
	const struct group_frame *b = group_frames(g, x);

	if (x->nframes != w->nframes || x->creator != w->facts->creator)
		return false;
	if (g->by & GROUP_BY_STATE &&
	    (x->state != w->facts->state || x->reason != w->facts->reason ||
	     x->leaked != w->facts->leaked))
		return false;
	for (uint32_t i = 0; i < w->nframes; i++)
		if (a[i].name != b[i].name ||
		    (g->by & GROUP_BY_LINE && a[i].at != b[i].at))
			return false;
	return true;
}

static uint64_t
hash_of(const struct candidate *w)
{
	const struct groups *g = w->g;
	const struct group_frame *f = &g->frames[g->nframes];
	uint64_t h = g->index->key ^ w->facts->creator;

	for (uint32_t i = 0; i < w->nframes; i++) {
		uint64_t words[] = {h, f[i].name,
		                    g->by & GROUP_BY_LINE ? f[i].at : 0};

		h = hash_keyed(g->index->key, words, sizeof(words));
	}
	if (g->by & GROUP_BY_STATE) {
		uint64_t words[] = {h, w->facts->state, w->facts->reason};

		h = hash_keyed(g->index->key, words, sizeof(words));
	}
	return h;
}

static int
add_group(struct groups *g, const struct candidate *w, uint64_t hash)
{
	const struct group_facts *f = w->facts;
	int rc = rows_room(&g->items, &g->index->cap, g->n, 1,
	                   sizeof(*g->items));

	if (!rc)
		rc = table_room(&g->index->by_stack);
	if (rc)
		return rc;
	if ((uint64_t)g->nframes + w->nframes > GROUPS_MAX_FRAMES)
		return -E2BIG;
	g->items[g->n] = (struct group){
		.state = f->state,
		.reason = f->reason,
		.raw = f->raw,
		.creator = f->creator,
		.leaked = f->leaked,
		.age_s = GROUPS_NO_AGE,
		.frame0 = g->nframes,
		.nframes = w->nframes,
	};
	g->nframes += w->nframes;
	table_put(&g->index->by_stack, hash, g->n++);
	return 0;
}

static int
add_member(struct groups *g, int side, struct group_member m)
{
	int rc = rows_room(&g->members[side], &g->index->member_cap[side],
	                   g->nmembers[side], 1, sizeof(**g->members));

	if (!rc)
		g->members[side][g->nmembers[side]++] = m;
	return rc;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Of "7,9-12", whatever stands there: it ends where it is something else. */
static int
add_members(struct groups *g, int side, const char *ids, uint32_t group)
{
	int rc = 0;

	while (!rc && is_digit(*ids)) {
		struct group_member m = {.group = group};
		char *end;

		m.first = m.last = strtoull(ids, &end, 10);
		if (*end == '-' && is_digit(end[1]))
			m.last = strtoull(end + 1, &end, 10);
		if (m.last >= m.first)
			rc = add_member(g, side, m);
		ids = *end == ',' ? end + 1 : end;
	}
	return rc;
}

static int
count(struct groups *g, uint32_t at, const struct group_facts *f, int64_t value,
      int side)
{
	struct group *x = &g->items[at];

	if (__builtin_add_overflow(g->total[side], value, &g->total[side]))
		return -EOVERFLOW;
	x->count[side] += value;
	x->leaked |= f->leaked;
	if (side && f->age_s > x->age_s)
		x->age_s = f->age_s;
	if (f->ids)
		return add_members(g, side, f->ids, at);
	return f->id ? add_member(g, side,
	                          (struct group_member){f->id, f->id, at})
	             : 0;
}

static int
add_sample(struct groups_reader *r, uint32_t row, int side)
{
	const struct sample *s = &r->p->samples[row];
	int64_t value = r->p->values[(size_t)row * r->p->ntypes + r->type];
	struct group_facts facts;
	struct candidate w = {.g = r->g, .facts = &facts};
	uint64_t hash;
	uint32_t at;
	int rc;

	if (value <= 0)
		return 0;
	rc = groups_read_facts(r, s, &facts);
	if (!rc)
		rc = groups_read_frames(r, s, &w.nframes);
	if (rc)
		return rc;
	hash = hash_of(&w);
	at = table_find(&r->g->index->by_stack, hash, same_group, &w);
	if (at == TABLE_NONE) {
		at = r->g->n;
		rc = add_group(r->g, &w, hash);
	}
	return rc ? rc : count(r->g, at, &facts, value, side);
}

int
groups_add(struct groups *g, const struct profile *p, int side)
{
	CLEANUP(groups_reader_done) struct groups_reader r = {0};
	int rc = groups_reader_init(&r, g, p);

	for (uint32_t i = 0; !rc && i < p->nsamples; i++)
		rc = add_sample(&r, i, side);
	return rc;
}

/* The same text in another table of strings. */
static int
carry(struct groups *g, const struct groups *other, uint32_t id, uint32_t *out)
{
	size_t n;
	const char *text = strings_get(other->strings, id, &n);

	return strings_add(g->strings, text, n, out);
}

int
groups_find(struct groups *g, const struct groups *other, const struct group *x,
            uint32_t *out)
{
	const struct group_frame *f = group_frames(other, x);
	struct group_facts facts = {.leaked = x->leaked};
	struct candidate w = {g, &facts, x->nframes};
	int rc = groups_room(g, x->nframes);
	uint32_t at;

	for (uint32_t i = 0; !rc && i < x->nframes; i++) {
		struct group_frame *to = &g->frames[g->nframes + i];

		rc = carry(g, other, f[i].name, &to->name);
		if (!rc)
			rc = carry(g, other, f[i].at, &to->at);
	}
	if (!rc)
		rc = carry(g, other, x->creator, &facts.creator);
	if (!rc)
		rc = carry(g, other, x->state, &facts.state);
	if (!rc)
		rc = carry(g, other, x->reason, &facts.reason);
	if (rc)
		return rc;
	at = table_find(&g->index->by_stack, hash_of(&w), same_group, &w);
	if (at == TABLE_NONE)
		return -ENOENT;
	*out = at;
	return 0;
}
