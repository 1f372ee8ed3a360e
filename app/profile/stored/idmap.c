#include "idmap.h"

#include <errno.h>

void
idmap_done(struct idmap *m)
{
	free(m->ids);
	*m = (struct idmap){0};
}

/* Stores all ids, once one does not continue the sequence. */
static int
write_down(struct idmap *m)
{
	m->ids = malloc(m->max * sizeof(*m->ids));
	if (!m->ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n; i++)
		m->ids[i] = (struct id){m->first + i, i};
	return 0;
}

int
idmap_add(struct idmap *m, uint64_t id)
{
	if (!m->n)
		m->first = id;
	if (!m->ids && (!id || id != m->first + m->n) && write_down(m))
		return -ENOMEM;
	if (m->ids)
		m->ids[m->n] = (struct id){id, m->n};
	m->n++;
	return 0;
}

static int
by_id(const void *a, const void *b)
{
	const struct id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static bool
ascending(const struct idmap *m)
{
	for (uint32_t i = 1; i < m->n; i++)
		if (m->ids[i].id <= m->ids[i - 1].id)
			return false;
	return true;
}

int
idmap_seal(struct idmap *m)
{
	if (m->ids && !ascending(m)) {
		qsort(m->ids, m->n, sizeof(*m->ids), by_id);
		if (!ascending(m))
			return -EEXIST;
	}
	if (m->ids) {
		m->first = m->ids[0].id;
		m->dense = m->ids[m->n - 1].id - m->first == m->n - 1;
	}
	return m->n && m->first == 0 ? -EEXIST : 0;
}

uint32_t
idmap_search(const struct idmap *m, uint64_t id)
{
	struct id key = {.id = id};
	const struct id *found =
		bsearch(&key, m->ids, m->n, sizeof(*m->ids), by_id);

	return found ? found->row : IDMAP_NONE;
}
