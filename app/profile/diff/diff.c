/*
 * Both trees are in preorder with children ordered by name, so that they can be
 * merged in one pass: of two nodes the deeper one comes first, being still
 * below the shared path; of two at the same depth, the one with the lesser
 * name.
 */
#include "profile/diff.h"

#include "diff_sure.h"

#include <errno.h>
#include <string.h>

const char *const diff_shapes[] = {"after", "before", "both", NULL};

enum { BASE, NOW, SIDES };

struct zip {
	struct diff *d;
	const struct tree *from[SIDES];
	uint32_t *names[SIDES]; /* by name of a side: name of the diff, + 1 */
	uint32_t cap;           /* capacity of homes */
	struct diff_origin from_nodes;
};

void
diff_free(struct diff *d)
{
	if (!d)
		return;
	tree_free(d->tree);
	free(d->base_self);
	free(d->base_total);
	free(d->base_samples);
	free(d->sure);
	free(d);
}

static void
zip_done(struct zip *z)
{
	diff_free(z->d);
	free(z->names[BASE]);
	free(z->names[NOW]);
	free(z->from_nodes.base);
	free(z->from_nodes.now);
}

static int
names_new(struct zip *z, struct tree *t)
{
	t->names = strings_new();
	t->packages = strings_new();
	t->files = strings_new();
	for (int i = 0; i < SIDES; i++) {
		uint32_t n = strings_count(z->from[i]->names);

		z->names[i] = calloc((size_t)n + 1, sizeof(*z->names[i]));
		z->cap += n + 1;
	}
	t->home = calloc(z->cap, sizeof(*t->home));
	return t->names && t->packages && t->files && t->home &&
	                       z->names[BASE] && z->names[NOW]
	               ? 0
	               : -ENOMEM;
}

static int
zip_init(struct zip *z)
{
	const struct tree *base = z->from[BASE], *now = z->from[NOW];
	size_t n = (size_t)base->n + now->n;
	struct diff *d = z->d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return -ENOMEM;
	d->base = base;
	d->now = now;
	d->base_self = calloc(n, sizeof(*d->base_self));
	d->base_total = calloc(n, sizeof(*d->base_total));
	d->base_samples = calloc(n, sizeof(*d->base_samples));
	d->sure = calloc(n, sizeof(*d->sure));
	d->tree = calloc(1, sizeof(*d->tree));
	z->from_nodes.base = calloc(n, sizeof(*z->from_nodes.base));
	z->from_nodes.now = calloc(n, sizeof(*z->from_nodes.now));
	if (!d->tree || !d->base_self || !d->base_total || !d->base_samples ||
	    !d->sure || !z->from_nodes.base || !z->from_nodes.now)
		return -ENOMEM;
	d->tree->profile = now->profile;
	d->tree->type = now->type;
	d->tree->total_samples = now->total_samples;
	rc = tree_columns(d->tree, n);
	return rc ? rc : names_new(z, d->tree);
}

/* Copies the home of a function, from the side where it was seen first. */
static int
copy_home(const struct tree *from, uint32_t name, struct tree *to, uint32_t as)
{
	const struct tree_home *home = &from->home[name];
	size_t n, m;
	const char *package = strings_get(from->packages, home->package, &n);
	const char *file = strings_get(from->files, home->file, &m);

	to->home[as].line = home->line;
	return strings_add(to->packages, package, n, &to->home[as].package)
	               ?: strings_add(to->files, file, m, &to->home[as].file);
}

/* Finds the diff's id for a name of a side. */
static int
name_in(struct zip *z, int side, uint32_t name, uint32_t *out)
{
	uint32_t *known = &z->names[side][name];
	struct tree *t = z->d->tree;
	uint32_t count = strings_count(t->names);
	const char *text;
	size_t n;
	int rc;

	if (!*known) {
		text = tree_name(z->from[side], name, &n);
		rc = strings_add(t->names, text, n, known);
		if (rc)
			return rc;
		if (strings_count(t->names) > count)
			rc = copy_home(z->from[side], name, t, *known);
		++*known;
		if (rc)
			return rc;
	}
	*out = *known - 1;
	return 0;
}

/* Adds a node; base or now is COMPARE_NO_NODE if that side does not have it. */
static int
put(struct zip *z, uint32_t base, uint32_t now)
{
	int side = now == COMPARE_NO_NODE ? BASE : NOW;
	uint32_t from = side == NOW ? now : base;
	struct diff *d = z->d;
	struct tree *t = d->tree;
	uint32_t at = t->n++;

	t->depth[at] = z->from[side]->depth[from];
	z->from_nodes.base[at] = base;
	z->from_nodes.now[at] = now;
	if (now != COMPARE_NO_NODE) {
		t->self[at] = d->now->self[now];
		t->total[at] = d->now->total[now];
		t->samples[at] = d->now->samples[now];
	}
	if (base != COMPARE_NO_NODE) {
		d->base_self[at] = d->base->self[base];
		d->base_total[at] = d->base->total[base];
		d->base_samples[at] = d->base->samples[base];
	}
	return name_in(z, side, z->from[side]->name[from], &t->name[at]);
}

/* Compares the positions of two nodes: < 0 if the base's comes first, > 0 if
 * the comparison's does, 0 if they are the same. */
static int
order(const struct zip *z, uint32_t base, uint32_t now)
{
	const struct tree *a = z->from[BASE], *b = z->from[NOW];
	const char *s, *t;
	size_t n, m;
	int r;

	if (base >= a->n || now >= b->n)
		return base >= a->n ? 1 : -1;
	if (a->depth[base] != b->depth[now])
		return a->depth[base] > b->depth[now] ? -1 : 1;
	s = tree_name(a, a->name[base], &n);
	t = tree_name(b, b->name[now], &m);
	r = memcmp(s, t, n < m ? n : m);
	return r ? r : (n > m) - (n < m);
}

static int
zip(struct zip *z)
{
	uint32_t i = 0, j = 0;

	while (i < z->from[BASE]->n || j < z->from[NOW]->n) {
		int first = order(z, i, j);
		int rc = put(z, first <= 0 ? i : COMPARE_NO_NODE,
		             first >= 0 ? j : COMPARE_NO_NODE);

		if (rc)
			return rc;
		i += first <= 0;
		j += first >= 0;
	}
	return 0;
}

/* Goes backwards, so that the ends of children are known and can be skipped. */
static void
find_ends(struct tree *t)
{
	for (uint32_t i = t->n; i-- > 0;) {
		uint32_t end = i + 1;

		while (end < t->n && t->depth[end] > t->depth[i])
			end = t->end[end];
		t->end[i] = end;
	}
}

static void
normalize(struct diff *d, const struct comparison *c)
{
	double base = (double)d->base->total[0], now = (double)d->now->total[0];
	bool shares = c->by == COMPARE_BY_SHARE;

	d->by = c->by;
	d->scale = !shares               ? c->now_per / c->base_per
	           : base > 0 && now > 0 ? now / base
	                                 : 1;
}

int
diff_new(const struct compare_side *base, const struct compare_side *now,
         const struct comparison *c, struct diff **out)
{
	CLEANUP(zip_done)
	struct zip z = {.from = {base->tree, now->tree}};
	int rc = zip_init(&z);

	if (!rc)
		rc = zip(&z);
	if (rc)
		return rc;
	find_ends(z.d->tree);
	normalize(z.d, c);
	rc = diff_sure(z.d, &z.from_nodes, base, now, c);
	if (rc)
		return rc;
	*out = TAKE(z.d);
	return 0;
}
