#include "groups.h"

#include "base/hash.h"
#include "base/id.h"
#include "groups_facts.h"
#include "profile/model/build.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct groups_index {
	uint64_t key;
	struct table by_stack;
	uint32_t cap, frame_cap, member_cap[2], wait_cap;
};

static uint32_t
value_type(const struct profile *p)
{
	uint32_t type = profile_type_index(p, NULL);

	if (type == PROFILE_NONE ||
	    !strcmp(profile_text(p, p->types[type].unit), "bytes"))
		return type;
	for (uint32_t i = type + 1; i-- > 0;)
		if (!strcmp(profile_text(p, p->types[i].unit), "count"))
			return i;
	return type;
}

static int
groups_reader_init(struct groups_reader *r, struct groups *g,
                   const struct profile *p)
{
	r->g = g;
	r->p = p;
	r->type = value_type(p);
	if (r->type == PROFILE_NONE)
		return -EINVAL;
	r->line_name = calloc(p->nlines + 1, sizeof(*r->line_name));
	r->line_at = calloc(p->nlines + 1, sizeof(*r->line_at));
	r->address_name = calloc(p->nlocations + 1, sizeof(*r->address_name));
	r->keys = calloc(strings_count(p->strings), 1);
	return r->line_name && r->line_at && r->address_name && r->keys
	               ? 0
	               : -ENOMEM;
}

static void
groups_reader_done(struct groups_reader *r)
{
	free(r->line_name);
	free(r->line_at);
	free(r->address_name);
	free(r->keys);
}

/* True for a '[' that opens type arguments; false for one of an index operator,
 * an array or an ABI tag. */
static bool
opens_arguments(const char *name, const char *at)
{
	return at > name && (isalnum((unsigned char)at[-1]) || at[-1] == '_') &&
	       at[1] != ']' && strncmp(at, "[abi:", 5) != 0;
}

/* Writes pkg.F[go.shape.string].func1 as pkg.F[...].func1. */
static void
put_name(const char *name, struct buf *out)
{
	for (const char *s = name; *s;) {
		int depth = 0;

		if (*s != '[' || !opens_arguments(name, s)) {
			buf_putc(out, *s++);
			continue;
		}
		buf_puts(out, "[...]");
		do
			depth += *s == '[' ? 1 : *s == ']' ? -1 : 0;
		while (*s++ && depth && *s);
	}
}

static int
intern(struct groups_reader *r, const struct buf *text, uint32_t *cache)
{
	int rc = buf_err(text);

	if (!rc)
		rc = strings_add(r->g->strings, buf_str(text), text->len,
		                 cache);
	if (!rc)
		++*cache;
	return rc;
}

static int
name_frame(struct groups_reader *r, uint32_t location, uint32_t line,
           uint32_t *cache)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf text = BUF_INIT(2 * BUF_MAX_SMALL);

	profile_frame_name(r->p, location, line, &raw);
	if (buf_err(&raw) == -E2BIG) { /* keep the beginning */
		buf_clear(&raw);
		buf_puts(&raw, "[long name]");
	}
	put_name(buf_str(&raw), &text);
	return intern(r, &text, cache);
}

static int
place_line(struct groups_reader *r, const struct line *l, uint32_t *cache)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const struct profile *p = r->p;
	size_t n;
	const char *file =
		strings_get(p->strings, p->functions[l->function].file, &n);

	if (n && n < BUF_MAX_SMALL / 2)
		buf_addf(&text, "%s", file);
	if (text.len && l->line > 0)
		buf_addf(&text, ":%lld", (long long)l->line);
	return intern(r, &text, cache);
}

static int
read_frame(struct groups_reader *r, uint32_t location, uint32_t line,
           struct group_frame *out)
{
	const struct location *l = &r->p->locations[location];
	uint32_t at = l->line0 + line;
	uint32_t *name = l->nlines ? &r->line_name[at]
	                           : &r->address_name[location];
	int rc = *name ? 0 : name_frame(r, location, line, name);

	if (!rc && l->nlines && !r->line_at[at])
		rc = place_line(r, &r->p->lines[at], &r->line_at[at]);
	if (rc)
		return rc;
	out->name = *name - 1;
	out->at = l->nlines ? r->line_at[at] - 1 : 0;
	return 0;
}

/* True for functions that Go's tracebacks hide: runtime.gopark, but not
 * runtime.GC. */
static bool
is_hidden(const char *name)
{
	return !strncmp(name, "runtime.", 8) &&
	       !isupper((unsigned char)name[8]);
}

/* Drops hidden frames, unless all are hidden. */
static uint32_t
trim(const struct groups *g, struct group_frame *f, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		kept += !is_hidden(groups_text(g, f[i].name));
	if (!kept)
		return n;
	kept = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!is_hidden(groups_text(g, f[i].name)))
			f[kept++] = f[i];
	return kept;
}

/* Makes room for n frames past nframes. */
static int
groups_room(struct groups *g, uint64_t n)
{
	return rows_room(&g->frames, &g->index->frame_cap, g->nframes, n,
	                 sizeof(*g->frames));
}

/*
 * Appends the visible frames to g->frames, past nframes.
 *   Errors   -ENOMEM, -E2BIG
 */
static int
groups_read_frames(struct groups_reader *r, const struct sample *s,
                   uint32_t *out_n)
{
	struct groups *g = r->g;
	uint32_t n = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < s->nstack; i++) {
		uint32_t location = r->p->stack[s->stack0 + i];
		uint32_t frames = profile_frames(r->p, location);

		rc = groups_room(g, (uint64_t)n + frames);
		for (uint32_t k = 0; !rc && k < frames; k++)
			rc = read_frame(r, location, k,
			                &g->frames[g->nframes + n++]);
	}
	if (!rc && n)
		n = trim(g, &g->frames[g->nframes], n);
	*out_n = n;
	return rc;
}

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
	free(g->waits);
	if (g->index)
		table_done(&g->index->by_stack);
	free(g->index);
	free(g);
}

/* A stack that may be new; its frames are stored past g->nframes. */
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

/* Adds the members in "7,9-12", up to the first other character. */
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
add_wait(struct groups *g, struct group_wait w)
{
	int rc = rows_room(&g->waits, &g->index->wait_cap, g->nwaits, 1,
	                   sizeof(*g->waits));

	if (!rc)
		g->waits[g->nwaits++] = w;
	return rc;
}

static int
count(struct groups *g, uint32_t at, const struct group_facts *f, int64_t value,
      int side)
{
	struct group *x = &g->items[at];
	int rc = 0;

	if (__builtin_add_overflow(g->total[side], value, &g->total[side]))
		return -EOVERFLOW;
	x->count[side] += value;
	x->leaked |= f->leaked;
	if (side && f->age_s > x->age_s)
		x->age_s = f->age_s;
	if (side && f->target && g->by & GROUP_WAITS)
		rc = add_wait(g, (struct group_wait){f->target, at, value});
	if (rc)
		return rc;
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

/* Copies a string of other to g. */
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
