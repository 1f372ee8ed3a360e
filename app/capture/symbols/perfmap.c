#include "perfmap.h"

#include "base/rows.h"
#include "symbols_text.h"

#include <errno.h>
#include <string.h>

struct row {
	uint64_t start, end;
	const char *name;
};

struct perfmap {
	struct row *rows; /* ascending by start */
	size_t n, cap;
	struct buf text; /* holds the names */
};

static bool
parse_line(char *line, struct row *out)
{
	uint64_t size;
	char *p = line;

	if (!text_hex(&p, &out->start) || !text_hex(&p, &size) || !size ||
	    size > UINT64_MAX - out->start || !*p)
		return false;
	out->end = out->start + size;
	out->name = p;
	return true;
}

static int
push(struct perfmap *m, const struct row *row)
{
	struct row *more;
	size_t cap;

	if (m->n == PERFMAP_MAX_ROWS)
		return -E2BIG;
	if (m->n == m->cap) {
		cap = m->cap ? m->cap * 2 : 1024;
		more = reallocarray(m->rows, cap, sizeof(*more));
		if (!more)
			return -ENOMEM;
		m->rows = more;
		m->cap = cap;
	}
	m->rows[m->n++] = *row;
	return 0;
}

/* Orders rows by start; among equal ones the later line, whose name has the
 * higher offset, comes first. */
static int
by_start(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->name < y->name) - (x->name > y->name);
}

/* Resolves overlaps: the later line wins, and the earlier one is cut where the
 * later one starts, or dropped. */
static void
resolve_overlaps(struct perfmap *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		struct row now = m->rows[i];

		if (n && m->rows[n - 1].end > now.start) {
			if (m->rows[n - 1].name > now.name)
				continue;
			m->rows[n - 1].end = now.start;
		}
		m->rows[n++] = now;
	}
	m->n = n;
}

int
perfmap_new(struct buf *text, struct perfmap **out)
{
	CLEANUP_PERFMAP struct perfmap *m = calloc(1, sizeof(*m));
	char *rest = text->p, *line;
	struct row row;
	int r;

	if (!m)
		return -ENOMEM;
	while (text->len && (line = text_line(&rest, text->p + text->len))) {
		r = parse_line(line, &row) ? push(m, &row) : 0;
		if (r)
			return r;
	}
	if (m->n)
		qsort(m->rows, m->n, sizeof(*m->rows), by_start);
	resolve_overlaps(m);
	m->text = *text;
	*text = (struct buf){.max = text->max};
	*out = TAKE(m);
	return 0;
}

void
perfmap_free(struct perfmap *m)
{
	if (!m)
		return;
	free(m->rows);
	buf_done(&m->text);
	free(m);
}

const char *
perfmap_lookup(const struct perfmap *m, uint64_t addr)
{
	size_t lo = ROWS_WHILE(m->n, i, m->rows[i].start <= addr);

	if (!lo || addr >= m->rows[lo - 1].end)
		return NULL;
	return m->rows[lo - 1].name;
}
