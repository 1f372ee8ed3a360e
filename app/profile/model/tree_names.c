#include "tree_names.h"

#include "package.h"

#include <errno.h>
#include <string.h>

int
tree_names_init(struct tree_names *c, const struct profile *p, struct tree *t)
{
	size_t nstrings = strings_count(p->strings);
	uint32_t none;

	*c = (struct tree_names){.p = p, .t = t};
	t->names = strings_new();
	t->packages = strings_new();
	t->files = strings_new();
	c->by_string = calloc(nstrings, sizeof(*c->by_string));
	c->by_location =
		calloc((size_t)p->nlocations + 1, sizeof(*c->by_location));
	if (!t->names || !t->packages || !t->files || !c->by_string ||
	    !c->by_location)
		return -ENOMEM;
	return tree_names_add(c, "", 0, &none);
}

void
tree_names_done(struct tree_names *c)
{
	free(c->by_string);
	free(c->by_location);
}

static int
homes_room(struct tree_names *c, uint32_t name)
{
	uint32_t cap = c->cap ? c->cap : 256;
	struct tree_home *p;

	if (name < c->cap)
		return 0;
	while (cap <= name)
		cap *= 2;
	p = reallocarray(c->t->home, cap, sizeof(*p));
	if (!p)
		return -ENOMEM;
	memset(p + c->cap, 0, (cap - c->cap) * sizeof(*p));
	c->t->home = p;
	c->cap = cap;
	return 0;
}

int
tree_names_add(struct tree_names *c, const char *text, size_t n, uint32_t *out)
{
	uint32_t id;
	int r = strings_add(c->t->names, text, n, &id);

	if (!r)
		r = homes_room(c, id);
	if (!r)
		*out = id;
	return r;
}

static int
set_package(struct tree_names *c, uint32_t name, uint32_t location,
            const char *file)
{
	const char *text = tree_name(c->t, name, NULL);
	size_t n = package_len(text, file);

	if (!n) {
		text = profile_module(c->p, location);
		n = strlen(text);
	}
	return strings_add(c->t->packages, text, n, &c->t->home[name].package);
}

static uint32_t
clamp_line(int64_t line)
{
	return line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
}

static int
set_source(struct tree_names *c, uint32_t name, const struct function *f,
           const struct line *line)
{
	struct tree_home *home = &c->t->home[name];
	size_t n;
	const char *file = strings_get(c->p->strings, f->file, &n);

	if (!n)
		return 0;
	home->line = clamp_line(f->start_line ? f->start_line : line->line);
	return strings_add(c->t->files, file, n, &home->file);
}

/* Both called once for each name: every sample that follows finds it in
 * by_string or by_location. */
static int
add_address(struct tree_names *c, uint32_t location, uint32_t line)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	uint32_t id;
	int r;

	profile_frame_name(c->p, location, line, &b);
	r = buf_err(&b);
	if (!r)
		r = tree_names_add(c, buf_str(&b), b.len, &id);
	if (!r)
		r = set_package(c, id, location, "");
	if (!r)
		c->by_location[location] = id;
	return r;
}

static int
add_function(struct tree_names *c, uint32_t location, const struct line *line,
             uint32_t string)
{
	const struct function *f = &c->p->functions[line->function];
	size_t n;
	const char *text = strings_get(c->p->strings, string, &n);
	const char *file = strings_get(c->p->strings, f->file, NULL);
	uint32_t id;
	int r = tree_names_add(c, text, n, &id);

	if (!r)
		r = set_package(c, id, location, file);
	if (!r)
		r = set_source(c, id, f, line);
	if (!r)
		c->by_string[string] = id;
	return r;
}

int
tree_names_frame(struct tree_names *c, uint32_t location, uint32_t line,
                 uint32_t *out)
{
	const struct location *l = &c->p->locations[location];
	const struct line *at = NULL;
	uint32_t string = 0, *known;
	int r = 0;

	if (line < l->nlines) {
		const struct function *f;

		at = &c->p->lines[l->line0 + line];
		f = &c->p->functions[at->function];
		string = f->name ? f->name : f->system_name;
	}
	known = string ? &c->by_string[string] : &c->by_location[location];
	if (!*known)
		r = string ? add_function(c, location, at, string)
		           : add_address(c, location, line);
	if (!r)
		*out = *known;
	return r;
}
