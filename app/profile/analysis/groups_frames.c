/* What the frames of a group are called, and which are shown. */
#include "groups_read.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint32_t
value_type(const struct profile *p)
{
	uint32_t type = profile_type_index(p, NULL);

	if (type == PROFILE_NONE ||
	    !strcmp(strings_get(p->strings, p->types[type].unit, NULL),
	            "bytes"))
		return type;
	for (uint32_t i = type + 1; i-- > 0;)
		if (!strcmp(strings_get(p->strings, p->types[i].unit, NULL),
		            "count"))
			return i;
	return type;
}

int
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

void
groups_reader_done(struct groups_reader *r)
{
	free(r->line_name);
	free(r->line_at);
	free(r->address_name);
	free(r->keys);
}

/* Type arguments, from '[' on: not an index operator, array or ABI tag. */
static bool
opens_arguments(const char *name, const char *at)
{
	return at > name && (isalnum((unsigned char)at[-1]) || at[-1] == '_') &&
	       at[1] != ']' && strncmp(at, "[abi:", 5) != 0;
}

/* pkg.F[go.shape.string].func1 is pkg.F[...].func1. */
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
	if (buf_err(&raw) == -E2BIG) { /* the first of it tells enough */
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

/* What tracebacks of Go leave out: runtime.gopark, not runtime.GC. */
static bool
is_hidden(const char *name)
{
	return !strncmp(name, "runtime.", 8) &&
	       !isupper((unsigned char)name[8]);
}

/* Leaves out the hidden ones, unless that is all of them. */
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

int
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
