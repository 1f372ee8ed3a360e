#include "links.h"

#include <stdlib.h>
#include <string.h>

/* Source: RFC 3986, 2.1 and 2.3. */
static void
put_escaped(struct buf *out, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		    (c >= 'a' && c <= 'z') || strchr("-._~", c))
			buf_putc(out, *s);
		else
			buf_addf(out, "%%%02X", c);
	}
}

void
link_put_query(const struct link_query *query, struct buf *out)
{
	for (size_t i = 0; i < query->n; i++) {
		buf_puts(out, i ? "&" : "");
		put_escaped(out, query->q[i].name);
		buf_putc(out, '=');
		put_escaped(out, query->q[i].value);
	}
}

/* True for parameters that the signature of a query does not cover. */
static bool
is_free(const char *name)
{
	static const char *const names[] = {"format", "tenant", "key",
	                                    "expires", "signature"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int
by_name(const void *a, const void *b)
{
	const struct query_pair *const *x = a, *const *y = b;
	int c = strcmp((*x)->name, (*y)->name);

	return c ? c : strcmp((*x)->value, (*y)->value);
}

void
link_subject(const struct link_query *query, struct buf *out)
{
	const struct query_pair *sorted[REQUEST_MAX_QUERY];
	size_t n = 0;

	for (size_t i = 0; i < query->n && n < ARRAY_LEN(sorted); i++)
		if (!is_free(query->q[i].name))
			sorted[n++] = &query->q[i];
	if (n)
		qsort(sorted, n, sizeof(sorted[0]), by_name);
	for (size_t i = 0; i < n; i++)
		buf_addf(out, "%zu:%s=%zu:%s;", strlen(sorted[i]->name),
		         sorted[i]->name, strlen(sorted[i]->value),
		         sorted[i]->value);
}
