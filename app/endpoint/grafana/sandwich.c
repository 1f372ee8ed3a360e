#include "sandwich.h"

#include "base/json_out.h"
#include "profile/around.h"
#include "profile/tree.h"
#include "shown.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The tree of one side. Its names are those of the report, by their ids. */
struct side {
	const char *key; /* name of the tree's member in the reply */
	const struct tree *tree;
	int64_t least;  /* total of a node that is not left out */
	bool with_self; /* costs of the nodes themselves mean something */
	struct strings *names;
};

static int
find_least(struct side *s, uint32_t most)
{
	const struct tree *t = s->tree;
	CLEANUP_FREE int64_t *totals = NULL;

	s->least = INT64_MIN;
	if (t->n - 1 <= most)
		return 0;
	totals = malloc(t->n * sizeof(*totals));
	if (!totals)
		return -ENOMEM;
	memcpy(totals, t->total, t->n * sizeof(*totals));
	/* the root of the tree is not shown */
	s->least = shown_least(totals + 1, t->n - 1, most);
	return 0;
}

/* Numbers of 64 bits are texts, and a default is left out. Source: protojson */
static void
put_number(struct buf *out, const char *key, int64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)v);
	if (v)
		json_put_text(out, key, text);
}

static int
put_name(struct side *s, const char *name, size_t n, struct buf *out)
{
	uint32_t id;
	int rc = strings_add(s->names, name, n, &id);

	if (!rc && id > 1) /* id 0 is "" */
		json_put_int(out, "nameIndex", id - 1);
	return rc;
}

static int
open_node(struct side *s, uint32_t node, struct buf *out)
{
	const struct tree *t = s->tree;
	size_t n;
	const char *name = tree_name(t, t->name[node], &n);
	int rc;

	json_open(out, node == 1 ? s->key : NULL, '{');
	rc = put_name(s, name, n, out);
	put_number(out, "total", t->total[node]);
	if (s->with_self)
		put_number(out, "self", t->self[node]);
	if (t->total[node] != t->self[node])
		json_open(out, "children", '[');
	return rc;
}

/* Returns the total of a node's children that are left out. */
static int64_t
cut_below(const struct side *s, uint32_t node)
{
	const struct tree *t = s->tree;
	int64_t cut = t->total[node] - t->self[node];

	for (uint32_t i = node + 1; i < t->end[node]; i = t->end[i])
		if (t->total[i] >= s->least)
			cut -= t->total[i];
	return cut;
}

static int
close_node(struct side *s, uint32_t node, struct buf *out)
{
	const struct tree *t = s->tree;
	int64_t cut = cut_below(s, node);
	int rc = 0;

	if (cut) {
		json_open(out, NULL, '{');
		rc = put_name(s, "other", strlen("other"), out);
		put_number(out, "total", cut);
		if (s->with_self)
			put_number(out, "self", cut);
		json_put_bool(out, "truncated", true);
		json_close(out, '}');
	}
	if (t->total[node] != t->self[node])
		json_close(out, ']');
	json_close(out, '}');
	return rc;
}

/* Writes all nodes below the root, in preorder. */
static int
put_nodes(struct side *s, struct buf *out)
{
	const struct tree *t = s->tree;
	CLEANUP_FREE uint32_t *open = calloc(t->n + 1, sizeof(*open));
	uint32_t nopen = 0;
	int rc = open ? 0 : -ENOMEM;

	for (uint32_t i = 1, next; i < t->n && !rc; i = next) {
		next = t->end[i];
		if (t->total[i] < s->least)
			continue;
		next = i + 1;
		while (nopen && nopen >= t->depth[i] && !rc)
			rc = close_node(s, open[--nopen], out);
		rc = rc ?: open_node(s, i, out);
		open[nopen++] = i;
	}
	while (nopen && !rc)
		rc = close_node(s, open[--nopen], out);
	return rc;
}

static int
put_side(const char *key, const struct profile *p, bool with_self,
         uint32_t most, struct strings *names, struct buf *out)
{
	struct side s = {.key = key, .with_self = with_self, .names = names};
	CLEANUP_TREE struct tree *functions = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	int64_t left_out;
	int rc;

	if (!p->nsamples) {
		json_put_raw(out, key, "{}", "");
		return 0;
	}
	rc = tree_functions(p, 0, &functions)
	             ?: tree_visible(functions, shown_room(most), &t,
	                             &left_out);
	if (rc)
		return rc;
	s.tree = t;
	return find_least(&s, most) ?: put_nodes(&s, out);
}

static void
put_names(const struct strings *names, struct buf *out)
{
	json_open(out, "names", '[');
	for (uint32_t i = 1; i < strings_count(names); i++)
		json_put_text(out, NULL, strings_get(names, i, NULL));
	json_close(out, ']');
}

int
sandwich_put(const struct profile *p, const char *name, uint32_t most,
             struct buf *out)
{
	CLEANUP_STRINGS struct strings *names = strings_new();
	CLEANUP_AROUND struct around a = {0};
	uint32_t first, type = profile_type_index(p, NULL);
	int rc = names ? strings_add(names, name, strlen(name), &first)
	               : -ENOMEM;

	rc = rc ?: around_new(p, type, name, &a);
	json_open(out, NULL, '{');
	json_open(out, "sandwich", '{');
	rc = rc ?: put_side("callers", a.callers, false, most, names, out)
	                ?: put_side("callees", a.callees, true, most, names,
	                            out);
	if (rc)
		return rc;
	put_names(names, out);
	put_number(out, "total", a.total);
	put_number(out, "self", a.self);
	json_close(out, '}');
	json_close(out, '}');
	return buf_err(out);
}
