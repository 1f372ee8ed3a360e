#include "values.h"

#include "profile/quantity.h"
#include "profile/types.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST 4096 /* deeper nodes are not told apart */

struct node_value {
	int64_t self, total;
};

bool
values_wanted(const char *type)
{
	const struct type *t = type_find(type);

	return t && t != &profile_types[TYPE_cpu] && strcmp(t->unit, "count");
}

static int64_t
at(const json_t *list, size_t i)
{
	return json_integer_value(json_array_get(list, i));
}

static bool
is_among(const int64_t path[], int64_t n, int64_t name)
{
	while (n--)
		if (path[n] == name)
			return true;
	return false;
}

/* Adds the values of nodes by name. A node below one of the same name is part
 * of that one's total. */
static void
add_nodes(const json_t *graph, struct node_value values[], size_t nvalues)
{
	const json_t *names = json_object_get(graph, "name"),
		     *depths = json_object_get(graph, "depth"),
		     *selfs = json_object_get(graph, "self"),
		     *totals = json_object_get(graph, "totals");
	int64_t path[DEPTH_MOST] = {0}; /* names from the root to a node */

	for (size_t i = 0; i < json_array_size(names); i++) {
		int64_t name = at(names, i), depth = at(depths, i);

		if (name < 0 || (size_t)name >= nvalues || depth < 0 ||
		    depth >= DEPTH_MOST)
			continue;
		path[depth] = name;
		values[name].self += at(selfs, i);
		if (!is_among(path, depth, name))
			values[name].total += at(totals, i);
	}
}

static bool
is_called(const json_t *function, const json_t *graph, size_t i)
{
	const json_t *name = json_array_get(json_object_get(graph, "names"), i),
		     *package = json_array_get(
			     json_object_get(graph, "packages"), i);

	return json_equal(json_object_get(function, "funcName"), name) &&
	       json_equal(json_object_get(function, "package"), package);
}

void
value_set(json_t *object, const char *key, int64_t value, const char *unit)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	if (value)
		quantity(&text, value, unit);
	else
		buf_putc(&text, '0');
	json_object_set_new(object, key, json_text(buf_str(&text)));
}

bool
values_put(json_t *functions, const json_t *graph)
{
	size_t n = json_array_size(json_object_get(graph, "names")), i;
	CLEANUP_FREE struct node_value *values = calloc(n, sizeof(*values));
	const char *unit = json_member(graph, "unit");
	json_t *function;

	if (!n || !values)
		return false;
	add_nodes(graph, values, n);
	json_array_foreach(functions, i, function) {
		size_t k = 0;

		while (k < n && !is_called(function, graph, k))
			k++;
		value_set(function, VALUE_SELF, k < n ? values[k].self : 0,
		          unit);
		value_set(function, VALUE_TOTAL, k < n ? values[k].total : 0,
		          unit);
	}
	return true;
}
